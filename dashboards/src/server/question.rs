//! Parameters of HTTP requests for the record, and the answers to wrong ones. Reading a store blocks, so it runs outside
//! of the async runtime.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parity_schemas::evidence::{Bound, Outcome, Thresholds};
use parity_schemas::noise::NoiseUse;
use parity_schemas::record::{Mismatch, MismatchClass};
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_sink::read::{DecisionFilter, MAX_DECISIONS, MAX_MISMATCHES};
use parity_sink::{MismatchFilter, Reader, Selection, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::site::Site;
use crate::view::{self, Unreadable, place};

/// Parameters of the report and the gate, named like the flags of the commands.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    migration: Option<String>,
    candidate_version: Option<String>,
    since: Option<String>,
    max_mismatch_rate: Option<f64>,
    confidence: Option<f64>,
    one_look: Option<bool>,
    min_requests: Option<u64>,
    max_dropped: Option<f64>,
    max_uncomparable: Option<f64>,
    max_errors: Option<f64>,
    min_distinct: Option<u64>,
    noise: Option<String>,
    max_transient: Option<f64>,
    max_hidden: Option<f64>,
}

impl Question {
    pub(super) fn selection(&self, site: &Site) -> Result<Selection, ErrorAnswer> {
        let since = match &self.since {
            Some(text) => Some(
                text.parse::<Timestamp>()
                    .map_err(|error| ErrorAnswer::bad(error.to_string()))?,
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

    /// What to do with noise.
    fn noise(&self) -> Result<NoiseUse, ErrorAnswer> {
        match &self.noise {
            Some(text) => word("noise", text, NoiseUse::ALL, NoiseUse::as_str),
            None => Ok(NoiseUse::default()),
        }
    }

    pub(super) fn thresholds(&self) -> Result<Thresholds, ErrorAnswer> {
        let default = Thresholds::default();
        let share = |name: &str, given: Option<f64>, default: f64| match given.unwrap_or(default) {
            share if Thresholds::SHARE.contains(&share) => Ok(share),
            share => Err(ErrorAnswer::bad(format!(
                "{name} is {share}; give a share from 0 to 1"
            ))),
        };
        let confidence = self.confidence.unwrap_or(default.confidence);
        if !Thresholds::CONFIDENCE.contains(&confidence) {
            return Err(ErrorAnswer::bad(format!(
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
            bound: match self.one_look {
                Some(true) => Bound::OneLook,
                Some(false) | None => default.bound,
            },
            min_requests: self.min_requests.unwrap_or(default.min_requests),
            max_dropped: share("max_dropped", self.max_dropped, default.max_dropped)?,
            max_uncomparable: share(
                "max_uncomparable",
                self.max_uncomparable,
                default.max_uncomparable,
            )?,
            max_errors: share("max_errors", self.max_errors, default.max_errors)?,
            min_distinct: self.min_distinct.unwrap_or(default.min_distinct),
            noise: self.noise()?,
            max_transient: share("max_transient", self.max_transient, default.max_transient)?,
            max_hidden: share("max_hidden", self.max_hidden, default.max_hidden)?,
            ..default
        })
    }
}

/// An HTTP answer that reports an error.
pub(super) struct ErrorAnswer {
    status: StatusCode,
    message: String,
}

impl ErrorAnswer {
    pub(super) fn bad(message: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message,
        }
    }

    pub(super) fn missing(message: String) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message,
        }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<StoreError> for ErrorAnswer {
    fn from(error: StoreError) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: error.to_string(),
        }
    }
}

impl From<Unreadable> for ErrorAnswer {
    fn from(error: Unreadable) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            message: error.to_string(),
        }
    }
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.message}))).into_response()
    }
}

/// Runs `ask` on a reader of the site's store, off the runtime.
pub(super) async fn read<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    site: &Site,
    ask: impl FnOnce(&Reader) -> Result<T, E> + Send + 'static,
) -> Result<T, ErrorAnswer>
where
    ErrorAnswer: From<E>,
{
    let store = site.store.clone();
    let asked = tokio::task::spawn_blocking(move || ask(&view::reader(&store)?)).await;
    match asked {
        Ok(answer) => Ok(answer?),
        Err(error) => Err(ErrorAnswer {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: error.to_string(),
        }),
    }
}

