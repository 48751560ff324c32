//! What is known of the values at a place from what stands beside it or around it.

use std::collections::HashSet;
use std::rc::Rc;

use smallvec::SmallVec;

/// Lists of names that are kept in mind at a place; each list below is held against all. Beyond, all values are hidden.
pub(super) const MAX_TABLES: usize = 64;

/// What is known of values from what stands beside or around them.
#[derive(Clone, Default)]
pub(super) struct Beside {
    /// Strings and numbers are hidden.
    pub(super) veiled: bool,
    /// Members with these names are secret; only in the object itself.
    names: Option<Rc<HashSet<String>>>,
    tables: Option<Rc<[Table]>>,
}

/// Secret positions in lists of one length.
#[derive(Clone)]
pub(super) struct Table {
    /// The list of the names.
    pub(super) header: u32,
    pub(super) columns: usize,
    pub(super) secret: Rc<[usize]>,
}

impl Beside {
    /// What holds for members and elements.
    pub(super) fn below(&self) -> Self {
        Self {
            names: None,
            ..self.clone()
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        let names = self.names.as_deref();
        names.is_some_and(|names| names.contains(name))
    }

    pub(super) fn add(&mut self, operation: &Operation) {
        match operation {
            Operation::Variables(names) => self.names = Some(Rc::clone(names)),
            Operation::Unknown | Operation::Unread => self.veiled = true,
        }
    }

    /// Whether it says something of what is written in a text.
    pub(super) fn leads_into(&self, text: &str) -> bool {
        self.names.is_some() && text.trim_start().starts_with('{')
    }

    /// The positions of a list that are secret by any list of names that may be about it: which one is, nothing says.
    /// `None` if there is no such list of names.
    pub(super) fn hides(&self, list: u32, length: usize) -> Option<SmallVec<[usize; 4]>> {
        let tables = self.tables.as_deref()?;
        let mut about = tables
            .iter()
            .filter(|table| table.columns == length && table.header != list)
            .peekable();
        about.peek()?;
        Some(
            about
                .flat_map(|table| table.secret.iter().copied())
                .collect(),
        )
    }

    pub(super) fn is_header(&self, list: u32) -> bool {
        let tables = self.tables.as_deref().unwrap_or_default();
        tables.iter().any(|table| table.header == list)
    }

    /// What is known below, where these stand too.
    pub(super) fn with(&self, tables: Vec<Table>) -> Self {
        let outer = self.tables.as_deref().unwrap_or_default();
        if outer.len() + tables.len() > MAX_TABLES {
            return Self {
                veiled: true,
                names: None,
                tables: None,
            };
        }
        Self {
            veiled: self.veiled,
            names: None,
            tables: Some(tables.into_iter().chain(outer.iter().cloned()).collect()),
        }
    }
}

/// What a GraphQL request says of its variables.
pub(super) enum Operation {
    /// These are secret.
    Variables(Rc<HashSet<String>>),
    /// All may be.
    Unknown,
    /// The same, because it cannot be read.
    Unread,
}
