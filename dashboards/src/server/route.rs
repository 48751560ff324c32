//! One route: its page, and the same as a document of the API.
//!
//! A route that is not in what is chosen has a page all the same, on which something else can be chosen: it may have had no request in
//! the last hour, and nothing of it is in the record of another version yet.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use parity_schemas::lists::{ROUTE_SCHEMA, RouteDocument, RouteLine};
use parity_schemas::visible::meant;
use parity_sink::MismatchFilter;

use super::answer::{self, ErrorAnswer};
use super::html::{self, Asking as PageAsking, Read, screen, sorry};
use super::lists::decided_and;
use super::parameters::Asked;
use super::question::Asking;
use super::site::Site;
use super::visit::{Visit, Visited};
use crate::pages::shell::Screen;
use crate::pages::{self, RouteFound};
use crate::view::{self, AllUnanswered, Browsed, Browsing, Decided, GroupTimes, RouteView};

/// Stored mismatches on the page of a route.
const OF_A_ROUTE: usize = 25;

/// The name of a route as it is counted, or as it was meant.
fn known(decided: &Decided, name: &str) -> String {
    let view = RouteView::find(decided, name);
    view.map_or_else(|| meant(name).into_owned(), |view| view.name.to_owned())
}

/// The routes, or one of them if it is named.
pub(super) async fn routes(Visited(site): Visited, asking: PageAsking) -> Response {
    let of_route = asking.as_ref().ok();
    let of_route = of_route.and_then(|Asked(asked)| asked.browsing.of_route.clone());
    match of_route {
        Some(name) => page(&site, name, asking).await,
        None => html::routes(&site, asking).await,
    }
}

/// The page of the route of this name, which may be as a page shows it.
async fn page(site: &Visit, name: String, asking: PageAsking) -> Response {
    let after = asking.as_ref().ok().and_then(|Asked(asked)| asked.after);
    let found = screen(
        site,
        Some(Screen::Routes),
        asking,
        move |reader, question| {
            let decided = view::decided(reader, question)?;
            let name = known(&decided, &name);
            let report = &decided.report;
            let since = question.selection.since.unwrap_or_else(view::a_day_ago);
            let history = view::history_of_route(reader, (question, Some(since)), &decided, &name)?;
            let left_out = view::left_out(&decided);
            let names = pages::route_names(&decided, &left_out, &name);
            let times = GroupTimes::read(reader, question, names, None)?;
            let unanswered = AllUnanswered::read(reader, question, &decided, Some(&name))?;
            let rules = reader.rule_text(&report.migration, &report.rules_hash)?;
            let stored = MismatchFilter {
                migration: Some(question.selection.migration().to_owned()),
                route: Some(name.clone()),
                candidate_version: Some(report.candidate_version.clone()),
                since: question.selection.since,
                before: after,
                ..MismatchFilter::default()
            };
            let mismatches = reader.mismatches(&stored, OF_A_ROUTE + 1)?;
            Ok((
                (decided, left_out, name, history),
                (times, unanswered, rules, mismatches),
            ))
        },
    );
    let Read {
        mut shell, found, ..
    } = match found.await {
        Ok(read) => read,
        Err(failure) => return sorry(&failure, site),
    };
    let ((decided, left_out, name, mut history), (times, unanswered, rules, mut mismatches)) =
        found;
    html::witness(&mut history, &shell);
    let more = mismatches.len() > OF_A_ROUTE;
    mismatches.truncate(OF_A_ROUTE);
    let last = mismatches.last().filter(|_| more);
    let next = last.map(|last| format!("{}_{}", last.time, last.id));
    shell.listed = vec![("of_route".to_owned(), name.clone())];
    let found = RouteFound {
        decided: &decided,
        left_out: &left_out,
        name: &name,
        history: &history,
        times: &times,
        unanswered: &unanswered,
        rules: rules.as_ref(),
        mismatches: &mismatches,
        is_later: after.is_some(),
        next: next.as_deref(),
    };
    html::html(StatusCode::OK, pages::route(&shell, &found))
}

/// `parity.route/v1`.
pub(super) async fn document(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let found = decided_and(&site, question, |reader, decided| {
        let report = &decided.report;
        reader.rule_text(&report.migration, &report.rules_hash)
    });
    let (decided, rules) = found.await?;
    let view = RouteView::find(&decided, &name);
    let Some((counted, view)) = view.and_then(|view| Some((view.counted?, view))) else {
        return Err(ErrorAnswer::missing(format!(
            "no route `{name}` is counted here; /api/v1/routes has those that are"
        )));
    };
    let left_out = view::left_out(&decided);
    let asked = Browsing {
        of_route: Some(view.name.to_owned()),
        ..Browsing::default()
    };
    let tabs = Browsed::whole(&decided, &left_out, &asked).tabs.into_iter();
    let tabs = tabs.map(|(tab, count)| (tab.as_str().to_owned(), count as u64));
    let report = &decided.report;
    Ok(answer::document(&RouteDocument {
        schema: ROUTE_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        candidate_version: report.candidate_version.clone(),
        rules_hash: report.rules_hash.clone(),
        window: report.counted_window_of(view.name),
        told: view.told(),
        groups: tabs.collect(),
        causes: view.cause_reports(),
        rules: view.rules(rules.as_ref()),
        route: RouteLine {
            counted: counted.clone(),
            decision: view.decision.cloned(),
        },
    }))
}
