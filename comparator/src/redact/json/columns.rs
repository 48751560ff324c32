//! Lists in which the position of a value tells its name: by the element before it, or by a list of names next to it or
//! above it.
//!
//! - `["password", …]`: the values after a secret name in a list are secret.
//! - `{"columns": ["id", "password"], "rows": [[1, …]]}`, `[["id", "password"], [1, …]]`: a list of names makes that
//!   position secret in every list of the same length beside it, at any depth. The names may be those of an object's
//!   members (`{"columns": {"id": "int", "password": "text"}}`), and a row may be a list within an object.
//! - `{"columns": [{"key": "c2", "title": "Password"}], "rows": [{"c2": …}]}`: what a secret column is called elsewhere
//!   is a secret name below the object, too.

use std::collections::HashSet;

use smallvec::SmallVec;

use super::reading::NamedTree;
use crate::notation::index::NodeKind;
use crate::redact::commands;
use crate::redact::context::{Context, MAX_HEADERS, SecretColumns};
use crate::redact::last_word::ends_in;

/// Last words of members that list column names as objects.
const COLUMNS: [&[u8]; 22] = [
    b"attribute",
    b"col",
    b"column",
    b"def",
    b"definition",
    b"desc",
    b"description",
    b"dimension",
    b"field",
    b"head",
    b"header",
    b"info",
    b"label",
    b"meta",
    b"metadata",
    // The singular of `properties`, as words are parted here.
    b"propertie",
    b"property",
    b"schema",
    b"structure",
    b"title",
    // `rowType`.
    b"type",
    b"variable",
];
/// Those of them whose own members may be the names.
const MAPS: [&[u8]; 4] = [b"col", b"column", b"field", b"propertie"];
/// Last words of members by which a column is called where its values are.
const ALIASES: [&[u8]; 12] = [
    b"accessor",
    b"code",
    b"column",
    b"field",
    b"id",
    b"identifier",
    b"index",
    b"key",
    b"path",
    b"prop",
    b"property",
    b"slug",
];
/// Most names of one list that are checked; tables have fewer columns.
const MAX_COLUMNS: usize = 1_000;
/// Levels of objects in which lists of column names are searched.
const MAX_HEADER_DEPTH: usize = 4;
/// Most other members of an object that is a row.
const MAX_BESIDE: usize = 2;
/// Longest list in which everything after a secret name is hidden; in a longer list, only the next element is.
const MAX_LIST: usize = 4;

/// Which texts of a list are taken for names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Those that are secret names and nothing else.
    Exact,
    /// Those that may be labels of columns.
    Labels,
    /// The same, and the names that objects hold.
    InObjects,
}

/// What an object tells about the columns of the lists in it.
#[derive(Default)]
struct FoundColumns {
    tables: Vec<SecretColumns>,
    /// What secret columns are called where their values are.
    aliases: HashSet<String>,
}

impl FoundColumns {
    fn add(&mut self, header: u32, columns: usize, secret: &[usize]) {
        self.tables.push(SecretColumns {
            header,
            columns,
            secret: secret.to_vec().into(),
        });
    }
}

