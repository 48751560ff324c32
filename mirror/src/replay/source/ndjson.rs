//! Recordings with one JSON object on a line: ours (`parity.exchange/v1`), and the targets of vegeta.
//!
//! Both may be in one file, and empty lines are passed over.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parity_schemas::exchange::Capture;
use parity_schemas::recording::{
    EXCHANGE_SCHEMA, RecordedBody, RecordedExchange, RecordedResponse, UNKNOWN_TRAILERS,
};
use serde::Deserialize;

use super::lines::Lines;
use super::{MAX_RECORD, SourceError, Where};
use crate::replay::recorded::{Pieces, Recorded, Why, believed, fields, malformed, not_json};

/// Reads such a file.
pub(super) struct Ndjson<R> {
    lines: Lines<R>,
    of: Where,
    line: Vec<u8>,
    has_ended: bool,
}

/// What every line is looked at for.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    schema: Option<Cow<'a, str>>,
}

/// A target of vegeta.
#[derive(Deserialize)]
struct Target<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    body: Option<Cow<'a, str>>,
    header: Option<BTreeMap<String, Vec<String>>>,
}

impl<R: BufRead> Ndjson<R> {
    pub(super) fn new(reader: R, of: Where) -> Self {
        Self {
            lines: Lines::new(reader),
            of,
            line: Vec::new(),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        while !self.has_ended {
            self.line.clear();
            let skipped = self.lines.skip_blank();
            let read = match skipped.and_then(|()| self.lines.append(&mut self.line, MAX_RECORD)) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(self.of.io(&error, self.lines.number()).into()));
                }
            };
            let text = self
                .line
                .strip_prefix("\u{feff}".as_bytes())
                .unwrap_or(&self.line)
                .trim_ascii();
            let why = if read.is_too_long {
                Why::TooLarge { limit: MAX_RECORD }
            } else if text.is_empty() {
                continue;
            } else {
                match line(text) {
                    Ok(mut recorded) => {
                        recorded.place = self.of.place(read.number);
                        return Some(Ok(recorded));
                    }
                    // The last line may have been written only in part.
                    Err(Why::Malformed(_)) if !read.is_whole && !text.ends_with(b"}") => {
                        Why::CutOff
                    }
                    Err(why) => why,
                }
            };
            return Some(Err(self.of.unreadable(read.number, why).into()));
        }
        None
    }
}

fn line(text: &[u8]) -> Result<Recorded, Why> {
    let wrong = |error: serde_json::Error| not_json("not a recorded request", &error);
    if !text.starts_with(b"{") {
        return Err(malformed("not a recorded request"));
    }
    let kind: Kind<'_> = serde_json::from_slice(text).map_err(wrong)?;
    match kind.schema.as_deref() {
        Some(EXCHANGE_SCHEMA) => recorded(serde_json::from_slice(text).map_err(wrong)?),
        Some(schema) if schema.starts_with("parity.exchange/") => {
            Err(Why::Newer(schema.to_owned()))
        }
        Some(_) => Err(malformed("its `schema` is not that of recordings")),
        None => vegeta(&serde_json::from_slice(text).map_err(wrong)?),
    }
}

/// A line as a request that can be sent. Its place is left open.
pub fn recorded(line: RecordedExchange) -> Result<Recorded, Why> {
    let (request, host) = Pieces {
        method: line.method.as_bytes(),
        target: line.url.as_bytes(),
        headers: line
            .headers
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect(),
        body: body(&line.body)?,
        client: None,
    }
    .request()?;
    // A hash names no host.
    let host = host.filter(|_| !line.hidden.iter().any(|name| name == "header/host"));
    let answer = line.response.as_ref();
    let answer = answer
        .filter(|answer| answer.body.left_out.is_none())
        .filter(|answer| line.method == "HEAD" || !lacks_its_body(answer));
    let answer = answer.map(self::answer).transpose()?;
    Ok(Recorded {
        place: Where::default().place(0),
        time: Some(line.time),
        session: line.session.map(String::into_boxed_str),
        host,
        request,
        answer,
        hidden: line.hidden.into_iter().map(Into::into).collect(),
    })
}

/// Whether a body is announced and not there: it was not recorded.
fn lacks_its_body(response: &RecordedResponse) -> bool {
    let is_there = response.body.text.is_some() || response.body.base64.is_some();
    let mut headers = response.headers.iter();
    let has_length = headers
        .any(|(name, value)| name.eq_ignore_ascii_case("content-length") && value.trim() != "0");
    !is_there && has_length && !matches!(response.status, 204 | 304)
}

fn answer(response: &RecordedResponse) -> Result<Capture, Why> {
    let lines = |lines: &[(String, String)]| {
        let lines = lines.iter();
        fields(lines.map(|(name, value)| (name.as_bytes(), value.as_bytes())))
    };
    let elapsed = believed(Duration::from_micros(response.elapsed_us));
    let trailers = response.trailers.as_deref().map(lines).transpose()?;
    let mut hidden = response.hidden.clone();
    if trailers.is_none() {
        hidden.push(UNKNOWN_TRAILERS.to_owned());
    }
    Ok(Capture {
        status: response.status,
        headers: lines(&response.headers)?,
        body: body(&response.body)?.into(),
        trailers: trailers.filter(|trailers| !trailers.is_empty()),
        hidden: (!hidden.is_empty()).then(|| hidden.into()),
        head_elapsed: elapsed,
        elapsed,
    })
}

fn body(body: &RecordedBody) -> Result<Vec<u8>, Why> {
    if let Some(why) = body.left_out {
        return Err(Why::NoBody(why.words().to_owned()));
    }
    match (&body.text, &body.base64) {
        (Some(_), Some(_)) => Err(Why::Malformed("both `body` and `body_base64`".to_owned())),
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(base64)) => decoded(base64),
        (None, None) => Ok(Vec::new()),
    }
}

fn decoded(base64: &str) -> Result<Vec<u8>, Why> {
    let decoded = STANDARD.decode(base64.as_bytes());
    decoded.map_err(|_| malformed("its body is not base64"))
}

fn vegeta(target: &Target<'_>) -> Result<Recorded, Why> {
    let headers = target.header.iter().flatten();
    let headers = headers.flat_map(|(name, values)| {
        values
            .iter()
            .map(move |value| (name.as_bytes(), value.as_bytes()))
    });
    let (request, host) = Pieces {
        method: target.method.as_bytes(),
        target: target.url.as_bytes(),
        headers: headers.collect(),
        body: target
            .body
            .as_deref()
            .map_or_else(|| Ok(Vec::new()), decoded)?,
        client: None,
    }
    .request()?;
    Ok(Recorded {
        place: Where::default().place(0),
        time: None,
        session: None,
        host,
        request,
        answer: None,
        hidden: Box::default(),
    })
}
