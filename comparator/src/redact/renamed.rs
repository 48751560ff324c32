//! What is known by two names: by a `rename` rule the legacy's field and the candidate's are one, so its value is as secret as
//! either name says, on both sides.
//!
//! Whether the rule applied in an exchange does not matter. A value is hidden rather once too often than shown where only one
//! of the two answers has another name for it.

use parity_schemas::verdict::Part;
use smallvec::{SmallVec, smallvec};

use super::Redactor;
use crate::rules::{Action, Rename, Scope};

/// The names of one value: its own, and then those by which rules know it.
pub(super) type Names<'a> = SmallVec<[&'a str; 2]>;

/// All names of what is called `own`, by these rules.
pub(super) fn names<'a>(own: &'a str, renames: &[&'a Rename]) -> Names<'a> {
    let mut names: Names<'_> = smallvec![own];
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        for rename in renames {
            for (one, other) in [(&rename.from, &rename.to), (&rename.to, &rename.from)] {
                if **one == *name && !names.contains(&&**other) {
                    names.push(other);
                }
            }
        }
        at += 1;
    }
    names
}

impl Redactor {
    /// The names of a header or trailer field, or of a part of it.
    pub(super) fn field_names<'a>(&'a self, part: Part, path: &'a str, scope: &Scope) -> Names<'a> {
        let rules = match part {
            Part::Trailer => &scope.trailer,
            _ => &scope.header,
        };
        let renames: SmallVec<[&Rename; 4]> = rules
            .iter()
            .filter_map(|rule| match &self.rules.get(*rule).action {
                // The values of cookies are never shown.
                Action::Rename(rename) if !rename.is_of_cookie() => Some(&**rename),
                _ => None,
            })
            .collect();
        names(path, &renames)
    }

    /// For a body that is recorded as a text, in which there are no places: the same redactor, to which the names that masks end
    /// with, and the other names of secret fields, are secret wherever they stand. `None` if there are none.
    pub(super) fn for_text(&self, scope: &Scope) -> Option<Self> {
        let masks = scope.masks.iter().map(|rule| self.rules.get(*rule));
        let masked = masks.filter(|rule| rule.part == Part::Body);
        let mut secret: Vec<&str> = masked.filter_map(|rule| rule.pattern.last_name()).collect();
        let renames: Vec<&Rename> = scope
            .body
            .iter()
            .filter_map(|rule| match &self.rules.get(*rule).action {
                Action::Rename(rename) => Some(&**rename),
                _ => None,
            })
            .collect();
        let known = |name: &str| self.secret_names.contains(name);
        for rename in &renames {
            for name in [&*rename.from, &*rename.to] {
                if known(name) && !secret.contains(&name) {
                    secret.push(name);
                }
            }
        }
        let mut at = 0;
        while let Some(name) = secret.get(at).copied() {
            for other in names(name, &renames) {
                if !secret.contains(&other) {
                    secret.push(other);
                }
            }
            at += 1;
        }
        secret.retain(|name| !known(name));
        if secret.is_empty() {
            return None;
        }
        Some(Self {
            keep_headers: self.keep_headers.clone(),
            keep_query: self.keep_query.clone(),
            secret_names: self.secret_names.with_whole(&secret),
            text: self.text,
            mac: self.mac.clone(),
            rules: self.rules.clone(),
        })
    }
}
