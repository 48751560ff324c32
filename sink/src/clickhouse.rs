//! A `ClickHouse` server: how we connect to it, and what its errors mean.
//!
//! Everything goes over the HTTP interface with the `clickhouse` crate; the connector below it is ours, for the sake of
//! time-outs and of certificates. A server that answers nothing at all must end in an error, because a sink that
//! waits for ever holds its partitions and a command that waits for ever tells nobody anything.

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

/// A server that is there accepts at once; one that is not must not be waited for longer than a person would.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for a question. A report over the whole retention takes seconds; more means that nobody answers.
const QUESTION_TIMEOUT: Duration = Duration::from_mins(2);
/// A connection that was idle for longer may just be about to be closed by the server, whose own limit is 3 s or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Keeps connections through address translation alive.
const TCP_KEEPALIVE: Duration = Duration::from_mins(1);

/// Which replica of a shard is asked and written to: the first one in the list of the cluster that answers, whichever
/// server we are connected to. So a reader finds what was written before, and two questions are of one state. Replicas
/// behind the first are for when it fails.
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
    /// Prepares connections; the first question opens one.
    pub(crate) fn new(url: &ClickHouseUrl, access: &ClickHouseAccess) -> Result<Self, StoreError> {
        let scheme = if url.secure { "https" } else { "http" };
        let mut client = Client::with_http_client(
            HttpClient::builder(TokioExecutor::new())
                .pool_idle_timeout(IDLE_TIMEOUT)
                .build(connector(access)?),
        )
        .with_url(format!("{scheme}://{}:{}", url.host, url.port))
        .with_database(&url.database)
        // The network is near, and both ends have better things to do.
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

    /// The same server, asked with these settings, too.
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

    /// For questions and inserts of one's own.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &ClickHouseUrl {
        &self.url
    }

    /// Runs a statement that gives no rows.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), Fault> {
        within(QUESTION_TIMEOUT, self.client.query_raw(sql).execute()).await
    }

    /// The error of a question, for a person.
    pub(crate) fn failed(&self, action: &'static str, fault: &Fault) -> StoreError {
        fault.to_store_error(&self.url, action)
    }
}

/// Gives a question a time limit, and its error a meaning.
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
    // Some of a system's certificates are always odd; what counts is whether the server's is among the good ones.
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
