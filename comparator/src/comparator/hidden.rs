//! What a recording hides of the legacy's answer is there, and cannot be compared: its place must have something, whatever it is.
//!
//! A difference at a hidden place is taken out. What is left decides, and the places are told with it, so that nobody takes the
//! answers for equal in all their parts. Where the whole body is hidden and nothing else differs, there is no verdict: a status
//! and a few header fields are no proof of an answer. Nor is a call of gRPC whose end is not recorded.

use std::sync::Arc;

use parity_schemas::exchange::{Capture, Exchange};
use parity_schemas::fields::FieldLines;
use parity_schemas::recording::UNKNOWN_TRAILERS;
use parity_schemas::verdict::{Finding, Kind, Part, Reason, Verdict};

use super::Comparison;
use crate::grpc;
use crate::json::Values;

/// The name of all of a body.
const BODY: &str = "body";

/// Whether it is not known which trailers an answer had.
pub(super) fn lacks_trailers(answer: &Capture) -> bool {
    let hidden = answer.hidden.as_deref().unwrap_or_default();
    hidden.iter().any(|name| name == UNKNOWN_TRAILERS)
}

/// Whether nobody knows how a call of gRPC ended: its status is in trailers that a recording does not have.
fn lacks_outcome(exchange: &Exchange) -> bool {
    let legacy = &exchange.legacy;
    lacks_trailers(legacy)
        && grpc::are_both(legacy, &exchange.candidate)
        && !grpc::has_status_in_header(legacy)
}

/// The comparison without the differences at hidden places. Two answers that are equal in all that can be seen are no match where
/// what is hidden is what the answer says.
pub(super) fn let_pass(
    comparison: Comparison,
    hidden: &Arc<[String]>,
    exchange: &Exchange,
) -> Comparison {
    let mut comparison = without_hidden(comparison, hidden, exchange);
    if comparison.verdict == Verdict::Match && lacks_outcome(exchange) {
        comparison.verdict = Verdict::NotCompared(Reason::LegacyHidden);
    }
    comparison
}

fn without_hidden(
    mut comparison: Comparison,
    hidden: &Arc<[String]>,
    exchange: &Exchange,
) -> Comparison {
    let whole_body = hidden.iter().any(|name| name == BODY);
    let lacks_body = exchange.candidate.body.is_empty() && !exchange.legacy.body.is_empty();
    comparison.hidden = Some(Arc::clone(hidden));
    if comparison.verdict != Verdict::Mismatch {
        return comparison;
    }
    let of_body = |finding: &Finding| finding.part == Part::Body;
    let reached_body = comparison.findings.iter().any(of_body);
    let is_body_left_out = whole_body && reached_body && !lacks_body;
    comparison.findings.retain(|finding| {
        if whole_body && of_body(finding) {
            return lacks_body;
        }
        !hidden.iter().any(|name| is_hidden(name, finding))
    });
    // What the list of findings lacks comes after those that it has: with a finding in the body, only of the body.
    if is_body_left_out {
        comparison.findings_cut = false;
        comparison.may_hide_more = false;
    }
    if !comparison.findings.is_empty() {
        return comparison;
    }
    // First: a body that was given up leaves the findings cut, and is no difference by itself.
    if let Some(reason) = comparison.body_not_compared.take() {
        comparison.verdict = Verdict::NotCompared(reason);
    } else if is_body_left_out {
        // Where the rules ask for the body, nothing is known of it.
        comparison.verdict = Verdict::NotCompared(Reason::LegacyHidden);
    } else if !comparison.findings_cut && !comparison.may_hide_more {
        comparison.verdict = Verdict::Match;
    }
    comparison
}

/// Takes what is hidden of a body out of what is left to compare: that something is there says nothing of its value. A place
/// that a rule ignores, too, is taken out twice, because too few fields are told and too many are not.
pub(super) fn without_hidden_body(body: Values, hidden: &[String]) -> Values {
    let places = hidden.iter().filter(|name| name.starts_with("body/"));
    let left = if hidden.iter().any(|name| name == BODY) {
        0
    } else {
        body.left.saturating_sub(places.count() as u64)
    };
    Values {
        left,
        roughly: body.roughly.min(left),
        ..body
    }
}

/// The fields of a header, or of trailers, of which a value is hidden.
pub(super) fn hidden_fields(fields: &FieldLines, part: Part, hidden: &[String]) -> FieldLines {
    let is_hidden = |field: &str| {
        let names = hidden.iter().filter_map(|name| name.split_once('/'));
        let paths = names.filter_map(|(of, path)| (of == part.as_str()).then_some(path));
        paths
            .filter_map(|path| path.split('/').next())
            .any(|name| name == field)
    };
    let lines = fields.iter().filter(|(name, _)| is_hidden(name.as_str()));
    lines
        .map(|(name, value)| (name.clone(), value.as_bytes()))
        .collect()
}

/// Whether a finding is about the value at a hidden place. That nothing is there is a difference.
fn is_hidden(name: &str, finding: &Finding) -> bool {
    let path = match (finding.part, name.split_once('/')) {
        (Part::Header, Some(("header", path))) | (Part::Trailer, Some(("trailer", path))) => path,
        (Part::Body, Some((BODY, path))) => {
            return finding.path.strip_prefix('/') == Some(path) && is_of_value(finding.kind);
        }
        _ => return false,
    };
    match finding.path.strip_prefix(path) {
        Some("") => is_of_value(finding.kind),
        // Which cookies there were is hidden.
        Some(below) => below.starts_with('/'),
        None => false,
    }
}

fn is_of_value(kind: Kind) -> bool {
    !matches!(kind, Kind::Missing | Kind::Extra)
}

#[cfg(test)]
mod tests;
