//! Lists whose values are named by their position: by the element before, or by a list of names beside or above them.
//!
//! - `["password", …]`: what stands behind a secret name in a list.
//! - `{"columns": ["id", "password"], "rows": [[1, …]]}`, `[["id", "password"], [1, …]]`: a list of names makes that
//!   position secret in every list of the same length beside it, at any depth.

use smallvec::SmallVec;

use super::reading::Reading;
use crate::notation::index::NodeKind;
use crate::redact::beside::{Beside, MAX_TABLES, Table};
use crate::redact::last_word::ends_in;

/// Members that hold the names of columns as objects.
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
/// Names that are looked at in one list; tables have fewer columns.
const MAX_COLUMNS: usize = 1_000;
/// Objects within an object in which the names of columns are looked for.
const MAX_HEADER_DEPTH: usize = 2;
/// Longest list behind a secret name in which all that follows is hidden; in a longer one, the next only.
const MAX_LIST: usize = 4;

impl Reading<'_> {
    /// The positions behind secret names in a list.
    pub(super) fn behind_names(&mut self, elements: &[u32]) -> SmallVec<[usize; 4]> {
        let mut behind = SmallVec::new();
        for (at, element) in elements.iter().enumerate() {
            if at + 1 == elements.len() || self.tree.kind(*element) != NodeKind::String {
                continue;
            }
            let text = self.key_text(*element);
            let names = &self.redactor.names;
            if !(names.are_exactly(&text) || (elements.len() == 2 && names.are_named(&text))) {
                continue;
            }
            let end = if elements.len() <= MAX_LIST {
                elements.len()
            } else {
                at + 2
            };
            behind.extend(at + 1..end);
        }
        behind
    }

    /// The positions of secret names in a list of names, or of objects that have names.
    fn secret_positions(&mut self, list: u32, objects: bool) -> SmallVec<[usize; 4]> {
        let mut secret = SmallVec::new();
        let elements: Vec<u32> = self.tree.elements(list).take(MAX_COLUMNS).collect();
        for (at, element) in elements.into_iter().enumerate() {
            let named = match self.tree.kind(element) {
                NodeKind::String => {
                    let text = self.key_text(element);
                    self.redactor.names.are_named(&text)
                }
                NodeKind::Object if objects => self.named_by_members(element).values,
                // No list of names.
                NodeKind::Array => return SmallVec::new(),
                _ => false,
            };
            if named {
                secret.push(at);
            }
        }
        secret
    }

    /// The lists of names in an object, which say what stands in the other lists.
    pub(super) fn columns_of(&mut self, object: u32, around: &Beside) -> Option<Beside> {
        let mut tables = Vec::new();
        self.tables_in(object, 0, &mut tables);
        // With too many nothing is told apart, see `with`.
        if (1..=MAX_TABLES).contains(&tables.len()) {
            let lists: Vec<(u32, usize)> = (object..self.tree.next(object))
                .filter(|at| self.tree.kind(*at) == NodeKind::Array)
                .map(|list| (list, self.tree.elements(list).count()))
                .collect();
            // Else they are names of nothing.
            tables.retain(|table| {
                lists
                    .iter()
                    .any(|(list, length)| *length == table.columns && *list != table.header)
            });
        }
        (!tables.is_empty()).then(|| around.with(tables))
    }

    fn tables_in(&mut self, object: u32, depth: usize, tables: &mut Vec<Table>) {
        for key in self.tree.keys(object) {
            let value = key + 1;
            if tables.len() > MAX_TABLES {
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
                        tables.push(Table {
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

    /// Of a list of lists, what its first one says of the others.
    pub(super) fn rows_below(
        &mut self,
        list: u32,
        elements: &[u32],
        around: &Beside,
    ) -> Option<Beside> {
        let (header, others) = elements.split_first()?;
        let row = |at: &u32| self.tree.kind(*at) == NodeKind::Array;
        if around.is_header(list) || !row(header) || !others.iter().any(row) {
            return None;
        }
        let secret = self.secret_positions(*header, false);
        let columns = self.tree.elements(*header).count();
        // A pair names its own value.
        let pair = columns == 2
            && secret.as_slice() == [0]
            && others.iter().all(|other| {
                let mut elements = self.tree.elements(*other);
                elements
                    .next()
                    .is_some_and(|first| self.tree.kind(first) == NodeKind::String)
            });
        (!secret.is_empty() && !pair).then(|| {
            around.with(vec![Table {
                header: *header,
                columns,
                secret: secret.to_vec().into(),
            }])
        })
    }
}
