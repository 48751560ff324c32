//! The items service after its rewrite: twice the sum of twenty values is computed, sent on to the ledger, and answered.
//!
//! The weakness of the original: one thread parses, adds up, calls and answers for everybody. Planted bugs: `whole` reads a value as
//! a whole number, so the answer is wrong; `half` answers what is right and sends the ledger the sum that was not doubled, which only
//! who sees the call can tell. `DOWNSTREAM` in the environment is the ledger.

#[path = "../common/program.rs"]
mod program;
#[path = "../common/serve.rs"]
mod serve;

use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use program::Version;
use serde::{Deserialize, Serialize};

/// Larger requests and answers are refused.
const LARGEST: usize = 64 * 1024;
/// Values of a request of the clients.
const VALUES: u32 = 20;
/// How long the ledger may take.
const PATIENCE: Duration = Duration::from_secs(3);
const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Deserialize, Serialize)]
struct Item {
    value: f64,
}

#[derive(Deserialize)]
struct Booked {
    accepted: bool,
}

type Ledger = Client<HttpConnector, Full<Bytes>>;

fn main() -> ExitCode {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let ledger: Ledger = Client::builder(TokioExecutor::new()).build(connector);
    let address =
        std::env::var("DOWNSTREAM").unwrap_or_else(|_| "http://127.0.0.1:7101".to_owned());
    program::run(
        "items",
        move |version, request| {
            let (ledger, address) = (ledger.clone(), address.clone());
            async move {
                let booked = book(&version, request, &ledger, &address).await;
                booked.unwrap_or_else(|(status, error)| {
                    program::answer(status, JSON, format!("{{\"error\":\"{error}\"}}"))
                })
            }
        },
        request,
    )
}

/// Twenty values, some of them with a fraction.
fn request(number: u32) -> Request<Full<Bytes>> {
    let items = (0..VALUES).map(|at| Item {
        value: f64::from(number % 997 + at * 4) / 4.0,
    });
    let text = serde_json::to_vec(&items.collect::<Vec<_>>()).expect("numbers alone");
    let mut request = Request::new(Full::from(text));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/items".parse().expect("a path");
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(JSON));
    headers.insert(
        REQUEST_ID,
        format!("items-{number}").parse().expect("a name"),
    );
    request
}

async fn book(
    version: &Version,
    request: Request<Incoming>,
    ledger: &Ledger,
    address: &str,
) -> Result<Response<Full<Bytes>>, (StatusCode, &'static str)> {
    if (request.method(), request.uri().path()) != (&Method::POST, "/items") {
        return Err((StatusCode::NOT_FOUND, "no such resource"));
    }
    let id = request.headers().get(&REQUEST_ID).cloned();
    let body = Limited::new(request.into_body(), LARGEST).collect().await;
    let body = body.map_err(|_| {
        (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request is too large or broke off",
        )
    })?;
    let items: Vec<Item> = serde_json::from_slice(&body.to_bytes())
        .map_err(|_| (StatusCode::BAD_REQUEST, "the request is no list of items"))?;
    let value = |item: &Item| {
        if version.has_bug("whole") {
            item.value.trunc()
        } else {
            item.value
        }
    };
    let sum: f64 = items.iter().map(value).sum();
    let sent = if version.has_bug("half") {
        sum
    } else {
        2.0 * sum
    };
    let booking = format!(
        "{{\"items\":{},\"total\":{}}}",
        items.len(),
        number(version, sent)
    );
    let mut call = Request::new(Full::from(booking));
    *call.method_mut() = Method::POST;
    *call.uri_mut() = format!("{address}/totals").parse().map_err(|_| {
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "DOWNSTREAM is no address",
        )
    })?;
    call.headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(JSON));
    if let Some(id) = id {
        call.headers_mut().insert(REQUEST_ID, id);
    }
    let booked = tokio::time::timeout(PATIENCE, async {
        let answer = ledger.request(call).await.ok()?;
        let body = Limited::new(answer.into_body(), LARGEST)
            .collect()
            .await
            .ok()?;
        serde_json::from_slice::<Booked>(&body.to_bytes()).ok()
    });
    let Ok(Some(Booked { accepted })) = booked.await else {
        return Err((StatusCode::BAD_GATEWAY, "the ledger does not answer"));
    };
    let answer = format!(
        "{{\"total\":{},\"count\":{},\"accepted\":{accepted}}}",
        number(version, 2.0 * sum),
        items.len()
    );
    Ok(program::answer(StatusCode::OK, JSON, answer))
}

/// Node prints 12 where serde prints 12.0: the same number.
fn number(version: &Version, number: f64) -> String {
    if version.is_legacy() {
        format!("{number}")
    } else {
        format!("{number:?}")
    }
}
