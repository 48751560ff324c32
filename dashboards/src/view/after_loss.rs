//! The gate's decision where a process was killed: what that one had received and not written is in no count, so the record as a whole
//! proves nothing any more. What was received since the next process of its name began may prove it, alone.
//!
//! That is asked besides the whole record, and never instead of it. Nothing is gained by a kill: what is known of the whole record must pass
//! but for the loss, so what differed before counts as ever; what came after it must pass by itself; and each route that was
//! compared before must have been compared since. Any other doubt about the whole record stays one.

use std::time::Duration;

use parity_comparator::decision::plural;
use parity_schemas::evidence::{Decision, Evidence, Outcome};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{RunState, Standing};
use parity_sink::{Reader, StoreError};

use super::decided::decide;
use super::settled::settle;
use crate::question::Question;

/// Processes that are named one by one; the rest are counted.
const MAX_NAMED: usize = 3;

/// The decision on what was received after the last loss.
pub struct AfterLoss {
    /// On that alone.
    pub decision: Decision,
    /// What was lost, and since when is decided, in words.
    pub lost: String,
    /// Routes that the whole record has compared, and of which nothing was compared since: a pass says nothing of them.
    pub not_compared: Vec<String>,
}

/// Decides on the whole record, as [`settled`](super::settled()) does without waiting for traffic. Where that would pass but for what was lost
/// with processes that were killed and replaced, also on what came after.
pub fn settled_after_loss(
    reader: &Reader,
    question: &Question,
) -> Result<(Decision, Option<AfterLoss>), StoreError> {
    let (whole, found) = settle(reader, question, Duration::ZERO, |_| {})?;
    let passes_but = |evidence| passes_but_for_losses(question, &whole, evidence);
    let Some(since) = found.as_ref().and_then(passes_but) else {
        return Ok((whole, None));
    };
    let since = question.selection.since.unwrap_or_default().max(since);
    let mut later = question.clone();
    later.selection.since = Some(since);
    let (decision, _) = settle(reader, &later, Duration::ZERO, |_| {})?;
    let is_compared = |name: &str| {
        let mut routes = decision.routes.iter();
        routes.any(|route| route.route == name && route.compared > 0)
    };
    let before = whole.routes.iter();
    let not_compared = before
        .filter(|route| route.compared > 0 && !route.unserved && !is_compared(&route.route))
        .map(|route| route.route.clone())
        .collect();
    let lost = told(&whole, since);
    let after = AfterLoss {
        decision,
        lost,
        not_compared,
    };
    Ok((whole, Some(after)))
}

/// When the last of the next processes began, if the counts of the whole record pass and only losses keep it from that.
fn passes_but_for_losses(
    question: &Question,
    whole: &Decision,
    evidence: &Evidence,
) -> Option<Timestamp> {
    let standing = standing(whole)?;
    let (standing, since) = standing.but_for_losses()?;
    let (decision, _) = decide(question, (Some(evidence), None), &standing);
    let is_open = whole.outcome == Outcome::Undecided;
    (is_open && decision.outcome == Outcome::Pass).then_some(since)
}

fn standing(decision: &Decision) -> Option<Standing> {
    let evidence = decision.evidence.as_ref()?;
    Some(Standing::shown(evidence.watermarks.clone()))
}

/// What was lost with which processes, and since when is decided.
fn told(whole: &Decision, since: Timestamp) -> String {
    let standing = standing(whole).unwrap_or_default();
    let mut lost: Vec<String> = standing
        .watermarks
        .iter()
        .filter(|one| one.state == RunState::Replaced)
        .map(|one| {
            let heard = one.last_heard.unwrap_or_default();
            format!("instance `{}` after {heard}", one.instance)
        })
        .collect();
    let more = lost.len().saturating_sub(MAX_NAMED) as u64;
    lost.truncate(MAX_NAMED);
    if more > 0 {
        lost.push(plural(more, "more process", "more processes"));
    }
    format!(
        "on what was received since {since} alone: what a process that was killed had received and not written is in no count ({})",
        lost.join(", ")
    )
}
