//! How far a record is complete, and what keeps it from being.

use std::fmt::Write;

use parity_schemas::evidence::{EvidenceSummary, OtherRules};
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};

use super::words::{grouped, shown};

/// Processes that are named; more are counted, and the JSON document has all.
const MAX_NAMED: usize = 5;

/// What is known of all who count.
#[derive(Clone, Copy)]
pub(crate) struct Completeness<'a> {
    /// Everything received before is settled and counted, but for what `watermarks` says otherwise.
    pub(crate) until: Option<Timestamp>,
    /// How far the record of each process is.
    pub(crate) watermarks: &'a [InstanceWatermark],
    /// What there is under other rules, and is not counted; the newest first.
    pub(crate) other_rules: &'a [OtherRules],
}

impl<'a> From<&'a Report> for Completeness<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            until: report.complete_until,
            watermarks: &report.watermarks,
            other_rules: &report.other_rules,
        }
    }
}

impl<'a> From<&'a EvidenceSummary> for Completeness<'a> {
    fn from(evidence: &'a EvidenceSummary) -> Self {
        Self {
            until: evidence.complete_until,
            watermarks: &evidence.watermarks,
            other_rules: &evidence.other_rules,
        }
    }
}

impl Completeness<'_> {
    /// Until when, and which processes keep it from being whole; one line. `moment` writes a time.
    pub(crate) fn line(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let mut text = self.until.map_or_else(
            || "not known how far it is complete".to_owned(),
            |until| format!("complete up to {}", moment(until)),
        );
        let is_whole = |watermark: &&InstanceWatermark| {
            matches!(watermark.state, RunState::Complete | RunState::Ended)
        };
        let rest: Vec<_> = self
            .watermarks
            .iter()
            .filter(|one| !is_whole(one))
            .collect();
        for watermark in rest.iter().take(MAX_NAMED) {
            let name = shown(&watermark.instance);
            text.extend([" · ", &name, ": ", watermark.state.as_str()]);
            if let Some(rules) = &watermark.rules_hash {
                text.extend([" ", &shown(rules)]);
            }
            if let Some(heard) = watermark.last_heard {
                text.extend([", last heard of at ", &moment(heard)]);
            }
        }
        if rest.len() > MAX_NAMED {
            let _infallible = write!(text, " · and {} more", rest.len() - MAX_NAMED);
        }
        text
    }

    /// What a change of the rules has put out of sight; one line, or nothing.
    pub(crate) fn other_rules_line(&self, moment: impl Fn(Timestamp) -> String) -> Option<String> {
        let (newest, more) = self.other_rules.split_first()?;
        let mut text = format!(
            "recorded under other rules, and not counted here: {} ({} to {})",
            shown(&newest.rules_hash),
            moment(newest.from),
            moment(newest.to)
        );
        if !more.is_empty() {
            let _infallible = write!(text, ", and {} others", grouped(more.len() as u64));
        }
        Some(text)
    }

    /// Whether somebody may yet tell the outcome of a request that has none.
    pub(crate) fn goes_on(&self) -> bool {
        let mut runs = self.watermarks.iter();
        runs.any(|run| {
            !matches!(
                run.state,
                RunState::Ended
                    | RunState::Replaced
                    | RunState::OtherRules
                    | RunState::OtherVersions
                    | RunState::Gone
            )
        })
    }
}
