//! Do users get their answers: what the mirror says of this moment, or else the record of the latest minutes.

use parity_schemas::lately::WaitedFor;
use ratatui::text::{Line, Span};

use super::super::seen::{Connection, Process, Seen, clock, down_told, fails_told, legacy_down};
use super::{BAD, BOLD, DIM, GOOD, MAX_SENTENCES, OPEN, parted, plain, style, text};
use crate::view::words::{elapsed, grouped, percent, plural, rate, sentence, shown};
use crate::view::{Candidate, ReportView, Standing, Status, killed, none_lives};

/// Do users get their answers?
pub(super) fn clients(seen: &Seen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Connection::Lost { why, last, again } = &seen.connection {
        let last = last.map_or_else(
            || "nothing was answered yet".to_owned(),
            |last| format!("what is here is of {}", clock(last)),
        );
        let told = format!(
            "NO CONNECTION: {}; {last}; asked again at {}",
            sentence(why),
            clock(*again)
        );
        lines.push(Line::styled(told, BAD));
    }
    if let Process::Mirror(status) = &seen.process {
        lines.extend(now(status, seen));
    } else if seen
        .decided
        .as_ref()
        .is_some_and(|decided| none_lives(&decided.report.watermarks))
    {
        let told = "no process records now, so what clients get is not known";
        let mut spans = vec![text(OPEN, told)];
        spans.extend(candidates(seen));
        lines.push(parted(spans));
    } else if let Some(line) = lately(seen) {
        lines.push(line);
    }
    if let Some(decided) = &seen.decided {
        if let Some(killed) = killed(&decided.report.watermarks, clock) {
            let told = format!("{}: {}", killed.what.to_uppercase(), killed.about);
            lines.push(Line::styled(told, BAD));
        }
        let view = ReportView::from(&**decided);
        // Clients do not care which candidate was beside them, so they are counted over all versions if that is known.
        let window = seen.history.as_ref().and_then(|history| history.window);
        let (clients, of) = match (&seen.history, window) {
            (Some(history), Some(window)) => {
                // A range begins with a bucket, and what is in the first one may have begun later.
                let begun = history.identities.iter().map(|one| one.first).min();
                let since = begun.map_or(window.from, |begun| begun.max(window.from));
                (
                    view.clients_of(history),
                    format!(" since {}, all versions", clock(since)),
                )
            }
            _ => (view.clients(), " in all that is counted".to_owned()),
        };
        lines.push(Line::from(vec![
            text(style(clients.tone()), sentence(&clients.told())),
            text(DIM, of),
        ]));
        for (failed, route) in view.failing_routes().into_iter().take(MAX_SENTENCES) {
            let told = format!("{} failed on {}", grouped(failed), shown(route));
            lines.push(Line::styled(told, BAD));
        }
    }
    lines
}

