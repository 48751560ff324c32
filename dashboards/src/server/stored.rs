//! The pages of what is stored by itself and is no report: decisions, and who changed what.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use parity_sink::{Known, Reader, StoreError};

use super::answer::{self, ErrorAnswer, read};
use super::html::{html, shell, sorry};
use super::parameters::Asked;
use super::question::{AuditQuestion, DecisionQuestion};
use super::visit::{Visit, Visited};
use crate::pages;
use crate::pages::shell::{Scope, Screen, Shell};
use crate::view;

/// What is read for a page, and what the store holds of a migration, to choose from.
async fn listed<T: Send + 'static>(
    site: &Visit,
    migration: String,
    list: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
) -> Result<(T, Known), ErrorAnswer> {
    let found = read(site, move |reader| {
        let known = reader.known(&migration)?;
        Ok::<_, StoreError>((list(reader)?, known))
    });
    found.await
}

/// The list of stored decisions.
pub(super) async fn decisions(
    Visited(site): Visited,
    question: Result<Asked<DecisionQuestion>, ErrorAnswer>,
) -> Response {
    let page = async {
        let Asked(mut question) = question?;
        let asked = std::mem::take(&mut question.asked);
        let (filter, limit) = question.of(&site);
        let migration = filter.migration.clone().unwrap_or_default();
        let list = move |reader: &Reader| view::decision_page(reader, &filter, limit);
        let (page, known) = listed(&site, migration.clone(), list).await?;
        let mut shell = decisions_shell(&site, migration.clone(), known);
        shell.listed = asked;
        Ok::<_, ErrorAnswer>(pages::decisions(&shell, &page, &migration))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// Who changed what.
pub(super) async fn changes(
    Visited(site): Visited,
    question: Result<Asked<AuditQuestion>, ErrorAnswer>,
) -> Response {
    let page = async {
        let Asked(mut question) = question?;
        let asked = std::mem::take(&mut question.asked);
        let (filter, limit) = question.of(&site);
        let migration = filter.migration.clone().unwrap_or_default();
        let list = move |reader: &Reader| view::audit_page(reader, &filter, limit);
        let (page, known) = listed(&site, migration.clone(), list).await?;
        let scope = Scope(vec![("migration".to_owned(), migration.clone())]);
        let mut shell = shell(&site, Some(Screen::Changes), scope, migration, known);
        shell.listed = asked;
        Ok::<_, ErrorAnswer>(pages::changes(&shell, &page))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// One stored decision with the terms under which it was counted.
pub(super) async fn decision(Visited(site): Visited, Path(id): Path<String>) -> Response {
    let page = async {
        let id = answer::id(&id)?;
        let found = read(&site, move |reader| view::decision_with_terms(reader, id)).await?;
        let (decision, terms) = found.ok_or_else(|| answer::no_decision(id))?;
        let ((), known) = listed(&site, decision.migration.clone(), |_| Ok(())).await?;
        let shell = decisions_shell(&site, decision.migration.clone(), known);
        Ok::<_, ErrorAnswer>(pages::decision(&shell, &decision, &terms))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// Decisions are of a migration, whatever the terms of another screen are.
fn decisions_shell(site: &Visit, migration: String, known: Known) -> Shell {
    let scope = Scope(vec![("migration".to_owned(), migration.clone())]);
    shell(site, Some(Screen::Decisions), scope, migration, known)
}
