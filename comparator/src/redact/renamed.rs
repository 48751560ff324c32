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
                if is_same(one, name) && !names.contains(&&**other) {
                    names.push(other);
                }
            }
        }
        at += 1;
    }
    names
}

/// Whether two names differ in nothing but the case of letters. For hiding this is one name, although rules are exact.
fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
        || (!one.is_ascii() && one.to_lowercase() == other.to_lowercase())
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

    /// Whether the name of a member makes its value secret. Where rules lead, they say themselves what their names mean, and
    /// only there; no rule leads into a text.
    pub(super) fn is_secret_at_its_place(&self, name: &str, scope: &Scope) -> bool {
        if scope.hiding.is_empty() {
            self.secret_names.contains(name)
        } else {
            self.secret_names.contains_anywhere(name)
        }
    }

    /// For what has a structure in which rules lead to places: the same redactor, without the names that rules make secret.
    /// `None` if there are none.
    pub(super) fn for_places(&self) -> Option<Self> {
        (self.secret_names.has_whole()).then(|| self.with_whole(&[]))
    }

    /// For one exchange. In texts there are no places, be they bodies, strings within them, or fields: there the names that masks
    /// end with, and the other names of secret fields, are secret wherever they stand. `None` if there are none.
    pub(super) fn for_exchange(&self, scope: &Scope) -> Option<Self> {
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
        Some(self.with_whole(&secret))
    }

    fn with_whole(&self, names: &[&str]) -> Self {
        Self {
            keep_headers: self.keep_headers.clone(),
            keep_query: self.keep_query.clone(),
            secret_names: self.secret_names.with_whole(names),
            text: self.text,
            mac: self.mac.clone(),
            rules: self.rules.clone(),
        }
    }
}
