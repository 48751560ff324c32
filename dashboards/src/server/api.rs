//! The HTTP API: the JSON documents of the commands, and control of shadowing.
//!
//! Every answer is JSON. Errors are `{"error": …}` and say what to do.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use parity_schemas::audit::{AuditAction, AuditOutcome, AuditPage};
use parity_schemas::decisions::DecisionPage;
use parity_schemas::documents::{ErrorCode, KnownList, MISMATCHES_SCHEMA, MismatchPage};
use parity_schemas::evidence::Decision;
use parity_schemas::history::History;
use parity_schemas::lists::{
    CausePage, GroupDocument, GroupPage, HealthDocument, NoisePage, RouteDocument, RoutePage,
    RulesDocument,
};
use parity_schemas::record::Mismatch;
use parity_schemas::report::Report;
use parity_schemas::rerun::RerunDocument;
use parity_schemas::rollout::RolloutDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{self, ErrorAnswer, find_mismatch, no_mirror, read};
use super::audit;
use super::history::{self, HistoryAsking};
use super::lists::{self, decided_and};
use super::openapi::{Api, Nothing};
use super::parameters::Asked;
use super::question::{
    Asking, AuditQuestion, DecisionQuestion, GroupAsking, GroupsAsking, ListAsking,
    MismatchQuestion,
};
use super::rerun;
use super::rollout;
use super::route;
use super::site::{Process, Site};
use super::visit::Visited;
use super::written;
use crate::view::{self, Allowed, SinkStatus, Status};

/// `parity.report/v1`.
pub(super) async fn report(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let (decided, ()) = decided_and(&site, question, |_, _| Ok(())).await?;
    Ok(answer::document(&decided.report))
}

/// `parity.mismatches/v1`: recorded mismatches, newest first; `next` is null on the last page.
pub(super) async fn mismatches(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(question): Asked<MismatchQuestion>,
) -> Result<Response, ErrorAnswer> {
    let (filter, limit) = question.of(&site);
    // One more than asked for tells whether there is a next page.
    let mut found = read(&site, move |reader| reader.mismatches(&filter, limit + 1)).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| more)
        .map(|last| format!("{}_{}", last.time, last.id));
    let page = MismatchPage {
        schema: MISMATCHES_SCHEMA.to_owned(),
        mismatches: found,
        next,
    };
    Ok(answer::page(&uri, &page, page.next.as_deref()))
}

/// One recorded mismatch.
pub(super) async fn mismatch(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
) -> Result<Response, ErrorAnswer> {
    Ok(answer::document(&find_mismatch(&site, &id).await?))
}

/// `parity.decisions/v1`: stored decisions, newest first; `next` is null on the last page.
pub(super) async fn decisions(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(question): Asked<DecisionQuestion>,
) -> Result<Response, ErrorAnswer> {
    let (filter, limit) = question.of(&site);
    let page = read(&site, move |reader| {
        view::decision_page(reader, &filter, limit)
    })
    .await?;
    Ok(answer::page(&uri, &page, page.next.as_deref()))
}

/// `parity.audit/v1`: who changed what, newest first; `next` is null on the last page.
pub(super) async fn changes(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(question): Asked<AuditQuestion>,
) -> Result<Response, ErrorAnswer> {
    let (filter, limit) = question.of(&site);
    let page = read(&site, move |reader| {
        view::audit_page(reader, &filter, limit)
    })
    .await?;
    Ok(answer::page(&uri, &page, page.next.as_deref()))
}

/// One stored decision, byte for byte as it was stored, but for characters that a terminal obeys: those are escaped.
pub(super) async fn decision(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
) -> Result<Response, ErrorAnswer> {
    let id = answer::id(&id)?;
    let found = read(&site, move |reader| reader.decision(id)).await?;
    let document = found.ok_or_else(|| answer::no_decision(id))?;
    Ok(answer::stored(&document))
}

/// The status of the process that answers.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum StatusAnswer {
    Mirror(Box<Status>),
    Sink(SinkStatus),
}

