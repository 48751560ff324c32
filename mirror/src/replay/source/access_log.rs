//! Access logs: of nginx and Apache in a format that is given or is the combined one, and of AWS application load balancers.
//!
//! A log has no bodies and few headers, so only requests that have none are taken from it.

use std::io::BufRead;
use std::net::IpAddr;
use std::str::FromStr;

use http::header::USER_AGENT;
use jiff::fmt::strtime;
use parity_schemas::time::Timestamp;

use super::lines::Lines;
use super::{SourceError, Where};
use crate::replay::recorded::{Pieces, Recorded, Why, malformed};

/// Longest line of a log; servers refuse heads that are larger than half of it.
const MAX_LINE: usize = 64 << 10;

/// The form of the lines of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(Variable),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Variable {
    Client,
    Request,
    Method,
    Target,
    /// `$args`, behind `$uri`.
    Query,
    Host,
    LocalTime,
    IsoTime,
    /// Seconds with a fraction.
    UnixTime,
    Header(String),
    Other,
}

/// A format that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFormatError {
    /// Nothing tells what was asked.
    #[error(
        "a log format needs `$request`, or `$request_method` with `$request_uri` (or `$uri`): without them it is not known what was asked"
    )]
    NoRequest,
    /// Two variables without anything between them.
    #[error(
        "nothing stands between `${0}` and the variable before it, so nobody can tell where one ends"
    )]
    Adjoining(String),
}

impl LogFormat {
    /// nginx's `combined`, which is Apache's, too, and the `common` one, which ends before the referer.
    fn usual() -> Vec<Self> {
        let common =
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;
        let combined = format!(r#"{common} "$http_referer" "$http_user_agent""#);
        let formats = [&combined, common].map(str::parse);
        formats.into_iter().flatten().collect()
    }
}

impl FromStr for LogFormat {
    type Err = LogFormatError;

    /// In nginx's notation: `$name` or `${name}`, and anything else as it is.
    fn from_str(format: &str) -> Result<Self, LogFormatError> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('$') {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let (name, after) = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
                Some(braced) => braced,
                None => {
                    after.split_at(after.find(|letter| !is_name(letter)).unwrap_or(after.len()))
                }
            };
            if !before.is_empty() {
                pieces.push(Piece::Literal(before.to_owned()));
            } else if matches!(pieces.last(), Some(Piece::Variable(_))) {
                return Err(LogFormatError::Adjoining(name.to_owned()));
            }
            pieces.push(Piece::Variable(Variable::named(name)));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        let has = |wanted: Variable| pieces.contains(&Piece::Variable(wanted));
        if has(Variable::Request) || has(Variable::Method) && has(Variable::Target) {
            Ok(Self(pieces))
        } else {
            Err(LogFormatError::NoRequest)
        }
    }
}

impl Variable {
    fn named(name: &str) -> Self {
        match name {
            "remote_addr" => Self::Client,
            "request" => Self::Request,
            "request_method" => Self::Method,
            "request_uri" | "uri" | "document_uri" => Self::Target,
            "args" | "query_string" => Self::Query,
            "host" | "http_host" => Self::Host,
            "time_local" => Self::LocalTime,
            "time_iso8601" => Self::IsoTime,
            "msec" => Self::UnixTime,
            _ => match name.strip_prefix("http_") {
                Some(header) => Self::Header(header.replace('_', "-")),
                None => Self::Other,
            },
        }
    }
}

/// What a line tells.
#[derive(Default)]
struct Told {
    client: Option<String>,
    time: Option<Timestamp>,
    method: Vec<u8>,
    target: Vec<u8>,
    query: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
}

/// The form of a log's lines.
pub(super) enum Form {
    Variables(LogFormat),
    LoadBalancer,
}

/// Reads such a log.
pub(super) struct AccessLog<R> {
    lines: Lines<R>,
    form: Form,
    of: Where,
    line: Vec<u8>,
    has_ended: bool,
}

