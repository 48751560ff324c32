//! HAR 1.2, as browsers, proxies and test tools write it.
//!
//! What a tool may leave out is optional, and an entry that cannot be read is passed over alone. Entries come in the order of
//! their times as far as [`super::order`] can put them into it; the whole file is one session, that of one browser. The body of an answer is in the file
//! as text, decoded: so the fields that told of its coding are dropped, and an answer whose bytes cannot be known any more is
//! none.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::BufRead;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use parity_schemas::exchange::Capture;
use parity_schemas::fields::{FieldLines, FieldValue};
use parity_schemas::framing::agreed_length;
use parity_schemas::recording::UNKNOWN_TRAILERS;
use parity_schemas::time::Timestamp;
use serde::Deserialize;

use super::elements::Elements;
use super::{MAX_RECORD, SourceError, Where};
use crate::replay::recorded::{Pieces, Recorded, Why, believed, fields, not_json};

/// Of UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Whether a text begins as such a file does: `log` is among the first names.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let mut words = text
        .trim_start_matches('\u{feff}')
        .split(|letter: char| letter.is_ascii_whitespace() || letter == ':')
        .filter(|word| !word.is_empty());
    match words.next() {
        Some("{\"log\"") => true,
        Some("{") => words.next() == Some("\"log\""),
        _ => false,
    }
}

/// Reads such a file.
pub(super) struct Har<R> {
    elements: Elements<R>,
    of: Where,
    text: Vec<u8>,
    has_ended: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    started_date_time: Option<Cow<'a, str>>,
    /// Milliseconds; -1 is unknown.
    time: Option<f64>,
    #[serde(borrow)]
    request: HarRequest<'a>,
    #[serde(borrow)]
    response: Option<HarResponse<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Vec<Pair<'a>>,
    #[serde(borrow)]
    post_data: Option<PostData<'a>>,
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct Pair<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData<'a> {
    #[serde(borrow, default)]
    mime_type: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    encoding: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Vec<Param<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Param<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarResponse<'a> {
    #[serde(default)]
    status: f64,
    #[serde(borrow, default)]
    headers: Vec<Pair<'a>>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct Content<'a> {
    size: Option<f64>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    encoding: Option<Cow<'a, str>>,
}

impl<R: BufRead> Har<R> {
    pub(super) fn new(reader: R, of: Where) -> Self {
        Self {
            elements: Elements::new(reader, &["log", "entries"]),
            of,
            text: Vec::new(),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        if self.has_ended {
            return None;
        }
        let element = match self.elements.next(&mut self.text, MAX_RECORD) {
            Ok(Some(element)) => element,
            Ok(None) => {
                self.has_ended = true;
                let why = if self.elements.found() {
                    return None;
                } else {
                    Why::Malformed("a HAR file has `log.entries`, and this has not".to_owned())
                };
                return Some(Err(self.of.unreadable(self.elements.line(), why).into()));
            }
            Err(error) => {
                self.has_ended = true;
                return Some(Err(self.of.io(&error, self.elements.line()).into()));
            }
        };
        let why = match element {
            _ if !element.is_whole => {
                self.has_ended = true;
                Why::CutOff
            }
            _ if element.is_too_long => Why::TooLarge { limit: MAX_RECORD },
            _ => match entry(&self.text) {
                Ok(mut recorded) => {
                    recorded.place = self.of.place(element.line);
                    // A browser's file is one session.
                    recorded.session = Some(recorded.place.file.to_string_lossy().into());
                    return Some(Ok(recorded));
                }
                Err(why) => why,
            },
        };
        Some(Err(self.of.unreadable(element.line, why).into()))
    }
}

fn entry(text: &[u8]) -> Result<Recorded, Why> {
    let entry: Entry<'_> =
        serde_json::from_slice(text).map_err(|error| not_json("not an entry of HAR", &error))?;
    let asked = &entry.request;
    let (request, host) = Pieces {
        method: asked.method.as_bytes(),
        target: asked.url.as_bytes(),
        headers: pairs(&asked.headers),
        body: posted(asked)?,
        client: None,
    }
    .request()?;
    let time = entry.started_date_time.as_deref();
    let answer = entry
        .response
        .as_ref()
        .and_then(|response| answer(response, &request.method))
        .map(|mut answer| {
            let micros = entry.time.filter(|millis| *millis > 0.0).unwrap_or(0.0) * 1_000.0;
            answer.elapsed = believed(Duration::from_micros(micros as u64));
            answer.head_elapsed = answer.elapsed;
            answer
        });
    Ok(Recorded {
        place: Where::default().place(0),
        time: time.and_then(|time| time.parse::<Timestamp>().ok()),
        session: None,
        host,
        request,
        answer,
        hidden: Box::default(),
    })
}

fn pairs<'a>(pairs: &'a [Pair<'_>]) -> Vec<(&'a [u8], &'a [u8])> {
    let line = |pair: &'a Pair<'_>| (pair.name.as_bytes(), pair.value.as_bytes());
    pairs.iter().map(line).collect()
}

/// The body of a request.
fn posted(request: &HarRequest<'_>) -> Result<Vec<u8>, Why> {
    let Some(posted) = &request.post_data else {
        if request.body_size.is_some_and(|size| size > 0.0) {
            return Err(Why::NoBody("it has no `postData`".to_owned()));
        }
        return Ok(Vec::new());
    };
    if let Some(text) = &posted.text {
        return match posted.encoding.as_deref() {
            Some("base64") => STANDARD
                .decode(text.as_bytes())
                .map_err(|_| Why::NoBody("`postData.text` is not base64".to_owned())),
            _ => Ok(text.as_bytes().to_vec()),
        };
    }
    if posted.params.is_empty() {
        return Ok(Vec::new());
    }
    let kind = posted
        .mime_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Why::NoBody(format!(
            "`postData.params` of {kind} do not tell its bytes"
        )));
    }
    let params = posted.params.iter();
    let params: Vec<String> = params
        .map(|param| format!("{}={}", as_in_forms(&param.name), as_in_forms(&param.value)))
        .collect();
    Ok(params.join("&").into_bytes())
}

