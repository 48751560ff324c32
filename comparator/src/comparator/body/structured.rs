//! Structured bodies: JSON, and formats that are converted to JSON and compared as such.
//!
//! If neither body is what both sides claim, they are compared as text. If only one is not, that is a `decode` finding,
//! because clients can read the other.

mod table;

use std::borrow::Cow;
use std::collections::HashSet;

use parity_schemas::verdict::{Explanation, Finding, Kind, Note, Part, Reason, Side, Why};

use super::super::give_up;
use super::{as_text, finding, reason_by_blame};
use crate::collect::{Collector, Flow, excerpt, shown};
use crate::events;
use crate::form;
use crate::graphql;
use crate::json::{self, Outcome};
use crate::limits::Limits;
use crate::media::{BodyKind, Declared};
use crate::multipart;
use crate::notation::index::{Index, IndexError, Layout, without_separators};
use crate::part_keys;
use crate::rules::{Renames, Scope};
use crate::xml::{self, XmlError};
use crate::yaml::{self, YamlError};

/// The byte order mark of UTF-8. In YAML (1.2.2 §5.2), XML (1.0 §4.3.3) and server-sent events it is not content, and whoever reads
/// them must know it. In JSON it must not be added, and many parsers refuse it (RFC 8259 §8.1); of CSV nothing says that it may be
/// there (RFC 4180), and many readers take it for a part of the first name. There it is a difference if only one side has it.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Why a body cannot be parsed as what it claims to be.
enum ReadError {
    /// It is not of this kind: what is wrong in our words, and what the parser says.
    Syntax(Cow<'static, str>, Option<String>),
    /// It exceeds a limit of ours.
    Limit(Reason),
}

impl From<YamlError> for ReadError {
    fn from(error: YamlError) -> Self {
        match error {
            YamlError::Syntax(detail) => Self::Syntax(yaml::INVALID.into(), Some(detail)),
            YamlError::Limit(reason) => Self::Limit(reason),
        }
    }
}

impl From<XmlError> for ReadError {
    fn from(error: XmlError) -> Self {
        match error {
            XmlError::Syntax(detail) => Self::Syntax(xml::INVALID.into(), Some(detail)),
            XmlError::Declares => Self::Syntax("XML with declarations".into(), None),
            XmlError::Limit(reason) => Self::Limit(reason),
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
    /// Compares as JSON. `claimed` if both sides say that it is, so that a body that is not JSON is a finding.
    pub(super) fn json(self, layout: Layout, claimed: bool) -> Flow {
        let [legacy, candidate] = self.bodies;
        let (one, two) = (without_bom(legacy), without_bom(candidate));
        let out = self.out;
        if one.len() != legacy.len() || two.len() != candidate.len() {
            one_byte_order_mark([legacy, candidate], self.scope, out)?;
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
                    // If no side claims JSON, a body that is not JSON is no fault.
                    (Some(IndexError::Syntax { .. }), _) | (_, Some(IndexError::Syntax { .. }))
                        if !claimed =>
                    {
                        as_text(legacy, candidate, self.scope, out)
                    }
                    (Some(IndexError::Syntax { .. }), Some(IndexError::Syntax { .. })) => {
                        out.note(Note::BothInvalid);
                        as_text(legacy, candidate, self.scope, out)
                    }
                    // The other body exceeds a limit. It is either a document, which this one is not, or not valid
                    // either; then the two are texts that become invalid at different positions.
                    (Some(error @ IndexError::Syntax { .. }), _) => out.finding(|limits| {
                        let (one, two) = (broken(&error, &one, limits), whole(&two, limits));
                        finding(Kind::Decode, one, two, None)
                    }),
                    (_, Some(error @ IndexError::Syntax { .. })) => out.finding(|limits| {
                        let (one, two) = (whole(&one, limits), broken(&error, &two, limits));
                        finding(Kind::Decode, one, two, None)
                    }),
                    _ => give_up(reason_by_blame(limits).unwrap_or(Reason::TooDeep)),
                }
            }
        }
    }

