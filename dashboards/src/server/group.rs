//! The handler of the page of one group.
//!
//! A link to a group is sent to people who open it later, when another candidate may run, the range that was chosen has moved on, or
//! a rule has come that excuses it. So a group that is not where it is looked for is shown where it was seen, as it was counted
//! then, and the page says so.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use parity_comparator::causes::special;
use parity_schemas::attributes::SpecialAttribute;
use parity_schemas::record::Mismatch;
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::suggested::Suggestions;
use parity_schemas::tally::{INTERVAL_MICROS, minute};
use parity_schemas::time::Timestamp;
use parity_sink::{MismatchFilter, Reader, StoreError};

use super::answer::ErrorAnswer;
use super::html::{Asking, Read, html, screen, sorry};
use super::parameters::Asked;
use super::visit::Visited;
use crate::pages::{self, GroupFound};
use crate::question::Question;
use crate::view::{self, Browsed, BrowsedGroup, Decided, GroupTimes, LeftOut, Uncounted};

/// Mismatches on the page of a group.
const OF_A_GROUP: usize = 25;

/// What is special about the requests of a group, beside those of its route since it was first seen: what was asked before it began
/// says nothing of who meets it. `None` where that is the same as all that is counted, or there is nothing to tell.
fn special_since(
    reader: &Reader,
    place: &Place,
    group: &GroupReport,
) -> Result<Option<Vec<SpecialAttribute>>, StoreError> {
    let report = &place.decided.report;
    let begin = Timestamp::from_micros(minute(group.first_seen).saturating_mul(INTERVAL_MICROS));
    let is_all = report.window.is_none_or(|window| begin <= window.from);
    if group.special.is_empty() || is_all {
        return Ok(None);
    }
    let mut selection = place.question.selected();
    selection.candidate_version = Some(report.candidate_version.clone());
    selection.since = Some(begin);
    let later = reader.report(&selection)?;
    let mut routes = later.routes.iter();
    let route = routes.find(|route| route.route == group.route);
    Ok(route.map(|route| special(&group.attributes, group.count, &route.attributes)))
}

/// Where a group is.
struct Place {
    question: Question,
    decided: Decided,
    left_out: LeftOut,
    /// The version that was asked for, where the group is not.
    not_under: Option<String>,
    /// Why it does not count any more, if that is so.
    uncounted: Option<Uncounted>,
}

impl Place {
    /// Where it was asked for, or else under the version in which its newest stored mismatch was, at any time, or else under the
    /// rules by which that was counted.
    fn find(
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
    fn row(&self, name: &str, route: Option<&str>) -> Option<BrowsedGroup<'_>> {
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

/// One group, with some of its mismatches.
pub(super) async fn group(
    Visited(site): Visited,
    Path(fingerprint): Path<String>,
    asking: Asking,
) -> Response {
    struct Found {
        place: Place,
        special: Option<Vec<SpecialAttribute>>,
        times: GroupTimes,
        mismatches: Vec<Mismatch>,
        suggestions: Suggestions,
    }
    let (route, after) = match &asking {
        Ok(Asked(asked)) => (asked.browsing.of_route.clone(), asked.after),
        Err(_) => (None, None),
    };
    let filter = MismatchFilter {
        route: route.clone(),
        fingerprint: Some(fingerprint.clone()),
        before: after,
        ..MismatchFilter::default()
    };
    let (name, of_route) = (fingerprint.clone(), route.clone());
    let expires = view::expires(Timestamp::now());
    let until = expires.clone();
    let found = screen(&site, None, asking, move |reader, question| {
        let place = Place::find(reader, question, &name, of_route.as_deref())?;
        let decided = &place.decided;
        let selection = &place.question.selection;
        let filter = MismatchFilter {
            migration: Some(selection.migration().to_owned()),
            // "Newest" is the version that all other numbers here are of.
            candidate_version: Some(decided.report.candidate_version.clone()),
            since: selection.since,
            ..filter
        };
        let row = place.row(&name, of_route.as_deref());
        let special = match &row {
            Some(row) => special_since(reader, &place, row.group.report)?,
            None => None,
        };
        let (names, route) = row.map_or_else(Default::default, |row| {
            (row.names().to_vec(), Some(row.group.report.route.as_str()))
        });
        Ok(Found {
            special,
            times: GroupTimes::read(reader, question, names, route)?,
            suggestions: view::suggested(reader, decided, &expires)?,
            mismatches: reader.mismatches(&filter, OF_A_GROUP + 1)?,
            place,
        })
    });
    let Read {
        shell, mut found, ..
    } = match found.await {
        Ok(read) => read,
        Err(failure) => return sorry(&failure, &site),
    };
    let more = found.mismatches.len() > OF_A_GROUP;
    found.mismatches.truncate(OF_A_GROUP);
    let last = found.mismatches.last().filter(|_| more);
    let group = GroupFound {
        decided: &found.place.decided,
        left_out: &found.place.left_out,
        not_under: found.place.not_under.clone(),
        uncounted: found.place.uncounted.as_ref(),
        special: found.special.take(),
        times: &found.times,
        fingerprint: &fingerprint,
        route: route.as_deref(),
        mismatches: &found.mismatches,
        is_later: after.is_some(),
        next: last.map(|last| format!("{}_{}", last.time, last.id)),
        suggestions: &found.suggestions,
        expires: &until,
    };
    if let Some(page) = pages::group(&shell, &group) {
        return html(StatusCode::OK, page);
    }
    // Its counts may have been removed before its mismatches.
    let stored = found.mismatches.first().map_or_else(String::new, |newest| {
        format!(
            "; mismatches of it are stored, the newest as /mismatches/{}",
            newest.id
        )
    });
    sorry(
        &ErrorAnswer::missing(format!(
            "no group {fingerprint} is counted here{stored}; the list of groups has those that are"
        )),
        &site,
    )
}
