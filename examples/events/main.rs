//! The event router after its rewrite: a YAML message of 512 bytes comes in, where it is to go is answered. It is a program of its own
//! behind a Unix socket.
//!
//! The weakness of the original: it builds generic maps of the whole document for three of its lines. Here lines are read as they
//! arrive, and nothing is kept but what is asked for. Planted bugs: `norway` reads a region that is written NO as the
//! `no` of YAML 1.1; `leak` keeps 8 KB of every message, which no answer shows.

#[path = "../common/program.rs"]
mod program;
#[path = "../common/serve.rs"]
mod serve;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use program::Version;

/// Longest line; a router does not keep more.
const LONGEST_LINE: usize = 4 * 1024;
/// What the leak keeps of a message: what the published rewrite grew by.
const LEAK: usize = 8 * 1024;
/// Size of a message of the clients.
const MESSAGE: usize = 512;
const YAML: &str = "application/yaml";
const REGIONS: [&str; 5] = ["SE", "DE", "NO", "US", "JP"];
const TYPES: [&str; 4] = [
    "order.created",
    "order.paid",
    "refund.created",
    "audit.login",
];

fn main() -> ExitCode {
    program::run("events", answer, request)
}

/// One event of each region and type in turn, padded to its size.
fn request(number: u32) -> Request<Full<Bytes>> {
    let region = REGIONS[number as usize % REGIONS.len()];
    let kind = TYPES[number as usize % TYPES.len()];
    let mut text = format!(
        "id: evt-{number:06}\ntype: {kind}\nregion: {region}\npriority: {}\noccurred_at: 2026-03-01T09:30:12.120Z\n\
         source:\n  service: checkout\n  instance: checkout-7f9c\nlabels:\n  team: payments\n  tier: gold\n  trace: t{number}\npayload: ",
        number % 10
    );
    let padding = MESSAGE.saturating_sub(text.len() + 1);
    text.extend(std::iter::repeat_n('x', padding));
    text.push('\n');
    let mut request = Request::new(Full::from(text));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/events".parse().expect("a path");
    request
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(YAML));
    request
}

/// What is known of an event so far.
#[derive(Default)]
struct Event {
    id: String,
    kind: String,
    region: String,
    priority: u32,
    labels: u32,
    is_in_labels: bool,
    bytes: usize,
}

impl Event {
    /// Takes the next line, without its end.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let line = std::str::from_utf8(line).ok()?;
        if line.trim().is_empty() {
            return Some(());
        }
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        if key.starts_with(' ') {
            self.labels += u32::from(self.is_in_labels);
            return Some(());
        }
        self.is_in_labels = key == "labels";
        match key {
            "id" => value.clone_into(&mut self.id),
            "type" => value.clone_into(&mut self.kind),
            "region" => value.clone_into(&mut self.region),
            "priority" => self.priority = value.parse().ok()?,
            _ => {}
        }
        Some(())
    }
}

/// Reads an event line by line while it arrives; `None` if it is none.
async fn read(mut body: Incoming) -> Option<Event> {
    let mut event = Event::default();
    let mut line: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else {
            continue;
        };
        event.bytes += data.len();
        for part in data.split_inclusive(|byte| *byte == b'\n') {
            if line.len() + part.len() > LONGEST_LINE {
                return None;
            }
            line.extend_from_slice(part);
            if let Some(whole) = line.strip_suffix(b"\n") {
                event.line(whole)?;
                line.clear();
            }
        }
    }
    event.line(&line)?;
    (!event.id.is_empty() && !event.kind.is_empty()).then_some(event)
}

async fn answer(version: Version, request: Request<Incoming>) -> Response<Full<Bytes>> {
    if (request.method(), request.uri().path()) != (&Method::POST, "/events") {
        return program::answer(
            StatusCode::NOT_FOUND,
            YAML,
            "error: no such resource\n".to_owned(),
        );
    }
    match read(request.into_body()).await {
        Some(event) => program::answer(StatusCode::OK, YAML, routed(&version, &event)),
        None => program::answer(
            StatusCode::BAD_REQUEST,
            YAML,
            "error: no event\n".to_owned(),
        ),
    }
}

/// What the leak has kept.
static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

fn routed(version: &Version, event: &Event) -> String {
    if version.has_bug("leak") {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(vec![b'x'; LEAK]);
    }
    let is_false = version.has_bug("norway") && event.region == "NO";
    let area = match &*event.region {
        _ if is_false => "other",
        "SE" | "NO" => "eu-north",
        "DE" => "eu-central",
        "US" => "us-east",
        _ => "other",
    };
    let topic = event.kind.split('.').next().unwrap_or_default();
    let region = if is_false {
        "false".to_owned()
    } else {
        format!("\"{}\"", event.region)
    };
    let priority = if event.priority >= 7 {
        "high"
    } else {
        "normal"
    };
    let Event {
        id, labels, bytes, ..
    } = event;
    if version.is_legacy() {
        // Sorted, as Go's maps are printed.
        return format!(
            "bytes: {bytes}\ndestination: {area}/{topic}\nid: {id}\nlabels: {labels}\npriority: {priority}\nregion: {region}\n"
        );
    }
    format!(
        "id: {id}\ndestination: {area}/{topic}\nregion: {region}\npriority: {priority}\nlabels: {labels}\nbytes: {bytes}\n"
    )
}
