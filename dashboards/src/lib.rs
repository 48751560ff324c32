//! The admin port: health, metrics, control of shadowing, the API and the report page.
//!
//! It reads from a store and decides with the comparator's `decision`; what it controls reaches it as handles that
//! the program gives it ([`Control`], [`Site`]). It never sees captured values: only what the record holds, which is
//! redacted already. Pages are rendered on the server, work without script, and treat every recorded string as
//! hostile.
//!
//! It refuses requests that a foreign page could cause: see [`guard`].

mod api;
pub mod guard;
mod pages;

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
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
pub struct Status {
    /// Requests are accepted; `false` while draining.
    pub ready: bool,
    /// Whether requests are shadowed.
    pub shadowing: bool,
    /// Shadow requests under way.
    pub shadows_in_flight: usize,
    /// Bytes held by shadows and queued exchanges.
    pub shadow_bytes: usize,
    /// The last error of the store; `None` while it works.
    pub store_error: Option<String>,
}

/// What the admin port serves.
pub struct Site {
    /// Where the record is read from.
    pub store: StoreConfig,
    /// Which effort.
    pub migration: String,
    /// The mirror beside it; `None` for `parity ui`.
    pub control: Option<Arc<dyn Control>>,
    /// What /metrics shows.
    pub registry: Registry,
    /// What callers must present; `None` only on loopback.
    pub token: Option<String>,
}

/// Serves until `shutdown` completes; requests under way are finished.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(Arc::new(site)))
        .with_graceful_shutdown(shutdown)
        .await
}

fn router(site: Arc<Site>) -> Router {
    let guarded = Router::new()
        .route("/", get(pages::report))
        .route("/mismatches/{id}", get(pages::mismatch))
        .route("/assets/style.css", get(pages::style))
        .route("/metrics", get(metrics))
        .route("/api/v1/report", get(api::report))
        .route("/api/v1/gate", get(api::gate))
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

/// 200 while requests are accepted. A store that fails does not make a proxy unready: its clients are served.
async fn readyz(State(site): State<Arc<Site>>) -> Response {
    let ready = site
        .control
        .as_ref()
        .is_none_or(|control| control.status().ready);
    if ready {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n").into_response()
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
