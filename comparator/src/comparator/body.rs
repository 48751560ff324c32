//! Chooses how a pair of bodies is compared.
//!
//! Encodings are undone first. The media types then choose the comparison. If they are missing or disagree (which is a
//! finding of the header), the bodies are compared as the most structured kind that both can be parsed as.

use std::borrow::Cow;

use http::Method;
use http::header::CONTENT_TYPE;
use parity_schemas::exchange::{Body, Capture};
use parity_schemas::fields::FieldValue;
use parity_schemas::verdict::{Explanation, Finding, Kind, Part, Reason, Side};

use super::{AnswerPair, give_up};
use crate::charset;
use crate::collect::{Collector, Flow, digest, excerpt};
use crate::decode::{self, DecodeError};
use crate::grpc;
use crate::json;
use crate::limits::Limits;
use crate::media::{BodyKind, Declared};
use crate::notation::index::Layout;
use crate::rules::Scope;
use crate::text;

mod omitted;
mod structured;

use structured::{Structured, unread};
pub(super) use structured::{is_broken, without_bom};

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
    let bodies = [legacy, candidate];
    if bodies
        .iter()
        .flatten()
        .any(|body| body.omission().is_some())
    {
        return omitted::compare(pair, bodies, [&one, &two], scope, out);
    }
    let same = match (legacy, candidate) {
        (Some(legacy), Some(candidate)) => legacy.same_bytes(candidate),
        (legacy, candidate) => legacy.or(candidate).is_none_or(Body::is_empty),
    };
    if same && one == two && !is_parted_otherwise(pair) {
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
        (legacy, candidate) => {
            let errors =
                [legacy.as_ref().err(), candidate.as_ref().err()].map(Option::<&_>::copied);
            let texts = [legacy.unwrap_or_default(), candidate.unwrap_or_default()];
            return undecoded(pair, errors, [&texts[0], &texts[1]], out);
        }
    };
    if grpc::are_both(pair.legacy, pair.candidate) {
        let read = grpc::messages([pair.legacy, pair.candidate], [&legacy, &candidate], limit);
        return match read {
            Ok(read) => {
                let declared = [Declared::only(read.kind), Declared::only(read.kind)];
                let (legacy, candidate) = (&read.legacy, &read.candidate);
                decoded(legacy, candidate, &declared, scope, out, scratch)
            }
            Err(errors) => undecoded(pair, errors, [&legacy, &candidate], out),
        };
    }
    let declared = [
        Declared::of(&pair.legacy.headers),
        Declared::of(&pair.candidate.headers),
    ];
    let [legacy, candidate] =
        [(legacy, &declared[0]), (candidate, &declared[1])].map(|(body, declared)| {
            // Different bytes may decode to the same text; as bytes they still differ.
            if let Some(BodyKind::Bytes | BodyKind::Multipart) = declared.kind {
                return body;
            }
            let charset = declared.charset_of(&body);
            charset::to_utf8(body, charset.as_deref())
        });
    decoded(&legacy, &candidate, &declared, scope, out, scratch)
}