/// A name or a value of a form. Most tools keep them encoded as they were sent, others decoded.
fn as_in_forms(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"*-._+%".contains(&byte);
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if is_plain(byte) => out.push(char::from(byte)),
            byte => {
                let _infallible = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The answer, if its bytes can be known.
fn answer(response: &HarResponse<'_>, method: &Method) -> Option<Capture> {
    // 0 is a request that was blocked or had no answer.
    let status = response.status as u16;
    if !(200..600).contains(&status) {
        return None;
    }
    let headers = fields(pairs(&response.headers).into_iter()).ok()?;
    let content = response.content.as_ref();
    let text = content.and_then(|content| content.text.as_deref());
    let encoding = content.and_then(|content| content.encoding.as_deref());
    let body = match (text, encoding) {
        (Some(text), Some("base64")) => STANDARD.decode(text.as_bytes()).ok()?,
        (Some(text), None | Some("")) if text.is_ascii() || is_utf8(&headers) => {
            text.as_bytes().to_vec()
        }
        (None, _)
            if content
                .and_then(|content| content.size)
                .is_some_and(|size| size > 0.0) =>
        {
            return None;
        }
        (None, _) if *method == Method::HEAD || matches!(status, 204 | 304) => Vec::new(),
        // A body that was not kept looks like this, too, unless something says that there was none.
        (None, _) if is_empty(response, &headers) => Vec::new(),
        (Some(_) | None, _) => return None,
    };
    // A tool cuts long texts, and says the whole length all the same. A byte order mark is no part of a text.
    let said = content.and_then(|content| content.size).unwrap_or(0.0);
    if said > (body.len() + BYTE_ORDER_MARK.len()) as f64 {
        return None;
    }
    let dropped = [CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING];
    let (_, headers) = headers.partition(|name| dropped.contains(name));
    Some(Capture {
        status,
        headers,
        body: body.into(),
        trailers: None,
        // Browsers write none down.
        hidden: Some([UNKNOWN_TRAILERS.to_owned()].into()),
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    })
}

/// Whether an answer is known to have had no body.
fn is_empty(response: &HarResponse<'_>, headers: &FieldLines) -> bool {
    let size = response.content.as_ref().and_then(|content| content.size);
    let lengths = headers.get_all(&CONTENT_LENGTH).map(FieldValue::as_bytes);
    match agreed_length(lengths) {
        Some(length) => length == 0,
        None => !headers.contains(&CONTENT_LENGTH) && size.or(response.body_size) == Some(0.0),
    }
}

/// Whether a text of these fields was UTF-8: it is, if they name no other charset.
fn is_utf8(headers: &FieldLines) -> bool {
    let kind = headers.get(&CONTENT_TYPE).map(FieldValue::lossy);
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    match kind.split_once("charset=") {
        Some((_, charset)) => charset.trim_matches(['"', ' ']).starts_with("utf-8"),
        None => true,
    }
}
