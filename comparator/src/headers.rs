//! Compares header and trailer fields.
//!
//! Names have no case and fields no order. Most values are compared as text. Those that no service controls, or that
//! follow from the transport, are compared only by presence, as sets, or not at all ([`FieldKind`]). A field in several
//! lines, and one that is known to be a comma list (RFC 9110 §5.3), is compared by its elements, whose order counts.
//! `Set-Cookie` is compared cookie by cookie, the clocks of `Date` must agree, and the client must be able to read the
//! candidate's `Content-Encoding`.

mod clock;
mod coding;
mod cookie;
mod fields;
mod kind;
mod list;
mod renamed;

use std::borrow::Cow;
use std::time::Duration;

use http::HeaderName;
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH};
use parity_schemas::fields::{FieldLine, FieldLines, FieldValue};
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Side, Why};
use smallvec::SmallVec;

use crate::collect::{Collector, Flow, shown, value};
use crate::explain;
use crate::json::Scalar;
use crate::limits::PATH_BYTES;
use crate::media::{BodyKind, Declared, MediaType};
use crate::rules::{Action, Scope};
pub(crate) use fields::count;
use kind::{FieldKind, default_of};
use list::{directives, elements, parameterized, parameters, set};

/// The comparison of the fields of two answers.
pub(crate) struct FieldComparison<'a, 'c> {
    pub(crate) part: Part,
    pub(crate) legacy: &'a FieldLines,
    pub(crate) candidate: &'a FieldLines,
    /// The fields of the request; `None` if not known.
    pub(crate) request: Option<&'a FieldLines>,
    /// Whether there is no body, so that the fields are all that is known of it: the answer to HEAD.
    pub(crate) for_body: bool,
    /// How far apart in time the answers may have been written; `None` if not known.
    pub(crate) apart: Option<Duration>,
    pub(crate) scope: &'a Scope,
    pub(crate) out: &'a mut Collector<'c>,
    /// The values of `Connection` on both sides, filled when they are first needed.
    pub(crate) connections: Option<[Vec<Cow<'a, str>>; 2]>,
}

/// Compares the header fields of two answers, or their trailers.
pub(crate) fn compare(mut fields: FieldComparison<'_, '_>) -> Flow {
    let sides = [fields.legacy, fields.candidate];
    let told = fields.out.findings.len();
    let renamed = fields.renamed();
    for pair in &renamed {
        fields.renamed_field(pair)?;
    }
    let is_done = |name: &HeaderName| {
        let has = |other: &str| name.as_str() == other;
        renamed
            .iter()
            .any(|(_, rename)| has(&rename.from) || has(&rename.to))
    };
    if let Some(names) = differing_in_step(sides) {
        for name in names {
            let lines = sides.map(|side| side.lines_of(name));
            fields.field(name, [&lines[0], &lines[1]])?;
        }
        return Flow::Continue(());
    }
    let sorted = sides.map(FieldLines::sorted);
    let mut left: [Lines<'_>; 2] = [&sorted[0], &sorted[1]];
    while let Some(name) = first_name(left) {
        let mut lines: [Lines<'_>; 2] = [&[]; 2];
        for (lines, left) in lines.iter_mut().zip(&mut left) {
            let end = left.iter().take_while(|line| line.0 == name).count();
            (*lines, *left) = left.split_at(end);
        }
        if lines[0] != lines[1] && !is_done(name) {
            fields.field(name, lines)?;
        }
    }
    fields.explain_other_names(told);
    Flow::Continue(())
}

/// Most names that are looked up one by one; with more, all lines are sorted.
const FEW_NAMES: usize = 8;

/// If both sides have the same names in the same order, as two builds of one service mostly do: the names whose lines
/// differ, in their order. `None` if the order differs, or too many lines do.
fn differing_in_step(
    [legacy, candidate]: [&FieldLines; 2],
) -> Option<SmallVec<[&HeaderName; FEW_NAMES]>> {
    let mut names = SmallVec::new();
    if legacy.len() != candidate.len() {
        return None;
    }
    for (one, two) in legacy.iter().zip(candidate.iter()) {
        if one.0 != two.0 {
            return None;
        }
        if one.1 != two.1 && !names.contains(&one.0) {
            if names.len() == FEW_NAMES {
                return None;
            }
            names.push(one.0);
        }
    }
    names.sort_unstable_by_key(|name| name.as_str());
    Some(names)
}

/// Lines sorted by name.
type Lines<'a> = &'a [FieldLine<'a>];

/// The name that comes first on either side.
fn first_name<'a>(sides: [Lines<'a>; 2]) -> Option<&'a HeaderName> {
    let first = |side: Lines<'a>| side.first().map(|line| line.0);
    match sides.map(first) {
        [Some(one), Some(two)] if one == two => Some(one),
        firsts => firsts
            .into_iter()
            .flatten()
            .min_by_key(|name| name.as_str()),
    }
}

impl FieldComparison<'_, '_> {
    /// Those for this part of the answers.
    fn rules(&self) -> &[u16] {
        match self.part {
            Part::Trailer => &self.scope.trailer,
            _ => &self.scope.header,
        }
    }

