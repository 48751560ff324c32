//! The HTTP API: the documents of the command line, and control of shadowing.
//!
//! Every answer is JSON; errors are `{"error": …}` with what to do. Reading a store blocks, so it leaves the runtime.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parity_schemas::evidence::Thresholds;
use parity_schemas::time::Timestamp;
use parity_sink::read::MAX_MISMATCHES;
use parity_sink::{MismatchFilter, Reader, Selection, StoreError};
use serde::Deserialize;
use serde_json::json;

use crate::{Process, Site, deciding};

/// What can be asked of the record; the same words as the flags of `report` and `gate`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    migration: Option<String>,
    candidate_version: Option<String>,
    since: Option<String>,
    max_mismatch_rate: Option<f64>,
    confidence: Option<f64>,
    min_requests: Option<u64>,
    max_dropped: Option<f64>,
    max_uncomparable: Option<f64>,
    max_errors: Option<f64>,
}

impl Question {
    pub(crate) fn selection(&self, site: &Site) -> Result<Selection, Failure> {
        let since = match &self.since {
            Some(text) => Some(
                text.parse::<Timestamp>()
                    .map_err(|error| Failure::bad(error.to_string()))?,
            ),
            None => None,
        };
        Ok(Selection {
            migration: Some(
                self.migration
                    .clone()
                    .unwrap_or_else(|| site.migration.clone()),
            ),
            candidate_version: self.candidate_version.clone(),
            since,
            ..Selection::default()
        })
    }

    pub(crate) fn thresholds(&self) -> Result<Thresholds, Failure> {
        let default = Thresholds::default();
        let share = |name: &str, given: Option<f64>, default: f64| match given.unwrap_or(default) {
            share if (0.0..=1.0).contains(&share) => Ok(share),
            share => Err(Failure::bad(format!(
                "{name} is {share}; give a share from 0 to 1"
            ))),
        };
        let confidence = self.confidence.unwrap_or(default.confidence);
        if !(0.5..1.0).contains(&confidence) {
            return Err(Failure::bad(format!(
                "confidence is {confidence}; give a share from 0.5 to below 1"
            )));
        }
        Ok(Thresholds {
            max_mismatch_rate: share(
                "max_mismatch_rate",
                self.max_mismatch_rate,
                default.max_mismatch_rate,
            )?,
            confidence,
            min_requests: self.min_requests.unwrap_or(default.min_requests),
            max_dropped: share("max_dropped", self.max_dropped, default.max_dropped)?,
            max_uncomparable: share(
                "max_uncomparable",
                self.max_uncomparable,
                default.max_uncomparable,
            )?,
            max_errors: share("max_errors", self.max_errors, default.max_errors)?,
            required_routes: default.required_routes,
        })
    }
}

/// An answer that says what went wrong.
pub(crate) struct Failure {
    status: StatusCode,
    message: String,
}

impl Failure {
    pub(crate) fn bad(message: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message,
        }
    }

    pub(crate) fn missing(message: String) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message,
        }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: error.to_string(),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.message}))).into_response()
    }
}

/// Runs `ask` on a reader of the site's store, off the runtime.
pub(crate) async fn read<T: Send + 'static>(
    site: &Site,
    ask: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let store = site.store.clone();
    let asked = tokio::task::spawn_blocking(move || ask(&Reader::open(&store)?)).await;
    match asked {
        Ok(answer) => Ok(answer?),
        Err(error) => Err(Failure {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: error.to_string(),
        }),
    }
}

/// `parity.report/v1`.
pub(crate) async fn report(
    State(site): State<Arc<Site>>,
    Query(question): Query<Question>,
) -> Result<Response, Failure> {
    let selection = question.selection(&site)?;
    let report = read(&site, move |reader| reader.report(&selection)).await?;
    Ok(Json(report).into_response())
}

/// `parity.gate/v1`. It waits for watermarks as the command does. Asking decides nothing: only the command `parity gate`
/// stores its decision.
pub(crate) async fn gate(
    State(site): State<Arc<Site>>,
    Query(question): Query<Question>,
) -> Result<Response, Failure> {
    let selection = question.selection(&site)?;
    let thresholds = question.thresholds()?;
    let decision = read(&site, move |reader| {
        deciding::decide(reader, &selection, &thresholds, Duration::ZERO, |_| {})
    })
    .await?;
    Ok(Json(decision).into_response())
}

