//! Asks for a page or a document, or passes a request on: every answer has a limit in bytes and in time. No redirect is followed.
//!
//! For what parity asks of other processes beside the services' answers, which go through the mirror: admin ports, metrics, and what
//! stands behind a stub.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri, response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// How long a connection may take.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// What an answer may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    pub(crate) bytes: usize,
    /// From the request to the last byte.
    pub(crate) time: Duration,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Missed {
    /// Nothing answers there.
    NoAnswer(String),
    /// It broke off, or is larger than it may be.
    NotWhole(String),
    /// It did not come whole in time.
    TooLate,
}

/// A client with its connections.
pub(crate) struct Fetching {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Fetching {
    /// Trusts the certificates of the system, and those of `ca_file`.
    pub(crate) fn new(ca_file: Option<&Path>) -> Result<Self> {
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector(ca_file)?),
        })
    }

    /// The head and the bytes of an answer to a request without a body.
    pub(crate) async fn answer(
        &self,
        method: Method,
        uri: Uri,
        headers: &HeaderMap,
        within: Within,
    ) -> Result<(response::Parts, Bytes), Missed> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers.clone();
        self.send(request, within).await
    }

    /// The same of any request.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        within: Within,
    ) -> Result<(response::Parts, Bytes), Missed> {
        let answered = async {
            let answer = self.client.request(request).await.map_err(|error| {
                let cause = std::error::Error::source(&error);
                Missed::NoAnswer(cause.map_or_else(|| error.to_string(), chain))
            })?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, within.bytes).collect().await;
            let body = body.map_err(|error| Missed::NotWhole(chain(&*error)))?;
            Ok((head, body.to_bytes()))
        };
        let in_time = tokio::time::timeout(within.time, answered).await;
        in_time.map_err(|_| Missed::TooLate)?
    }
}

/// What is wrong with a certificate that `--ca-file` names and that the port itself shows.
const OF_LEAF: &str = "CaUsedAsEndEntity";

/// An error and its causes, with what to do about a certificate that cannot work.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = told(error);
    if text.contains(OF_LEAF) {
        text.push_str(
            ": the port shows a certificate of an authority as its own; make one that is none (basicConstraints=CA:FALSE), as \
             docs/security.md does",
        );
    }
    text
}

fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.ends_with(&told) {
            text.extend([": ", &told]);
        }
        cause = error.source();
    }
    text
}

fn connector(ca_file: Option<&Path>) -> Result<HttpsConnector<HttpConnector>> {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.enforce_http(false);
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(trusting(ca_file)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http))
}

/// Trusts the certificates of the system, and those of `ca_file`.
pub(crate) fn trusting(ca_file: Option<&Path>) -> Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    // A system may have some that cannot be parsed; what matters is whether the port's issuer can.
    let (_added, _ignored) =
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let told = || format!("cannot read certificates from {}", path.display());
        let mut found = 0;
        for certificate in CertificateDer::pem_file_iter(path).with_context(told)? {
            roots
                .add(certificate.with_context(told)?)
                .with_context(told)?;
            found += 1;
        }
        if found == 0 {
            return Err(anyhow!("{} holds no PEM certificate", path.display()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider is built with TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth())
}
