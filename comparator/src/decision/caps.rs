//! Reasons why counts do not prove a pass although few of the compared requests differ: too much was not compared, or
//! the compared answers were errors.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::{Evidence, RouteDecision, Thresholds, Window};
use parity_schemas::route::OTHER;
use parity_schemas::served::is_unserved;
use parity_schemas::tally::Counts;
use parity_schemas::verdict::Reason;
use parity_schemas::watermark::{RunState, Standing};

use super::shares::wrong;
use super::words::{TOTAL, duration, number, percent, percents};
use crate::bounds::{self, Seen};

/// What supports no pass although it was to be compared.
struct Lost {
    /// We dropped it.
    dropped: u64,
    /// It has no outcome.
    without: u64,
    /// Both, as a share of what was to be compared.
    share: f64,
}

impl Lost {
    fn of(counts: &Counts) -> Self {
        let without = counts.received.saturating_sub(counts.settled());
        let dropped = counts.our_drops();
        let meant = counts.compared() + counts.uncomparable() + dropped + without;
        Self {
            dropped,
            without,
            share: (dropped + without) as f64 / meant.max(1) as f64,
        }
    }
}

/// Whether so much was dropped, or has no outcome, that nothing can pass.
pub fn drops_too_much(counts: &Counts, thresholds: &Thresholds) -> bool {
    Lost::of(counts).share > thresholds.max_dropped
}

/// Whether we dropped too much, as a share of what was to be compared. Not as a share of what was received: most of
/// that may be meant for the legacy only. Requests without an outcome are in progress, or their outcome was lost with a
/// process. Neither supports a pass, so they count with what we dropped; but what only waits is not called so.
pub(super) fn too_many_dropped(
    name: &str,
    counts: &Counts,
    standing: &Standing,
    thresholds: &Thresholds,
) -> Option<String> {
    let Lost {
        dropped,
        without,
        share,
    } = Lost::of(counts);
    if share <= thresholds.max_dropped {
        return None;
    }
    let (share, allowed) = percents(share, thresholds.max_dropped);
    let reason = counts
        .not_compared
        .iter()
        .filter(|(reason, _)| reason.is_our_drop())
        .max_by_key(|(_, count)| **count)
        .filter(|(_, count)| **count >= without)
        .map(|(reason, _)| reason);
    if let Some(reason) = reason {
        return Some(format!(
            "{name}: {share} % of what was to be compared was dropped by parity (mostly `{reason}`), {allowed} % allowed; what it would have shown is unknown"
        ));
    }
    let besides = match dropped {
        0 => String::new(),
        dropped => format!(" or was dropped by parity ({})", number(dropped)),
    };
    let waits = if standing.watermarks.iter().any(|run| run.state.goes_on()) {
        "an answer, a comparison or a recheck is still due for these, so it falls by itself: wait with --wait"
    } else {
        "it was lost with a process, so what it would have shown is unknown"
    };
    Some(format!(
        "{name}: {share} % of what was to be compared has no outcome yet ({}){besides}, {allowed} % allowed; {waits}",
        number(without)
    ))
}

/// Routes beyond the record's limit are counted together, so one that differs may hide among them. All their
/// differences may be those of one route.
pub(super) fn hidden_routes(
    differing: u64,
    counts: &Counts,
    thresholds: &Thresholds,
) -> Option<String> {
    if is_unserved(counts) {
        return None;
    }
    let worst = Seen::new(differing, differing);
    let (allowed, alpha) = (thresholds.max_mismatch_rate, wrong(thresholds));
    bounds::is_beyond(thresholds.bound, worst, allowed, alpha).then(|| {
        format!(
            "{OTHER}: {} of {} differ, on routes that are counted together because there are too many; a route that always \
             differs may be among them: give the routes that count a [[route]] each, and start anew with another --migration",
            number(differing),
            number(counts.compared())
        )
    })
}

/// What a pass does not cover: requests that were never compared.
pub(super) fn never_compared(counts: &Counts) -> Option<String> {
    let compared = counts.compared();
    let other = counts.received.saturating_sub(compared);
    let (mostly, _) = counts
        .not_compared
        .iter()
        .filter(|(reason, _)| !reason.is_candidate_failure())
        .max_by_key(|(_, count)| **count)?;
    (other > 0).then(|| {
        format!(
            "this is proven for requests that were compared; {} of {} received were not (mostly `{mostly}`)",
            number(other),
            number(counts.received)
        )
    })
}