impl<R: BufRead> AccessLog<R> {
    pub(super) fn new(reader: R, form: Form, of: Where) -> Self {
        Self {
            lines: Lines::new(reader),
            form,
            of,
            line: Vec::new(),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        while !self.has_ended {
            self.line.clear();
            let read = match self.lines.append(&mut self.line, MAX_LINE) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(self.of.io(&error, self.lines.number()).into()));
                }
            };
            let text = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
            let why = if read.is_too_long {
                Why::TooLarge { limit: MAX_LINE }
            } else if text.is_empty() || text.starts_with(b"#") {
                continue;
            } else {
                match recorded(&self.form, text) {
                    Ok(mut recorded) => {
                        recorded.place = self.of.place(read.number);
                        return Some(Ok(recorded));
                    }
                    Err(Why::Malformed(_)) if !read.is_whole => Why::CutOff,
                    Err(why) => why,
                }
            };
            return Some(Err(self.of.unreadable(read.number, why).into()));
        }
        None
    }
}

fn recorded(form: &Form, line: &[u8]) -> Result<Recorded, Why> {
    let told = match form {
        Form::Variables(format) => by_format(format, line)?,
        Form::LoadBalancer => by_load_balancer(line)?,
    };
    if !matches!(&*told.method, b"GET" | b"HEAD" | b"OPTIONS" | b"DELETE") {
        let method = String::from_utf8_lossy(&told.method).into_owned();
        return Err(Why::NoBody(format!(
            "an access log has none, and a {method} needs one"
        )));
    }
    let mut target = told.target;
    if let Some(query) = told
        .query
        .filter(|query| !query.is_empty() && !target.contains(&b'?'))
    {
        target.push(b'?');
        target.extend_from_slice(&query);
    }
    let headers = told.headers.iter();
    let client = told
        .client
        .as_deref()
        .and_then(|client| client.parse::<IpAddr>().ok());
    let (request, host) = Pieces {
        method: &told.method,
        target: &target,
        headers: headers
            .map(|(name, value)| (name.as_bytes(), &**value))
            .collect(),
        body: Vec::new(),
        client,
    }
    .request()?;
    Ok(Recorded {
        place: Where::default().place(0),
        time: told.time,
        session: told.client.map(String::into_boxed_str),
        host,
        request,
        answer: None,
        hidden: Box::default(),
    })
}

fn by_format(format: &LogFormat, line: &[u8]) -> Result<Told, Why> {
    let mut told = Told::default();
    let mut rest = line;
    let mut pieces = format.0.iter().peekable();
    let other = || malformed("not a line of this log's format");
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Literal(text) => rest = rest.strip_prefix(text.as_bytes()).ok_or_else(other)?,
            Piece::Variable(variable) => {
                let end = match pieces.peek() {
                    Some(Piece::Literal(text)) => memchr::memmem::find(rest, text.as_bytes()),
                    _ => Some(rest.len()),
                };
                let (value, after) = rest.split_at(end.ok_or_else(other)?);
                rest = after;
                told.take(variable, value)?;
            }
        }
    }
    if rest.is_empty() {
        Ok(told)
    } else {
        Err(other())
    }
}

impl Told {
    fn take(&mut self, variable: &Variable, value: &[u8]) -> Result<(), Why> {
        if value == b"-" {
            return Ok(());
        }
        let text = || String::from_utf8_lossy(value);
        let value = || unescaped(value);
        match variable {
            Variable::Client => self.client = Some(text().into_owned()),
            Variable::Request => self.request(&value())?,
            Variable::Method => self.method = value(),
            Variable::Target => self.target = value(),
            Variable::Query => self.query = Some(value()),
            Variable::Host => self.headers.push(("host".to_owned(), value())),
            Variable::LocalTime => self.time = local_time(&text()),
            Variable::IsoTime => self.time = text().parse().ok(),
            Variable::UnixTime => {
                let seconds: Option<f64> = text().parse().ok();
                self.time = seconds.map(|seconds| Timestamp::from_micros((seconds * 1e6) as i64));
            }
            Variable::Header(name) => self.headers.push((name.clone(), value())),
            Variable::Other => {}
        }
        Ok(())
    }

