//! The pages of what is stored by itself and is no report: decisions, and who changed what.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use parity_sink::read::{AuditFilter, DecisionFilter};
use parity_sink::{Known, Reader, StoreError};

use super::answer::{self, ErrorAnswer, read};
use super::html::{html, shell, sorry};
use super::parameters::Asked;
use super::question::OfPage;
use super::visit::{Visit, Visited};
use crate::pages;
use crate::pages::shell::{Scope, Screen};
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
    question: Result<Asked<OfPage<DecisionFilter>>, ErrorAnswer>,
) -> Response {
    let page = async {
        let Asked(OfPage(mut question)) = question?;
        let [shared, own] = question.shared();
        let (filter, limit) = question.of(&site);
        let migration = filter.migration.clone().unwrap_or_default();
        let list = move |reader: &Reader| view::decision_page(reader, &filter, limit);
        let (page, known) = listed(&site, migration.clone(), list).await?;
        let scope = scope_of(&migration, shared);
        let mut shell = shell(
            &site,
            Some(Screen::Decisions),
            scope,
            migration.clone(),
            known,
        );
        shell.listed = own;
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
    question: Result<Asked<OfPage<AuditFilter>>, ErrorAnswer>,
) -> Response {
    let page = async {
        let Asked(OfPage(mut question)) = question?;
        let [shared, own] = question.shared();
        let (filter, limit) = question.of(&site);
        let migration = filter.migration.clone().unwrap_or_default();
        let list = move |reader: &Reader| view::audit_page(reader, &filter, limit);
        let (page, known) = listed(&site, migration.clone(), list).await?;
        let scope = scope_of(&migration, shared);
        let mut shell = shell(&site, Some(Screen::Changes), scope, migration, known);
        shell.listed = own;
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
        let migration = decision.migration.clone();
        let scope = scope_of(&migration, Vec::new());
        let shell = shell(&site, Some(Screen::Decisions), scope, migration, known);
        Ok::<_, ErrorAnswer>(pages::decision(&shell, &decision, &terms))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// What these lists are asked for like other screens: never by the terms of a decision.
fn scope_of(migration: &str, shared: Vec<(String, String)>) -> Scope {
    let mut scope = vec![("migration".to_owned(), migration.to_owned())];
    scope.extend(shared);
    Scope(scope)
}
