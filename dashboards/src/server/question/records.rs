//! What is asked of lists of records, which are by time: mismatches, decisions, changes.

use parity_schemas::audit::AuditAction;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::meant;
use parity_sink::MismatchFilter;
use parity_sink::read::{AuditFilter, DecisionFilter, MAX_CHANGES, MAX_DECISIONS, MAX_MISMATCHES};

use super::super::parameters::Parameters;
use super::super::site::Site;
use super::word;
use crate::question::{MIGRATION, values};
use crate::view::place;

/// Records on a page by default: a screenful.
const PER_PAGE: usize = 50;

/// What is asked of the list of mismatches.
#[derive(Debug, Default)]
pub(in crate::server) struct MismatchQuestion {
    filter: MismatchFilter,
    limit: Option<usize>,
}

impl Parameters for MismatchQuestion {
    fn known() -> Vec<String> {
        [
            MIGRATION,
            "route",
            "fingerprint",
            "class",
            "candidate_version",
            "since",
            "until",
            "limit",
            "after",
        ]
        .map(str::to_owned)
        .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned());
        match name {
            "route" => self.filter.route = text(),
            "fingerprint" => self.filter.fingerprint = text(),
            "class" => self.filter.class = Some(values::class(value)?),
            "candidate_version" => self.filter.candidate_version = text(),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_MISMATCHES)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = text(),
        }
        Ok(())
    }
}

impl MismatchQuestion {
    /// Which of the record of this site, and how many.
    pub(in crate::server) fn of(mut self, site: &Site) -> (MismatchFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}

/// Where a page of a list begins.
pub(super) fn after(text: &str) -> Result<(Timestamp, uuid::Uuid), String> {
    place(text).ok_or_else(|| {
        format!("`{text}` is no place; give the `next` of the page before as it was")
    })
}

/// What is asked of the list of decisions.
#[derive(Debug, Default)]
pub(in crate::server) struct DecisionQuestion {
    filter: DecisionFilter,
    limit: Option<usize>,
    /// What was asked besides the migration and the place, as it was given: the next page is asked for the same.
    pub(in crate::server) asked: Vec<(String, String)>,
}

impl Parameters for DecisionQuestion {
    fn known() -> Vec<String> {
        [
            MIGRATION,
            "outcome",
            "candidate_version",
            "since",
            "until",
            "limit",
            "after",
        ]
        .map(str::to_owned)
        .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "outcome" => self.filter.outcome = Some(values::outcome(value)?),
            "candidate_version" => self.filter.candidate_version = Some(value.to_owned()),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_DECISIONS)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = Some(meant(value).into_owned()),
        }
        remember(&mut self.asked, name, value);
        Ok(())
    }
}

impl DecisionQuestion {
    /// Which of the record of this site, and how many.
    pub(in crate::server) fn of(mut self, site: &Site) -> (DecisionFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}

/// Keeps a parameter for the link to the next page, which has its own place and says its migration itself.
fn remember(asked: &mut Vec<(String, String)>, name: &str, value: &str) {
    if name != "after" && name != MIGRATION {
        asked.push((name.to_owned(), value.to_owned()));
    }
}

/// What is asked of the list of changes.
#[derive(Debug, Default)]
pub(in crate::server) struct AuditQuestion {
    filter: AuditFilter,
    limit: Option<usize>,
    /// What was asked besides the migration and the place, as it was given: the next page is asked for the same.
    pub(in crate::server) asked: Vec<(String, String)>,
}

impl Parameters for AuditQuestion {
    fn known() -> Vec<String> {
        [MIGRATION, "action", "since", "until", "limit", "after"]
            .map(str::to_owned)
            .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "action" => self.filter.action = Some(word(value, AuditAction::ALL)?),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_CHANGES)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = Some(meant(value).into_owned()),
        }
        remember(&mut self.asked, name, value);
        Ok(())
    }
}

impl AuditQuestion {
    /// Which of the record of this site, and how many.
    pub(in crate::server) fn of(mut self, site: &Site) -> (AuditFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}