    /// Compares as answers of GraphQL.
    pub(super) fn graphql(self) -> Flow {
        let depth = self.out.limits.honoured_depth();
        let Some(answers) = graphql::answers(self.bodies, depth) else {
            return self.json(Layout::Document, true);
        };
        let out = self.out;
        for (path, why) in &answers.tolerated {
            out.tolerated(Part::Body, || path.clone(), Why::Default(*why));
        }
        let [legacy, candidate] = &answers.texts;
        if legacy == candidate {
            return Flow::Continue(());
        }
        let before = out.findings.len();
        let rewritten = Structured {
            bodies: [legacy, candidate],
            out: &mut *out,
            ..self
        };
        let flow = rewritten.json(Layout::Document, true);
        for finding in out.findings.iter_mut().skip(before) {
            answers.restore(finding);
        }
        flow
    }

    pub(super) fn yaml(self) -> Flow {
        let (depth, limit) = (
            self.out.limits.honoured_depth(),
            self.out.limits.decoded_bytes,
        );
        let Self {
            bodies,
            declared,
            scope,
            out,
            scratch,
        } = self;
        let read = Structured {
            bodies,
            declared,
            scope,
            out: &mut *out,
            scratch: &mut *scratch,
        };
        read.converted(|_, body, _| {
            let text = text(without_bom(body))?;
            Ok(yaml::documents(text, depth, limit)?)
        })?;
        if out.differs && !out.detail {
            return Flow::Continue(());
        }
        let older = bodies.map(|body| {
            let text = std::str::from_utf8(without_bom(body)).ok()?;
            yaml::for_older_readers(text, depth, limit).ok()?
        });
        if older.iter().all(Option::is_none) {
            return Flow::Continue(());
        }
        let differed = out.differs;
        let before = out.set_aside();
        // What is excused again is counted once.
        let (hits, listed) = (out.hits.clone(), out.tolerated.len());
        out.hits.fill(0);
        let again = Structured {
            bodies,
            declared,
            scope,
            out: &mut *out,
            scratch,
        };
        again.out.has_key_types = true;
        let flow = again.converted(|side, body, _| match &older[side] {
            Some(documents) => Ok(documents.clone()),
            None => Ok(yaml::documents(text(without_bom(body))?, depth, limit)?),
        });
        out.has_key_types = false;
        let of_keys: Vec<bool> = out.findings.iter_mut().map(yaml::restore).collect();
        let mut of_keys = of_keys.into_iter();
        for (again, before) in out.hits.iter_mut().zip(hits) {
            *again = before.max(*again);
        }
        for mut again in out.tolerated.split_off(listed) {
            if let Some(path) = yaml::unmarked(&again.path) {
                again.path = path;
            }
            if !out.tolerated.contains(&again) {
                out.tolerated.push(again);
            }
        }
        // What differs for every reader was found before.
        let places: HashSet<(String, Part)> = before
            .iter()
            .map(|finding| (finding.path.clone(), finding.part))
            .collect();
        out.put_back(before, |finding| {
            let known = places.contains(&(finding.path.clone(), finding.part));
            let is_of_key = of_keys.next().unwrap_or_default();
            !known && (!differed || is_of_key || is_of_older_readers(finding))
        });
        if differed && flow.is_break() {
            // The answers differ in any case, but these may not be all findings.
            out.may_hide_more = true;
            return Flow::Continue(());
        }
        flow
    }

    /// Compares as XML. `claimed` if both sides say that it is; else both must be XML, or they are compared as what else
    /// they may be.
    pub(super) fn xml(self, claimed: bool) -> Flow {
        let depth = self.out.limits.honoured_depth();
        let limit = self.out.limits.decoded_bytes;
        let read = self.bodies.map(|body| {
            // What is not UTF-8 is not XML, because a document says its charset.
            let text = text(without_bom(body)).map_err(|_| XmlError::Syntax("not UTF-8".into()))?;
            xml::parse(text, depth)
        });
        let read = match read {
            [Ok(one), Ok(two)] => {
                self.out.has_texts_alone = true;
                let renames = Renames::of(self.out.rules, self.scope);
                let [one, two] = xml::as_json([&one, &two], renames, limit);
                [one, two].map(|json| json.map(|json| vec![json]).map_err(ReadError::Limit))
            }
            _ if !claimed => return self.json(Layout::Document, false),
            [Err(XmlError::Declares), _] | [_, Err(XmlError::Declares)] => {
                let [legacy, candidate] = self.bodies;
                return as_text(legacy, candidate, self.scope, self.out);
            }
            read => read.map(|read| read.map(|_| Vec::new()).map_err(ReadError::from)),
        };
        self.compared(read)
    }

