//! What follows from what was counted, and why nothing more does.

use parity_schemas::stub::{StubCounts, StubDocument, StubOutcome};

use super::reached::Shadowed;

/// What is demanded of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Demands {
    /// So many pairs are equal.
    pub(crate) min_calls: u64,
    /// Which requests reach the candidate, if somebody knows.
    pub(crate) shadowed: Option<Shadowed>,
}

/// Calls of which nobody knows what came of them, such as after a panic while they were compared: each call is of a pair, alone, or of
/// those that a limit has hit.
pub(super) fn lost(document: &StubDocument) -> u64 {
    let StubCounts {
        legacy,
        candidate,
        equal,
        differing,
        missing,
        extra,
        not_reached,
    } = document.counts;
    let limit = |name: &str| document.limits.get(name).copied().unwrap_or(0);
    let not_compared: u64 = document.not_compared.values().sum();
    let pairs = equal + differing + not_compared + limit("crowded");
    let alone = missing + extra + not_reached;
    let settled = 2 * pairs + alone + limit("waiting") + limit("unsettled");
    (legacy + candidate).saturating_sub(settled)
}

/// A difference that was seen is proven. That a call is missing is only proven if none was lost.
pub(super) fn outcome(document: &StubDocument, demands: Demands) -> StubOutcome {
    let counts = &document.counts;
    let has_alone = counts.missing + counts.extra > 0;
    match () {
        () if counts.differing + document.other_order > 0 => StubOutcome::Fail,
        () if has_alone && document.limits.is_empty() => StubOutcome::Fail,
        () if has_alone || !reasons(document, demands).is_empty() => StubOutcome::Undecided,
        () => StubOutcome::Pass,
    }
}

/// What stands against a pass besides differences, in words.
pub(super) fn reasons(document: &StubDocument, demands: Demands) -> Vec<String> {
    let counts = &document.counts;
    let mut reasons = Vec::new();
    let calls = counts.legacy + counts.candidate;
    let answered = |how: &str| document.answered.get(how).copied().unwrap_or(0);
    if calls == 0 {
        reasons.push("no call was seen: do the services call these ports?".to_owned());
    } else if answered("canned") + answered("upstream") == 0 {
        reasons.push(if answered("no_answer") > 0 {
            "no call was answered by the file of answers: each got 404, so what the services do after an answer was never seen; write an [[answer]] for these calls".to_owned()
        } else {
            "no call was answered by the service behind the stub: is it there, and in time?".to_owned()
        });
    }
    if counts.not_reached > 0 && demands.shadowed != Some(Shadowed::Some) {
        reasons.push(format!(
            "{} of the legacy's {} calls have no partner, and nothing else shows that their requests reached the candidate (an id with which the legacy calls one route twice may be of several requests, and does not): is the mirror sampling (mirror.sample, PARITY_SAMPLE), its breaker open, limits.in_flight full, or a route not shadowed? If each request reaches the candidate, say --shadowed all: then they are missing. If not, say --shadowed some, and let the services pass a correlation header on: then they do not count",
            counts.not_reached, counts.legacy
        ));
    }
    let is_fail = counts.differing + counts.missing + counts.extra + document.other_order > 0;
    if calls > 0 && !is_fail && counts.equal < demands.min_calls {
        let (equal, wanted) = (counts.equal, demands.min_calls);
        reasons.push(format!("{equal} pairs are equal, a pass needs {wanted}: let more calls come, or lower --min-calls"));
    }
    for (reason, count) in &document.not_compared {
        reasons.push(format!("{count} pairs could not be compared: {reason}"));
    }
    for (limit, count) in &document.limits {
        reasons.push(format!("{count} × {limit}: {}", meaning(limit)));
    }
    reasons
}

/// What a limit means, and what to do.
fn meaning(limit: &str) -> &'static str {
    match limit {
        "too_large" => "the body of a call is over limits.body; raise it",
        "bytes" => "all calls that wait hold limits.shadow_bytes; raise it",
        "waiting" => {
            "too many calls waited for a partner at once; shorten --wait, or send less at once"
        }
        "crowded" => {
            "many calls to one address at once without a common correlation header, so nobody knows which belong together; let both services pass x-request-id, x-correlation-id or traceparent on, or name theirs by --correlate-by"
        }
        "uncorrelated" => {
            "calls of the legacy without a partner do not count by --shadowed some, and no correlation id shows that their requests did not reach the candidate; let both services pass x-request-id, x-correlation-id or traceparent on, or name theirs by --correlate-by"
        }
        "of_several" => {
            "calls of the legacy without a partner came with an id with which it has called one route more than once, so that the id may be of several requests, of which not all reached the candidate; name a header of one request by --correlate-by, or let each request reach the candidate and say --shadowed all"
        }
        "broken_off" => "what came was not a whole call",
        "http2" => {
            "a connection speaks HTTP/2, which the stub does not; let the service speak HTTP/1.1"
        }
        "no_place" => {
            "a connection waited for a place until the end; let the service use fewer at once"
        }
        "unsettled" => "a second signal ended it while a partner could still have come",
        "order" => "a request had too many calls to tell their order",
        _ => "a fault of the stub itself has lost a call; please report this",
    }
}