    /// A request line.
    fn request(&mut self, line: &[u8]) -> Result<(), Why> {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let ([method, target, _] | [method, target]) = *words else {
            return Err(malformed("not a request line"));
        };
        self.method = method.to_vec();
        self.target = target.to_vec();
        Ok(())
    }
}

/// A value as it was before the log escaped it: `\x22` and `\"`.
fn unescaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after
            .strip_prefix(b"x")
            .and_then(|it| it.split_at_checked(2));
        // A sign is no digit, although the conversion takes one.
        let hex = hex.filter(|(digits, _)| digits.iter().all(u8::is_ascii_hexdigit));
        let decoded = hex.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        (rest, ()) = match (byte, decoded, after.first()) {
            (b'\\', Some((decoded, after)), _) => (after, out.push(decoded)),
            (b'\\', None, Some(b'"' | b'\\')) => (&after[1..], out.push(after[0])),
            _ => (after, out.push(byte)),
        };
    }
    out
}

/// `24/Nov/2026:02:50:01 +0000`
fn local_time(text: &str) -> Option<Timestamp> {
    let time = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    let time = time.to_timestamp().ok()?;
    Some(Timestamp::from_micros(time.as_microsecond()))
}

/// The places of what is read in a line of a load balancer: fields are parted by spaces, and quoted if they may have some.
mod place {
    pub(super) const TIME: usize = 1;
    pub(super) const CLIENT: usize = 3;
    pub(super) const REQUEST: usize = 12;
    pub(super) const USER_AGENT: usize = 13;
    pub(super) const CREATED: usize = 21;
}

/// Whether a line is one of a load balancer.
fn is_of_load_balancer(line: &[u8]) -> bool {
    let kinds: [&[u8]; 6] = [b"http ", b"https ", b"h2 ", b"grpcs ", b"ws ", b"wss "];
    kinds.iter().any(|kind| line.starts_with(kind)) && quoted(line).len() > place::USER_AGENT
}

fn by_load_balancer(line: &[u8]) -> Result<Told, Why> {
    let words = quoted(line);
    let word = |place: usize| words.get(place).copied().unwrap_or_default();
    if words.len() <= place::USER_AGENT {
        return Err(malformed("not a line of a load balancer's log"));
    }
    let mut told = Told::default();
    told.request(&unescaped(word(place::REQUEST)))?;
    let client = String::from_utf8_lossy(word(place::CLIENT)).into_owned();
    told.client = client
        .rsplit_once(':')
        .map(|(address, _)| address.trim_matches(['[', ']']).to_owned());
    let time = |place| std::str::from_utf8(word(place)).ok()?.parse().ok();
    told.time = time(place::CREATED).or_else(|| time(place::TIME));
    if word(place::USER_AGENT) != b"-" {
        let agent = unescaped(word(place::USER_AGENT));
        told.headers.push((USER_AGENT.to_string(), agent));
    }
    Ok(told)
}

/// Words parted by spaces, of which some stand in quotes.
fn quoted(line: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix(b"\"") {
            Some(text) => {
                let mut end = 0;
                while end < text.len() && text[end] != b'"' {
                    end += if text[end] == b'\\' { 2 } else { 1 };
                }
                let end = end.min(text.len());
                (&text[..end], text.get(end + 1..).unwrap_or_default())
            }
            None => rest.split_at(memchr::memchr(b' ', rest).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = after.strip_prefix(b" ").unwrap_or(after);
    }
    words
}

/// The form of a log that begins so; `None` if it is none that is known.
pub(super) fn form_of(beginning: &[u8]) -> Option<Form> {
    let mut lines = beginning.split(|byte| *byte == b'\n');
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if is_of_load_balancer(line) {
        return Some(Form::LoadBalancer);
    }
    let mut usual = LogFormat::usual().into_iter();
    let format = usual.find(|format| by_format(format, line).is_ok());
    format.map(Form::Variables)
}
