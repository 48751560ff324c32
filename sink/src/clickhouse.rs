//! A `ClickHouse` server: how we connect to it, and what its errors mean.
//!
//! Everything goes over the HTTP interface with the `clickhouse` crate. The connector below it is ours, for time-outs
//! and certificates. A server that never answers must result in an error: a sink that waits for ever blocks its
//! partitions, and a command that waits for ever reports nothing.

pub(crate) mod batch;
pub(crate) mod encode;
pub(crate) mod fault;
mod forms;
pub(crate) mod insert;
mod poison;
mod rows;
pub(crate) mod schema;

use std::time::Duration;

use clickhouse::{Client, Compression};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

pub(crate) use self::fault::{Class, Fault};

use crate::error::StoreError;
use crate::store::{ClickHouseAccess, StoreConfig};
use crate::url::{ClickHouseUrl, StoreUrl};

/// A running server accepts at once, and a person does not want to wait longer for one that is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of a query. A report over the whole retention takes seconds; more means that the server does not answer.
const QUESTION_TIMEOUT: Duration = Duration::from_mins(2);
/// Idle connections are closed after this long, before the server closes them, whose limit is 3 s or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Keeps connections through NAT alive.
const TCP_KEEPALIVE: Duration = Duration::from_mins(1);

/// Which replica of a shard is read and written: the first one in the list of the cluster that answers, whichever
/// server we are connected to. So a reader finds what was written before, and two queries see the same state. The other
/// replicas are used when the first one fails.
pub(crate) const REPLICA_ORDER: [(&str, &str); 2] = [
    ("load_balancing", "in_order"),
    ("prefer_localhost_replica", "0"),
];

/// A database on a server.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client,
    url: ClickHouseUrl,
}

impl Server {
    /// Prepares connections; the first query opens one.
    pub(crate) fn new(url: &ClickHouseUrl, access: &ClickHouseAccess) -> Result<Self, StoreError> {
        let scheme = if url.secure { "https" } else { "http" };
        let mut client = Client::with_http_client(
            HttpClient::builder(TokioExecutor::new())
                .pool_idle_timeout(IDLE_TIMEOUT)
                .build(connector(access)?),
        )
        .with_url(format!("{scheme}://{}:{}", url.host, url.port))
        .with_database(&url.database)
        // The network is usually near and fast, so compression would only cost CPU.
        .with_compression(Compression::None)
        .with_product_info("parity", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &url.user {
            client = client.with_user(user);
        }
        if let Some(password) = &access.password {
            client = client.with_password(password.expose());
        }
        let server = Self {
            client,
            url: url.clone(),
        };
        Ok(server.with_settings(&REPLICA_ORDER))
    }

    /// The same server, with additional settings for every query.
    pub(crate) fn with_settings(mut self, settings: &[(&str, &str)]) -> Self {
        for (name, value) in settings {
            self.client = self.client.with_setting(*name, *value);
        }
        self
    }

    /// The server of a store that is a `ClickHouse`.
    pub(crate) fn of(store: &StoreConfig) -> Result<Self, StoreError> {
        match &store.url {
            StoreUrl::ClickHouse(url) => Self::new(url, &store.clickhouse),
            StoreUrl::Sqlite(_) | StoreUrl::Kafka(_) => Err(StoreError::NotClickHouse {
                url: store.url.to_string(),
            }),
        }
    }

    /// The client, for queries and inserts.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &ClickHouseUrl {
        &self.url
    }

    /// Runs a statement that returns no rows.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Fault> {
        within(QUESTION_TIMEOUT, self.client.query_raw(sql).execute()).await
    }

    /// The error of a query, as a message for a person.
    pub(crate) fn failed(&self, action: &'static str, fault: &Fault) -> StoreError {
        fault.to_store_error(&self.url, action)
    }
}

/// Runs a query with a time limit, and classifies its error.
pub(crate) async fn within<T>(
    limit: Duration,
    question: impl Future<Output = clickhouse::error::Result<T>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, question).await {
        Ok(answer) => answer.map_err(Fault::from),
        Err(_) => Err(Fault::from(clickhouse::error::Error::TimedOut)),
    }
}

fn connector(access: &ClickHouseAccess) -> Result<HttpsConnector<HttpConnector>, StoreError> {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.set_keepalive(Some(TCP_KEEPALIVE));
    http.set_nodelay(true);
    http.enforce_http(false);
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider is built with TLS 1.2 and 1.3")
        .with_root_certificates(roots(access)?)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http))
}

/// The system's certificates and those of the operator.
fn roots(access: &ClickHouseAccess) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    // A system may have some certificates that cannot be parsed; what matters is whether the server's issuer can.
    let (_added, _ignored) = roots.add_parsable_certificates(native.certs);
    if let Some(path) = &access.ca_file {
        let refused = |why: String| StoreError::Certificates {
            path: path.clone(),
            why,
        };
        let mut found = 0;
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| refused(error.to_string()))?;
            found += 1;
        }
        if found == 0 {
            return Err(refused("it holds no PEM certificate".to_owned()));
        }
    }
    Ok(roots)
}
