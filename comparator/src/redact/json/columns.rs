//! Lists in which the position of a value tells its name: by the element before it, or by a list of names next to it or
//! above it.
//!
//! - `["password", …]`: the values after a secret name in a list are secret.
//! - `{"columns": ["id", "password"], "rows": [[1, …]]}`, `[["id", "password"], [1, …]]`: a list of names makes that
//!   position secret in every list of the same length beside it, at any depth.

use smallvec::SmallVec;

use super::reading::NamedTree;
use crate::notation::index::NodeKind;
use crate::redact::context::{Context, MAX_HEADERS, SecretColumns};
use crate::redact::last_word::ends_in;

/// Members that list column names as objects.
const COLUMNS: [&[u8]; 10] = [
    b"attribute",
    b"col",
    b"column",
    b"desc",
    b"description",
    b"field",
    b"head",
    b"header",
    b"metadata",
    b"schema",
];
/// Most names of one list that are checked; tables have fewer columns.
const MAX_COLUMNS: usize = 1_000;
/// Levels of objects in which lists of column names are searched.
const MAX_HEADER_DEPTH: usize = 2;
/// Longest list in which everything after a secret name is hidden; in a longer list, only the next element is.
const MAX_LIST: usize = 4;

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

    /// The positions of secret names in a list of names, or of objects that hold names.
    fn secret_positions(&mut self, list: u32, objects: bool) -> SmallVec<[usize; 4]> {
        let mut secret = SmallVec::new();
        let elements: Vec<u32> = self.tree.elements(list).take(MAX_COLUMNS).collect();
        for (at, element) in elements.into_iter().enumerate() {
            let named = match self.tree.kind(element) {
                NodeKind::String => {
                    let text = self.key_text(element);
                    self.redactor.secret_names.contains_label(&text)
                }
                NodeKind::Object if objects => self.named_by_members(element).values,
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

    /// The context that the lists of names in an object give to its other lists.
    pub(super) fn columns_of(&mut self, object: u32, around: &Context) -> Option<Context> {
        let mut tables = Vec::new();
        self.tables_in(object, 0, &mut tables);
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
        (!tables.is_empty()).then(|| around.with(tables))
    }

    fn tables_in(&mut self, object: u32, depth: usize, tables: &mut Vec<SecretColumns>) {
        for key in self.tree.keys(object) {
            let value = key + 1;
            if tables.len() > MAX_HEADERS {
                return;
            }
            match self.tree.kind(value) {
                NodeKind::Array => {
                    let name = self.key_text(key);
                    let objects = ends_in(&name, &COLUMNS);
                    if depth > 0 && !objects {
                        continue;
                    }
                    let secret = self.secret_positions(value, objects);
                    if !secret.is_empty() {
                        let columns = self.tree.elements(value).count();
                        tables.push(SecretColumns {
                            header: value,
                            columns,
                            secret: secret.to_vec().into(),
                        });
                    }
                }
                NodeKind::Object if depth < MAX_HEADER_DEPTH => {
                    self.tables_in(value, depth + 1, tables);
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
        let (header, others) = elements.split_first()?;
        let row = |at: &u32| self.tree.kind(*at) == NodeKind::Array;
        if around.is_header(list) || !row(header) || !others.iter().any(row) {
            return None;
        }
        let secret = self.secret_positions(*header, false);
        let columns = self.tree.elements(*header).count();
        // In a pair, the first element names the second.
        let pair = columns == 2
            && secret.as_slice() == [0]
            && others.iter().all(|other| {
                let mut elements = self.tree.elements(*other);
                elements
                    .next()
                    .is_some_and(|first| self.tree.kind(first) == NodeKind::String)
            });
        (!secret.is_empty() && !pair).then(|| {
            around.with(vec![SecretColumns {
                header: *header,
                columns,
                secret: secret.to_vec().into(),
            }])
        })
    }
}
