//! Up to when a record is complete, and which processes it still lacks.

use std::fmt::Write;

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::evidence::{EvidenceSummary, OtherRules};
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};

use super::words::{plural, sentence, shown};

/// Processes that are named; more are counted, and the JSON document has all.
const MAX_NAMED: usize = 5;

/// How complete the record is, over all processes that count for it.
#[derive(Clone, Copy)]
pub(crate) struct Completeness<'a> {
    /// Every request that was received before has its outcome in the record, except as `watermarks` says.
    pub(crate) until: Option<Timestamp>,
    /// The watermark of each process.
    pub(crate) watermarks: &'a [InstanceWatermark],
    /// What is counted of earlier rules, the newest first.
    pub(crate) carried: &'a [CarriedRules],
    /// Evidence under other rules, which is not counted; the newest first.
    pub(crate) other_rules: &'a [OtherRules],
}

impl<'a> From<&'a Report> for Completeness<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            until: report.complete_until,
            watermarks: &report.watermarks,
            carried: &report.carried,
            other_rules: &report.other_rules,
        }
    }
}

impl<'a> From<&'a EvidenceSummary> for Completeness<'a> {
    fn from(evidence: &'a EvidenceSummary) -> Self {
        Self {
            until: evidence.complete_until,
            watermarks: &evidence.watermarks,
            carried: &evidence.carried,
            other_rules: &evidence.other_rules,
        }
    }
}

impl Completeness<'_> {
    /// One line: up to when the record is complete, and the processes that it lacks. `moment` writes a time.
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
            if let (RunState::Replaced, Some(heard)) = (watermark.state, watermark.last_heard) {
                text.extend([" · ", &name, " was last heard of at ", &moment(heard)]);
                text.push_str(" and did not say that it ended");
                let next = watermark.succeeded.map(|next| {
                    format!(
                        "; it began anew at {}, and what it received in between is not known",
                        moment(next)
                    )
                });
                text.push_str(&next.unwrap_or_default());
                continue;
            }
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

    /// A line about each of the earlier rules of which something is counted.
    pub(crate) fn carried_lines(&self, moment: impl Fn(Timestamp) -> String) -> Vec<String> {
        parity_comparator::decision::carried(self.carried, moment)
            .map(|told| sentence(&told))
            .collect()
    }

    /// One line about evidence under other rules; empty if there is none.
    pub(crate) fn other_rules_line(&self, moment: impl Fn(Timestamp) -> String) -> Option<String> {
        let (newest, more) = self.other_rules.split_first()?;
        let mut text = format!(
            "recorded under other rules, and not counted here: {} ({} to {})",
            shown(&newest.rules_hash),
            moment(newest.from),
            moment(newest.to)
        );
        if !more.is_empty() {
            let more = plural(more.len() as u64, "other", "others");
            let _infallible = write!(text, ", and {more}");
        }
        if let Some(why) = &newest.why {
            text.extend([": ", &sentence(why)]);
        }
        Some(text)
    }

    /// Whether a process was killed that may have known of some of them.
    pub(crate) fn has_lost(&self) -> bool {
        let mut all = self.watermarks.iter();
        all.any(|run| run.state == RunState::Replaced)
    }

    /// Whether a process may still record the outcomes that are missing.
    pub(crate) fn goes_on(&self) -> bool {
        self.watermarks.iter().any(|run| run.state.goes_on())
    }
}