    /// Compares the lines of one name, which differ between the sides.
    fn field(&mut self, name: &HeaderName, lines: [Lines<'_>; 2]) -> Flow {
        let default = default_of(name);
        if default == FieldKind::Cookies {
            return self.cookies();
        }
        let path = name.as_str();
        if let Some(rule) = self.rule(path, |action| matches!(action, Action::Ignore)) {
            self.out.excused(rule, self.part, || shown_path(path));
            return Flow::Continue(());
        }
        let agrees = match default {
            FieldKind::Ignored if *name == CONTENT_LENGTH => !self.tells_a_length(lines),
            FieldKind::Ignored if *name == CONTENT_ENCODING => !self.is_refused(),
            FieldKind::Ignored if *name == CONNECTION => !self.drops_a_field(),
            FieldKind::Ignored => true,
            FieldKind::Clock => clock::agree(self.legacy, self.candidate, self.apart),
            _ => self.nominated(name),
        };
        if agrees {
            self.note(path);
            return Flow::Continue(());
        }
        let separator = match default {
            FieldKind::Single => "\n",
            _ => ", ",
        };
        let (one, two) = match (joined(lines[0], separator), joined(lines[1], separator)) {
            (None, None) => return Flow::Continue(()),
            (Some(one), None) => return self.finding(path, Kind::Missing, Some(&one), None),
            (None, Some(two)) => return self.finding(path, Kind::Extra, None, Some(&two)),
            (Some(one), Some(two)) => (one, two),
        };
        // Bytes that are not text all become the same replacement character, which must not hide a difference.
        let mut values = lines.iter().copied().flatten();
        let exact = values.all(|(_, value)| value.as_str().is_some());
        let equal = match default {
            _ if !exact && !matches!(default, FieldKind::Validator | FieldKind::Presence) => false,
            FieldKind::Validator => strengths(lines[0]).eq(strengths(lines[1])),
            FieldKind::Presence => true,
            FieldKind::Set => set(&one.to_ascii_lowercase()) == set(&two.to_ascii_lowercase()),
            FieldKind::Directives => directives(&one) == directives(&two),
            FieldKind::Parameters => parameters(&one) == parameters(&two),
            FieldKind::Parameterized => parameterized(&one).eq(parameterized(&two)),
            FieldKind::MediaType => {
                lines[0].len() == lines[1].len()
                    && MediaType::parse(&one).means_the_same(&MediaType::parse(&two))
            }
            // The lines differ, and they are no list.
            FieldKind::Single => false,
            FieldKind::List => elements(&one).eq(elements(&two)),
            // Only a list may be in several lines (RFC 9110 §5.3).
            FieldKind::Text if lines.iter().any(|lines| lines.len() > 1) => {
                elements(&one).eq(elements(&two))
            }
            _ => one == two,
        };
        if equal {
            if one != two || matches!(default, FieldKind::List | FieldKind::Text) {
                self.note(path);
            }
            return Flow::Continue(());
        }
        let apart = self.out.apart;
        let excuses = |action: &Action| equal_by(action, &one, &two, apart);
        if exact && let Some(rule) = self.rule(path, excuses) {
            self.out.excused(rule, self.part, || shown_path(path));
            return Flow::Continue(());
        }
        self.finding(path, Kind::Value, Some(&one), Some(&two))
    }

    /// Whether the stated lengths of a body that is not here show that it differs. A structured body may have another
    /// length and still be equal, but not if one of them is empty.
    fn tells_a_length(&self, lines: [Lines<'_>; 2]) -> bool {
        if !self.for_body || lines.iter().any(|lines| lines.is_empty()) {
            return false;
        }
        let sides = [self.legacy, self.candidate];
        let [legacy, candidate] = sides.map(Declared::of);
        let encodings = sides.map(|side| side.lines_of(&CONTENT_ENCODING));
        let by_bytes = matches!(legacy.kind, Some(BodyKind::Text | BodyKind::Bytes))
            && legacy == candidate
            && encodings[0] == encodings[1];
        let is_zero = |line: &FieldLine<'_>| line.1.as_bytes().iter().all(|digit| *digit == b'0');
        let empty = lines.map(|lines| lines.iter().all(is_zero));
        // Nothing may be some bytes in a coding.
        let one_is_empty = match empty {
            [true, false] => encodings[1].is_empty(),
            [false, true] => encodings[0].is_empty(),
            _ => false,
        };
        by_bytes || one_is_empty
    }

    /// Whether the client cannot read the candidate's coding.
    fn is_refused(&self) -> bool {
        self.request
            .is_some_and(|request| coding::is_refused(request, self.legacy, self.candidate))
    }

    /// Whether both sides list the field in `Connection`, so that it is meant for the next hop only. One side alone is
    /// not enough: a candidate could hide whatever it adds or changes.
    fn nominated(&mut self, name: &HeaderName) -> bool {
        let connections = self.connections();
        connections
            .iter()
            .all(|lines| names(lines).any(|named| named.eq_ignore_ascii_case(name.as_str())))
    }

    /// Whether only one side lists a field in `Connection` that both have. The next proxy drops it there, so that no
    /// client gets it, however equal it is here.
    fn drops_a_field(&mut self) -> bool {
        let sides = [self.legacy, self.candidate];
        let [one, two] = self.connections();
        let drops = |ours: &[Cow<'_, str>], theirs: &[Cow<'_, str>]| {
            names(ours).any(|name| {
                let is = |other: &str| other.eq_ignore_ascii_case(name);
                !names(theirs).any(is)
                    && !OF_A_CONNECTION.iter().any(|own| is(own))
                    && sides
                        .iter()
                        .all(|side| side.iter().any(|(other, _)| is(other.as_str())))
            })
        };
        drops(one, two) || drops(two, one)
    }

    /// The values of `Connection` on both sides.
    fn connections(&mut self) -> &[Vec<Cow<'_, str>>; 2] {
        let sides = [self.legacy, self.candidate];
        self.connections.get_or_insert_with(|| {
            sides.map(|side| side.get_all(&CONNECTION).map(FieldValue::lossy).collect())
        })
    }

    /// The first rule for this path whose action `applies`.
    fn rule(&self, path: &str, applies: impl Fn(&Action) -> bool) -> Option<u16> {
        self.rules().iter().copied().find(|rule| {
            let rule = self.out.rules.get(*rule);
            applies(&rule.action) && rule.pattern.covers_header(path)
        })
    }

    fn note(&mut self, path: &str) {
        if self.out.detail {
            let name = path.split('/').next().unwrap_or(path);
            let why = Why::Field(name.to_owned());
            self.out.tolerated(self.part, || shown_path(path), why);
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
                    // They read the same if they are not text.
                    (Some(one), Some(two)) if one == two => None,
                    (Some(one), Some(two)) => explain::texts(one.as_bytes(), two.as_bytes()),
                    (Some(""), None) | (None, Some("")) => Some(Explanation::EmptyVsMissing),
                    (None, Some(_)) if explain::names_marker(path.as_bytes()) => {
                        Some(Explanation::Echo)
                    }
                    _ => None,
                },
                text_diff: None,
            }
        })
    }
}