/// The endpoints that need nothing but the site.
pub(super) fn api() -> Api<Arc<Site>> {
    Api::new()
        .get::<Asking, Report, _>("/api/v1/report", "The report", report)
        .get::<ListAsking, CausePage, _>(
            "/api/v1/causes",
            "What several groups share, the gravest first",
            lists::causes,
        )
        .get::<GroupsAsking, GroupPage, _>(
            "/api/v1/groups",
            "Groups of a tab, in an order",
            lists::groups,
        )
        .get::<GroupAsking, GroupDocument, _>(
            "/api/v1/groups/{fingerprint}",
            "One group, with rules that would excuse it",
            lists::group,
        )
        .get::<ListAsking, RoutePage, _>(
            "/api/v1/routes",
            "Routes, and what is proven of each",
            lists::routes,
        )
        .get::<ListAsking, NoisePage, _>(
            "/api/v1/noise",
            "Groups that are noise or may be",
            lists::noise,
        )
        .get::<Asking, RouteDocument, _>(
            "/api/v1/routes/{route}",
            "One route: what is proven of it and why, its causes, and the rules that apply to it",
            route::document,
        )
        .get::<ListAsking, RulesDocument, _>(
            "/api/v1/rules",
            "The rules in force, and what they excused",
            written::rules,
        )
        .get::<ListAsking, KnownList, _>(
            "/api/v1/known",
            "The register of known differences, and what is not in it",
            written::known,
        )
        .get::<Asking, HealthDocument, _>(
            "/api/v1/health",
            "How far the record of each process is complete",
            lists::health,
        )
        .get::<HistoryAsking, History, _>(
            "/api/v1/history",
            "What was received, compared and differed over time, and what changed",
            history::history,
        )
        .get::<MismatchQuestion, MismatchPage, _>(
            "/api/v1/mismatches",
            "Recorded mismatches, the newest first",
            mismatches,
        )
        .get::<Nothing, Mismatch, _>("/api/v1/mismatches/{id}", "One recorded mismatch", mismatch)
        .post::<Allowed, RerunDocument, _>(
            "/api/v1/mismatches/{id}/rerun",
            "Sends its request to both services again",
            rerun::document,
        )
        .get::<DecisionQuestion, DecisionPage, _>(
            "/api/v1/decisions",
            "Stored decisions, the newest first",
            decisions,
        )
        .get::<Nothing, Decision, _>(
            "/api/v1/decisions/{id}",
            "One stored decision, as it was stored",
            decision,
        )
        .get::<AuditQuestion, AuditPage, _>(
            "/api/v1/audit",
            "Who changed what, the newest first",
            changes,
        )
        .get::<Nothing, StatusAnswer, _>(
            "/api/v1/status",
            "The state of this mirror or sink",
            status,
        )
        .post::<Nothing, Status, _>(
            "/api/v1/shadowing/{state}",
            "Stops or starts shadowing",
            set_shadowing,
        )
        .get::<Nothing, RolloutDocument, _>(
            "/api/v1/rollout",
            "Which share of the clients the candidate serves, and why",
            rollout::document,
        )
        .post::<rollout::Insisting, RolloutDocument, _>(
            "/api/v1/rollout/{to}",
            "Changes that share to a percent from 0 to 100, a step up only if the gate passes and the candidate has served enough; `back` is back to the legacy",
            rollout::change,
        )
}

/// The status of the mirror or the sink.
pub(super) async fn status(State(site): State<Arc<Site>>) -> Result<Response, ErrorAnswer> {
    match &site.process {
        Process::Mirror(mirror) => {
            let status = Box::new(mirror.status());
            Ok(answer::document(&StatusAnswer::Mirror(status)))
        }
        Process::Sink(status) => Ok(answer::document(&StatusAnswer::Sink(status()))),
        Process::Reader => Err(no_mirror()),
    }
}

/// `POST /api/v1/shadowing/on` and `/off`.
pub(super) async fn set_shadowing(
    Visited(site): Visited,
    Path(state): Path<String>,
    headers: axum::http::HeaderMap,
) -> Result<Response, ErrorAnswer> {
    let mirror = site.process.mirror().ok_or_else(no_mirror)?;
    let on = match state.as_str() {
        "on" => true,
        "off" => false,
        _ => {
            return Err(ErrorAnswer::missing(format!(
                "`{state}` is neither on nor off"
            )));
        }
    };
    mirror.set_shadowing(on);
    let action = if on {
        AuditAction::ShadowingOn
    } else {
        AuditAction::ShadowingOff
    };
    let asked = audit::Asked::by(&site.visitor, &site, action, "");
    asked.written(AuditOutcome::Done, "").await;
    // The button on the page leads back to the page; a program gets the status.
    let from_page = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    Ok(if from_page {
        axum::response::Redirect::to("/").into_response()
    } else {
        answer::document(&mirror.status())
    })
}

/// Every other path.
pub(super) async fn unknown(uri: Uri) -> ErrorAnswer {
    ErrorAnswer::missing(format!(
        "nothing is at `{}`; the API begins at /api/v1/report, the page is at /",
        uri.path()
    ))
}

/// Every other method of a path.
pub(super) async fn other_method(method: Method, uri: Uri) -> ErrorAnswer {
    let message = format!(
        "`{}` is not asked by {method}; docs/api.md says by which method",
        uri.path()
    );
    ErrorAnswer::new(ErrorCode::MethodNotAllowed, message)
}
