//! Files of the record: the stored bodies of an exchange, and a decision with all that it rests on.
//!
//! A body is what a service or a client wrote. So it is never a page of ours: it is an attachment of plain text that a browser
//! must not take for anything else, and if it is opened all the same, it has no origin and may do nothing.

use axum::extract::Path;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use parity_schemas::hidden::is_hash_of_body;
use parity_schemas::json_text::pretty;
use parity_schemas::record::{Mismatch, RecordedMessage};
use parity_schemas::visible::visible;

use super::answer::{self, ErrorAnswer, find_mismatch, read};
use super::html::sorry;
use super::openapi::Nothing;
use super::parameters::Asked;
use super::visit::Visited;
use crate::view::{self, Which};

/// The program, as an export names it.
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));
/// What is stored of a body, where that is not all of it.
const STORED: HeaderName = HeaderName::from_static("parity-stored");
/// For whoever opens a file in the browser all the same.
const POLICY: &str = "sandbox; default-src 'none'";

/// `GET /mismatches/{id}/bodies/{which}`: a stored body of an exchange.
pub(super) async fn body(
    Visited(site): Visited,
    Path((id, which)): Path<(String, String)>,
    asking: Result<Asked<Nothing>, ErrorAnswer>,
) -> Response {
    let found = async {
        asking?;
        let which = Which::ALL.into_iter().find(|known| known.word() == which);
        let which = which.ok_or_else(|| {
            ErrorAnswer::missing(
                "an exchange has a `request`, a `legacy` and a `candidate` body".to_owned(),
            )
        })?;
        let mismatch = find_mismatch(&site, &id).await?;
        attached(&mismatch, which)
    };
    match found.await {
        Ok(response) => response,
        Err(failure) => sorry(&failure, &site),
    }
}

fn attached(mismatch: &Mismatch, which: Which) -> Result<Response, ErrorAnswer> {
    let sample = mismatch.sample.as_ref().ok_or_else(|| {
        ErrorAnswer::missing(
            "the bodies were not kept: those of the first few of each group are, for as long as bodies are kept"
                .to_owned(),
        )
    })?;
    let message = which.of(sample);
    if message.body.is_empty() && message.body_cut {
        return Err(ErrorAnswer::missing(format!(
            "the body of the {} was not kept",
            which.word()
        )));
    }
    let (part, stored) = stored(message);
    let name = format!("parity-{}-{}{part}.txt", mismatch.id, which.word());
    let mut response = file("text/plain; charset=utf-8", &name, message.body.clone());
    if let Some(stored) = stored.and_then(|stored| stored.parse().ok()) {
        response.headers_mut().insert(STORED, stored);
    }
    Ok(response)
}

/// What a name of a file says of a body that is not all there, and how much of it is.
fn stored(message: &RecordedMessage) -> (&'static str, Option<String>) {
    if message.body_cut {
        let told = format!(
            "cut; {} bytes are stored, of a body of {} bytes as it was sent",
            message.body.len(),
            message.body_bytes
        );
        return ("-cut", Some(told));
    }
    if is_hash_of_body(&message.body) {
        let told = format!("the keyed hash of a body of {} bytes", message.body_bytes);
        return ("-hash", Some(told));
    }
    ("", None)
}

/// `GET /decisions/{id}/export`: the file that `parity decisions export` writes.
pub(super) async fn decision(
    Visited(site): Visited,
    Path(id): Path<String>,
    asking: Result<Asked<Nothing>, ErrorAnswer>,
) -> Response {
    let found = async {
        asking?;
        let id = answer::id(&id)?;
        let export = read(&site, move |reader| view::exported(reader, id, PROGRAM)).await?;
        let export = export.ok_or_else(|| answer::no_decision(id))?;
        let text = serde_json::to_string(&export)
            .map_err(|failed| ErrorAnswer::broken(visible(&failed.to_string())))?;
        let name = format!("parity-decision-{id}.json");
        Ok(file("application/json", &name, pretty(&text) + "\n"))
    };
    match found.await {
        Ok(response) => response,
        Err(failure) => sorry(&failure, &site),
    }
}

/// A file to be saved. The name is ours: letters, digits, dashes and points.
fn file(media: &'static str, name: &str, content: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, media.to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
    ];
    (headers, content).into_response()
}