/// Whether too many pairs could not be compared for a reason that neither we nor the candidate alone caused. Not as a
/// share of all requests received: most of those may be meant for the legacy only.
pub(super) fn too_many_uncomparable(
    name: &str,
    counts: &Counts,
    thresholds: &Thresholds,
) -> Option<String> {
    let uncomparable = counts.uncomparable();
    let pairs = counts.compared() + uncomparable;
    let share = uncomparable as f64 / pairs.max(1) as f64;
    if share <= thresholds.max_uncomparable {
        return None;
    }
    let (share, allowed) = percents(share, thresholds.max_uncomparable);
    let mostly = most_frequent(counts, Reason::is_uncomparable);
    let mostly = mostly.map_or(String::new(), |reason| format!(" (mostly `{reason}`)"));
    Some(format!(
        "{name}: {share} % of the pairs could not be compared{mostly}, {allowed} % allowed; what they would have shown is unknown"
    ))
}

/// Requests that were not compared for a reason that has a cap of its own. A share of all that was received: whatever the
/// reason is, nothing is known of those.
pub(super) fn too_many_not_compared(
    name: &str,
    counts: &Counts,
    thresholds: &Thresholds,
) -> Vec<String> {
    let beyond = thresholds
        .max_not_compared
        .iter()
        .filter_map(|(reason, allowed)| {
            let count = counts.not_compared.get(reason).copied().unwrap_or(0);
            let share = count as f64 / counts.received.max(1) as f64;
            (share > *allowed).then(|| {
                let (share, allowed) = percents(share, *allowed);
                format!(
                    "{name}: {share} % were not compared because of `{reason}`, {allowed} % allowed"
                )
            })
        });
    beyond.collect()
}

/// Transient mismatches do not count, but there may be too many of them to believe that they are.
pub(super) fn too_many_transient(
    name: &str,
    route: &RouteDecision,
    thresholds: &Thresholds,
) -> Option<String> {
    let share = route.excused.transient as f64 / route.compared.max(1) as f64;
    (share > thresholds.max_transient).then(|| {
        let (share, allowed) = percents(share, thresholds.max_transient);
        format!("{name}: {share} % differed for a moment only, {allowed} % allowed")
    })
}

/// Evidence of a shorter time than was demanded: a day has other traffic than an hour of it.
pub(super) fn too_short(
    evidence: Option<&Evidence>,
    standing: &Standing,
    thresholds: &Thresholds,
) -> Option<String> {
    let evidence = evidence?;
    let left_out = evidence.left_out.iter();
    let left_out: Vec<Span> = left_out
        .map(|one| one.span.minutes())
        .map(|span| (span.from.as_micros(), span.to.as_micros()))
        .collect();
    let counted = counted(evidence.window, standing);
    // What is left out within what was counted: both together, less what was left out.
    let both: Vec<Span> = counted.iter().chain(&left_out).copied().collect();
    let micros = covered(both).saturating_sub(covered(left_out));
    let millis = u64::try_from(micros / 1_000).unwrap_or(0);
    (millis < thresholds.min_duration_ms).then(|| {
        format!(
            "{TOTAL}: counted for {}, at least {} wanted",
            duration(millis),
            duration(thresholds.min_duration_ms)
        )
    })
}

/// From a time to another, in microseconds.
type Span = (i64, i64);

/// How much time these spans cover; what several cover counts once.
fn covered(mut spans: Vec<Span>) -> i64 {
    spans.sort_unstable();
    let (mut micros, mut covered_to) = (0_i64, i64::MIN);
    for (from, to) in spans {
        let from = from.max(covered_to);
        micros = micros.saturating_add(to.saturating_sub(from).max(0));
        covered_to = covered_to.max(to);
    }
    micros
}

/// When it was counted. The window consists of whole intervals of tallies and has the gaps between runs, but nothing was
/// counted before a run began, nor after its last word. A clock that was set makes the window longer than the runs were.
/// Where one of them does not say, the window has the word.
fn counted(window: Window, standing: &Standing) -> Vec<Span> {
    let (from, to) = (window.from.as_micros(), window.to.as_micros());
    let runs = standing.watermarks.iter().filter(|run| {
        !matches!(
            run.state,
            RunState::OtherRules | RunState::OtherVersions | RunState::Unheard
        )
    });
    let spans: Option<Vec<Span>> = runs
        .map(|run| {
            let (began, heard) = (run.started?.as_micros(), run.last_heard?.as_micros());
            Some((began.max(from), heard.min(to)))
        })
        .collect();
    match spans {
        Some(spans) if !spans.is_empty() => spans,
        _ => vec![(from, to)],
    }
}

