//! The handler of the page of one group.
//!
//! A link to a group is sent to people who open it later, when another candidate may run or the range that was chosen has
//! moved on. So a group that is not where it is looked for is shown where it was seen, and the page says so.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use parity_comparator::causes::special;
use parity_schemas::attributes::SpecialAttribute;
use parity_schemas::record::Mismatch;
use parity_schemas::report::GroupReport;
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
use crate::view::{self, Browsed, Decided, GroupTimes, LeftOut};

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
}

impl Place {
    /// Where it was asked for, or else under the version in which its newest stored mismatch was, at any time.
    fn find(
        reader: &Reader,
        question: &Question,
        name: &str,
        route: Option<&str>,
    ) -> Result<Self, StoreError> {
        let here = Self::of(reader, question.clone(), None)?;
        if Browsed::find(&here.decided, &here.left_out, name, route).is_some() {
            return Ok(here);
        }
        let stored = MismatchFilter {
            migration: Some(question.selection.migration().to_owned()),
            fingerprint: Some(name.to_owned()),
            route: route.map(str::to_owned),
            ..MismatchFilter::default()
        };
        let Some(newest) = reader.mismatches(&stored, 1)?.into_iter().next() else {
            return Ok(here);
        };
        let mut elsewhere = question.clone();
        elsewhere.selection.candidate_version = Some(newest.identity.candidate_version);
        elsewhere.selection.since = None;
        let asked = match &question.selection.candidate_version {
            Some(version) => version.clone(),
            None => here.decided.report.candidate_version.clone(),
        };
        let there = Self::of(reader, elsewhere, Some(asked))?;
        let found = Browsed::find(&there.decided, &there.left_out, name, route).is_some();
        Ok(if found { there } else { here })
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
        })
    }
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
        let Place {
            decided, left_out, ..
        } = &place;
        let selection = &place.question.selection;
        let filter = MismatchFilter {
            migration: Some(selection.migration().to_owned()),
            // "Newest" is the version that all other numbers here are of.
            candidate_version: Some(decided.report.candidate_version.clone()),
            since: selection.since,
            ..filter
        };
        let row = Browsed::find(decided, left_out, &name, of_route.as_deref());
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
    // What was counted by earlier rules may be excused by those of now, and its mismatches stay.
    let stored = found.mismatches.first().map_or_else(String::new, |newest| {
        format!(
            "; its mismatches are stored, the newest as /mismatches/{}: a rule or an entry of the register that came since may excuse them",
            newest.id
        )
    });
    sorry(
        &ErrorAnswer::missing(format!(
            "no group `{fingerprint}` is counted here{stored}; the list of groups has those that are"
        )),
        &site,
    )
}
