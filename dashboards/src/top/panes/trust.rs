//! Can this be believed: how complete the counts are, what was compared of them, and what is wrong with the process.

use parity_schemas::verdict::Reason;
use ratatui::text::Line;

use super::super::seen::{Process, Seen, clock};
use super::{BAD, DIM, MAX_SENTENCES, OPEN, parted, plain, style, text};
use crate::view::words::{grouped, plural, rate, sentence, shown, version};
use crate::view::{AllUnanswered, ReportView};

/// Can this be believed?
pub(super) fn trust(seen: &Seen) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(decided) = &seen.decided {
        let view = ReportView::from(&**decided);
        let (report, counts) = (view.report, &view.report.counts);
        let mut told = vec![plain(view.completeness().line(clock))];
        let share = |part: u64| rate(part, counts.received).unwrap_or_else(|| "–".to_owned());
        told.push(plain(if report.compared > counts.received {
            format!("compared {}", view.compared())
        } else {
            format!("compared {}", share(report.compared))
        }));
        let of = |reason: Reason| counts.not_compared.get(&reason).copied().unwrap_or(0);
        let sampled_out = of(Reason::SampledOut);
        if sampled_out > 0 {
            told.push(plain(format!("{} sampled out", share(sampled_out))));
        }
        // These are not sent either, and not by a fault of parity.
        let down = of(Reason::BreakerOpen);
        if down > 0 {
            let why = format!("{} not sent: the candidate was down", share(down));
            told.push(text(OPEN, why));
        }
        let dropped = counts.our_drops().saturating_sub(down);
        if dropped > 0 {
            told.push(text(OPEN, format!("{} dropped by parity", share(dropped))));
        }
        lines.push(parted(told));
        let mut how = vec![plain(
            view.classes()
                .unwrap_or_else(|| "no mismatch was asked again".to_owned()),
        )];
        if report.excused.total() > 0 {
            how.push(plain(format!(
                "{} do not count (noise, known, transient)",
                grouped(report.excused.total())
            )));
        }
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
