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

/// Parameters that mean the same on other screens.
const SHARED: [&str; 2] = ["candidate_version", "since"];

/// What is asked of a list.
#[derive(Debug, Default)]
pub(in crate::server) struct ListQuestion<F> {
    filter: F,
    limit: Option<usize>,
    /// What was asked besides the migration and the place, as it was given: the next page is asked for the same.
    asked: Vec<(String, String)>,
}

/// What is asked of the list of mismatches.
pub(in crate::server) type MismatchQuestion = ListQuestion<MismatchFilter>;
/// What is asked of the list of decisions.
pub(in crate::server) type DecisionQuestion = ListQuestion<DecisionFilter>;
/// What is asked of the list of changes.
pub(in crate::server) type AuditQuestion = ListQuestion<AuditFilter>;

/// Which records a list has.
pub(in crate::server) trait Filter: Default {
    /// Parameters that only this list has.
    const OWN: &'static [&'static str];
    /// Records on a page at the most.
    const MOST: usize;

    /// Takes the value of one of its own.
    fn own(&mut self, name: &str, value: &str) -> Result<(), String>;

    /// What each list has.
    fn common(&mut self) -> Common<'_>;
}

/// What each list can be asked for.
pub(in crate::server) struct Common<'a> {
    migration: &'a mut Option<String>,
    since: &'a mut Option<Timestamp>,
    until: &'a mut Option<Timestamp>,
    before: &'a mut Option<(Timestamp, uuid::Uuid)>,
}

macro_rules! common {
    () => {
        fn common(&mut self) -> Common<'_> {
            Common {
                migration: &mut self.migration,
                since: &mut self.since,
                until: &mut self.until,
                before: &mut self.before,
            }
        }
    };
}

impl Filter for MismatchFilter {
    const OWN: &'static [&'static str] = &["route", "fingerprint", "class", "candidate_version"];
    const MOST: usize = MAX_MISMATCHES;

    fn own(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned());
        match name {
            "route" => self.route = text(),
            "fingerprint" => self.fingerprint = text(),
            "class" => self.class = Some(values::class(value)?),
            _ => self.candidate_version = text(),
        }
        Ok(())
    }

    common!();
}

impl Filter for DecisionFilter {
    const OWN: &'static [&'static str] = &["outcome", "candidate_version"];
    const MOST: usize = MAX_DECISIONS;

    fn own(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "outcome" => self.outcome = Some(values::outcome(value)?),
            _ => self.candidate_version = Some(value.to_owned()),
        }
        Ok(())
    }

    common!();
}

impl Filter for AuditFilter {
    const OWN: &'static [&'static str] = &["action"];
    const MOST: usize = MAX_CHANGES;

    fn own(&mut self, _: &str, value: &str) -> Result<(), String> {
        self.action = Some(word(value, AuditAction::ALL)?);
        Ok(())
    }

    common!();
}

impl<F: Filter> Parameters for ListQuestion<F> {
    fn known() -> Vec<String> {
        let own = F::OWN.iter().copied();
        let all = [MIGRATION].into_iter().chain(own);
        let all = all.chain(["since", "until", "limit", "after"]);
        all.map(str::to_owned).collect()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let common = self.filter.common();
        match name {
            "since" => *common.since = Some(values::since(value)?),
            "until" => *common.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, F::MOST)?),
            "after" => *common.before = Some(after(value)?),
            MIGRATION => *common.migration = Some(meant(value).into_owned()),
            own => self.filter.own(own, value)?,
        }
        // The link to the next page has its own place, and says its migration itself.
        if name != "after" && name != MIGRATION {
            self.asked.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }
}

/// A list as a page asks for it: a form sends what is empty, too, and spells out what nobody would see.
#[derive(Debug, Default)]
pub(in crate::server) struct OfPage<F>(pub(in crate::server) ListQuestion<F>);

impl<F: Filter> Parameters for OfPage<F> {
    fn known() -> Vec<String> {
        ListQuestion::<F>::known()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            _ if value.is_empty() => Ok(()),
            // The list itself reads it so.
            MIGRATION => self.0.read(name, value),
            _ => self.0.read(name, &meant(value)),
        }
    }
}

impl<F: Filter> ListQuestion<F> {
    /// What other screens are asked, too, and what only this list is.
    pub(in crate::server) fn shared(&mut self) -> [Vec<(String, String)>; 2] {
        let asked = std::mem::take(&mut self.asked);
        let is_shared = |(name, _): &(String, String)| SHARED.contains(&name.as_str());
        let (shared, own) = asked.into_iter().partition(is_shared);
        [shared, own]
    }

    /// Which of the record of this site, and how many.
    pub(in crate::server) fn of(mut self, site: &Site) -> (F, usize) {
        let migration = self.filter.common().migration;
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
