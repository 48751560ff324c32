//! Requests without a verdict: where the candidate failed, which counts as differing, and where nothing was compared.

use std::fmt::Write;

use parity_schemas::tally::Counts;
use parity_schemas::verdict::Reason;

use crate::output::{BAD, BOLD, grouped, styled};

/// What was counted as differing although there is no group of it.
pub(super) fn candidate_failed(out: &mut String, counts: &Counts) -> std::fmt::Result {
    list(
        out,
        counts,
        "THE CANDIDATE FAILED",
        Reason::is_candidate_failure,
    )
}

/// Everything else that has no verdict.
pub(super) fn not_compared(out: &mut String, counts: &Counts) -> std::fmt::Result {
    list(out, counts, "NOT COMPARED", |reason| {
        !reason.is_candidate_failure()
    })
}

fn list(
    out: &mut String,
    counts: &Counts,
    title: &str,
    wanted: impl Fn(Reason) -> bool,
) -> std::fmt::Result {
    let mut reasons: Vec<(Reason, u64)> = counts
        .not_compared
        .iter()
        .map(|(reason, count)| (*reason, *count))
        .filter(|(reason, _)| wanted(*reason))
        .collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let total: u64 = reasons.iter().map(|(_, count)| count).sum();
    writeln!(
        out,
        "\n{}",
        styled(BOLD, format_args!("{title} ({})", grouped(total)))
    )?;
    reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
    for (reason, count) in reasons {
        let style = if reason.is_candidate_failure() {
            BAD
        } else {
            anstyle::Style::new()
        };
        let word = styled(style, format_args!("{reason:20}"));
        writeln!(out, "{:>6} × {word} {}", grouped(count), advice(reason))?;
    }
    Ok(())
}

/// What a reason means and what to do about it.
fn advice(reason: Reason) -> &'static str {
    match reason {
        Reason::UnsafeMethod => {
            "the method may have side effects; a [[route]] with shadow = true allows it"
        }
        Reason::ShadowingOff => "shadowing was switched off",
        Reason::SampledOut => "left out by the sampling rate",
        Reason::Upgrade => "a connection upgrade; only the legacy takes part",
        Reason::RequestTooLarge => "the request body is over limits.body",
        Reason::InFlightCap => {
            "more shadows under way than limits.in_flight, than there are file descriptors for (`ulimit -n`), or than can be read at a time"
        }
        Reason::ByteBudget => "more bytes held than limits.shadow_bytes",
        Reason::BreakerOpen => "the candidate kept failing and was left alone for a while",
        Reason::ClientAborted => "the client went away first",
        Reason::LegacyUnreachable => "the legacy could not be reached; the client got 502",
        Reason::LegacyTimeout => "the legacy did not answer in time",
        Reason::LegacyTruncated => "the legacy's answer broke off",
        Reason::LegacyEarly => {
            "the legacy answered before it had the whole request, so the candidate was not asked"
        }
        Reason::CandidateRefused => "the candidate refused the connection; counts against it",
        Reason::CandidateTimeout => {
            "the candidate did not answer within its deadline; counts against it"
        }
        Reason::CandidateReset => {
            "the candidate closed the connection before it answered; counts against it"
        }
        Reason::CandidateProtocol => "the candidate did not answer in HTTP; counts against it",
        Reason::CandidateTls => "the TLS handshake with the candidate failed; counts against it",
        Reason::CandidateTruncated => "the candidate's answer broke off; counts against it",
        Reason::CandidateFlood => {
            "the candidate sent far more frames or protocol bytes than its answer needed; counts against it"
        }
        Reason::CandidateStream => "only the candidate's answer has no end; counts against it",
        Reason::CandidateTooLarge => {
            "only the candidate's answer is over limits.body, as sent or decompressed; counts against it"
        }
        Reason::CandidateUndecodable => {
            "only the candidate's answer has a content encoding that is not known; counts against it"
        }
        Reason::CandidateTooDeep => {
            "only the candidate's answer is nested deeper than is followed; counts against it"
        }
        Reason::CandidateWorkBudget => {
            "the candidate's answer takes more work to compare than one like the legacy's; counts against it"
        }
        Reason::ResponseTooLarge => {
            "the legacy's answer, or both, is over limits.body, as sent or decompressed"
        }
        Reason::Stream => "the legacy's answer, or both, has no end",
        Reason::Undecodable => {
            "the legacy's answer, or both, has a content encoding that cannot be undone"
        }
        Reason::TooDeep => {
            "the legacy's answer, or both, is nested deeper than is followed, and the bytes differ"
        }
        Reason::WorkBudget => "comparing would cost more work than allowed",
        Reason::QueueFull => "more exchanges waited for comparison than limits.queue",
        Reason::InternalPanic => "a bug of parity; please report it with the log",
        Reason::Shutdown => "parity was shut down first",
    }
}
