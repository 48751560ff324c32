//! Running a recorded request again: on the API, and by the button on the page of a mismatch.
//!
//! The program knows the services and asks them; here is decided who may ask for it, and how often. Asking blocks, so it runs
//! outside of the async runtime, and only so many requests at a time: each has a thread, and connections of its own.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::rerun::RerunDocument;
use parity_schemas::value;
use parity_schemas::verdict::Reason;

use super::answer::{self, ErrorAnswer, find_mismatch};
use super::audit;
use super::html::{html, sorry};
use super::parameters::{Asked, Parameters};
use super::reruns::{AT_ONCE, Reruns};
use super::visit::{Visit, Visited};
use crate::pages;
use crate::view::{Allowed, audited};

/// What is not GET, HEAD or OPTIONS is sent, too.
const ALLOW_UNSAFE: &str = "allow_unsafe";
/// A request is sent also without what the record hides and it needs.
const ACCEPT_HIDDEN: &str = "accept_hidden";

/// What was sent is taken for the whole request, whatever was left out of it.
const ACCEPT_LEFT_OUT: &str = "accept_left_out";

impl Parameters for Allowed {
    fn known() -> Vec<String> {
        [ALLOW_UNSAFE, ACCEPT_HIDDEN, ACCEPT_LEFT_OUT]
            .map(str::to_owned)
            .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let switch = value::switch(value)?;
        match name {
            ALLOW_UNSAFE => self.unsafe_methods = switch,
            ACCEPT_LEFT_OUT => self.left_out = switch,
            _ => self.hidden = switch,
        }
        Ok(())
    }
}

/// `POST /api/v1/mismatches/{id}/rerun`: `parity.rerun/v1`. A method that may change something is an error unless it is allowed.
pub(super) async fn document(
    Visited(site): Visited,
    Path(id): Path<String>,
    Asked(allowed): Asked<Allowed>,
) -> Result<Response, ErrorAnswer> {
    let document = run(&site, &id, allowed).await?;
    if document.reason.as_deref() == Some(Reason::UnsafeMethod.as_str()) {
        return Err(ErrorAnswer::conflict(format!(
            "{} may change something, so it is not sent again unless {ALLOW_UNSAFE}=true is given: then both services do again what it did",
            document.method
        )));
    }
    Ok(answer::document(&document))
}

/// `POST /mismatches/{id}/rerun`: the same as a page, which asks the second question where there is one.
pub(super) async fn page(
    Visited(site): Visited,
    Path(id): Path<String>,
    allowed: Result<Asked<Allowed>, ErrorAnswer>,
) -> Response {
    let document = async {
        let Asked(allowed) = allowed?;
        Ok::<_, ErrorAnswer>((run(&site, &id, allowed).await?, allowed))
    };
    match document.await {
        Ok((document, allowed)) => html(
            StatusCode::OK,
            pages::rerun::page(&document, allowed, site.form()),
        ),
        Err(failure) => sorry(&failure, &site),
    }
}

async fn run(site: &Visit, id: &str, allowed: Allowed) -> Result<RerunDocument, ErrorAnswer> {
    let Some(Reruns { runs, places }) = site.reruns.clone() else {
        return Err(ErrorAnswer::missing(
            "this process does not know both services; ask the admin port of the mirror, or start `parity ui` with --legacy and --candidate"
                .to_owned(),
        ));
    };
    if site
        .process
        .mirror_status()
        .is_some_and(|status| !status.shadowing)
    {
        return Err(ErrorAnswer::conflict(
            "shadowing is off, so the candidate gets no request by this mirror; start shadowing, or use `parity rerun`".to_owned(),
        ));
    }
    let Ok(place) = places.try_acquire_owned() else {
        return Err(ErrorAnswer::unavailable(format!(
            "{AT_ONCE} requests are being run again; try again when they have ended"
        )));
    };
    let mismatch = find_mismatch(site, id).await?;
    let asked = audit::Asked::by(
        &site.visitor,
        site,
        AuditAction::Rerun,
        &mismatch.id.to_string(),
    )
    .of(&mismatch.identity.migration);
    let running = tokio::task::spawn_blocking(move || {
        let document = runs.run_again(&mismatch, allowed);
        match &document {
            Ok(document) => {
                let (outcome, told) = audited(document);
                asked.ended(outcome, told);
            }
            Err(failed) => asked.ended(AuditOutcome::Failed, failed),
        }
        // Whoever asked may be gone: the place is free when the services have answered.
        drop(place);
        document
    });
    match running.await {
        Ok(Ok(document)) => Ok(document),
        Ok(Err(failed)) => Err(ErrorAnswer::unavailable(failed)),
        Err(panicked) => Err(ErrorAnswer::broken(panicked.to_string())),
    }
}
