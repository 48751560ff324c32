//! A report and the decision on it, both from one read of the store.
//!
//! Read separately, the counts and the decision could be of two different times. So whatever shows both calls [`decided`].
//! The gate, which waits until its evidence is complete, calls [`settled`](super::settled()).

use super::idle;
use super::listing::Listing;
use super::listing::special::Routes;
use crate::question::Question;
use parity_comparator::decision::{self, Asked};
use parity_comparator::redact::by_hand;
use parity_schemas::evidence::{Decision, Evidence};
use parity_schemas::id::new_id;
use parity_schemas::report::Report;
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use parity_sink::{Found, Known, Reader, Selection, StoreError};

/// Names listed when nothing matches the selection.
const MAX_NAMES: usize = 10;

/// A report, and the decision on just what it counts.
pub struct Decided {
    /// What was read.
    pub report: Report,
    /// The gate's decision now, without waiting. It is never stored.
    pub decision: Decision,
    /// Which groups are listed where.
    pub listing: Listing,
    /// If nothing is recorded for the selection: what is recorded instead.
    pub absent: Option<Absent>,
}

/// Nothing is recorded for the selection.
pub struct Absent {
    /// A sentence that says so and names what is recorded. The names are not made visible.
    pub sentence: String,
    /// Whether other migrations are recorded but none of this name: it is probably misspelt.
    pub is_unknown_migration: bool,
}

/// Reads the report that is asked for and decides on it, without waiting.
pub fn decided(reader: &Reader, question: &Question) -> Result<Decided, StoreError> {
    let Found {
        value: mut report,
        instead,
    } = reader.find_report(&question.selected())?;
    clean(&mut report);
    let standing = standing(question, &report);
    report.idle_rules = idle::rules(reader, &report)?;
    let evidence = report.evidence();
    let found = (evidence.as_ref(), instead.as_ref());
    let (decision, absent) = decide(question, found, &standing);
    Ok(Decided::of(report, decision, absent))
}

/// The report to a decision that was made before. It is of the same versions, and is read later: what was received in between is
/// counted in it and not in the decision, and whoever draws it says so
/// ([`ReportView::later`](super::ReportView::later)).
pub fn reported(
    reader: &Reader,
    question: &Question,
    decision: Decision,
) -> Result<Decided, StoreError> {
    let mut selection = question.selection.clone();
    if let Some(evidence) = &decision.evidence {
        selection.candidate_version = Some(evidence.candidate_version.clone());
    }
    let found = reader.find_report(&selection)?;
    let mut report = found.value;
    clean(&mut report);
    report.idle_rules = idle::rules(reader, &report)?;
    let absent = found.instead.as_ref();
    let absent = absent.map(|known| Absent::of(known, &question.selection));
    Ok(Decided::of(report, decision, absent))
}

/// A report is passed on like a decision, so a secret in a reason must not come into it.
fn clean(report: &mut Report) {
    for left_out in &mut report.left_out {
        left_out.span.reason = by_hand(&left_out.span.reason).into_owned();
    }
}

impl Decided {
    /// What is shown of a report and a decision.
    pub(crate) fn of(mut report: Report, decision: Decision, absent: Option<Absent>) -> Self {
        report.without_noise(&decision);
        let routes = Routes::of(&report.routes);
        for group in &mut report.groups {
            routes.tell(group);
        }
        let listing = Listing::of(&report, decision.thresholds.noise);
        report.causes = listing.causes();
        Self {
            report,
            decision,
            listing,
            absent,
        }
    }
}

/// How far the evidence of a report is complete.
pub(super) fn standing(question: &Question, report: &Report) -> Standing {
    let mut standing = Standing {
        complete_until: report.complete_until,
        watermarks: report.watermarks.clone(),
    };
    standing.take_for_gone(&question.gone, Timestamp::now());
    standing.expect(&question.expected);
    standing
}

/// Decides now on what was found: the evidence, or what is recorded instead, which the reason then names.
pub(super) fn decide(
    question: &Question,
    (evidence, instead): (Option<&Evidence>, Option<&Known>),
    standing: &Standing,
) -> (Decision, Option<Absent>) {
    let asked = Asked {
        migration: question.selection.migration(),
        evidence,
        standing,
        thresholds: &question.thresholds,
    };
    let mut decision =
        decision::decide_knowing(&asked, &question.known, new_id(), Timestamp::now());
    let absent = instead.map(|known| Absent::of(known, &question.selection));
    if let Some(absent) = &absent {
        decision.reasons = vec![absent.sentence.clone()];
    }
    (decision, absent)
}

impl Absent {
    fn of(known: &Known, selection: &Selection) -> Self {
        let migration = selection.migration();
        let is_known = known.migrations.iter().any(|known| known == migration);
        Self {
            sentence: sentence(known, selection, is_known),
            is_unknown_migration: !is_known && !known.migrations.is_empty(),
        }
    }
}

/// That nothing is recorded under the name of a migration, and under which there is something.
pub fn unknown_migration(migration: &str, recorded: &[String]) -> String {
    let text = format!("no traffic recorded for migration `{migration}`");
    if recorded.is_empty() {
        return text;
    }
    format!("{text}; recorded are {}", names(migration, recorded))
}

fn sentence(known: &Known, selection: &Selection, is_known: bool) -> String {
    let migration = selection.migration();
    if !is_known {
        let text = unknown_migration(migration, &known.migrations);
        return if known.migrations.is_empty() {
            format!("{text}: nothing is recorded at all")
        } else {
            text
        };
    }
    match &selection.candidate_version {
        Some(version) if !known.candidate_versions.contains(version) => format!(
            "no traffic recorded for candidate version `{version}` of migration `{migration}`; recorded are {}",
            names(version, &known.candidate_versions)
        ),
        Some(version) => format!(
            "no traffic recorded for candidate version `{version}` of migration `{migration}` in this window"
        ),
        None => format!("no traffic recorded for migration `{migration}` in this window"),
    }
}

fn names(wanted: &str, known: &[String]) -> String {
    let listed: Vec<String> = known
        .iter()
        .take(MAX_NAMES)
        .map(|name| match name.as_str() {
            "" => "(no version)".to_owned(),
            name => format!("`{name}`"),
        })
        .collect();
    let mut text = listed.join(", ");
    if known.len() > MAX_NAMES {
        text.push_str(", …");
    }
    if let Some(meant) = spelling::nearest(wanted, known.iter().map(String::as_str)) {
        text.extend(["; did you mean `", meant, "`?"]);
    }
    text
}
