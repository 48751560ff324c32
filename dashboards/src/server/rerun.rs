//! Running a recorded request again: on the API, and by the button on the page of a mismatch.
//!
//! The program knows the services and asks them; here is decided who may ask for it, and how often. Asking blocks, so it runs
//! outside of the async runtime, and only so many requests at a time: each has a thread, and connections of its own.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use parity_schemas::record::Mismatch;
use parity_schemas::rerun::RerunDocument;
use parity_schemas::value;
use parity_schemas::verdict::Reason;
use tokio::sync::Semaphore;

use super::answer::{self, ErrorAnswer, find_mismatch};
use super::html::{html, sorry};
use super::parameters::{Asked, Parameters};
use super::site::Site;
use crate::pages;

/// Requests that are run again at a time: a person looks at one, and a script must not make a load of it.
const AT_ONCE: usize = 2;
/// What is not GET, HEAD or OPTIONS is sent, too.
const ALLOW_UNSAFE: &str = "allow_unsafe";
/// A request is sent also without what the record hides and it needs.
const ACCEPT_HIDDEN: &str = "accept_hidden";

/// What somebody has said yes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Methods that may change something.
    pub unsafe_methods: bool,
    /// A request without what the record hides of it.
    pub hidden: bool,
}

/// Asks both services again.
pub trait RunAgain: Send + Sync {
    /// Runs the request of a mismatch again, and waits for the answers. An error is a sentence that says what to do.
    fn run_again(&self, mismatch: &Mismatch, allowed: Allowed) -> Result<RerunDocument, String>;
}

/// The reruns of a site.
#[derive(Clone)]
pub struct Reruns {
    runs: Arc<dyn RunAgain>,
    places: Arc<Semaphore>,
}

impl Reruns {
    /// By what the program has for it.
    pub fn new(runs: Arc<dyn RunAgain>) -> Self {
        Self {
            runs,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Parameters for Allowed {
    fn known() -> Vec<String> {
        [ALLOW_UNSAFE, ACCEPT_HIDDEN].map(str::to_owned).into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let switch = value::switch(value)?;
        match name {
            ALLOW_UNSAFE => self.unsafe_methods = switch,
            _ => self.hidden = switch,
        }
        Ok(())
    }
}

/// `POST /api/v1/mismatches/{id}/rerun`: `parity.rerun/v1`. A method that may change something is an error unless it is allowed.
pub(super) async fn document(
    State(site): State<Arc<Site>>,
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
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
    allowed: Result<Asked<Allowed>, ErrorAnswer>,
) -> Response {
    let document = async {
        let Asked(allowed) = allowed?;
        Ok::<_, ErrorAnswer>((run(&site, &id, allowed).await?, allowed))
    };
    match document.await {
        Ok((document, allowed)) => html(StatusCode::OK, pages::rerun::page(&document, allowed)),
        Err(failure) => sorry(&failure, &site),
    }
}

async fn run(site: &Site, id: &str, allowed: Allowed) -> Result<RerunDocument, ErrorAnswer> {
    let Some(Reruns { runs, places }) = site.reruns.clone() else {
        return Err(ErrorAnswer::missing(
            "this process does not know both services; ask the admin port of the mirror, or start `parity ui` with --legacy and --candidate"
                .to_owned(),
        ));
    };
    let Ok(place) = places.try_acquire_owned() else {
        return Err(ErrorAnswer::unavailable(format!(
            "{AT_ONCE} requests are being run again; try again when they have ended"
        )));
    };
    let mismatch = find_mismatch(site, id).await?;
    let running = tokio::task::spawn_blocking(move || {
        let document = runs.run_again(&mismatch, allowed);
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