    pub(super) fn events(self) -> Flow {
        let depth = self.out.limits.honoured_depth();
        self.converted(|_, body, scratch| {
            let text = text(without_bom(body))?;
            let mut limit = None;
            let mut is_json = |data: &[u8]| is_json(data, depth, scratch, &mut limit);
            let json = events::to_json(text, &mut is_json);
            limit.map_or(Ok(vec![json]), |reason| Err(ReadError::Limit(reason)))
        })
    }

    pub(super) fn form(self) -> Flow {
        self.converted(|_, body, _| Ok(vec![form::to_json(text(body)?)]))
    }

    pub(super) fn multipart(self) -> Flow {
        let depth = self.out.limits.honoured_depth();
        let [legacy, mut candidate] = [0, 1].map(|side| {
            multipart::read(self.bodies[side], self.declared[side].boundary.as_deref())
        });
        if let (Ok(legacy), Ok(candidate)) = (&legacy, &mut candidate) {
            multipart::pair(legacy, candidate, |part| {
                let (keys, rules) = (&part_keys::BODIES, self.out.rules);
                let renames = self.scope.renamed_in_element(Some(part), keys, rules);
                renames.into_iter().map(|(_, names)| names).collect()
            });
        }
        let documents = [&legacy, &candidate].map(|parts| {
            let mut limit = None;
            let mut is_json = |part: &[u8]| is_json(part, depth, self.scratch, &mut limit);
            let json = match parts {
                Ok(parts) => multipart::to_json(parts, &mut is_json),
                Err(problem) => return Err(ReadError::Syntax((*problem).into(), None)),
            };
            limit.map_or(Ok(vec![json]), |reason| Err(ReadError::Limit(reason)))
        });
        let before = self.out.findings.len();
        let (out, scratch) = (self.out, self.scratch);
        let read = Structured {
            out: &mut *out,
            scratch: &mut *scratch,
            ..self
        };
        let flow = read.compared(documents);
        if let Ok(candidate) = candidate {
            let found = out.findings.get_mut(before..).unwrap_or_default();
            let is_json = |part: &[u8]| scratch.is_json(part, depth);
            multipart::restore(&candidate, found, out.limits, is_json);
        }
        flow
    }

    /// Compares as JSON what `read` turns each body into: its documents as JSON.
    fn converted(
        self,
        read: impl Fn(usize, &[u8], &mut json::Scratch) -> Result<Vec<Vec<u8>>, ReadError>,
    ) -> Flow {
        let [legacy, candidate] = self.bodies;
        let read = [
            read(0, legacy, self.scratch),
            read(1, candidate, self.scratch),
        ];
        self.compared(read)
    }

