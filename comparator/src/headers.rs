//! Header and trailer fields.
//!
//! Names have no case and fields no order. Most values are compared as text; those that no service controls, or that
//! follow from the transport, count only by presence, as sets, or not at all ([`Default`]). The lines of one field are
//! one comma list (RFC 9110 §5.3), whose order counts; `Set-Cookie` is the exception and is compared cookie by cookie.

mod cookie;
mod list;

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Side};

use crate::collect::{Collector, Flow, shown, value};
use crate::explain;
use crate::instant::Instant;
use crate::json::number::Decimal;
use crate::limits::PATH_BYTES;
use crate::media::MediaType;
use crate::rules::{Action, Scope};
use list::{directives, elements, parameterized, parameters, set};

/// How a field is compared without a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Default {
    /// A difference is none.
    Ignored,
    /// Present or not, weak or strong.
    Validator,
    /// Present or not.
    Presence,
    /// A set of list elements without case.
    Set,
    /// A set of directives whose names have no case.
    Directives,
    /// The same, parted by semicolons.
    Parameters,
    /// A list in its order; the parameters of an element have none.
    Parameterized,
    MediaType,
    Cookies,
    /// As text.
    Text,
}

fn default_of(name: &HeaderName) -> Default {
    match name.as_str() {
        "date"
        | "server"
        | "via"
        | "x-powered-by"
        | "age"
        | "alt-svc"
        | "content-length"
        | "transfer-encoding"
        | "content-encoding"
        | "grpc-encoding"
        | "grpc-accept-encoding"
        | "connection"
        | "keep-alive"
        | "proxy-connection"
        | "proxy-authenticate"
        | "proxy-authorization"
        | "te"
        | "trailer"
        | "upgrade" => Default::Ignored,
        "etag" => Default::Validator,
        "last-modified" => Default::Presence,
        "vary" => Default::Set,
        "cache-control" => Default::Directives,
        "strict-transport-security" => Default::Parameters,
        "accept"
        | "accept-charset"
        | "accept-encoding"
        | "accept-language"
        | "accept-patch"
        | "accept-post"
        | "content-disposition"
        | "link"
        | "prefer"
        | "preference-applied" => Default::Parameterized,
        "content-type" => Default::MediaType,
        "set-cookie" => Default::Cookies,
        _ => Default::Text,
    }
}

/// One comparison of two sets of fields.
pub(crate) struct Fields<'a, 'c> {
    pub(crate) part: Part,
    pub(crate) legacy: &'a HeaderMap,
    pub(crate) candidate: &'a HeaderMap,
    pub(crate) scope: &'a Scope,
    pub(crate) out: &'a mut Collector<'c>,
}

/// Compares the header fields of two answers, or their trailers.
pub(crate) fn compare(mut fields: Fields<'_, '_>) -> Flow {
    for name in fields.legacy.keys() {
        fields.field(name)?;
    }
    for name in fields.candidate.keys() {
        if !fields.legacy.contains_key(name) {
            fields.field(name)?;
        }
    }
    // A map has no order that another build must keep; the names have one.
    if fields.out.detail {
        let part = fields.part;
        let first = fields
            .out
            .findings
            .iter()
            .position(|finding| finding.part == part);
        if let Some(first) = first {
            fields.out.findings[first..].sort_by(|one, two| one.path.cmp(&two.path));
        }
        let first = fields
            .out
            .tolerated
            .iter()
            .position(|tolerated| tolerated.part == part);
        if let Some(first) = first {
            fields.out.tolerated[first..].sort();
        }
    }
    Flow::Continue(())
}

impl Fields<'_, '_> {
    fn field(&mut self, name: &HeaderName) -> Flow {
        if self.same_lines(name) {
            return Flow::Continue(());
        }
        let default = default_of(name);
        if default == Default::Cookies {
            return self.cookies();
        }
        let path = name.as_str();
        if let Some(rule) = self.rule(path, |action| matches!(action, Action::Ignore)) {
            self.out.excused(rule, self.part, || shown_path(path));
            return Flow::Continue(());
        }
        if default == Default::Ignored || self.nominated(name) {
            self.note(path);
            return Flow::Continue(());
        }
        let (one, two) = match (joined(self.legacy, name), joined(self.candidate, name)) {
            (None, None) => return Flow::Continue(()),
            (Some(one), None) => return self.finding(path, Kind::Missing, Some(&one), None),
            (None, Some(two)) => return self.finding(path, Kind::Extra, None, Some(&two)),
            (Some(one), Some(two)) => (one, two),
        };
        // Bytes that are no text are shown as one replacement character: what that hides must not pass for equal.
        let exact = [self.legacy, self.candidate]
            .iter()
            .all(|headers| headers.get_all(name).iter().all(is_text));
        let equal = match default {
            _ if !exact && !matches!(default, Default::Validator | Default::Presence) => false,
            Default::Validator => one.starts_with("W/") == two.starts_with("W/"),
            Default::Presence => true,
            Default::Set => set(&one.to_ascii_lowercase()) == set(&two.to_ascii_lowercase()),
            Default::Directives => directives(&one) == directives(&two),
            Default::Parameters => parameters(&one) == parameters(&two),
            Default::Parameterized => parameterized(&one).eq(parameterized(&two)),
            Default::MediaType => MediaType::parse(&one).means_the_same(&MediaType::parse(&two)),
            _ => elements(&one).eq(elements(&two)),
        };
        if equal {
            if one != two || default == Default::Text {
                self.note(path);
            }
            return Flow::Continue(());
        }
        if exact && let Some(rule) = self.rule(path, |action| equal_by(action, &one, &two)) {
            self.out.excused(rule, self.part, || shown_path(path));
            return Flow::Continue(());
        }
        self.finding(path, Kind::Value, Some(&one), Some(&two))
    }

