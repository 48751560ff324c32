//! The HTTP handlers of the pages: read what a page shows, and render it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use parity_sink::StoreError;

use super::answer::{self, ErrorAnswer, find_mismatch, read};
use super::parameters::Asked;
use super::question::{Asking, DecisionQuestion};
use super::site::Site;
use crate::{pages, view};

/// The report page.
pub(super) async fn report(
    State(site): State<Arc<Site>>,
    asking: Result<Asked<Asking>, ErrorAnswer>,
) -> Response {
    let decided = async {
        let Asked(asking) = asking?;
        let question = asking.of(&site);
        read(&site, move |reader| {
            let decided = view::decided(reader, &question)?;
            let history = view::history_of(reader, &question, &decided)?;
            Ok::<_, StoreError>((decided, history))
        })
        .await
    };
    match decided.await {
        Ok((decided, history)) => {
            let page = pages::report(&decided, Some(&history), site.process.mirror_status());
            html(StatusCode::OK, page)
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// One mismatch with all that was recorded of it.
pub(super) async fn mismatch(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    match find_mismatch(&site, &id).await {
        Ok(mismatch) => html(StatusCode::OK, pages::mismatch(&mismatch)),
        Err(failure) => sorry(&failure, &site),
    }
}

/// The list of stored decisions.
pub(super) async fn decisions(
    State(site): State<Arc<Site>>,
    question: Result<Asked<DecisionQuestion>, ErrorAnswer>,
) -> Response {
    let page = async {
        let Asked(question) = question?;
        let (filter, limit) = question.of(&site);
        let migration = filter.migration.clone().unwrap_or_default();
        let page = read(&site, move |reader| {
            view::decision_page(reader, &filter, limit)
        })
        .await?;
        Ok::<_, ErrorAnswer>(pages::decisions(&page, &migration))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// One stored decision with the terms under which it was counted.
pub(super) async fn decision(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    let page = async {
        let id = answer::id(&id)?;
        let found = read(&site, move |reader| view::decision_with_terms(reader, id)).await?;
        let (decision, terms) = found.ok_or_else(|| answer::no_decision(id))?;
        Ok::<_, ErrorAnswer>(pages::decision(&decision, &terms))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// The style sheet.
pub(super) async fn style() -> Response {
    match pages::style() {
        Some(style) => (
            [(header::CONTENT_TYPE, "text/css; charset=utf-8")],
            style.into_owned(),
        )
            .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn sorry(failure: &ErrorAnswer, site: &Site) -> Response {
    let page = pages::sorry(failure.message(), site.process.mirror_status());
    html(failure.status(), page)
}

fn html(status: StatusCode, page: askama::Result<String>) -> Response {
    match page {
        Ok(page) => (status, Html(page)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