/// Two bodies of which clients cannot read one, for this reason, by a framing that both claim.
pub(super) fn one_broken(
    pair: &AnswerPair<'_>,
    problems: [Option<&'static str>; 2],
    scope: &Scope,
    out: &mut Collector<'_>,
) -> Flow {
    if let Some(rule) = scope.ignores_body {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    let answers = [pair.legacy, pair.candidate];
    out.finding(|limits| {
        let [legacy, candidate] = [0, 1].map(|side| match problems[side] {
            Some(problem) => unread(problem.into(), None, limits),
            None => Side::Bytes(digest(&answers[side].body.contiguous())),
        });
        finding(Kind::Decode, legacy, candidate, None)
    })
}

/// Whether the same bytes of two answers are not the same parts.
fn is_parted_otherwise(pair: &AnswerPair<'_>) -> bool {
    let [legacy, candidate] = [pair.legacy, pair.candidate].map(|answer| &answer.headers);
    let written = [legacy, candidate].map(|headers| headers.get(&CONTENT_TYPE));
    let [one, two] = written.map(|value| value.map(FieldValue::as_bytes));
    one != two && have_other_boundaries(&[Declared::of(legacy), Declared::of(candidate)])
}

/// Whether two multipart bodies are read by different boundaries. The choice of a boundary means nothing, but it must be
/// the one in the body, or no client can read it.
fn have_other_boundaries([legacy, candidate]: &[Declared; 2]) -> bool {
    let is_multipart = |side: &Declared| side.kind == Some(BodyKind::Multipart);
    is_multipart(legacy) && is_multipart(candidate) && legacy.boundary != candidate.boundary
}

/// Two bodies of which at least one could not be decoded. `texts` has those that could.
fn undecoded(
    pair: &AnswerPair<'_>,
    errors: [Option<DecodeError>; 2],
    texts: [&[u8]; 2],
    out: &mut Collector<'_>,
) -> Flow {
    match errors {
        // No client can read the candidate's body, and every client can read the legacy's.
        [None, Some(problem @ DecodeError::Broken(_))] => out.finding(|limits| {
            let candidate = unread(problem.to_string().into(), None, limits);
            let legacy = readable(pair.legacy, texts[0], limits);
            finding(Kind::Decode, legacy, candidate, None)
        }),
        [Some(problem @ DecodeError::Broken(_)), None] => out.finding(|limits| {
            let legacy = unread(problem.to_string().into(), None, limits);
            let candidate = readable(pair.candidate, texts[1], limits);
            finding(Kind::Decode, legacy, candidate, None)
        }),
        // A body over the limit is not empty.
        [None, Some(DecodeError::TooLarge)] if texts[0].is_empty() => {
            out.finding(|_| finding(Kind::Extra, Side::Absent, OVER_THE_LIMIT, None))
        }
        [Some(DecodeError::TooLarge), None] if texts[1].is_empty() => {
            out.finding(|_| finding(Kind::Missing, OVER_THE_LIMIT, Side::Absent, None))
        }
        errors => {
            let reasons = errors.map(|error| error.map(DecodeError::reason));
            give_up(reason_by_blame(reasons).unwrap_or(Reason::Undecodable))
        }
    }
}

/// How a body that was too large to keep is shown.
const OVER_THE_LIMIT: Side = Side::Described(Cow::Borrowed("more bytes than are compared"));

/// A text, by its type and its bytes, as it is; other bytes as their digest.
fn readable(answer: &Capture, body: &[u8], limits: &Limits) -> Side {
    let kind = Declared::of(&answer.headers).kind;
    let is_text = !matches!(kind, Some(BodyKind::Bytes | BodyKind::Multipart));
    if is_text && std::str::from_utf8(body).is_ok() {
        Side::Body(excerpt(body, limits.value_bytes))
    } else {
        Side::Bytes(digest(body))
    }
}

/// Combines the reasons why each side cannot be compared into the reason of the pair. A reason that only the candidate
/// caused becomes the candidate's.
fn reason_by_blame([legacy, candidate]: [Option<Reason>; 2]) -> Option<Reason> {
    match (legacy, candidate) {
        (None, candidate) => candidate.map(Reason::of_candidate_alone),
        (Some(legacy), Some(candidate)) => Some(legacy.min(candidate)),
        (legacy, None) => legacy,
    }
}

/// The body that was sent; `None` if HTTP says that there is none.
pub(super) fn sent<'a>(method: &Method, answer: &'a Capture) -> Option<&'a Body> {
    let none = method == Method::HEAD || matches!(answer.status, 100..200 | 204 | 304);
    (!none).then_some(&answer.body)
}

