//! The HTTP API: the JSON documents of the commands, and control of shadowing.
//!
//! Every answer is JSON. Errors are `{"error": …}` and say what to do.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::documents::{ErrorCode, MISMATCHES_SCHEMA, MismatchPage};

use super::answer::{self, ErrorAnswer, find_mismatch, read};
use super::audit;
use super::parameters::Asked;
use super::question::{Asking, AuditQuestion, DecisionQuestion, MismatchQuestion};
use super::site::{Process, Site};
use super::visit::Visited;
use crate::view;

/// `parity.report/v1`.
pub(super) async fn report(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let is_own = question.selection.migration() == site.migration;
    let decided = read(&site, move |reader| view::decided(reader, &question)).await?;
    // A migration that is misspelt has no report of zeros. That of this process is no slip: nothing came yet.
    match decided.absent {
        Some(absent) if absent.is_unknown_migration && !is_own => {
            Err(ErrorAnswer::missing(absent.sentence))
        }
        _ => Ok(answer::document(&decided.report)),
    }
}

/// `parity.mismatches/v1`: recorded mismatches, newest first; `next` is null on the last page.
pub(super) async fn mismatches(
    State(site): State<Arc<Site>>,
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
    Ok(answer::document(&page))
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
    Asked(question): Asked<DecisionQuestion>,
) -> Result<Response, ErrorAnswer> {
    let (filter, limit) = question.of(&site);
    let page = read(&site, move |reader| {
        view::decision_page(reader, &filter, limit)
    })
    .await?;
    Ok(answer::document(&page))
}

/// `parity.audit/v1`: who changed what, newest first; `next` is null on the last page.
pub(super) async fn changes(
    State(site): State<Arc<Site>>,
    Asked(question): Asked<AuditQuestion>,
) -> Result<Response, ErrorAnswer> {
    let (filter, limit) = question.of(&site);
    let page = read(&site, move |reader| {
        view::audit_page(reader, &filter, limit)
    })
    .await?;
    Ok(answer::document(&page))
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

/// The status of the mirror or the sink.
pub(super) async fn status(State(site): State<Arc<Site>>) -> Result<Response, ErrorAnswer> {
    match &site.process {
        Process::Mirror(mirror) => Ok(answer::document(&mirror.status())),
        Process::Sink(status) => Ok(answer::document(&status())),
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
    let action = match on {
        true => AuditAction::ShadowingOn,
        false => AuditAction::ShadowingOff,
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

fn no_mirror() -> ErrorAnswer {
    ErrorAnswer::missing(
        "no mirror runs in this process; ask the admin port of the mirror itself".to_owned(),
    )
}
