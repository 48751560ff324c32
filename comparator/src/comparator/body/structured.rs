//! Bodies with a structure: JSON as it stands, and what is turned into JSON to be compared in the same way.
//!
//! A body that is not what both sides claim falls back to text; one that is not what its own side claims is a `decode`
//! finding, because the other service's clients can read theirs.

use std::borrow::Cow;

use parity_schemas::verdict::{Kind, Note, Part, Reason};

use super::super::give_up;
use super::{as_text, finding, of_whom};
use crate::collect::{Collector, Flow, shown};
use crate::events;
use crate::form;
use crate::json::index::{Index, IndexError, Layout};
use crate::json::{self, Outcome};
use crate::media::{BodyKind, Declared};
use crate::multipart;
use crate::rules::Scope;
use crate::yaml::{self, YamlError};

/// What parts, in a `decode` finding, our words from the service's text.
pub(crate) const EXCERPT_MARK: &str = ", at `";

/// A byte order mark is not content (DESIGN: "a leading BOM is not content").
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Why a body cannot be read as what it claims to be.
enum Unread {
    /// It is not.
    Syntax(String),
    /// A limit of ours.
    Limit(Reason),
}

impl From<YamlError> for Unread {
    fn from(error: YamlError) -> Self {
        match error {
            YamlError::Syntax(_) => Self::Syntax(error.to_string()),
            YamlError::Limit(reason) => Self::Limit(reason),
        }
    }
}

/// Two bodies that differ, with what is needed to compare them.
pub(super) struct Structured<'a, 'c> {
    /// The legacy's and the candidate's.
    pub(super) bodies: [&'a [u8]; 2],
    pub(super) declared: &'a [Declared; 2],
    pub(super) scope: &'a Scope,
    pub(super) out: &'a mut Collector<'c>,
    pub(super) scratch: &'a mut json::Scratch,
}

impl Structured<'_, '_> {
    /// JSON; `claimed` when both sides say that it is, so that being none is a finding.
    pub(super) fn json(self, layout: Layout, claimed: bool) -> Flow {
        let [legacy, candidate] = self.bodies;
        let (one, two) = (without_bom(legacy), without_bom(candidate));
        let out = self.out;
        if one.len() != legacy.len() || two.len() != candidate.len() {
            if legacy.len() - one.len() != candidate.len() - two.len() {
                out.tolerated(Part::Body, String::new, "byte_order_mark");
            }
            if one == two {
                return Flow::Continue(());
            }
        }
        let (one, two) = match layout {
            Layout::Document => (Cow::Borrowed(one), Cow::Borrowed(two)),
            Layout::Lines => (without_separators(one), without_separators(two)),
        };
        match json::compare(&one, &two, layout, self.scope, out, self.scratch) {
            Outcome::Compared(flow) => flow,
            Outcome::Invalid {
                legacy: first,
                candidate: second,
            } => {
                let limits = [&first, &second].map(|error| error.as_ref().and_then(limit_of));
                match (first, second) {
                    // Where nobody says JSON, being none is no fault.
                    (Some(IndexError::Syntax { .. }), _) | (_, Some(IndexError::Syntax { .. }))
                        if !claimed =>
                    {
                        as_text(legacy, candidate, self.scope, out)
                    }
                    (Some(IndexError::Syntax { .. }), Some(IndexError::Syntax { .. })) => {
                        out.note(Note::BothInvalid);
                        as_text(legacy, candidate, self.scope, out)
                    }
                    // What is beyond a limit on the other side is either a document, which this is not, or is none
                    // either, and then they are two texts that break at different places.
                    (Some(error @ IndexError::Syntax { .. }), _) => {
                        let problem = broken(&error, &one);
                        decode_finding(Some(problem), None, [&one, &two], out)
                    }
                    (_, Some(error @ IndexError::Syntax { .. })) => {
                        let problem = broken(&error, &two);
                        decode_finding(None, Some(problem), [&one, &two], out)
                    }
                    _ => give_up(of_whom(limits).unwrap_or(Reason::TooDeep)),
                }
            }
        }
    }

    pub(super) fn yaml(self) -> Flow {
        let (depth, limit) = (
            self.out.limits.honoured_depth(),
            self.out.limits.decoded_bytes,
        );
        self.converted(|_, body, _| {
            let text = text(without_bom(body))?;
            Ok(yaml::documents(text, depth, limit)?)
        })
    }

    pub(super) fn events(self) -> Flow {
        let depth = self.out.limits.honoured_depth();
        self.converted(|_, body, scratch| {
            let text = text(without_bom(body))?;
            let mut limit = None;
            let mut is_json = |data: &[u8]| is_json(data, depth, scratch, &mut limit);
            let json = events::to_json(text, &mut is_json);
            limit.map_or(Ok(vec![json]), |reason| Err(Unread::Limit(reason)))
        })
    }

    pub(super) fn form(self) -> Flow {
        self.converted(|_, body, _| Ok(vec![form::to_json(text(body)?)]))
    }

    pub(super) fn multipart(self) -> Flow {
        let depth = self.out.limits.honoured_depth();
        let declared = self.declared;
        self.converted(|side, body, scratch| {
            let boundary = declared[side].boundary.as_deref();
            let mut limit = None;
            let mut is_json = |part: &[u8]| is_json(part, depth, scratch, &mut limit);
            match (multipart::to_json(body, boundary, &mut is_json), limit) {
                (Err(problem), _) => Err(Unread::Syntax(problem.to_owned())),
                (Ok(_), Some(reason)) => Err(Unread::Limit(reason)),
                (Ok(json), None) => Ok(vec![json]),
            }
        })
    }

