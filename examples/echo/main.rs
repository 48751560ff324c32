//! The echo service after its rewrite: 1 KB of JSON comes in, 2 KB go out, with the server's time and the name of who answered.
//!
//! The weakness of the original: its two versions were compared by rates alone, with a comparator whose figures were fixed numbers;
//! nobody looked at an answer. Planted bug `bytes`: lengths of texts are counted in bytes, where the original counts characters.

#[path = "../common/program.rs"]
mod program;
#[path = "../common/serve.rs"]
mod serve;

use std::process::ExitCode;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use program::Version;
use serde::{Deserialize, Serialize};

/// Larger requests are refused.
const LARGEST: usize = 64 * 1024;
/// Entries of a request of the clients: about 1 KB.
const ENTRIES: u32 = 16;
const JSON: &str = "application/json";

#[derive(Deserialize, Serialize)]
struct Ping {
    id: String,
    user_agent: String,
    metadata: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
struct Entry {
    key: String,
    value: String,
}

#[derive(Serialize)]
struct Pong<'a> {
    id: &'a str,
    user_agent: &'a str,
    processed_by: &'a str,
    server_time: String,
    metadata: Vec<Echoed<'a>>,
}

#[derive(Serialize)]
struct Echoed<'a> {
    index: usize,
    key: &'a str,
    value: &'a str,
    length: usize,
    line: String,
}

fn main() -> ExitCode {
    program::run("echo", answer, request)
}

/// One kilobyte of which every second request has a name that is not ASCII.
fn request(number: u32) -> Request<Full<Bytes>> {
    let city = if number.is_multiple_of(2) {
        "Zürich"
    } else {
        "Geneva"
    };
    let entry = |at: u32| Entry {
        key: format!("key-{at:02}"),
        value: if at == 0 {
            city.to_owned()
        } else {
            format!("<value {at} of {number} & more>")
        },
    };
    let ping = Ping {
        id: format!("ping-{number}"),
        user_agent: "echo-clients/1.0".to_owned(),
        metadata: (0..ENTRIES).map(entry).collect(),
    };
    let text = serde_json::to_vec(&ping).expect("texts alone");
    let mut request = Request::new(Full::from(text));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/echo".parse().expect("a path");
    request
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(JSON));
    request
}

async fn answer(version: Version, request: Request<Incoming>) -> Response<Full<Bytes>> {
    if (request.method(), request.uri().path()) != (&Method::POST, "/echo") {
        return refusal(StatusCode::NOT_FOUND, "no such resource");
    }
    let Ok(body) = Limited::new(request.into_body(), LARGEST).collect().await else {
        return refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request is too large or broke off",
        );
    };
    match serde_json::from_slice::<Ping>(&body.to_bytes()) {
        Ok(ping) => program::answer(StatusCode::OK, JSON, pong(&version, &ping)),
        Err(_) => refusal(StatusCode::BAD_REQUEST, "the request is no ping"),
    }
}

fn refusal(status: StatusCode, error: &str) -> Response<Full<Bytes>> {
    program::answer(status, JSON, format!("{{\"error\":\"{error}\"}}"))
}

fn pong(version: &Version, ping: &Ping) -> String {
    let metadata = ping
        .metadata
        .iter()
        .enumerate()
        .map(|(index, Entry { key, value })| Echoed {
            index,
            key,
            value,
            length: if version.has_bug("bytes") {
                value.len()
            } else {
                value.chars().count()
            },
            line: format!("{key}={value}"),
        });
    let pong = Pong {
        id: &ping.id,
        user_agent: &ping.user_agent,
        processed_by: if version.is_legacy() {
            "echo-go"
        } else {
            "echo-rust"
        },
        server_time: jiff::Timestamp::now().to_string(),
        metadata: metadata.collect(),
    };
    serde_json::to_string(&pong).expect("texts and numbers alone")
}