/// What a mirror says of this moment.
fn now(status: &Status, seen: &Seen) -> Vec<Line<'static>> {
    let mut now = vec![];
    if let Some(live) = &seen.live {
        let failed = match (live.failed > 0.0, live.left > 0.0) {
            (true, _) => BAD,
            // They are among those of whom it is not known why they have none.
            (false, true) => OPEN,
            (false, false) => GOOD,
        };
        now.extend([
            text(BOLD, format!("{:.1} requests/s", live.rate)),
            plain(" · "),
            text(
                failed,
                format!("{} without a whole answer", percent(live.failed)),
            ),
        ]);
        if live.left > 0.0 {
            let told = format!("{} left before they had one", percent(live.left));
            now.extend([plain(" · "), text(OPEN, told)]);
        }
        now.push(plain(format!(
            " · {} errors of the legacy",
            percent(live.errors)
        )));
    } else {
        now.push(text(DIM, "measuring requests a second"));
    }
    if let Some(added) = seen.overhead.as_ref().filter(|added| added.count > 0) {
        let told = |share| {
            added.quantile(share).map_or_else(
                || "over the last bound".to_owned(),
                |micros| format!("≤ {}", elapsed(micros)),
            )
        };
        now.push(plain(format!(
            " · added p50 {}, p99 {}",
            told(0.5),
            told(0.99)
        )));
    }
    let mut lines = vec![Line::from(now)];
    for one in status.given_up() {
        let told = format!(
            "CLIENTS LEAVE: {}",
            one.told("in the last seconds", |time| clock(*time))
        );
        lines.push(Line::styled(told, BAD));
    }
    let mut services = Vec::new();
    if !status.ready {
        services.push(text(BAD, "draining: accepts no requests"));
    }
    services.push(match status.legacy() {
        Standing::NotAsked => text(DIM, "legacy not asked yet"),
        Standing::Answers | Standing::NotAskedNow if status.is_given_up(WaitedFor::Legacy) => {
            text(OPEN, "legacy keeps clients waiting")
        }
        Standing::Answers | Standing::NotAskedNow => text(GOOD, "legacy answers"),
        Standing::Fails(since) | Standing::Down(Some(since)) => text(BAD, legacy_down(Some(since))),
        Standing::Down(None) => text(BAD, legacy_down(None)),
    });
    let of_candidate = candidates(seen);
    if of_candidate.is_empty() {
        services.push(match status.candidate() {
            Standing::NotAsked => text(DIM, "candidate not asked yet"),
            Standing::Answers if status.is_given_up(WaitedFor::Candidate) => {
                text(OPEN, "candidate keeps clients waiting")
            }
            Standing::Answers => text(GOOD, "candidate answers"),
            Standing::NotAskedNow => text(DIM, "candidate is asked nothing now"),
            // Told by `candidates`, which has nothing only before the port has answered.
            Standing::Fails(_) => text(OPEN, "candidate fails"),
            Standing::Down(_) => text(BAD, "CANDIDATE DOWN"),
        });
    }
    services.extend(of_candidate);
    services.push(if status.shadowing {
        plain("shadowing is on")
    } else {
        text(OPEN, seen.shadowing_off())
    });
    if let Some(last) = status.last_failed_client {
        services.push(text(
            OPEN,
            format!("last client without an answer at {}", clock(last)),
        ));
    }
    lines.push(parted(services));
    if let Some(rollout) = &status.rollout {
        let style = match (&rollout.fell_back, &rollout.waits) {
            (Some(_), _) => BAD,
            (None, Some(_)) => OPEN,
            (None, None) => DIM,
        };
        let allowed = seen.decided.as_ref();
        let allowed = allowed.map(|decided| decided.decision.thresholds.max_mismatch_rate);
        let bound = allowed.and_then(|allowed| rollout.bound_told(allowed));
        let bound = bound.map_or_else(String::new, |bound| format!("; {bound}"));
        let told = format!("rollout: {}{bound}", rollout.told_whole());
        lines.push(Line::from(text(style, sentence(&told))));
    }
    lines
}

/// The same where no mirror tells it: of the latest minutes of the record.
fn lately(seen: &Seen) -> Option<Line<'static>> {
    let history = seen.history.as_ref()?;
    // The last one has just begun, unless it is the only one: what it has by now is no rate of its whole length.
    let bucket = history
        .buckets
        .iter()
        .rev()
        .nth(1)
        .or(history.buckets.last())?;
    let per_second = bucket.received as f64 / history.bucket_seconds.max(1) as f64;
    let failed = rate(bucket.clients_failed, bucket.received).unwrap_or_else(|| "–".to_owned());
    let mut spans = vec![
        text(BOLD, format!("{per_second:.1} requests/s")),
        text(
            if bucket.clients_failed > 0 { BAD } else { GOOD },
            format!("{failed} without a whole answer"),
        ),
        text(
            DIM,
            format!(
                "in the {} from {}",
                match history.bucket_seconds / 60 {
                    1 => "minute".to_owned(),
                    some => plural(some, "minute", "minutes"),
                },
                clock(bucket.from)
            ),
        ),
    ];
    spans.extend(candidates(seen));
    Some(parted(spans))
}

/// How those versions of the candidate stand that are not well.
fn candidates(seen: &Seen) -> Vec<Span<'static>> {
    let errors = seen.erring().into_iter();
    let errors = errors.map(|told| text(OPEN, told));
    let each = seen.candidates().into_iter();
    let each = each.filter_map(|(name, candidate)| match candidate {
        Candidate::Answers => None,
        Candidate::Down(outage) => Some(text(BAD, down_told(&name, &outage))),
        Candidate::Fails(outage) => Some(text(OPEN, fails_told(&name, &outage))),
        Candidate::FailedMostly(mostly) => Some(text(
            OPEN,
            format!(
                "candidate{name} failed on {} of {} requests since {}",
                grouped(mostly.failed),
                grouped(mostly.sent),
                clock(mostly.from)
            ),
        )),
        Candidate::Failed(silence) => Some(text(
            OPEN,
            format!(
                "candidate{name} failed between {} and {}",
                clock(silence.since.from),
                clock(silence.until)
            ),
        )),
        Candidate::FailedUntil(exact) => Some(text(
            OPEN,
            format!("candidate{name} failed {}", exact.span(clock)),
        )),
    });
    each.chain(errors).collect()
}
