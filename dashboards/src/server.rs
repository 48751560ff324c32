//! The admin port: health, metrics, control of shadowing, the API and the pages.
//!
//! The program gives it handles to what it controls ([`MirrorAdmin`], [`Site`]). It refuses requests that a page of
//! another origin could cause (`guard`).

mod access;
mod answer;
mod api;
pub mod audit;
mod connections;
mod downloads;
mod events;
mod gate;
mod group;
mod guard;
mod history;
mod html;
mod lists;
mod openapi;
mod parameters;
mod place;
mod question;
mod rerun;
mod reruns;
mod rollout;
mod site;
mod stored;
mod visit;

use std::future::Future;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::view;
use question::Asking;

pub use access::{Access, Role};
pub use connections::CONNECTIONS;
pub use guard::ONE_HOST;
pub use reruns::{Reruns, RunAgain};
pub use site::{
    MirrorAdmin, Process, Register, RolloutAdmin, RolloutDone, RolloutSet, RolloutWish, Site,
};
pub use tokio_rustls::TlsAcceptor;

/// Media type of the Prometheus exposition that `prometheus-client` writes.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves until `shutdown` completes; requests under way are finished. At most `connections` are open at a time; more
/// wait to be accepted. While `tls` has a certificate, they are encrypted.
pub async fn serve(
    listener: TcpListener,
    tls: watch::Receiver<Option<TlsAcceptor>>,
    mut site: Site,
    connections: usize,
    shutdown: impl Future<Output = ()>,
) {
    // Each page reads the counts of the same record.
    site.store = site.store.remembering();
    let series = gate::Series::of(&site);
    if let Some(series) = &series {
        site.registry.register_collector(Box::new(series.clone()));
    }
    let site = Arc::new(site);
    let (end, ending) = watch::channel(false);
    let events = Arc::new(events::Events::new(connections, ending));
    let shutdown = async move {
        shutdown.await;
        end.send_replace(true);
    };
    let judging = async {
        match &series {
            Some(series) => gate::judge(&site, series).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = connections::serve(listener, tls, router(&site, &events), connections, shutdown) => {}
        () = judging => {}
        () = read_ahead(&site) => {}
        () = events::look(&site, &events) => {}
    }
}

/// Reads what the first page will show, so that whoever opens it does not wait for ten days to be added up. Only where pages
/// are all that there is to do: in a mirror, clients come first.
async fn read_ahead(site: &Site) {
    if matches!(site.process, Process::Reader) {
        let question = Asking::default().of(site);
        // Whoever opens a page is told what is wrong.
        let _seen = answer::read(site, move |reader| view::decided(reader, &question)).await;
    }
    std::future::pending::<()>().await;
}

fn router(site: &Arc<Site>, events: &Arc<events::Events>) -> Router {
    let guarded = Router::new()
        .route("/", get(html::overview))
        .route("/report", get(html::report))
        .route("/history", get(html::history))
        .route("/causes", get(html::causes))
        .route("/groups", get(html::groups))
        .route("/groups/{fingerprint}", get(group::group))
        .route("/routes", get(html::routes))
        .route("/noise", get(html::noise))
        .route("/rules", get(html::rules))
        .route("/health", get(html::health))
        .route("/mismatches/{id}", get(html::mismatch))
        .route("/mismatches/{id}/bodies/{which}", get(downloads::body))
        .route("/mismatches/{id}/rerun", post(rerun::page))
        .route("/audit", get(stored::changes))
        .route("/decisions", get(stored::decisions))
        .route("/decisions/{id}", get(stored::decision))
        .route("/decisions/{id}/export", get(downloads::decision))
        .route("/assets/{name}", get(html::asset))
        .route("/metrics", get(metrics))
        .merge(api::api().into_router())
        .route(openapi::PATH, get(openapi_document))
        .fallback(api::unknown)
        .method_not_allowed_fallback(api::other_method)
        .layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::admit,
        ));
    // Probes come from machines without a token and say nothing that needs one.
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .merge(guarded)
        .with_state(Arc::clone(site))
        .merge(gate::router(site))
        .merge(events::router(site, events))
        .layer(middleware::map_response(guard::harden))
}

/// 200 while the process does its work: requests are accepted, records are moved.
async fn readyz(State(site): State<Arc<Site>>) -> Response {
    if site.process.is_ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}

/// The OpenAPI document of the API.
pub fn openapi() -> serde_json::Value {
    let mut operations = api::api().into_operations();
    operations.extend(gate::api().into_operations());
    operations.extend(events::api().into_operations());
    openapi::document(&operations)
}

async fn openapi_document() -> Response {
    // It says the same as long as the program runs.
    static DOCUMENT: OnceLock<serde_json::Value> = OnceLock::new();
    answer::document(DOCUMENT.get_or_init(openapi))
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