/// Compares two decoded bodies, of the kinds that their media types declare.
pub(super) fn decoded(
    legacy: &[u8],
    candidate: &[u8],
    declared: &[Declared; 2],
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    if legacy == candidate && (legacy.is_empty() || !have_other_boundaries(declared)) {
        return Flow::Continue(());
    }
    if let Some(rule) = scope.ignores_body {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    if legacy.is_empty() || candidate.is_empty() {
        return one_empty(legacy, candidate, out);
    }
    let is_graphql = scope.graphql || declared.iter().any(|side| side.is_graphql);
    let kinds = [declared[0].kind, declared[1].kind];
    out.has_texts_alone |= matches!(
        kinds,
        [Some(BodyKind::Csv), Some(BodyKind::Csv)] | [Some(BodyKind::Form), Some(BodyKind::Form)]
    );
    let structured = Structured {
        bodies: [legacy, candidate],
        declared,
        scope,
        out,
        scratch,
    };
    match kinds {
        [Some(BodyKind::Json), Some(BodyKind::Json)] if is_graphql => structured.graphql(),
        [Some(BodyKind::Json), Some(BodyKind::Json)] => structured.json(Layout::Document, true),
        [Some(BodyKind::JsonLines), Some(BodyKind::JsonLines)] => {
            structured.json(Layout::Lines, true)
        }
        // JSON is also YAML, so YAML is the most structured kind that both can be.
        [Some(BodyKind::Yaml), Some(BodyKind::Yaml | BodyKind::Json)]
        | [Some(BodyKind::Json), Some(BodyKind::Yaml)] => structured.yaml(),
        [Some(BodyKind::Xml), Some(BodyKind::Xml)] => structured.xml(true),
        [Some(BodyKind::Xml), _] | [_, Some(BodyKind::Xml)] => structured.xml(false),
        [Some(BodyKind::Csv), Some(BodyKind::Csv)] => structured.csv(),
        [Some(BodyKind::Events), Some(BodyKind::Events)] => structured.events(),
        [Some(BodyKind::Form), Some(BodyKind::Form)] => structured.form(),
        [Some(BodyKind::Multipart), Some(BodyKind::Multipart)] => structured.multipart(),
        [Some(BodyKind::Text), Some(BodyKind::Text)] => as_text(legacy, candidate, scope, out),
        [Some(BodyKind::Bytes), Some(BodyKind::Bytes)] => as_bytes(legacy, candidate, out),
        // Other types missing or in disagreement: JSON if both parse as JSON, else text if both are text.
        _ => structured.json(Layout::Document, false),
    }
}

fn finding(kind: Kind, legacy: Side, candidate: Side, explanation: Option<Explanation>) -> Finding {
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

fn as_text(legacy: &[u8], candidate: &[u8], scope: &Scope, out: &mut Collector<'_>) -> Flow {
    match (std::str::from_utf8(legacy), std::str::from_utf8(candidate)) {
        (Ok(legacy), Ok(candidate)) => text::compare(legacy, candidate, scope, out),
        _ => as_bytes(legacy, candidate, out),
    }
}

fn as_bytes(legacy: &[u8], candidate: &[u8], out: &mut Collector<'_>) -> Flow {
    let near = (legacy.starts_with(candidate) || candidate.starts_with(legacy))
        .then_some(Explanation::Truncated);
    out.finding(|_| {
        finding(
            Kind::Value,
            Side::Bytes(digest(legacy)),
            Side::Bytes(digest(candidate)),
            near,
        )
    })
}

fn one_empty(legacy: &[u8], candidate: &[u8], out: &mut Collector<'_>) -> Flow {
    out.finding(|limits| {
        let show = |body: &[u8]| match std::str::from_utf8(body) {
            Ok("") => Side::Absent,
            Ok(text) => Side::Body(excerpt(text.as_bytes(), limits.value_bytes)),
            Err(_) => Side::Bytes(digest(body)),
        };
        let kind = if candidate.is_empty() {
            Kind::Missing
        } else {
            Kind::Extra
        };
        finding(kind, show(legacy), show(candidate), None)
    })
}
