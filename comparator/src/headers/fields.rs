//! Counts the fields of a header that are compared by default, and those of them that rules leave to compare.

use std::collections::HashSet;

use http::header::{CONNECTION, SET_COOKIE};
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::verdict::Part;

use super::kind::{FieldKind, default_of};
use super::{cookie, names};
use crate::json::Values;
use crate::rules::{Action, Rules, Scope};

/// Counts names, and each cookie by its own. `Date` says nothing of an answer, so it is no field here.
pub(crate) fn count(fields: &FieldLines, part: Part, (rules, scope): (&Rules, &Scope)) -> Values {
    let mut counted = Values::default();
    let of_part = match part {
        Part::Trailer => &scope.trailer,
        _ => &scope.header,
    };
    let mut field = |path: &str| {
        let applying = || {
            let rules = of_part.iter().map(|rule| rules.get(*rule));
            rules.filter(|rule| rule.pattern.covers_header(path))
        };
        counted.all += 1;
        if !applying().any(|rule| matches!(rule.action, Action::Ignore)) {
            counted.left += 1;
            counted.roughly += u64::from(applying().any(|rule| rule.action.is_rough()));
        }
    };
    let connection: Vec<_> = fields.get_all(&CONNECTION).map(FieldValue::lossy).collect();
    let nominated: HashSet<String> = names(&connection).map(str::to_ascii_lowercase).collect();
    let mut lines = fields.sorted();
    lines.dedup_by_key(|line| line.0);
    for (name, _) in &lines {
        match default_of(name) {
            FieldKind::Ignored | FieldKind::Clock => {}
            FieldKind::Cookies => {
                for cookie in cookie::names_in(fields.get_all(&SET_COOKIE)) {
                    field(&format!("{SET_COOKIE}/{cookie}"));
                }
            }
            _ if nominated.contains(name.as_str()) => {}
            _ => field(name.as_str()),
        }
    }
    counted
}