impl NamedTree<'_> {
    /// The positions after secret names in a list.
    pub(super) fn after_names(&mut self, elements: &[u32]) -> SmallVec<[usize; 4]> {
        let mut after = SmallVec::new();
        for (at, element) in elements.iter().enumerate() {
            if at + 1 == elements.len() || self.tree.kind(*element) != NodeKind::String {
                continue;
            }
            let text = self.key_text(*element);
            let names = &self.redactor.secret_names;
            if !(names.contains_exactly(&text)
                || (elements.len() == 2 && names.contains_label(&text)))
            {
                continue;
            }
            let end = if elements.len() <= MAX_LIST {
                elements.len()
            } else {
                at + 2
            };
            after.extend(at + 1..end);
        }
        after
    }

    /// The positions of passwords in a list that is a command: `["mysql", "-pSECRET"]`.
    pub(super) fn passwords_in_command(&mut self, elements: &[u32]) -> Vec<usize> {
        if elements.len() < 2 {
            return Vec::new();
        }
        let mut words: Vec<Option<String>> = Vec::with_capacity(elements.len());
        for element in elements {
            let is_text = self.tree.kind(*element) == NodeKind::String;
            words.push(is_text.then(|| self.key_text(*element)));
        }
        commands::positions(words.iter().map(Option::as_deref))
    }

    /// The positions of secret names in a list of names, or of objects that hold names.
    fn secret_positions(&mut self, list: u32, names: Names) -> SmallVec<[usize; 4]> {
        let mut secret = SmallVec::new();
        let elements: Vec<u32> = self.tree.elements(list).take(MAX_COLUMNS).collect();
        for (at, element) in elements.into_iter().enumerate() {
            let named = match self.tree.kind(element) {
                NodeKind::String => self.is_column_name(element, names),
                NodeKind::Object if names == Names::InObjects => {
                    let named = self.named_by_members(element, None);
                    named.values || named.all
                }
                NodeKind::Object => {
                    let text = self.only_member(element);
                    text.is_some_and(|text| self.is_column_name(text, Names::Labels))
                }
                // Not a list of names.
                NodeKind::Array => return SmallVec::new(),
                _ => false,
            };
            if named {
                secret.push(at);
            }
        }
        secret
    }

    fn is_column_name(&mut self, text: u32, names: Names) -> bool {
        let text = self.key_text(text);
        if names == Names::Exact {
            self.redactor.secret_names.contains_exactly(&text)
        } else {
            self.redactor.secret_names.contains_label(&text)
        }
    }

    /// The text in an object that has no other member: `{"VarCharValue": "password"}`.
    fn only_member(&self, object: u32) -> Option<u32> {
        let mut keys = self.tree.keys(object);
        let value = keys.next()? + 1;
        (keys.next().is_none() && self.tree.kind(value) == NodeKind::String).then_some(value)
    }

    /// The list of values that is a row, or that an object has as its only list.
    fn row_of(&self, at: u32) -> Option<u32> {
        match self.tree.kind(at) {
            NodeKind::Array => Some(at),
            NodeKind::Object => {
                let is_list = |value: &u32| self.tree.kind(*value) == NodeKind::Array;
                let values = self.tree.keys(at).map(|key| key + 1);
                let first: SmallVec<[u32; 4]> = values.take(MAX_BESIDE + 2).collect();
                let mut lists = first.iter().copied().filter(is_list);
                let list = lists.next()?;
                (first.len() <= MAX_BESIDE + 1 && lists.next().is_none()).then_some(list)
            }
            _ => None,
        }
    }

    /// The positions of secret names among the members of an object that describes columns, and their number. Values
    /// under the names would be data.
    fn secret_members(&mut self, object: u32, name: &str) -> (SmallVec<[usize; 4]>, usize) {
        let keys: Vec<u32> = self.tree.keys(object).take(MAX_COLUMNS).collect();
        let described = |kind| keys.iter().all(|key| self.tree.kind(key + 1) == kind);
        let typed = ends_in(name, &[b"col", b"column"]) && described(NodeKind::String);
        if !(typed || described(NodeKind::Object)) {
            return (SmallVec::new(), 0);
        }
        let mut secret = SmallVec::new();
        for (at, key) in keys.iter().enumerate() {
            let name = self.key_text(*key);
            if self.redactor.secret_names.contains_label(&name) {
                secret.push(at);
            }
        }
        (secret, keys.len())
    }

    /// What the secret columns of a list are called where their values are.
    fn aliases_of(&mut self, list: u32, secret: &[usize], aliases: &mut HashSet<String>) {
        let elements: Vec<u32> = self.tree.elements(list).take(MAX_COLUMNS).collect();
        for element in secret.iter().filter_map(|at| elements.get(*at)) {
            if self.tree.kind(*element) != NodeKind::Object {
                continue;
            }
            let keys: SmallVec<[u32; 8]> = self.tree.keys(*element).collect();
            for key in keys {
                if self.tree.kind(key + 1) == NodeKind::String
                    && ends_in(&self.key_text(key), &ALIASES)
                {
                    aliases.insert(self.key_text(key + 1));
                }
            }
        }
        aliases.remove("");
    }

    /// The context that the lists of names in an object give to its other lists.
    pub(super) fn columns_of(&mut self, object: u32, around: &Context) -> Option<Context> {
        let mut found = FoundColumns::default();
        self.tables_in(object, 0, &mut found);
        let FoundColumns {
            mut tables,
            aliases,
        } = found;
        // With too many lists everything is hidden; see `with`.
        if (1..=MAX_HEADERS).contains(&tables.len()) {
            let lists: Vec<(u32, usize)> = (object..self.tree.next(object))
                .filter(|at| self.tree.kind(*at) == NodeKind::Array)
                .map(|list| (list, self.tree.elements(list).count()))
                .collect();
            // Only lists that name the columns of another list count.
            tables.retain(|table| {
                lists
                    .iter()
                    .any(|(list, length)| *length == table.columns && *list != table.header)
            });
        }
        (!tables.is_empty() || !aliases.is_empty()).then(|| around.with(tables).with_keys(aliases))
    }

    fn tables_in(&mut self, object: u32, depth: usize, found: &mut FoundColumns) {
        for key in self.tree.keys(object) {
            let value = key + 1;
            if found.tables.len() > MAX_HEADERS {
                return;
            }
            match self.tree.kind(value) {
                NodeKind::Array => {
                    let name = self.key_text(key);
                    let objects = ends_in(&name, &COLUMNS);
                    if depth > 0 && !objects {
                        continue;
                    }
                    let names = if objects {
                        Names::InObjects
                    } else {
                        Names::Labels
                    };
                    let secret = self.secret_positions(value, names);
                    if !secret.is_empty() {
                        self.aliases_of(value, &secret, &mut found.aliases);
                        let columns = self.tree.elements(value).count();
                        found.add(value, columns, &secret);
                    }
                }
                NodeKind::Object => {
                    let name = self.key_text(key);
                    if ends_in(&name, &MAPS) {
                        let (secret, columns) = self.secret_members(value, &name);
                        if !secret.is_empty() {
                            found.add(value, columns, &secret);
                        }
                    }
                    if depth < MAX_HEADER_DEPTH {
                        self.tables_in(value, depth + 1, found);
                    }
                }
                _ => {}
            }
        }
    }

    /// The context that the first of a list of lists, as a header, gives to the others.
    pub(super) fn rows_below(
        &mut self,
        list: u32,
        elements: &[u32],
        around: &Context,
    ) -> Option<Context> {
        let (first, others) = elements.split_first()?;
        let header = self.row_of(*first)?;
        if around.is_header(list) || !others.iter().any(|at| self.row_of(*at).is_some()) {
            return None;
        }
        // A list within an object is more often one of many things than a row, so only the very names count.
        let names = if header == *first {
            Names::Labels
        } else {
            Names::Exact
        };
        let secret = self.secret_positions(header, names);
        let columns = self.tree.elements(header).count();
        // In a pair, the first element names the second.
        let pair = columns == 2
            && secret.as_slice() == [0]
            && others.iter().all(|other| {
                let first = self
                    .row_of(*other)
                    .and_then(|row| self.tree.elements(row).next());
                first.is_some_and(|first| self.tree.kind(first) == NodeKind::String)
            });
        (!secret.is_empty() && !pair).then(|| {
            around.with(vec![SecretColumns {
                header,
                columns,
                secret: secret.to_vec().into(),
            }])
        })
    }
}
