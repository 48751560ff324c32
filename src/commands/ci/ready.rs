//! Whether a service answers.
//!
//! Over plain HTTP a service is ready when it answers a request with a status below 500. Over TLS and HTTP/2, where how it is asked
//! depends on its settings, it is ready when it accepts a connection.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use parity_mirror::{HostPort, Protocol, Target, UpstreamUrl};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{sleep, timeout};

/// Between two requests: a service loses little by it, and so does the job.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// How long one request may take: the first one of a service that is slow to begin with. Then another one is sent.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How long it is looked whether somebody listens before a service is started.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

/// Waits until the service is ready. `last` is told why it is not yet; it never returns otherwise.
pub(super) async fn ready(target: &Target, path: &str, mut last: impl FnMut(String)) {
    loop {
        match timeout(ANSWERS_WITHIN, ask(target, path)).await {
            Ok(Ok(())) => return,
            Ok(Err(why)) => last(why),
            Err(_) => last(format!(
                "it accepts connections, and does not answer GET {path} within {} s",
                ANSWERS_WITHIN.as_secs()
            )),
        }
        sleep(LOOK).await;
    }
}

/// Whether somebody listens there already.
pub(super) async fn is_taken(url: &UpstreamUrl) -> bool {
    let connected = async {
        match url {
            UpstreamUrl::Http(place) | UpstreamUrl::Https(place) => tcp(place).await.is_ok(),
            UpstreamUrl::Unix(path) => unix(path).await.is_ok(),
        }
    };
    timeout(CONNECTS_WITHIN, connected).await.unwrap_or(false)
}

async fn ask(target: &Target, path: &str) -> Result<(), String> {
    let is_http1 = target.protocol != Protocol::Http2;
    match &target.url {
        UpstreamUrl::Http(place) => {
            let stream = tcp(place).await?;
            if is_http1 {
                answers(stream, host(target, place), path).await?;
            }
        }
        UpstreamUrl::Https(place) => drop(tcp(place).await?),
        UpstreamUrl::Unix(socket) => {
            let stream = unix(socket).await?;
            let named = target.host.clone();
            let host = named.unwrap_or_else(|| HeaderValue::from_static("localhost"));
            if is_http1 {
                answers(stream, host, path).await?;
            }
        }
    }
    Ok(())
}

/// The host that it is asked for, as by the mirror.
fn host(target: &Target, place: &HostPort) -> HeaderValue {
    target.host.clone().unwrap_or_else(|| {
        let host = if place.host.contains(':') {
            format!("[{}]:{}", place.host, place.port)
        } else {
            format!("{}:{}", place.host, place.port)
        };
        HeaderValue::try_from(host).unwrap_or(HeaderValue::from_static("localhost"))
    })
}

async fn tcp(place: &HostPort) -> Result<TcpStream, String> {
    let nobody = |why: &dyn std::fmt::Display| {
        format!("nobody listens on {}:{}: {why}", place.host, place.port)
    };
    let connected = TcpStream::connect((&*place.host, place.port)).await;
    let stream = connected.map_err(|error| nobody(&error))?;
    // The system may choose the very port as the one to come from, and connect it to itself.
    let is_itself = stream.local_addr().ok() == stream.peer_addr().ok();
    if is_itself {
        return Err(nobody(&"the connection is one to itself"));
    }
    Ok(stream)
}

async fn unix(path: &Path) -> Result<UnixStream, String> {
    let connected = UnixStream::connect(path).await;
    connected.map_err(|error| format!("nobody listens on {}: {error}", path.display()))
}

async fn answers(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    host: HeaderValue,
    path: &str,
) -> Result<(), String> {
    let request = Request::get(path)
        .header(header::HOST, host)
        .header(
            header::USER_AGENT,
            concat!("parity/", env!("CARGO_PKG_VERSION")),
        )
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let no_answer = |error: hyper::Error| format!("it does not answer GET {path}: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(no_answer)?;
    let answer = sender.send_request(request);
    tokio::pin!(answer);
    let answer = tokio::select! {
        answer = &mut answer => answer,
        // The answer may have come with the end of the connection.
        _ended = connection => answer.await,
    };
    match answer.map_err(no_answer)?.status() {
        status if status < StatusCode::INTERNAL_SERVER_ERROR => Ok(()),
        status => Err(format!("it answers GET {path} with {status}")),
    }
}