/// How the legacy answered the compared requests. Older programs did not count classes; of what they counted, as many
/// answers are taken for errors as possible, which is as many as clients got.
#[derive(Default)]
pub(super) struct Answers {
    /// Verdicts.
    pairs: u64,
    /// Those of them whose class was not counted.
    unknown: u64,
    /// At most this many of them are 3xx.
    redirects: u64,
    /// At most this many of them are 4xx.
    client_errors: u64,
    /// At most this many of them are 5xx.
    server_errors: u64,
    /// Those of unknown class that were copied from another proxy: their clients got no status from us.
    unseen: u64,
}

impl Answers {
    /// On all routes together.
    pub(super) fn of(evidence: Option<&Evidence>) -> Self {
        let mut all = Self::default();
        for route in evidence.iter().flat_map(|evidence| &evidence.routes) {
            let one = Self::on(&route.counts);
            all.pairs += one.pairs;
            all.unknown += one.unknown;
            all.unseen += one.unseen;
            all.redirects += one.redirects;
            all.client_errors += one.client_errors;
            all.server_errors += one.server_errors;
        }
        all
    }

    /// On one route.
    pub(super) fn on(counts: &Counts) -> Self {
        let pairs = counts.matched + counts.mismatch;
        let unknown = pairs.saturating_sub(counts.legacy_answers.values().sum());
        let clients = |outcome| counts.clients.get(&outcome).copied().unwrap_or(0);
        let of = |outcome| {
            let counted = counts.legacy_answers.get(&outcome).copied().unwrap_or(0);
            counted + clients(outcome).saturating_sub(counted).min(unknown)
        };
        Self {
            pairs,
            unknown,
            redirects: of(ClientOutcome::Redirection),
            client_errors: of(ClientOutcome::ClientError),
            server_errors: of(ClientOutcome::ServerError),
            unseen: clients(ClientOutcome::Tapped).min(unknown),
        }
    }

    /// The words before a share that is only known as an upper limit.
    fn at_worst(&self) -> &'static str {
        if self.unknown > 0 { "up to " } else { "" }
    }

    fn share(&self, errors: u64) -> f64 {
        errors as f64 / self.pairs.max(1) as f64
    }

    /// Whether errors are so frequent that the counts prove little more than that both services fail alike.
    pub(super) fn too_many_errors(&self, name: &str, thresholds: &Thresholds) -> Option<String> {
        let share = self.share(self.server_errors);
        (share > thresholds.max_errors).then(|| {
            let (share, allowed) = percents(share, thresholds.max_errors);
            let at_worst = self.at_worst();
            format!(
                "{name}: {at_worst}{share} % of the legacy's answers to what was compared were server errors (5xx), {allowed} % \
                 allowed; that the candidate fails alike does not show that it answers alike"
            )
        })
    }

    /// What a reader of a pass must know about the compared answers.
    pub(super) fn mostly_errors(&self) -> Vec<String> {
        /// A smaller share is normal.
        const WORTH_TELLING: f64 = 0.05;
        /// 3xx and 4xx are answers that clients got; they are mentioned only if there is little else. Behind a 304 may be two
        /// different answers, and behind a redirection to a login two different services.
        const MOSTLY: f64 = 0.5;
        let told = [
            (self.server_errors, WORTH_TELLING, "server errors (5xx)"),
            (self.client_errors, MOSTLY, "errors of clients (4xx)"),
            (
                self.redirects,
                MOSTLY,
                "redirections or \"not modified\" (3xx), which have no content to compare",
            ),
        ];
        let told = told
            .into_iter()
            .filter(|(errors, most, _)| self.share(*errors) > *most);
        told.map(|(errors, _, what)| {
            let share = percent((self.share(errors) * 1e4).round() / 1e4);
            format!("{}{share} % of the legacy's answers to what was compared were {what}", self.at_worst())
        })
        .chain((self.unseen > 0).then(|| {
            match self.unseen {
                1 => "1 of the compared is a copy from a tap: whether that answer was an error is not counted".to_owned(),
                more => format!(
                    "{} of the compared are copies from a tap: whether those answers were errors is not counted",
                    number(more)
                ),
            }
        }))
        .collect()
    }
}

pub(super) fn most_frequent(counts: &Counts, wanted: impl Fn(Reason) -> bool) -> Option<Reason> {
    let counted = counts.not_compared.iter();
    let wanted = counted.filter(|(reason, count)| wanted(**reason) && **count > 0);
    wanted
        .max_by_key(|(_, count)| **count)
        .map(|(reason, _)| *reason)
}
