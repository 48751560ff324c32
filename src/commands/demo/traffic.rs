//! The clients of a sample.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::net::TcpStream;

/// Client connections, each with one request at a time.
const CONNECTIONS: usize = 8;
/// No answer of a sample is near this size.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The request with a number: method, path, and the status that it is answered with.
pub(super) type NumberedRequest = fn(u32) -> (Method, String, StatusCode);

/// Sends the requests over a few connections, `round` at a time, and shows a progress bar. After each round `ended` is
/// called with how many were sent so far.
pub(super) fn drive(
    address: SocketAddr,
    requests: u32,
    round: u32,
    request: NumberedRequest,
    mut ended: impl FnMut(u32) -> Result<()>,
) -> Result<()> {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} requests")?;
    let progress = ProgressBar::new(u64::from(requests)).with_style(style);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut sent = 0;
    while sent < requests {
        let until = requests.min(sent.saturating_add(round));
        runtime.block_on(send_all(address, sent..until, request, &progress))?;
        sent = until;
        ended(sent)?;
    }
    progress.finish_and_clear();
    Ok(())
}

/// Sends the requests with these numbers.
async fn send_all(
    address: SocketAddr,
    numbers: Range<u32>,
    request: NumberedRequest,
    progress: &ProgressBar,
) -> Result<()> {
    let mut connections = tokio::task::JoinSet::new();
    for connection in 0..CONNECTIONS {
        let progress = progress.clone();
        let mut numbers = numbers.clone().skip(connection);
        connections.spawn(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, driver) = handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
            let driver = tokio::spawn(driver);
            for number in numbers.by_ref().step_by(CONNECTIONS) {
                send(&mut sender, request(number)).await?;
                progress.inc(1);
            }
            drop(sender);
            driver.await??;
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(ended) = connections.join_next().await {
        ended??;
    }
    Ok(())
}

async fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    (method, path, expected): (Method, String, StatusCode),
) -> Result<()> {
    sender.ready().await?;
    let body = if method == Method::POST {
        Bytes::from_static(b"{\"amount\":\"12.50\"}")
    } else {
        Bytes::new()
    };
    let request = Request::builder()
        .method(method)
        .uri(&path)
        .header("host", "sample.demo")
        .header("content-type", "application/json")
        .body(Full::new(body))?;
    let response =
        tokio::time::timeout(Duration::from_secs(30), sender.send_request(request)).await??;
    let status = response.status();
    ensure!(
        status == expected,
        "{path} was answered with {status} instead of {expected}"
    );
    Limited::new(response.into_body(), MAX_ANSWER_BYTES)
        .collect()
        .await
        .map_err(|error| anyhow::anyhow!("{path} was not answered whole: {error}"))?;
    Ok(())
}
