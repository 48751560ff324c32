//! Where a group is.
//!
//! A link to a group is sent to people who open it later, when another candidate may run, the range that was chosen has moved on, or
//! a rule has come that excuses it. So a group that is not where it is looked for is shown where it was seen, as it was counted
//! then, and its page and the API say so.

use parity_schemas::report::Report;
use parity_sink::{MismatchFilter, Reader, StoreError};

use crate::question::Question;
use crate::view::{self, Browsed, BrowsedGroup, Decided, LeftOut, Uncounted};

/// Where a group is.
pub(super) struct Place {
    /// The question that has it, or that which was asked if none has.
    pub(super) question: Question,
    /// The report on that.
    pub(super) decided: Decided,
    /// What its list of what counts leaves out.
    pub(super) left_out: LeftOut,
    /// The version that was asked for, where the group is not.
    pub(super) not_under: Option<String>,
    /// Why it does not count any more, if that is so.
    pub(super) uncounted: Option<Uncounted>,
}

impl Place {
    /// Where it was asked for, or else under the version in which its newest stored mismatch was, at any time, or else under the
    /// rules by which that was counted.
    pub(super) fn find(
        reader: &Reader,
        question: &Question,
        name: &str,
        route: Option<&str>,
    ) -> Result<Self, StoreError> {
        let mut here = Self::of(reader, question.clone(), None)?;
        if let Some(row) = here.row(name, route) {
            let group = row.group.report;
            here.uncounted = Uncounted::by_register(reader, &here.decided.report, group)?;
            return Ok(here);
        }
        let stored = MismatchFilter {
            migration: Some(question.selection.migration().to_owned()),
            fingerprint: Some(name.to_owned()),
            route: route.map(str::to_owned),
            ..MismatchFilter::default()
        };
        // Retention may have removed all of its mismatches, but not that it was decided again.
        let newest = reader.mismatches(&stored, 1)?.into_iter().next();
        let report = &here.decided.report;
        let found = newest.map(|newest| newest.identity).or_else(|| {
            let rules_hash = again(report, name)?.to_owned();
            let mut identity = report.evidence()?.identity;
            identity.rules_hash = rules_hash;
            Some(identity)
        });
        let Some(identity) = found else {
            return Ok(here);
        };
        let mut elsewhere = question.clone();
        elsewhere.selection.candidate_version = Some(identity.candidate_version);
        elsewhere.selection.since = None;
        let asked = match &question.selection.candidate_version {
            Some(version) => version.clone(),
            None => report.candidate_version.clone(),
        };
        let mut there = Self::of(reader, elsewhere.clone(), Some(asked.clone()))?;
        let present = &here.decided.report;
        if let Some(row) = there.row(name, route) {
            let reports = (present, &there.decided.report);
            there.uncounted = match Uncounted::by_rules(reader, reports, row.group.report, true)? {
                None => Uncounted::by_register(reader, &there.decided.report, row.group.report)?,
                by_rules => by_rules,
            };
            return Ok(there);
        }
        elsewhere.selection.rules_hash = Some(identity.rules_hash);
        let mut then = Self::of(reader, elsewhere, Some(asked))?;
        let Some(row) = then.row(name, route) else {
            return Ok(here);
        };
        let reports = (&there.decided.report, &then.decided.report);
        then.uncounted = Uncounted::by_rules(reader, reports, row.group.report, false)?;
        // It is the version that was asked for.
        then.not_under = then
            .not_under
            .filter(|asked| *asked != then.decided.report.candidate_version);
        Ok(then)
    }

    /// The group there.
    pub(super) fn row(&self, name: &str, route: Option<&str>) -> Option<BrowsedGroup<'_>> {
        Browsed::find(&self.decided, &self.left_out, name, route)
    }

    fn of(
        reader: &Reader,
        question: Question,
        not_under: Option<String>,
    ) -> Result<Self, StoreError> {
        let decided = view::decided(reader, &question)?;
        Ok(Self {
            left_out: view::left_out(&decided),
            question,
            decided,
            not_under,
            uncounted: None,
        })
    }
}

/// The hash of the rules by which a group was counted that later ones excuse, if a report tells that.
fn again<'a>(report: &'a Report, name: &str) -> Option<&'a str> {
    let mut carried = report.carried.iter();
    let found = carried.find(|rules| {
        let mut again = rules.decided_again.iter();
        again.any(|route| route.fingerprints.contains(name))
    });
    found.map(|rules| rules.rules_hash.as_str())
}
