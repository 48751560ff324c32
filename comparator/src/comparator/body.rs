//! Which comparison a pair of bodies gets.
//!
//! Encodings are undone first. The media types choose the comparison; where they are silent or disagree (which is a
//! finding of the header), the bodies are compared as the richest kind that both really are.

use std::borrow::Cow;

use http::Method;
use parity_schemas::exchange::{Body, Capture};
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Reason};
use sha2::{Digest, Sha256};

use super::{AnswerPair, give_up};
use crate::collect::{Collector, Flow, shown};
use crate::decode;
use crate::grpc;
use crate::json::index::IndexError;
use crate::json::{self, Outcome};
use crate::media::{self, BodyKind};
use crate::rules::Scope;
use crate::text;
use crate::yaml::{self, YamlError};

/// What parts, in a `decode` finding, our words from the service's text.
pub(crate) const EXCERPT_MARK: &str = ", at `";
/// How the summary of bytes begins.
pub(crate) const DIGEST_MARK: &str = "sha256:";

/// A byte order mark is not content (DESIGN: "a leading BOM is not content").
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Compares the bodies of two answers.
pub(super) fn compare(
    pair: &AnswerPair<'_>,
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    let (legacy, candidate) = (
        sent(pair.method, pair.legacy),
        sent(pair.method, pair.candidate),
    );
    let (one, two) = (
        decode::encodings(&pair.legacy.headers),
        decode::encodings(&pair.candidate.headers),
    );
    let same = match (legacy, candidate) {
        (Some(legacy), Some(candidate)) => legacy.same_bytes(candidate),
        (legacy, candidate) => legacy.or(candidate).is_none_or(Body::is_empty),
    };
    if same && one == two {
        return Flow::Continue(());
    }
    let [legacy, candidate] = [legacy, candidate].map(|body| match body {
        Some(body) => body.contiguous(),
        None => Cow::Borrowed(&[][..]),
    });
    if let Some(rule) = scope.ignores_body {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    let limit = out.limits.decoded_bytes;
    let (legacy, candidate) = match (
        decode::decode(&legacy, &one, limit),
        decode::decode(&candidate, &two, limit),
    ) {
        (Ok(legacy), Ok(candidate)) => (legacy, candidate),
        (Err(reason), Ok(_)) | (Ok(_), Err(reason)) => return give_up(reason),
        (Err(one), Err(two)) => return give_up(one.min(two)),
    };
    if grpc::are_both(pair.legacy, pair.candidate) {
        let read = grpc::messages([pair.legacy, pair.candidate], [&legacy, &candidate], limit);
        return match read {
            Ok(read) => {
                let kinds = [Some(read.kind); 2];
                decoded(&read.legacy, &read.candidate, kinds, scope, out, scratch)
            }
            Err(reason) => give_up(reason),
        };
    }
    let kinds = [
        media::body_kind(&pair.legacy.headers),
        media::body_kind(&pair.candidate.headers),
    ];
    decoded(&legacy, &candidate, kinds, scope, out, scratch)
}

/// What was sent as the body; `None` where HTTP says that there is none.
fn sent<'a>(method: &Method, answer: &'a Capture) -> Option<&'a Body> {
    let none = method == Method::HEAD || matches!(answer.status, 100..200 | 204 | 304);
    (!none).then_some(&answer.body)
}