    /// Whether both sides have the very same lines.
    fn same_lines(&self, name: &HeaderName) -> bool {
        self.legacy
            .get_all(name)
            .iter()
            .eq(self.candidate.get_all(name))
    }

    /// Whether each side that has the field names it in its `Connection` as meant for the next hop only. A side speaks
    /// for itself alone: else a candidate could hide a difference by naming the legacy's field.
    fn nominated(&self, name: &HeaderName) -> bool {
        let sides = [self.legacy, self.candidate];
        sides
            .iter()
            .filter(|headers| headers.contains_key(name))
            .all(|headers| {
                headers
                    .get_all(http::header::CONNECTION)
                    .iter()
                    .any(|line| {
                        let line = String::from_utf8_lossy(line.as_bytes());
                        line.split(',')
                            .any(|token| token.trim().eq_ignore_ascii_case(name.as_str()))
                    })
            })
    }

    /// The first rule for this path whose action `applies`.
    fn rule(&self, path: &str, applies: impl Fn(&Action) -> bool) -> Option<u16> {
        let rules = match self.part {
            Part::Trailer => &self.scope.trailer,
            _ => &self.scope.header,
        };
        rules.iter().copied().find(|rule| {
            let rule = self.out.rules.get(*rule);
            applies(&rule.action) && rule.pattern.covers_header(path)
        })
    }

    fn note(&mut self, path: &str) {
        if self.out.detail {
            let why = format!("default:{}", path.split('/').next().unwrap_or(path));
            self.out.tolerated(self.part, || shown_path(path), &why);
        }
    }

    fn finding(
        &mut self,
        path: &str,
        kind: Kind,
        legacy: Option<&str>,
        candidate: Option<&str>,
    ) -> Flow {
        let part = self.part;
        self.out.finding(|limits| {
            let value = |text: Option<&str>| {
                text.map_or(Side::Absent, |text| {
                    value(text.as_bytes(), limits.value_bytes)
                })
            };
            Finding {
                part,
                path: shown_path(path),
                candidate_path: None,
                pattern: shown_path(path),
                kind,
                legacy: value(legacy),
                candidate: value(candidate),
                explanation: match (legacy, candidate) {
                    // The same as shown, where they are no text.
                    (Some(one), Some(two)) if one == two => None,
                    (Some(one), Some(two)) => explain::texts(one.as_bytes(), two.as_bytes()),
                    (Some(""), None) | (None, Some("")) => Some(Explanation::EmptyVsMissing),
                    _ => None,
                },
                text_diff: None,
            }
        })
    }
}

/// A name may be as long as a service likes; the path of a finding may not.
fn shown_path(path: &str) -> String {
    shown(path.as_bytes(), PATH_BYTES)
}

fn is_text(value: &HeaderValue) -> bool {
    std::str::from_utf8(value.as_bytes()).is_ok()
}

/// The lines of a field as one list; `None` without any. Bytes that are not UTF-8 are shown as U+FFFD.
fn joined<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, str>> {
    let mut lines = headers.get_all(name).iter();
    let first = String::from_utf8_lossy(lines.next()?.as_bytes());
    let mut rest = lines.peekable();
    if rest.peek().is_none() {
        return Some(first);
    }
    let mut all = first.into_owned();
    for line in rest {
        all.push_str(", ");
        all.push_str(&String::from_utf8_lossy(line.as_bytes()));
    }
    Some(Cow::Owned(all))
}

/// Whether a rule makes two different values equal.
fn equal_by(action: &Action, legacy: &str, candidate: &str) -> bool {
    let decimals = || {
        Some((
            Decimal::parse(legacy.as_bytes())?,
            Decimal::parse(candidate.as_bytes())?,
        ))
    };
    match action {
        Action::Unordered => {
            let sorted = |text| {
                let mut list: Vec<&str> = elements(text).collect();
                list.sort_unstable();
                list
            };
            sorted(legacy) == sorted(candidate)
        }
        Action::Absolute(bound) => decimals().is_some_and(|(one, two)| one.within(&two, bound)),
        Action::Relative(factor) => {
            decimals().is_some_and(|(one, two)| one.within_relative(&two, factor))
        }
        Action::Number => decimals().is_some_and(|(one, two)| one == two),
        Action::Timestamp => {
            let (one, two) = (
                Instant::parse(legacy.as_bytes()),
                Instant::parse(candidate.as_bytes()),
            );
            one.is_some() && one == two
        }
        Action::Uuid => {
            let (one, two) = (
                uuid::Uuid::try_parse(legacy).ok(),
                uuid::Uuid::try_parse(candidate).ok(),
            );
            one.is_some() && one == two
        }
        Action::Accept(..) => explain::texts(legacy.as_bytes(), candidate.as_bytes())
            .is_some_and(|near| action.accepts(Kind::Value, near)),
        Action::Ignore | Action::Key(_) | Action::Mask => false,
    }
}
