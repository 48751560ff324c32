//! A rewrite of `examples` as a program: the rewrite itself, a stand-in for the service before it, and the clients of both.
//!
//! Both services have a page of metrics at `/metrics`. The stand-in prints what the original prints, for machines without the
//! original's toolchain. `BUG` in the environment names a planted bug of the rewrite; `METRICS`, as HOST:PORT, is one more address of
//! the page, for a service that has only a socket.

#[path = "exporter.rs"]
mod exporter;

use std::io::{Error, Result};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::MissedTickBehavior;

use self::exporter::Exporter;
use crate::serve;

/// Connections of the clients, each with one request at a time: some at once, and no storm.
const CONNECTIONS: u32 = 4;

/// Which version answers.
#[derive(Clone)]
pub(crate) struct Version {
    is_legacy: bool,
    bug: Arc<str>,
}

impl Version {
    /// Whether it prints what the service before the rewrite prints.
    pub(crate) fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    /// Whether it is the rewrite with this bug.
    pub(crate) fn has_bug(&self, name: &str) -> bool {
        !self.is_legacy && *self.bug == *name
    }
}

/// An answer of a sample.
pub(crate) fn answer(
    status: StatusCode,
    media_type: &'static str,
    body: String,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

/// Runs what the command line says: `legacy ADDR`, `candidate ADDR`, or `clients ADDR COUNT [RATE]`, as fast as they are answered
/// or so many a second.
#[expect(clippy::print_stderr, reason = "a sample program talks to its user")]
pub(crate) fn run<A, F>(name: &str, answer: A, request: fn(u32) -> Request<Full<Bytes>>) -> ExitCode
where
    A: Fn(Version, Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        [role @ ("legacy" | "candidate"), address] => {
            let version = Version {
                is_legacy: *role == "legacy",
                bug: std::env::var("BUG").unwrap_or_default().into(),
            };
            let exporter = Arc::new(Exporter::new());
            let more = paging(Arc::clone(&exporter));
            let served = serving(address, move |request: Request<Incoming>| {
                let (version, answer) = (version.clone(), answer.clone());
                let exporter = Arc::clone(&exporter);
                async move {
                    if request.uri().path() == "/metrics" {
                        return page(&exporter);
                    }
                    let begun = Instant::now();
                    let response = answer(version, request).await;
                    exporter.answered(response.status(), begun.elapsed());
                    response
                }
            });
            blocking(async {
                let ((), ()) = tokio::try_join!(served, more)?;
                Ok(())
            })
        }
        ["clients", address, numbers @ ..]
            if (1..=2).contains(&numbers.len())
                && numbers.iter().all(|number| number.parse::<u32>().is_ok()) =>
        {
            let mut numbers = numbers.iter().flat_map(|number| number.parse::<u32>());
            let count = numbers.next().unwrap_or_default();
            // So often for each connection.
            let every = numbers
                .next()
                .map(|rate| Duration::from_secs(u64::from(CONNECTIONS)) / rate.max(1));
            blocking(clients(address, count, every, request))
        }
        _ => {
            eprintln!(
                "usage: {name} legacy|candidate ADDR, or {name} clients ADDR COUNT [RATE]; ADDR is HOST:PORT or unix:/PATH. \
                 BUG=NAME turns a bug of the candidate on."
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {name} {}: {error}", arguments.join(" "));
            ExitCode::from(2)
        }
    }
}

fn page(exporter: &Exporter) -> Response<Full<Bytes>> {
    answer(StatusCode::OK, "text/plain", exporter.page())
}

/// Serves the page of metrics at one more address, if the environment names one.
async fn paging(exporter: Arc<Exporter>) -> Result<()> {
    let Ok(address) = std::env::var("METRICS") else {
        return Ok(());
    };
    let answer = move |_: Request<Incoming>| std::future::ready(page(&exporter));
    serving(&address, answer).await
}

fn blocking(work: impl Future<Output = Result<()>>) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(work)
}

async fn serving<A, F>(address: &str, answer: A) -> Result<()>
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    match address.strip_prefix("unix:") {
        Some(path) => serve::serve(UnixListener::bind(path)?, answer).await,
        None => serve::serve(TcpListener::bind(address).await?, answer).await,
    }
}

/// Sends so many requests; an answer that is none of success ends it.
async fn clients(
    address: &str,
    count: u32,
    every: Option<Duration>,
    request: fn(u32) -> Request<Full<Bytes>>,
) -> Result<()> {
    let mut clients = tokio::task::JoinSet::new();
    for first in 0..CONNECTIONS {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(Error::other)?;
        clients.spawn(async move { connection.await.map_err(Error::other) });
        let host = HeaderValue::from_str(address).map_err(Error::other)?;
        clients.spawn(async move {
            let mut pace = every.map(tokio::time::interval);
            if let Some(pace) = &mut pace {
                // After a stall they go on at their rate, and make no storm.
                pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            }
            for number in (first..count).step_by(CONNECTIONS as usize) {
                if let Some(pace) = &mut pace {
                    pace.tick().await;
                }
                let mut request = request(number);
                request.headers_mut().insert(header::HOST, host.clone());
                let response = sender.send_request(request).await.map_err(Error::other)?;
                let status = response.status();
                // The whole answer, as a client reads it.
                response.into_body().collect().await.map_err(Error::other)?;
                if !status.is_success() {
                    return Err(Error::other(format!(
                        "request {number} is answered {status}"
                    )));
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended.map_err(Error::other)??;
    }
    Ok(())
}
