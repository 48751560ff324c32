//! Connections to an admin port, one question at a time on each.
//!
//! A pool that connects by itself would send a question, and the token with it, to whatever listens there by then. Here a new connection is
//! opened only when somebody asks for one, who can look at what is at its other end first.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::fetching::{CONNECT_TIMEOUT, Missed, Within, chain, trusting};

/// Connections that are kept for the next question: an overview and a key that is pressed meanwhile ask at once.
const MAX_IDLE: usize = 4;

/// A port, and connections to it.
pub(super) struct Lines {
    host: String,
    port: u16,
    /// As `Host` names it.
    authority: HeaderValue,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// Those that wait for a question.
    idle: Mutex<Vec<Line>>,
}

/// A connection.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// Moves its bytes, and ends with it.
    task: JoinHandle<()>,
    /// Whether it has answered before, and may have been closed since.
    is_old: bool,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Lines {
    /// To the port of a URL without a path. Trusts the certificates of the system, and those of `ca_file`.
    pub(super) fn to(base: &str, ca_file: Option<&Path>) -> Result<Self> {
        let uri: Uri = base.parse().context("the address of the admin port")?;
        let authority = uri.authority().context("the address names no host")?;
        let is_secure = uri.scheme_str() == Some("https");
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let config = trusting(ca_file)?;
        let tls = if is_secure {
            let name = ServerName::try_from(host.clone())
                .map_err(|_| anyhow!("{host} is no name that a certificate can have"))?;
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        Ok(Self {
            port: authority
                .port_u16()
                .unwrap_or(if is_secure { 443 } else { 80 }),
            authority: HeaderValue::try_from(authority.as_str())
                .context("the address of the admin port")?,
            host,
            tls,
            idle: Mutex::default(),
        })
    }

    /// The `Host` of the port.
    pub(super) const fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    /// A connection that waits; `None` without one that is still open, as far as is known here.
    pub(super) fn take(&self) -> Option<Line> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(Line::is_open);
        idle.pop()
    }

    /// Keeps a connection for the next question.
    pub(super) fn keep(&self, line: Line) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_open() && idle.len() < MAX_IDLE {
            idle.push(line);
        }
    }

    /// A new connection.
    pub(super) async fn open(&self) -> Result<Line, Missed> {
        let opened = async {
            let failed = |error: std::io::Error| Missed::NoAnswer(chain(&error));
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
            let stream = stream.map_err(failed)?;
            // Questions are small, and each is waited for.
            stream.set_nodelay(true).map_err(failed)?;
            match &self.tls {
                None => Line::over(TokioIo::new(stream)).await,
                Some((tls, name)) => {
                    let stream = tls.connect(name.clone(), stream).await;
                    Line::over(TokioIo::new(stream.map_err(failed)?)).await
                }
            }
        };
        let in_time = tokio::time::timeout(CONNECT_TIMEOUT, opened).await;
        in_time.map_err(|_| Missed::NoAnswer(no_connection(CONNECT_TIMEOUT)))?
    }
}

fn no_connection(after: Duration) -> String {
    format!("no connection in {} s", after.as_secs())
}

/// What became of a question on a connection that had been open for a while.
pub(super) enum Asked {
    /// The answer.
    Answered(StatusCode, Bytes),
    /// It may be asked again on another connection: the other end had closed this one, and nothing was sent, or what changes nothing.
    NotSent,
}

impl Line {
    async fn over(io: impl Read + Write + Send + Unpin + 'static) -> Result<Self, Missed> {
        let (sender, connection) = handshake(io)
            .await
            .map_err(|error| Missed::NoAnswer(chain(&error)))?;
        let task = tokio::spawn(async move {
            // What ends it is told to whoever waits for an answer.
            let _ended = connection.await;
        });
        Ok(Self {
            sender,
            task,
            is_old: false,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Asks, and reads all of the answer. `headers` name the host, too.
    pub(super) async fn ask(
        &mut self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        within: Within,
    ) -> Result<Asked, Missed> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = method.clone();
        let path: Result<Uri, _> = path.parse();
        *request.uri_mut() = path.map_err(|error| Missed::NoAnswer(error.to_string()))?;
        *request.headers_mut() = headers.clone();
        let answered = async {
            if self.sender.ready().await.is_err() {
                return Ok(Asked::NotSent);
            }
            let answer = match self.sender.try_send_request(request).await {
                Ok(answer) => answer,
                Err(mut failed) => {
                    let is_unsent = failed.take_message().is_some();
                    return if is_unsent || (self.is_old && method.is_safe()) {
                        Ok(Asked::NotSent)
                    } else {
                        Err(Missed::NoAnswer(chain(failed.error())))
                    };
                }
            };
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, within.bytes).collect().await;
            let body = body.map_err(|error| Missed::NotWhole(chain(&*error)))?;
            self.is_old = true;
            Ok(Asked::Answered(head.status, body.to_bytes()))
        };
        let in_time = tokio::time::timeout(within.time, answered).await;
        in_time.map_err(|_| Missed::TooLate)?
    }
}

/// Headers with hosts before others.
pub(super) fn with_hosts(hosts: &[&HeaderValue], others: &HeaderMap) -> HeaderMap {
    let mut headers = others.clone();
    for host in hosts {
        headers.append(HOST, (*host).clone());
    }
    headers
}
