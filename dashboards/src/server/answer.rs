//! Answers from the record, and those that report an error. Reading a store blocks, so it runs outside of the async runtime.

use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use parity_schemas::documents::{ErrorCode, ErrorDocument};
use parity_schemas::json_text::escaped;
use parity_schemas::record::Mismatch;
use parity_sink::{Reader, StoreError};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::site::Site;
use crate::view::words::caused;
use crate::view::{self, Unreadable};

/// An HTTP answer that reports an error.
#[derive(Clone)]
pub(super) struct ErrorAnswer {
    code: ErrorCode,
    message: String,
    /// The screen that says the same to a person, who is led on from there.
    screen: Option<String>,
}

impl ErrorAnswer {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            screen: None,
        }
    }

    /// The same with a screen that says it.
    pub(super) fn on(self, screen: String) -> Self {
        Self {
            screen: Some(screen),
            ..self
        }
    }

    pub(super) fn screen(&self) -> Option<&str> {
        self.screen.as_deref()
    }

    pub(super) fn bad(message: String) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    /// It is not done unless somebody says that it shall be.
    pub(super) fn conflict(message: String) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    pub(super) fn missing(message: String) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// What was asked cannot be answered now.
    pub(super) fn unavailable(message: String) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// A bug: what was asked for ended by a panic.
    pub(super) fn broken(message: String) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    pub(super) const fn code(&self) -> ErrorCode {
        self.code
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn status(&self) -> StatusCode {
        match self.code {
            ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
            ErrorCode::TokenNeeded | ErrorCode::TokenWrong => StatusCode::UNAUTHORIZED,
            ErrorCode::LookOnly | ErrorCode::ForeignPage | ErrorCode::NoForm => {
                StatusCode::FORBIDDEN
            }
            ErrorCode::NotFound => StatusCode::NOT_FOUND,
            ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ErrorCode::Conflict => StatusCode::CONFLICT,
            ErrorCode::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<StoreError> for ErrorAnswer {
    fn from(error: StoreError) -> Self {
        Self::unavailable(caused(&error))
    }
}

impl From<Unreadable> for ErrorAnswer {
    fn from(error: Unreadable) -> Self {
        Self::unavailable(caused(&error))
    }
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let status = self.status();
        let told = ErrorDocument {
            error: self.message,
            code: self.code,
        };
        (status, document(&told)).into_response()
    }
}

/// Something was asked of a mirror.
pub(super) fn no_mirror() -> ErrorAnswer {
    ErrorAnswer::missing(
        "no mirror runs in this process; ask the admin port of the mirror itself".to_owned(),
    )
}

/// A document as an answer, with the same characters escaped that the commands escape: people read answers in terminals,
/// and a document quotes what services answered.
pub(super) fn document(document: &impl Serialize) -> Response {
    match serde_json::to_string(document) {
        Ok(json) => stored(&json),
        Err(error) => {
            tracing::error!(%error, "a document cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A page of a list: where there is a next one, a header has its whole address, too.
pub(super) fn page(uri: &Uri, of: &impl Serialize, next: Option<&str>) -> Response {
    let mut answer = document(of);
    let link = next.and_then(|next| HeaderValue::try_from(link(uri, next)).ok());
    if let Some(link) = link {
        answer.headers_mut().insert(header::LINK, link);
    }
    answer
}

/// The address of the next page: the same question, after another entry.
fn link(uri: &Uri, next: &str) -> String {
    let query = uri.query().unwrap_or_default().split('&');
    let kept = query.filter(|pair| !pair.is_empty() && !pair.starts_with("after="));
    let mut query: Vec<&str> = kept.collect();
    let after = format!("after={}", utf8_percent_encode(next, NON_ALPHANUMERIC));
    query.push(&after);
    format!("<{}?{}>; rel=\"next\"", uri.path(), query.join("&"))
}

/// The same for a document that is written already.
pub(super) fn stored(json: &str) -> Response {
    let body = escaped(json).into_owned();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Reads at a time, of all pages and programs: each may hold a whole report, and a core is busy with each.
static READS: Semaphore = Semaphore::const_new(4);

/// Runs `ask` on a reader of the site's store, off the runtime.
pub(super) async fn read<T: Send + 'static, E: From<StoreError> + Send + 'static>(
    site: &Site,
    ask: impl FnOnce(&Reader) -> Result<T, E> + Send + 'static,
) -> Result<T, ErrorAnswer>
where
    ErrorAnswer: From<E>,
{
    let store = site.store.clone();
    // It never closes. A read whose page is gone keeps its place until it has ended.
    let place = READS
        .acquire()
        .await
        .map_err(|_| ErrorAnswer::broken("no reader is left".to_owned()))?;
    let asked = tokio::task::spawn_blocking(move || {
        let _place = place;
        ask(&view::reader(&store)?)
    })
    .await;
    match asked {
        Ok(answer) => Ok(answer?),
        Err(error) => Err(ErrorAnswer::broken(error.to_string())),
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

/// The id of a record, as the request gives it.
pub(super) fn id(text: &str) -> Result<uuid::Uuid, ErrorAnswer> {
    text.parse()
        .map_err(|_| ErrorAnswer::bad(format!("`{text}` is not a UUID")))
}

/// The answer when no decision has this id.
pub(super) fn no_decision(id: uuid::Uuid) -> ErrorAnswer {
    ErrorAnswer::missing(format!(
        "no decision {id} is stored; the command `parity gate` stores decisions, and so does a controller that asks for it"
    ))
}
