//! The handler of the page of one group.
//!
//! Where it is, and whether it still counts, is found by [`Place`], for the API, too.

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
use super::place::Place;
use super::visit::Visited;
use crate::pages::{self, GroupFound};
use crate::view::{self, GroupTimes};

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
