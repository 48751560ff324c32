//! Can this be believed: how complete the counts are, what was compared of them, and what is wrong with the process.

use parity_schemas::verdict::Reason;
use ratatui::text::{Line, Span};

use super::super::seen::{Process, Seen, clock};
use super::{BAD, DIM, MAX_SENTENCES, OPEN, parted, plain, style, text};
use crate::view::words::{grouped, plural, rate, sentence, shown, version};
use crate::view::{AllUnanswered, ReportView, not_compared};

/// Can this be believed?
pub(super) fn trust(seen: &Seen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(decided) = &seen.decided {
        let view = ReportView::from(&**decided);
        let report = view.report;
        let mut told = vec![plain(view.completeness().line(clock))];
        told.extend(received(view));
        lines.push(parted(told));
        lines.extend(differing(view).map(Line::raw));
        let mut how = vec![plain(
            view.classes()
                .unwrap_or_else(|| "no mismatch was asked again".to_owned()),
        )];
        how.push(text(
            DIM,
            format!(
                "legacy {} · candidate {} · rules {}",
                version(&report.legacy_version),
                version(&report.candidate_version),
                shown(&report.rules_hash)
            ),
        ));
        lines.push(parted(how));
        let unanswered = AllUnanswered::of(report);
        for route in unanswered.routes.iter().take(MAX_SENTENCES) {
            let told = format!(
                "the candidate failed, which counts as differing: {}",
                route.told(clock)
            );
            lines.push(Line::styled(told, BAD));
        }
        if let Some(unsettled) = view.unsettled() {
            lines.push(Line::styled(unsettled.sentence(), style(unsettled.tone())));
        }
    }
    lines.extend(process(&seen.process).map(|text| Line::styled(sentence(&text), BAD)));
    if let Process::Mirror(status) = &seen.process {
        lines.push(Line::styled(
            format!(
                "{} in flight · {} waiting to be written, {} lost · spool {} bytes",
                plural(status.shadows_in_flight as u64, "shadow", "shadows"),
                plural(status.records_queued, "record", "records"),
                grouped(status.records_dropped),
                grouped(status.spool_bytes)
            ),
            if status.records_dropped > 0 {
                OPEN
            } else {
                DIM
            },
        ));
    }
    if let Process::Sink(status) = &seen.process {
        lines.push(Line::styled(
            format!(
                "lag {} in {} · {} bytes buffered · {}",
                plural(status.lag, "record", "records"),
                plural(status.partitions as u64, "partition", "partitions"),
                grouped(status.buffered_bytes),
                plural(status.dead_letters, "dead letter", "dead letters")
            ),
            if status.ready { DIM } else { BAD },
        ));
    }
    if let (Some(trouble), true) = (&seen.trouble, seen.decided.is_some()) {
        let told = format!("the report is older than this: {}", sentence(trouble));
        lines.push(Line::styled(told, BAD));
    }
    lines
}

/// What became of all that was received, in parts that add up to it.
fn received(view: ReportView<'_>) -> Vec<Span<'static>> {
    let (report, counts) = (view.report, &view.report.counts);
    if report.compared > counts.received {
        return vec![plain(format!("compared {}", view.compared()))];
    }
    let share = |part: u64| match rate(part, counts.received) {
        Some(share) => format!(" ({share})"),
        None => String::new(),
    };
    let part = |part: u64, what: &str| format!("{} {what}{}", grouped(part), share(part));
    let mut told = vec![plain(format!(
        "of {} received {}",
        grouped(counts.received),
        part(report.compared, "compared")
    ))];
    let of = |reason: Reason| counts.not_compared.get(&reason).copied().unwrap_or(0);
    let sampled_out = of(Reason::SampledOut);
    // These are not sent either, and not by a fault of parity.
    let down = of(Reason::BreakerOpen);
    let dropped = counts.our_drops().saturating_sub(down);
    let named = sampled_out.saturating_add(down).saturating_add(dropped);
    let others = not_compared(counts).saturating_sub(named);
    let under_way = counts.received.saturating_sub(counts.settled());
    for (count, what, is_news) in [
        (sampled_out, "sampled out", false),
        (down, "not sent: the candidate was down", true),
        (dropped, "dropped by parity", true),
        (others, "not compared for other reasons", false),
        (under_way, "without an outcome yet", false),
    ] {
        if count > 0 {
            let told_of_it = part(count, what);
            told.push(if is_news {
                text(OPEN, told_of_it)
            } else {
                plain(told_of_it)
            });
        }
    }
    told
}

/// Of what that consists which differs, and which mismatches are no part of it; `None` if there are none.
fn differing(view: ReportView<'_>) -> Option<String> {
    let (report, counts) = (view.report, &view.report.counts);
    let (failed, excused) = (counts.candidate_failures(), report.excused.total());
    if report.differing == 0 && excused == 0 {
        return None;
    }
    let counting = report.differing.saturating_sub(failed);
    let mut told = format!(
        "{} as differing: {}",
        plural(report.differing, "request counts", "requests count"),
        plural(counting, "mismatch", "mismatches")
    );
    if failed > 0 {
        told.extend([", and ", &grouped(failed), " on which the candidate failed"]);
    }
    if excused > 0 {
        let more = plural(excused, "mismatch more does", "mismatches more do");
        told.extend(["; ", &more, " not (noise, known, transient)"]);
    }
    Some(told)
}

/// What a process says that is wrong with it.
fn process(process: &Process) -> impl Iterator<Item = String> {
    let troubles: [Option<String>; 5] = match process {
        Process::Mirror(status) => [
            status
                .store_error
                .clone()
                .map(|error| format!("the store: {error}")),
            status.store_loss.clone(),
            status
                .config_error
                .clone()
                .map(|error| format!("the configuration: {error}")),
            status.descriptors_low.clone(),
            status.recording.as_ref().and_then(|recording| {
                recording
                    .error
                    .clone()
                    .map(|error| format!("the recording: {error}"))
            }),
        ],
        Process::Sink(status) => [status.error.clone(), None, None, None, None],
        Process::Unknown | Process::Reader => [None, None, None, None, None],
    };
    troubles.into_iter().flatten()
}
