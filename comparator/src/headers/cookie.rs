//! `Set-Cookie`: one finding for each cookie that differs.
//!
//! The lines are never joined (their dates have commas). Cookies are matched by name; of one name they are a multiset.
//! Attributes have no order and names without case; `Expires` counts by presence, because it is the time of the answer
//! plus a constant that `Max-Age` says exactly.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::SET_COOKIE;
use parity_schemas::verdict::Kind;

use super::Fields;
use crate::collect::Flow;
use crate::rules::Action;

/// One line, taken apart.
struct Cookie {
    line: String,
    value: String,
    /// Sorted; names in lower case, values normalized.
    attributes: Vec<(String, String)>,
}

impl Cookie {
    fn same(&self, other: &Self) -> bool {
        self.value == other.value && self.attributes == other.attributes
    }
}

fn by_name(headers: &HeaderMap) -> BTreeMap<String, Vec<Cookie>> {
    let mut cookies: BTreeMap<String, Vec<Cookie>> = BTreeMap::new();
    for line in headers.get_all(SET_COOKIE) {
        let line = String::from_utf8_lossy(line.as_bytes()).into_owned();
        let mut parts = line.split(';');
        let pair = parts.next().unwrap_or_default();
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        let mut attributes: Vec<_> = parts.filter_map(attribute).collect();
        attributes.sort();
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        cookies.entry(name).or_default().push(Cookie {
            line,
            value,
            attributes,
        });
    }
    cookies
}

fn attribute(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let value = match name.as_str() {
        "" => return None,
        "expires" => String::new(),
        // RFC 6265 §5.2.3: a leading dot is ignored.
        "domain" => value.trim_start_matches('.').to_ascii_lowercase(),
        "samesite" | "priority" => value.to_ascii_lowercase(),
        _ => value.to_owned(),
    };
    Some((name, value))
}

impl Fields<'_, '_> {
    pub(super) fn cookies(&mut self) -> Flow {
        let (legacy, mut candidate) = (by_name(self.legacy), by_name(self.candidate));
        for (name, ours) in legacy {
            let theirs = candidate.remove(&name).unwrap_or_default();
            self.cookie(&name, ours, theirs)?;
        }
        for (name, theirs) in candidate {
            self.cookie(&name, Vec::new(), theirs)?;
        }
        Flow::Continue(())
    }

    fn cookie(&mut self, name: &str, mut ours: Vec<Cookie>, mut theirs: Vec<Cookie>) -> Flow {
        let path = format!("set-cookie/{name}");
        ours.retain(|one| match theirs.iter().position(|two| one.same(two)) {
            Some(position) => {
                theirs.remove(position);
                false
            }
            None => true,
        });
        if ours.is_empty() && theirs.is_empty() {
            return Flow::Continue(());
        }
        if let Some(rule) = self.rule(&path, |action| matches!(action, Action::Ignore)) {
            self.out.excused(rule, self.part, || path);
            return Flow::Continue(());
        }
        let common = ours.len().min(theirs.len());
        for (one, two) in ours.iter().zip(&theirs) {
            self.finding(&path, Kind::Value, Some(&one.line), Some(&two.line))?;
        }
        for one in &ours[common..] {
            self.finding(&path, Kind::Missing, Some(&one.line), None)?;
        }
        for two in &theirs[common..] {
            self.finding(&path, Kind::Extra, None, Some(&two.line))?;
        }
        Flow::Continue(())
    }
}