/// Compares two bodies without encodings, of the kinds that their media types say.
pub(super) fn decoded(
    legacy: &[u8],
    candidate: &[u8],
    kinds: [Option<BodyKind>; 2],
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    if legacy == candidate {
        return Flow::Continue(());
    }
    if let Some(rule) = scope.ignores_body {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    if legacy.is_empty() || candidate.is_empty() {
        return one_empty(legacy, candidate, out);
    }
    match kinds {
        [Some(BodyKind::Json), Some(BodyKind::Json)] => {
            as_json(legacy, candidate, true, scope, out, scratch)
        }
        // JSON is YAML, so the richest kind that both can be is YAML.
        [Some(BodyKind::Yaml), Some(BodyKind::Yaml | BodyKind::Json)]
        | [Some(BodyKind::Json), Some(BodyKind::Yaml)] => {
            as_yaml(legacy, candidate, scope, out, scratch)
        }
        [Some(BodyKind::Text), Some(BodyKind::Text)] => as_text(legacy, candidate, out),
        [Some(BodyKind::Bytes), Some(BodyKind::Bytes)] => as_bytes(legacy, candidate, out),
        // Silent or at odds: JSON if both are, else text if both are.
        _ => as_json(legacy, candidate, false, scope, out, scratch),
    }
}

/// JSON; `claimed` when both sides say that it is, so that being none is a finding.
fn as_json(
    legacy: &[u8],
    candidate: &[u8],
    claimed: bool,
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    let (one, two) = (without_bom(legacy), without_bom(candidate));
    if one.len() != legacy.len() || two.len() != candidate.len() {
        if legacy.len() - one.len() != candidate.len() - two.len() {
            out.tolerated(Part::Body, String::new, "byte_order_mark");
        }
        if one == two {
            return Flow::Continue(());
        }
    }
    match json::compare(one, two, scope, out, scratch) {
        Outcome::Compared(flow) => flow,
        Outcome::Invalid {
            legacy: first,
            candidate: second,
        } => {
            let given_up = [&first, &second].into_iter().flatten().find_map(limit_of);
            match (first, second) {
                // Where nobody says JSON, being none is no fault.
                (Some(IndexError::Syntax { .. }), _) | (_, Some(IndexError::Syntax { .. }))
                    if !claimed =>
                {
                    as_text(legacy, candidate, out)
                }
                (Some(IndexError::Syntax { .. }), Some(IndexError::Syntax { .. })) => {
                    as_text(legacy, candidate, out)
                }
                (Some(error @ IndexError::Syntax { .. }), None) => {
                    let problem = broken(&error.to_string(), one, offset_of(&error), out);
                    decode_finding(Some(problem), None, [one, two], out)
                }
                (None, Some(error @ IndexError::Syntax { .. })) => {
                    let problem = broken(&error.to_string(), two, offset_of(&error), out);
                    decode_finding(None, Some(problem), [one, two], out)
                }
                _ => give_up(given_up.unwrap_or(Reason::TooDeep)),
            }
        }
    }
}

fn limit_of(error: &IndexError) -> Option<Reason> {
    match error {
        IndexError::Syntax { .. } => None,
        IndexError::TooDeep { .. } => Some(Reason::TooDeep),
        IndexError::TooLong { .. } => Some(Reason::ResponseTooLarge),
    }
}

fn offset_of(error: &IndexError) -> usize {
    match error {
        IndexError::Syntax { offset, .. } => *offset,
        _ => 0,
    }
}

/// What is wrong with a document, and the text where it is wrong.
fn broken(problem: &str, text: &[u8], offset: usize, out: &Collector<'_>) -> String {
    /// Bytes shown from the offending one on.
    const EXCERPT_BYTES: usize = 60;
    let excerpt = shown(text.get(offset..).unwrap_or_default(), EXCERPT_BYTES);
    let message = if excerpt.is_empty() {
        format!("{problem}; the text ends there")
    } else {
        format!("{problem}{EXCERPT_MARK}{excerpt}`")
    };
    shown(message.as_bytes(), out.limits.value_bytes)
}

/// One side is not what it claims to be: what is wrong with it, beside the other side's text.
fn decode_finding(
    legacy: Option<String>,
    candidate: Option<String>,
    texts: [&[u8]; 2],
    out: &mut Collector<'_>,
) -> Flow {
    out.finding(|limits| {
        let value = |problem: Option<String>, text: &[u8]| {
            Some(problem.unwrap_or_else(|| shown(text, limits.value_bytes)))
        };
        finding(
            Kind::Decode,
            value(legacy, texts[0]),
            value(candidate, texts[1]),
            None,
        )
    })
}

fn finding(
    kind: Kind,
    legacy: Option<String>,
    candidate: Option<String>,
    explanation: Option<Explanation>,
) -> Finding {
    Finding {
        part: Part::Body,
        path: String::new(),
        candidate_path: None,
        pattern: String::new(),
        kind,
        legacy,
        candidate,
        explanation,
        text_diff: None,
    }
}

fn as_yaml(
    legacy: &[u8],
    candidate: &[u8],
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    let (depth, limit) = (out.limits.honoured_depth(), out.limits.decoded_bytes);
    let read = |body: &[u8]| match std::str::from_utf8(without_bom(body)) {
        Ok(text) => yaml::documents(text, depth, limit),
        Err(error) => Err(YamlError::Syntax(error.to_string())),
    };
    let (one, two) = match (read(legacy), read(candidate)) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(YamlError::Limit(reason)), _) | (_, Err(YamlError::Limit(reason))) => {
            return give_up(reason);
        }
        (Err(YamlError::Syntax(_)), Err(YamlError::Syntax(_))) => {
            return as_text(legacy, candidate, out);
        }
        (Err(error), Ok(_)) => {
            return decode_finding(Some(error.to_string()), None, [legacy, candidate], out);
        }
        (Ok(_), Err(error)) => {
            return decode_finding(None, Some(error.to_string()), [legacy, candidate], out);
        }
    };
    // One document is itself; several, or none, are a list.
    let single = one.len() == 1 && two.len() == 1;
    let (one, two) = (joined(one, single), joined(two, single));
    if one == two {
        return Flow::Continue(());
    }
    match json::compare(&one, &two, scope, out, scratch) {
        Outcome::Compared(flow) => flow,
        Outcome::Invalid { legacy, candidate } => {
            let reason = [&legacy, &candidate]
                .into_iter()
                .flatten()
                .find_map(limit_of);
            give_up(reason.unwrap_or(Reason::Undecodable))
        }
    }
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

fn as_text(legacy: &[u8], candidate: &[u8], out: &mut Collector<'_>) -> Flow {
    match (std::str::from_utf8(legacy), std::str::from_utf8(candidate)) {
        (Ok(legacy), Ok(candidate)) => text::compare(legacy, candidate, out),
        _ => as_bytes(legacy, candidate, out),
    }
}

fn as_bytes(legacy: &[u8], candidate: &[u8], out: &mut Collector<'_>) -> Flow {
    let near = (legacy.starts_with(candidate) || candidate.starts_with(legacy))
        .then_some(Explanation::Truncated);
    out.finding(|_| {
        finding(
            Kind::Value,
            Some(summary(legacy)),
            Some(summary(candidate)),
            near,
        )
    })
}

/// Bytes as a finding shows them.
fn summary(bytes: &[u8]) -> String {
    let hash = crate::hex::encode(&Sha256::digest(bytes));
    format!("{DIGEST_MARK}{hash} ({} bytes)", bytes.len())
}

fn one_empty(legacy: &[u8], candidate: &[u8], out: &mut Collector<'_>) -> Flow {
    out.finding(|limits| {
        let show = |body: &[u8]| {
            (!body.is_empty()).then(|| match std::str::from_utf8(body) {
                Ok(text) => shown(text.as_bytes(), limits.value_bytes),
                Err(_) => summary(body),
            })
        };
        let kind = if candidate.is_empty() {
            Kind::Missing
        } else {
            Kind::Extra
        };
        finding(kind, show(legacy), show(candidate), None)
    })
}

fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(BOM).unwrap_or(body)
}
