//! The admin port: health, metrics, control of shadowing, the API and the report page.
//!
//! It reads from a store and decides with the comparator's `decision`; what it controls reaches it as handles that
//! the program gives it ([`Control`], [`Site`]). It never sees captured values: only what the record holds, which is
//! redacted already. Pages are rendered on the server, work without script, and treat every recorded string as
//! hostile.
//!
//! It refuses requests that a foreign page could cause: see [`guard`].

mod api;
pub mod deciding;
pub mod guard;
mod pages;
mod server;

use std::future::Future;
use std::sync::Arc;

pub use server::CONNECTIONS;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parity_schemas::clients::Clients;
use parity_schemas::time::Timestamp;
use parity_sink::StoreConfig;
use prometheus_client::registry::Registry;
use serde::Serialize;
use tokio::net::TcpListener;

/// Media type of the Prometheus exposition that `prometheus-client` writes.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Run-time control of a mirror.
pub trait Control: Send + Sync {
    /// Stops or starts shadowing; clients do not notice either.
    fn set_shadowing(&self, on: bool);
    /// What stands now.
    fn status(&self) -> Status;
}

/// What a mirror says of itself.
#[derive(Clone, Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a document: each says something else, and none depends on another"
)]
pub struct Status {
    /// What became of the clients since the process began, by outcome; outcomes without a count are absent.
    pub clients: Clients,
    /// When last a client did not get a whole answer although it was there; `None` while there was none.
    pub last_failed_client: Option<Timestamp>,
    /// Requests are accepted; `false` while draining.
    pub ready: bool,
    /// Whether requests are shadowed.
    pub shadowing: bool,
    /// Whether the last request to the legacy was answered; `true` before the first.
    pub legacy_reachable: bool,
    /// Whether the candidate is in use; `false` while the breaker leaves it alone.
    pub candidate_reachable: bool,
    /// Shadow requests under way.
    pub shadows_in_flight: usize,
    /// Bytes held by shadows and queued exchanges.
    pub shadow_bytes: usize,
    /// The last error of the store; `None` while it works.
    pub store_error: Option<String>,
    /// When the store was last deleted, replaced or set back under the mirror, and how, since the mirror began. It stays
    /// when the store works again, because what it held before may be gone.
    pub store_loss: Option<String>,
    /// Records that wait to be written.
    pub records_queued: u64,
    /// Records that never reached the store; their mismatches are counted all the same.
    pub records_dropped: u64,
    /// Bytes of records that wait on disk for a Kafka broker.
    pub spool_bytes: u64,
    /// What few file descriptors keep this process from; `None` while there are enough.
    pub descriptors_low: Option<String>,
    /// Why the last reload of the configuration was refused; `None` while what was given last holds.
    pub config_error: Option<String>,
}

/// What a sink says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct SinkStatus {
    /// It is a member of its group, and the last thing it wrote was taken.
    pub ready: bool,
    /// Partitions that are its own now.
    pub partitions: usize,
    /// Records in its partitions that it has not committed.
    pub lag: u64,
    /// Bytes of records in hand.
    pub buffered_bytes: u64,
    /// Records that went to the dead-letter topic.
    pub dead_letters: u64,
    /// What is wrong since the last good write; `None` while it works.
    pub error: Option<String>,
}

/// Which process the admin port belongs to.
#[derive(Clone)]
pub enum Process {
    /// `parity ui`: it reads, and nothing else.
    Reader,
    /// `parity mirror`.
    Mirror(Arc<dyn Control>),
    /// `parity sink`.
    Sink(Arc<dyn Fn() -> SinkStatus + Send + Sync>),
}

impl Process {
    fn mirror(&self) -> Option<&Arc<dyn Control>> {
        match self {
            Self::Mirror(control) => Some(control),
            Self::Reader | Self::Sink(_) => None,
        }
    }

    fn mirror_status(&self) -> Option<Status> {
        self.mirror().map(|control| control.status())
    }

    /// A store that fails does not make a proxy unready: its clients are served. A sink does nothing else.
    fn is_ready(&self) -> bool {
        match self {
            Self::Reader => true,
            Self::Mirror(control) => control.status().ready,
            Self::Sink(status) => status().ready,
        }
    }
}

/// What the admin port serves.
pub struct Site {
    /// Where the record is read from.
    pub store: StoreConfig,
    /// Which effort.
    pub migration: String,
    /// Whose admin port it is.
    pub process: Process,
    /// What /metrics shows.
    pub registry: Registry,
    /// What callers must present; `None` only on loopback.
    pub token: Option<String>,
}

/// Serves until `shutdown` completes; requests under way are finished. At most `connections` are open at a time; more
/// wait to be accepted.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    connections: usize,
    shutdown: impl Future<Output = ()>,
) {
    server::serve(listener, router(Arc::new(site)), connections, shutdown).await;
}

fn router(site: Arc<Site>) -> Router {
    let guarded = Router::new()
        .route("/", get(pages::report))
        .route("/mismatches/{id}", get(pages::mismatch))
        .route("/assets/style.css", get(pages::style))
        .route("/metrics", get(metrics))
        .route("/api/v1/report", get(api::report))
        .route("/api/v1/gate", get(api::gate))
        .route("/api/v1/mismatches", get(api::mismatches))
        .route("/api/v1/mismatches/{id}", get(api::mismatch))
        .route("/api/v1/status", get(api::status))
        .route("/api/v1/shadowing/{state}", post(api::set_shadowing))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&site),
            guard::admit,
        ));
    // Probes come from machines without a token and say nothing that needs one.
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .merge(guarded)
        .layer(middleware::map_response(guard::harden))
        .with_state(site)
}

/// 200 while the process does its work: requests are accepted, records are moved.
async fn readyz(State(site): State<Arc<Site>>) -> Response {
    if site.process.is_ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}

async fn metrics(State(site): State<Arc<Site>>) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &site.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
