//! Counts the fields of a header that are compared by default, and those of them that rules leave to compare.

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
    for (place, (name, _)) in fields.iter().enumerate() {
        let is_first = || fields.iter().take(place).all(|(before, _)| before != name);
        let is_nominated = || names(&connection).any(|one| one.eq_ignore_ascii_case(name.as_str()));
        match default_of(name) {
            FieldKind::Ignored | FieldKind::Clock => {}
            FieldKind::Cookies => {
                if is_first() {
                    for cookie in cookie::names_in(fields.get_all(&SET_COOKIE)) {
                        field(&format!("{SET_COOKIE}/{cookie}"));
                    }
                }
            }
            _ if is_first() && !is_nominated() => field(name.as_str()),
            _ => {}
        }
    }
    counted
}
