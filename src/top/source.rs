//! An admin port, asked by HTTP. Every answer has a limit in bytes and in time.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use parity_schemas::visible::visible_up_to;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::de::DeserializeOwned;

/// Largest answer that is read from a store: a report of ten thousand groups has about half of it.
const MAX_ANSWER: usize = 64 << 20;
/// Largest answer of what is in memory, a status or metrics: they have some kilobytes, and a few hundred with many routes.
const MAX_SHORT_ANSWER: usize = 4 << 20;
/// Longest error that is told.
const MAX_ERROR_CHARS: usize = 300;
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a status may take, which is in memory.
pub(super) const SHORT: Duration = Duration::from_secs(5);
/// How long a report may take, which is read from a store.
pub(super) const LONG: Duration = Duration::from_mins(1);

/// Where an admin port is: a URL without a path.
#[derive(Clone, Debug)]
pub(crate) struct Base(String);

/// Reads `--admin`.
pub(crate) fn base(text: &str) -> Result<Base, String> {
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let wrong = || format!("`{text}` is not the address of an admin port; write http://HOST:PORT");
    let uri: Uri = with_scheme.parse().map_err(|_| wrong())?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority())
    else {
        return Err(wrong());
    };
    if authority.as_str().contains('@') {
        return Err(
            "a token does not belong into an address; name its file by --token-file".to_owned(),
        );
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong());
    }
    Ok(Base(format!("{scheme}://{authority}")))
}

/// What of the record is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) migration: Option<String>,
    pub(crate) since: Option<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Refused {
    /// Nothing answers there.
    Unreachable(String),
    /// It answered that it has none: its status, and its words.
    Answered(StatusCode, String),
    /// No whole answer came in time.
    TooLong(String),
}

impl Refused {
    pub(super) fn told(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Answered(_, why) | Self::TooLong(why) => why,
        }
    }
}

/// An admin port.
pub(crate) struct Source {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    base: Base,
    token: Option<HeaderValue>,
    asked: Asked,
}

impl Source {
    pub(crate) fn new(
        base: Base,
        token: Option<String>,
        ca_file: Option<&Path>,
        asked: Asked,
    ) -> Result<Self> {
        let token = token.map(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| anyhow!("the token has characters that no header can have"))?;
            value.set_sensitive(true);
            Ok::<_, anyhow::Error>(value)
        });
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector(ca_file)?),
            base,
            token: token.transpose()?,
            asked,
        })
    }

    /// Where it is, for people.
    pub(super) fn name(&self) -> &str {
        &self.base.0
    }

    /// Parameters that every question about the record has.
    pub(super) fn parameters(&self) -> String {
        let given = [
            ("migration", &self.asked.migration),
            ("since", &self.asked.since),
        ];
        let given = given
            .iter()
            .filter_map(|(name, value)| Some(format!("&{name}={}", encoded(value.as_deref()?))));
        given.collect()
    }

    /// Whether somebody said since when.
    pub(super) const fn has_since(&self) -> bool {
        self.asked.since.is_some()
    }

    /// A JSON document.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: Duration,
    ) -> Result<T, Refused> {
        let body = self.get(path, limit).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let name = path.split('?').next().unwrap_or(path);
            Refused::Unreachable(format!(
                "{name} is not what this program knows ({error}); is that the admin port of a parity of this version?"
            ))
        })
    }

    /// The bytes of an answer.
    pub(super) async fn get(&self, path: &str, limit: Duration) -> Result<Bytes, Refused> {
        let unreachable = |why: String| Refused::Unreachable(why);
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(format!("{}{path}", self.base.0));
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let request = request
            .body(Empty::new())
            .map_err(|error| unreachable(error.to_string()))?;
        let answered = async {
            let answer = self.client.request(request).await.map_err(|error| {
                let cause = std::error::Error::source(&error);
                let cause = cause.map_or_else(|| error.to_string(), chain);
                unreachable(format!("{} does not answer: {cause}", self.base.0))
            })?;
            let status = answer.status();
            let most = if limit > SHORT {
                MAX_ANSWER
            } else {
                MAX_SHORT_ANSWER
            };
            let body = Limited::new(answer.into_body(), most).collect().await;
            let body = body.map_err(|error| {
                unreachable(format!(
                    "the answer of {} broke off or has over {} MiB: {error}",
                    self.base.0,
                    most >> 20
                ))
            })?;
            Ok((status, body.to_bytes()))
        };
        let (status, body) = tokio::time::timeout(limit, answered).await.map_err(|_| {
            Refused::TooLong(format!(
                "{} did not answer in {} s",
                self.base.0,
                limit.as_secs()
            ))
        })??;
        if status == StatusCode::OK {
            return Ok(body);
        }
        let words = words(&body);
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => {
                unreachable(format!("{} refuses ({status}): {words}", self.base.0))
            }
            _ => Refused::Answered(status, words),
        })
    }
}

/// What an error says, in one line of bounded length.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let told = document
        .as_ref()
        .and_then(|document| document["error"].as_str());
    visible_up_to(told.unwrap_or(&text).trim(), MAX_ERROR_CHARS)
}

/// What is wrong with a certificate that `--ca-file` names and that the port itself shows.
const OF_LEAF: &str = "CaUsedAsEndEntity";

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = told(error);
    if text.contains(OF_LEAF) {
        text.push_str(
            ": the port shows a certificate of an authority as its own; make one that is none (basicConstraints=CA:FALSE), as \
             docs/security.md does",
        );
    }
    text
}

/// An error and its causes.
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

/// A value in the query of an address.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn connector(ca_file: Option<&Path>) -> Result<HttpsConnector<HttpConnector>> {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.enforce_http(false);
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
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider is built with TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(http))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_with_a_port_and_nothing_else() {
        for (text, expected) in [
            ("127.0.0.1:9900", Some("http://127.0.0.1:9900")),
            ("http://[::1]:9900/", Some("http://[::1]:9900")),
            ("https://parity.example", Some("https://parity.example")),
            ("", None),
            ("http://", None),
            ("ftp://host:1", None),
            ("http://host:1/pages", None),
            ("http://host:1/?a=b", None),
            ("http://user:secret@host:1", None),
            ("ho st:1", None),
        ] {
            let found = base(text).ok().map(|base| base.0);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let told = base("http://u:secret@host:1").expect_err("refused");
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn what_an_error_says_is_short_and_visible() {
        assert_eq!(words(br#"{"error":"no\u001b[2J"}"#), "no\\u{1b}[2J");
        assert_eq!(words(b"plain\xff\n"), "plain\u{fffd}");
        assert!(words(&[b'x'; 5_000]).chars().count() <= MAX_ERROR_CHARS + 1);
        assert_eq!(encoded("a b&c=\u{e4}"), "a%20b%26c%3D%C3%A4");
    }
}