/// The path of a finding, cut: a service chooses how long its names are.
fn shown_path(path: &str) -> String {
    shown(path.as_bytes(), PATH_BYTES)
}

/// Fields that are for a single connection whether `Connection` names them or not.
const OF_A_CONNECTION: [&str; 8] = [
    "close",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The names that lines of `Connection` list.
fn names<'a>(lines: &'a [Cow<'_, str>]) -> impl Iterator<Item = &'a str> {
    let parts = lines.iter().flat_map(|line| line.split(','));
    parts.map(str::trim)
}

/// Of each line of `ETag`: whether it is empty, and whether the tag is weak; `None` if it is no entity tag (RFC 9110
/// §8.8.3), which caches ignore.
fn strengths(lines: Lines<'_>) -> impl Iterator<Item = (bool, Option<bool>)> {
    lines.iter().map(|(_, value)| {
        let tag = value.as_bytes();
        let (weak, quoted) = match tag.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, tag),
        };
        let opaque = quoted
            .strip_prefix(b"\"")
            .and_then(|rest| rest.strip_suffix(b"\""));
        let is_tag = opaque.is_some_and(|text| {
            text.iter()
                .all(|byte| *byte > b' ' && !matches!(byte, b'"' | 0x7f))
        });
        (tag.is_empty(), is_tag.then_some(weak))
    })
}

/// The lines of a field as one list; `None` if there are none. Bytes that are not UTF-8 become U+FFFD.
fn joined<'a>(lines: Lines<'a>, separator: &str) -> Option<Cow<'a, str>> {
    let mut texts = lines.iter().map(|line| line.1.lossy());
    let first = texts.next()?;
    if lines.len() == 1 {
        return Some(first);
    }
    let all: Vec<_> = std::iter::once(first).chain(texts).collect();
    Some(all.join(separator).into())
}

/// Whether a rule makes two different values equal.
fn equal_by(action: &Action, legacy: &str, candidate: &str, apart: Duration) -> bool {
    match action {
        Action::Unordered => {
            let sorted = |text| {
                let mut list: Vec<&str> = elements(text).collect();
                list.sort_unstable();
                list
            };
            sorted(legacy) == sorted(candidate)
        }
        Action::Accept(..) => explain::texts(legacy.as_bytes(), candidate.as_bytes())
            .is_some_and(|near| action.accepts(Kind::Value, near)),
        _ => {
            let [one, two] = [legacy, candidate].map(|text| Scalar::of_text(text.as_bytes()));
            one.equal(&two, action, true, apart)
        }
    }
}