/// Mismatches of one answer, unless asked for more or fewer: a screenful.
const MISMATCHES_PER_PAGE: usize = 50;

/// Which mismatches are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MismatchQuestion {
    migration: Option<String>,
    route: Option<String>,
    fingerprint: Option<String>,
    limit: Option<usize>,
    /// `next` of the page before.
    after: Option<String>,
}

impl MismatchQuestion {
    fn filter(&self, site: &Site) -> Result<MismatchFilter, Failure> {
        let before = match &self.after {
            Some(text) => Some(place(text).ok_or_else(|| {
                Failure::bad(format!(
                    "after is `{text}`; give the `next` of the page before as it was"
                ))
            })?),
            None => None,
        };
        Ok(MismatchFilter {
            migration: Some(
                self.migration
                    .clone()
                    .unwrap_or_else(|| site.migration.clone()),
            ),
            route: self.route.clone(),
            fingerprint: self.fingerprint.clone(),
            before,
        })
    }

    fn limit(&self) -> Result<usize, Failure> {
        let limit = self.limit.unwrap_or(MISMATCHES_PER_PAGE);
        if (1..=MAX_MISMATCHES).contains(&limit) {
            Ok(limit)
        } else {
            Err(Failure::bad(format!(
                "limit is {limit}; give 1 to {MAX_MISMATCHES}"
            )))
        }
    }
}

/// `TIME_ID`, the place of a mismatch in the list.
fn place(text: &str) -> Option<(Timestamp, uuid::Uuid)> {
    let (time, id) = text.split_once('_')?;
    Some((time.parse().ok()?, id.parse().ok()?))
}

/// `parity.mismatches/v1`: recorded mismatches, newest first; `next` is null on the last page.
pub(crate) async fn mismatches(
    State(site): State<Arc<Site>>,
    Query(question): Query<MismatchQuestion>,
) -> Result<Response, Failure> {
    let (filter, limit) = (question.filter(&site)?, question.limit()?);
    // One more than asked for tells whether there is a next page.
    let mut found = read(&site, move |reader| reader.mismatches(&filter, limit + 1)).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| more)
        .map(|last| format!("{}_{}", last.time, last.id));
    let document = json!({"schema": "parity.mismatches/v1", "mismatches": found, "next": next});
    Ok(Json(document).into_response())
}

/// One recorded mismatch.
pub(crate) async fn mismatch(
    State(site): State<Arc<Site>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    Ok(Json(find_mismatch(&site, &id).await?).into_response())
}

pub(crate) async fn find_mismatch(
    site: &Site,
    id: &str,
) -> Result<parity_schemas::record::Mismatch, Failure> {
    let parsed = id
        .parse::<uuid::Uuid>()
        .map_err(|_| Failure::bad(format!("`{id}` is not a UUID")))?;
    read(site, move |reader| reader.mismatch(parsed))
        .await?
        .ok_or_else(|| {
            Failure::missing(format!(
                "no mismatch {parsed} is recorded; retention may have removed it"
            ))
        })
}

/// What the mirror or the sink says of itself.
pub(crate) async fn status(State(site): State<Arc<Site>>) -> Result<Response, Failure> {
    match &site.process {
        Process::Mirror(control) => Ok(Json(control.status()).into_response()),
        Process::Sink(status) => Ok(Json(status()).into_response()),
        Process::Reader => Err(no_mirror()),
    }
}

/// `POST /api/v1/shadowing/on` and `/off`.
pub(crate) async fn set_shadowing(
    State(site): State<Arc<Site>>,
    Path(state): Path<String>,
    headers: axum::http::HeaderMap,
) -> Result<Response, Failure> {
    let control = site.process.mirror().ok_or_else(no_mirror)?;
    let on = match state.as_str() {
        "on" => true,
        "off" => false,
        _ => return Err(Failure::missing(format!("`{state}` is neither on nor off"))),
    };
    control.set_shadowing(on);
    // A button on the page wants the page back; a program wants the state.
    let from_page = headers
        .get(axum::http::header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    Ok(if from_page {
        axum::response::Redirect::to("/").into_response()
    } else {
        Json(control.status()).into_response()
    })
}

fn no_mirror() -> Failure {
    Failure::missing(
        "no mirror runs in this process; ask the admin port of the mirror itself".to_owned(),
    )
}