/// One recorded mismatch, by its id as the request gives it.
pub(super) async fn find_mismatch(site: &Site, id: &str) -> Result<Mismatch, ErrorAnswer> {
    let parsed = self::id(id)?;
    read(site, move |reader| reader.mismatch(parsed))
        .await?
        .ok_or_else(|| {
            ErrorAnswer::missing(format!(
                "no mismatch {parsed} is recorded; retention may have removed it"
            ))
        })
}

/// Records on a page by default: a screenful.
const PER_PAGE: usize = 50;

/// Parameters of the list of mismatches.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MismatchQuestion {
    migration: Option<String>,
    route: Option<String>,
    fingerprint: Option<String>,
    limit: Option<usize>,
    class: Option<String>,
    /// The `next` of the previous page.
    after: Option<String>,
}

impl MismatchQuestion {
    pub(super) fn filter(&self, site: &Site) -> Result<MismatchFilter, ErrorAnswer> {
        let class = match &self.class {
            Some(text) => Some(word(
                "class",
                text,
                MismatchClass::ALL,
                MismatchClass::as_str,
            )?),
            None => None,
        };
        Ok(MismatchFilter {
            class,
            migration: Some(
                self.migration
                    .clone()
                    .unwrap_or_else(|| site.migration.clone()),
            ),
            route: self.route.clone(),
            fingerprint: self.fingerprint.clone(),
            before: after(self.after.as_deref())?,
        })
    }

    pub(super) fn limit(&self) -> Result<usize, ErrorAnswer> {
        within(self.limit, MAX_MISMATCHES)
    }
}

/// One of the words that a parameter takes.
fn word<T: Copy>(
    name: &str,
    given: &str,
    known: &[T],
    as_str: impl Fn(T) -> &'static str,
) -> Result<T, ErrorAnswer> {
    let meant = known.iter().find(|word| as_str(**word) == given);
    meant.copied().ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|word| as_str(*word)).collect();
        ErrorAnswer::bad(format!("{name} is `{given}`; give {}", known.join(", ")))
    })
}

/// Where a page of a list begins.
fn after(text: Option<&str>) -> Result<Option<(Timestamp, uuid::Uuid)>, ErrorAnswer> {
    let Some(text) = text else { return Ok(None) };
    place(text).map(Some).ok_or_else(|| {
        ErrorAnswer::bad(format!(
            "after is `{text}`; give the `next` of the page before as it was"
        ))
    })
}

/// How many records of a list, of at most `most`.
fn within(limit: Option<usize>, most: usize) -> Result<usize, ErrorAnswer> {
    let limit = limit.unwrap_or(PER_PAGE);
    if (1..=most).contains(&limit) {
        Ok(limit)
    } else {
        Err(ErrorAnswer::bad(format!(
            "limit is {limit}; give 1 to {most}"
        )))
    }
}

/// Parameters of the list of decisions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionQuestion {
    migration: Option<String>,
    outcome: Option<String>,
    limit: Option<usize>,
    /// The `next` of the previous page.
    after: Option<String>,
}

impl DecisionQuestion {
    pub(super) fn filter(&self, site: &Site) -> Result<DecisionFilter, ErrorAnswer> {
        let outcome = self.outcome.as_deref().map(|word| {
            word.parse::<Outcome>().map_err(|_| {
                let known: Vec<&str> = Outcome::ALL.iter().map(|word| word.as_str()).collect();
                let hint = spelling::hint(word, &known);
                ErrorAnswer::bad(format!("`{word}` is no outcome; {hint}"))
            })
        });
        Ok(DecisionFilter {
            migration: Some(self.migration(site).to_owned()),
            outcome: outcome.transpose()?,
            before: after(self.after.as_deref())?,
        })
    }

    pub(super) fn migration<'a>(&'a self, site: &'a Site) -> &'a str {
        self.migration.as_deref().unwrap_or(&site.migration)
    }

    pub(super) fn limit(&self) -> Result<usize, ErrorAnswer> {
        within(self.limit, MAX_DECISIONS)
    }
}

/// The id of a record, as the request gives it.
pub(super) fn id(text: &str) -> Result<uuid::Uuid, ErrorAnswer> {
    text.parse()
        .map_err(|_| ErrorAnswer::bad(format!("`{text}` is not a UUID")))
}

/// The answer when no decision has this id.
pub(super) fn no_decision(id: uuid::Uuid) -> ErrorAnswer {
    ErrorAnswer::missing(format!(
        "no decision {id} is stored; only the command `parity gate` stores decisions"
    ))
}
