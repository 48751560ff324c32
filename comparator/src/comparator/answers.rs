//! Compares two answers part by part: status, header and trailer fields, body.
//!
//! gRPC has its status in the trailers, and gRPC-Web has the trailers in the body, so calls are brought into one form first.

use http::Method;
use parity_schemas::exchange::{Capture, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::{Finding, Kind, Part, Side};

use super::{AnswerPair, body, hidden};
use crate::collect::{Collector, Flow};
use crate::grpc;
use crate::grpc::web::Invalid;
use crate::headers::{self, FieldComparison};
use crate::json;
use crate::rules::Scope;

/// Compares two answers.
pub(super) fn compare(
    pair: &AnswerPair<'_>,
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut json::Scratch,
) -> Flow {
    if pair.asked_together {
        out.apart = pair.legacy.elapsed.max(pair.candidate.elapsed);
    }
    status(pair, scope, out)?;
    if !grpc::are_both(pair.legacy, pair.candidate) {
        let [legacy, candidate] = [pair.legacy, pair.candidate].map(grpc::plain);
        fields(pair, &legacy, &candidate, scope, out)?;
        return body::compare(pair, scope, out, scratch);
    }
    let limit = out.limits.decoded_bytes;
    let [one, two] = [pair.legacy, pair.candidate].map(|answer| {
        let read = grpc::web::as_grpc(answer, limit);
        read.transpose()
    });
    let (one, two) = match (one, two) {
        (Ok(one), Ok(two)) => (one, two),
        (Ok(_), Err(Invalid::Broken(problem))) => {
            header(
                pair,
                &pair.legacy.headers,
                &pair.candidate.headers,
                scope,
                out,
            )?;
            return body::one_broken(pair, [None, Some(problem)], scope, out);
        }
        (Err(Invalid::Broken(problem)), Ok(_)) => {
            header(
                pair,
                &pair.legacy.headers,
                &pair.candidate.headers,
                scope,
                out,
            )?;
            return body::one_broken(pair, [Some(problem), None], scope, out);
        }
        // As bytes both can be compared, and what is wrong with an encoding is told there.
        _ => (None, None),
    };
    let pair = AnswerPair {
        legacy: one.as_ref().unwrap_or(pair.legacy),
        candidate: two.as_ref().unwrap_or(pair.candidate),
        ..*pair
    };
    let [legacy, candidate] = [pair.legacy, pair.candidate].map(grpc::parts);
    fields(&pair, &legacy, &candidate, scope, out)?;
    body::compare(&pair, scope, out, scratch)
}

/// Compares header and trailer fields.
fn fields(
    pair: &AnswerPair<'_>,
    legacy: &grpc::Parts<'_>,
    candidate: &grpc::Parts<'_>,
    scope: &Scope,
    out: &mut Collector<'_>,
) -> Flow {
    header(pair, &legacy.0, &candidate.0, scope, out)?;
    let ended = trailers_are_known(pair.legacy) && trailers_are_known(pair.candidate);
    if !ended || (legacy.1.is_empty() && candidate.1.is_empty()) {
        return Flow::Continue(());
    }
    headers::compare(FieldComparison {
        part: Part::Trailer,
        legacy: &legacy.1,
        candidate: &candidate.1,
        request: None,
        for_body: false,
        apart: None,
        scope,
        out,
        connections: None,
    })
}

fn header(
    pair: &AnswerPair<'_>,
    legacy: &FieldLines,
    candidate: &FieldLines,
    scope: &Scope,
    out: &mut Collector<'_>,
) -> Flow {
    headers::compare(FieldComparison {
        part: Part::Header,
        legacy,
        candidate,
        request: pair.request,
        for_body: *pair.method == Method::HEAD,
        apart: pair.asked_together.then_some(out.apart),
        scope,
        out,
        connections: None,
    })
}

/// Whether the trailers are known, or are known to be absent.
fn trailers_are_known(answer: &Capture) -> bool {
    if hidden::lacks_trailers(answer) {
        // A status in the header says that there are none.
        return grpc::has_status_in_header(answer);
    }
    let body_came = matches!(answer.body.omission(), None | Some(Omitted::LetGo { .. }));
    body_came || answer.trailers.is_some()
}

fn status(pair: &AnswerPair<'_>, scope: &Scope, out: &mut Collector<'_>) -> Flow {
    let (legacy, candidate) = (pair.legacy.status, pair.candidate.status);
    if legacy == candidate {
        return Flow::Continue(());
    }
    if let Some(rule) = scope.status.first() {
        out.excused(*rule, Part::Status, String::new);
        return Flow::Continue(());
    }
    out.finding(|_| Finding {
        part: Part::Status,
        path: String::new(),
        candidate_path: None,
        pattern: String::new(),
        kind: Kind::Value,
        legacy: Side::value(legacy.to_string()),
        candidate: Side::value(candidate.to_string()),
        explanation: None,
        text_diff: None,
    })
}

#[cfg(test)]
mod tests;
