//! What the values around a position tell about the values at it.

use std::collections::HashSet;
use std::rc::Rc;

use smallvec::SmallVec;

/// Lists of names that apply at one position. Every list below is checked against all of them; with more, all values
/// are hidden.
pub(super) const MAX_HEADERS: usize = 64;

/// What the values around a position tell about the values at it.
#[derive(Clone, Default)]
pub(super) struct Context {
    /// All strings and numbers here are hidden.
    pub(super) hides_scalars: bool,
    /// Members with these names are secret, but only those of the object itself.
    names: Option<Rc<HashSet<String>>>,
    /// Members with these names are secret, also those of objects below.
    keys: Option<Rc<HashSet<String>>>,
    columns_of_lists: Option<Rc<[SecretColumns]>>,
}

/// The secret positions in lists of one length.
#[derive(Clone)]
pub(super) struct SecretColumns {
    /// The list that holds the names.
    pub(super) header: u32,
    pub(super) columns: usize,
    pub(super) secret: Rc<[usize]>,
}

impl Context {
    /// The part that applies to members and elements, too.
    pub(super) fn below(&self) -> Self {
        Self {
            names: None,
            ..self.clone()
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        [&self.names, &self.keys]
            .into_iter()
            .any(|names| names.as_ref().is_some_and(|names| names.contains(name)))
    }

    /// Members of the object here that are secret.
    pub(super) fn add_names(&mut self, names: Rc<HashSet<String>>) {
        self.names = Some(names);
    }

    /// The context below, with the members that hold the values of secret columns.
    pub(super) fn with_keys(mut self, keys: HashSet<String>) -> Self {
        let outer = self.keys.as_deref();
        if keys.len() + outer.map_or(0, HashSet::len) > MAX_HEADERS {
            self.hides_scalars = true;
        } else if !keys.is_empty() {
            let outer = outer.into_iter().flatten().cloned();
            self.keys = Some(keys.into_iter().chain(outer).collect::<HashSet<_>>().into());
        }
        self
    }

    pub(super) fn add(&mut self, operation: &Operation) {
        match operation {
            Operation::Variables(names) => self.names = Some(Rc::clone(names)),
            Operation::Unknown | Operation::Unreadable => self.hides_scalars = true,
        }
    }

    /// Whether it applies to the content of this text as well.
    pub(super) fn applies_within(&self, text: &str) -> bool {
        self.names.is_some() && text.trim_start().starts_with('{')
    }

    /// The positions of a list that are secret according to any list of names of the same length, because nothing says
    /// which one describes it. `None` if there is no such list of names.
    pub(super) fn hides(&self, list: u32, length: usize) -> Option<SmallVec<[usize; 4]>> {
        let columns_of_lists = self.columns_of_lists.as_deref()?;
        let mut about = columns_of_lists
            .iter()
            .filter(|columns| columns.columns == length && columns.header != list)
            .peekable();
        about.peek()?;
        Some(
            about
                .flat_map(|columns| columns.secret.iter().copied())
                .collect(),
        )
    }

    pub(super) fn is_header(&self, list: u32) -> bool {
        let columns_of_lists = self.columns_of_lists.as_deref().unwrap_or_default();
        columns_of_lists
            .iter()
            .any(|columns| columns.header == list)
    }

    /// The context below, with these lists of names added.
    pub(super) fn with(&self, columns_of_lists: Vec<SecretColumns>) -> Self {
        let outer = self.columns_of_lists.as_deref().unwrap_or_default();
        if outer.len() + columns_of_lists.len() > MAX_HEADERS {
            return Self {
                hides_scalars: true,
                ..Self::default()
            };
        }
        Self {
            hides_scalars: self.hides_scalars,
            names: None,
            keys: self.keys.clone(),
            columns_of_lists: Some(
                columns_of_lists
                    .into_iter()
                    .chain(outer.iter().cloned())
                    .collect(),
            ),
        }
    }
}

/// Which variables of a GraphQL request are secret.
pub(super) enum Operation {
    /// The ones with these names.
    Variables(Rc<HashSet<String>>),
    /// Possibly all.
    Unknown,
    /// Possibly all, because the query cannot be parsed.
    Unreadable,
}