    /// What `read` makes of each side's body (its documents as JSON), compared as JSON.
    fn converted(
        self,
        read: impl Fn(usize, &[u8], &mut json::Scratch) -> Result<Vec<Vec<u8>>, Unread>,
    ) -> Flow {
        let [legacy, candidate] = self.bodies;
        let (out, scratch) = (self.out, self.scratch);
        let (one, two) = match (read(0, legacy, scratch), read(1, candidate, scratch)) {
            (Ok(one), Ok(two)) => (one, two),
            (Err(Unread::Syntax(_)), Err(Unread::Syntax(_))) => {
                out.note(Note::BothInvalid);
                return as_text(legacy, candidate, self.scope, out);
            }
            (Err(Unread::Syntax(error)), _) => {
                return decode_finding(Some(error), None, self.bodies, out);
            }
            (_, Err(Unread::Syntax(error))) => {
                return decode_finding(None, Some(error), self.bodies, out);
            }
            (one, two) => {
                let limits = [one.err(), two.err()].map(|error| match error {
                    Some(Unread::Limit(reason)) => Some(reason),
                    _ => None,
                });
                return give_up(of_whom(limits).unwrap_or(Reason::TooDeep));
            }
        };
        // One document is itself; several, or none, are a list.
        let single = one.len() == 1 && two.len() == 1;
        let (one, two) = (joined(one, single), joined(two, single));
        if one == two {
            return Flow::Continue(());
        }
        match json::compare(&one, &two, Layout::Document, self.scope, out, scratch) {
            Outcome::Compared(flow) => flow,
            Outcome::Invalid { legacy, candidate } => {
                let limits = [&legacy, &candidate].map(|error| error.as_ref().and_then(limit_of));
                give_up(of_whom(limits).unwrap_or(Reason::Undecodable))
            }
        }
    }
}

/// Whether an embedded text is JSON. One that is beyond a limit leaves it in `limit`: taken for text, it would differ by
/// the order of its keys.
fn is_json(
    text: &[u8],
    depth: usize,
    scratch: &mut json::Scratch,
    limit: &mut Option<Reason>,
) -> bool {
    if scratch.is_json(text, depth) {
        return true;
    }
    let read = Index::default()
        .read(text, Layout::Document, depth)
        .map(|_| ());
    *limit = limit.or(read.err().as_ref().and_then(limit_of));
    false
}

fn text(body: &[u8]) -> Result<&str, Unread> {
    std::str::from_utf8(body).map_err(|error| Unread::Syntax(error.to_string()))
}

fn limit_of(error: &IndexError) -> Option<Reason> {
    match error {
        IndexError::Syntax { .. } => None,
        IndexError::TooDeep { .. } => Some(Reason::TooDeep),
        IndexError::TooLong { .. } => Some(Reason::ResponseTooLarge),
    }
}

/// What is wrong with a document, and the text where it is wrong.
fn broken(error: &IndexError, text: &[u8]) -> String {
    /// Bytes shown from the offending one on.
    const EXCERPT_BYTES: usize = 60;
    let offset = match error {
        IndexError::Syntax { offset, .. } => *offset,
        _ => 0,
    };
    let excerpt = shown(text.get(offset..).unwrap_or_default(), EXCERPT_BYTES);
    if excerpt.is_empty() {
        format!("{error}; the text ends there")
    } else {
        format!("{error}{EXCERPT_MARK}{excerpt}`")
    }
}

/// Whether a document is not of the kind that it is compared as. What is beyond a limit is not known to be broken.
pub(in super::super) fn is_broken(document: &[u8], kind: BodyKind, depth: usize) -> bool {
    let plain = without_bom(document);
    let layout = match kind {
        BodyKind::Json => Layout::Document,
        BodyKind::JsonLines => Layout::Lines,
        BodyKind::Yaml => {
            let documents =
                text(plain).map(|text| yaml::documents(text, depth, text.len().max(YAML_BYTES)));
            return matches!(documents, Err(_) | Ok(Err(YamlError::Syntax(_))));
        }
        _ => return false,
    };
    let mut index = Index::default();
    matches!(
        index.read(plain, layout, depth),
        Err(IndexError::Syntax { .. })
    )
}

/// What a small YAML document may come to; a larger one as much as it has.
const YAML_BYTES: usize = 1 << 20;

/// One side is not what it claims to be: what is wrong with it, beside the other side's text.
pub(super) fn decode_finding(
    legacy: Option<String>,
    candidate: Option<String>,
    texts: [&[u8]; 2],
    out: &mut Collector<'_>,
) -> Flow {
    out.finding(|limits| {
        // A parser's message may repeat the service's text.
        let value = |problem: Option<String>, text: &[u8]| {
            let text = problem.as_deref().map_or(text, str::as_bytes);
            Some(shown(text, limits.value_bytes))
        };
        finding(
            Kind::Decode,
            value(legacy, texts[0]),
            value(candidate, texts[1]),
            None,
        )
    })
}

fn joined(mut documents: Vec<Vec<u8>>, single: bool) -> Vec<u8> {
    if single {
        return documents.pop().unwrap_or_default();
    }
    let mut list = vec![b'['];
    list.extend(documents.join(&b','));
    list.push(b']');
    list
}

/// Lines without the separator that `application/json-seq` (RFC 7464) puts before each. Only there: within a text it is
/// no JSON, and stays that.
fn without_separators(body: &[u8]) -> Cow<'_, [u8]> {
    const SEPARATOR: u8 = 0x1e;
    if memchr::memchr(SEPARATOR, body).is_none() {
        return Cow::Borrowed(body);
    }
    let mut plain = body.to_vec();
    for at in 0..plain.len() {
        if plain[at] == SEPARATOR && (at == 0 || plain[at - 1] == b'\n') {
            plain[at] = b' ';
        }
    }
    Cow::Owned(plain)
}

fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(BOM).unwrap_or(body)
}