    /// Compares the documents that were read from each body.
    fn compared(self, [one, two]: [Result<Vec<Vec<u8>>, ReadError>; 2]) -> Flow {
        let [legacy, candidate] = self.bodies;
        let (out, scratch) = (self.out, self.scratch);
        let (one, two) = match (one, two) {
            (Ok(one), Ok(two)) => (one, two),
            (Err(ReadError::Syntax(..)), Err(ReadError::Syntax(..))) => {
                out.note(Note::BothInvalid);
                if legacy == candidate {
                    return Flow::Continue(());
                }
                return as_text(legacy, candidate, self.scope, out);
            }
            (Err(ReadError::Syntax(problem, detail)), _) => {
                return out.finding(|limits| {
                    let (one, two) = (unread(problem, detail, limits), whole(candidate, limits));
                    finding(Kind::Decode, one, two, None)
                });
            }
            (_, Err(ReadError::Syntax(problem, detail))) => {
                return out.finding(|limits| {
                    let (one, two) = (whole(legacy, limits), unread(problem, detail, limits));
                    finding(Kind::Decode, one, two, None)
                });
            }
            (one, two) => {
                let limits = [one.err(), two.err()].map(|error| match error {
                    Some(ReadError::Limit(reason)) => Some(reason),
                    _ => None,
                });
                return give_up(reason_by_blame(limits).unwrap_or(Reason::TooDeep));
            }
        };
        // One document is compared as it is; several, or none, as a list.
        let single = one.len() == 1 && two.len() == 1;
        let (one, two) = (yaml::joined(one, single), yaml::joined(two, single));
        if one == two {
            return Flow::Continue(());
        }
        match json::compare(&one, &two, Layout::Document, self.scope, out, scratch) {
            Outcome::Compared(flow) => flow,
            Outcome::Invalid { legacy, candidate } => {
                let limits = [&legacy, &candidate].map(|error| error.as_ref().and_then(limit_of));
                give_up(reason_by_blame(limits).unwrap_or(Reason::Undecodable))
            }
        }
    }
}

/// Says it if only one of two documents begins with a byte order mark.
fn one_byte_order_mark(bodies: [&[u8]; 2], scope: &Scope, out: &mut Collector<'_>) -> Flow {
    let [one, two] = bodies.map(|body| body.starts_with(BOM));
    if one == two {
        return Flow::Continue(());
    }
    let explanation = Explanation::ByteOrderMark;
    if let Some(rule) = scope.accepting(out.rules, || Some(explanation)) {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    out.finding(|_| {
        let [legacy, candidate] = bodies.map(|body| {
            let words = if body.starts_with(BOM) {
                "a byte order mark at the start"
            } else {
                "no byte order mark"
            };
            Side::Described(words.into())
        });
        finding(Kind::Value, legacy, candidate, Some(explanation))
    })
}

/// Whether an embedded text is JSON. If it exceeds a limit, that is stored in `limit`, because compared as text it
/// would differ by the order of its keys.
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

fn text(body: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(body).map_err(|error| ReadError::Syntax(error.to_string().into(), None))
}

/// Whether a difference is of a value that readers of YAML 1.1 take for another one.
fn is_of_older_readers(finding: &Finding) -> bool {
    [&finding.legacy, &finding.candidate].into_iter().any(
        |side| matches!(side, Side::Value(value) if yaml::is_older_value(value.text.as_bytes())),
    )
}

fn limit_of(error: &IndexError) -> Option<Reason> {
    match error {
        IndexError::Syntax { .. } => None,
        IndexError::TooDeep { .. } => Some(Reason::TooDeep),
        IndexError::TooLong { .. } => Some(Reason::ResponseTooLarge),
    }
}

/// What is wrong with a document, and the text at that position.
fn broken(error: &IndexError, text: &[u8], limits: &Limits) -> Side {
    /// Bytes shown from the offending one on.
    const EXCERPT_BYTES: usize = 60;
    let offset = match error {
        IndexError::Syntax { offset, .. } => *offset,
        _ => 0,
    };
    match text.get(offset..).unwrap_or_default() {
        [] => unread(format!("{error}; the text ends there").into(), None, limits),
        rest => Side::Broken {
            problem: error.to_string().into(),
            detail: None,
            at: Some(excerpt(rest, EXCERPT_BYTES.min(limits.value_bytes))),
        },
    }
}

/// Whether a document is not of its declared kind. One that exceeds a limit is not known to be invalid.
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
        BodyKind::Xml => {
            let parsed = text(plain).map(|text| xml::parse(text, depth));
            return matches!(parsed, Err(_) | Ok(Err(XmlError::Syntax(_))));
        }
        _ => return false,
    };
    let mut index = Index::default();
    matches!(
        index.read(plain, layout, depth),
        Err(IndexError::Syntax { .. })
    )
}

/// Bytes that a small YAML document may expand to; a larger one may expand to its own size.
const YAML_BYTES: usize = 1 << 20;

/// A body that is not what it claims to be.
pub(super) fn unread(problem: Cow<'static, str>, detail: Option<String>, limits: &Limits) -> Side {
    Side::Broken {
        problem,
        detail: detail.map(|detail| shown(detail.as_bytes(), limits.value_bytes)),
        at: None,
    }
}

/// The other side's text.
fn whole(text: &[u8], limits: &Limits) -> Side {
    Side::Body(excerpt(text, limits.value_bytes))
}

pub(in super::super) fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(BOM).unwrap_or(body)
}
