//! A request as a recording has it, and where it stood.
//!
//! Every format ends here: what HTTP can send becomes a [`Recorded`], the rest an [`Unreadable`] with its place. A request is
//! taken as it was recorded, but for its framing: a body has the length that it has in the file.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST, TE, TRANSFER_ENCODING};
use http::uri::{PathAndQuery, Uri};
use http::{HeaderName, HeaderValue, Method, Version};
use parity_schemas::exchange::{Capture, Client, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::time::Timestamp;
use serde_json::error::Category;

use crate::headers::is_grpc_type;

/// Fields that one message may have; real ones have a few dozen.
pub(super) const MAX_FIELDS: usize = 1_000;

/// A request of a recording.
pub struct Recorded {
    /// Where it stood.
    pub place: Place,
    /// When it was sent; formats without times have none.
    pub time: Option<Timestamp>,
    /// Who sent it, in the words of the recording: requests of one session are sent one after the other.
    pub session: Option<Box<str>>,
    /// The host that it was for, in lower case and with its port if one was written.
    pub host: Option<Box<str>>,
    /// What was asked.
    pub request: Request,
    /// What the service of then answered, if that was recorded whole.
    pub answer: Option<Capture>,
    /// The names of the parts that the recording hides, in whose place there is a keyed hash.
    pub hidden: Box<[Box<str>]>,
}

impl Recorded {
    /// Bytes of memory that it takes, as far as they depend on the recording.
    pub(crate) fn held(&self) -> usize {
        let answer = self.answer.as_ref();
        let answer = answer.map_or(0, |answer| answer.fields_held() + answer.body.len());
        let hidden: usize = self
            .hidden
            .iter()
            .map(|name| size_of_val(name) + name.len())
            .sum();
        size_of::<Self>() + self.request.head_held() + self.request.body.len() + answer + hidden
    }
}

/// Where in a recording something stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file; `-` is standard input.
    pub file: Arc<Path>,
    /// The line that it begins on, from 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.file.display(), self.line)
    }
}

/// A piece of a recording that is no request that can be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Unreadable {
    /// Where it stood.
    pub place: Place,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a piece of a recording cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Not of the format of the file.
    #[error("{0}")]
    Malformed(String),
    /// It is larger than a record may be.
    #[error("larger than {} MiB; it was left out", limit >> 20)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The recording ends in the middle of it.
    #[error("the recording ends in the middle of this request")]
    CutOff,
    /// Of a later version of this program.
    #[error("this is `{0}`, which a later parity wrote; this one reads `{known}`", known = super::EXCHANGE_SCHEMA)]
    Newer(String),
    /// It was recorded without its whole body.
    #[error("its body is not in the recording: {0}")]
    NoBody(String),
}

/// A malformed piece. What it holds is not told: it may be a secret, and errors end up in the logs of jobs.
pub(super) fn malformed(what: &str) -> Why {
    Why::Malformed(what.to_owned())
}

/// JSON that is not what it should be, without its values. What it is told by is of our own types: the name of a member that they
/// need, and what they expect in the place of a value.
pub(super) fn not_json(what: &str, error: &serde_json::Error) -> Why {
    let column = error.column();
    let text = error.to_string();
    let missing = text.strip_prefix("missing field `");
    let missing = missing.and_then(|rest| rest.split('`').next());
    let expected = text.starts_with("invalid ").then_some(&*text);
    let expected = expected.and_then(|text| text.rsplit_once(", expected "));
    let expected = expected.and_then(|(_, rest)| rest.rsplit_once(" at line "));
    Why::Malformed(match error.classify() {
        Category::Data => match (missing, expected) {
            (Some(name), _) => format!("{what}: the member `{name}` is missing"),
            (None, Some((expected, _))) => {
                format!(
                    "{what}: a member has another type, at column {column}; expected is {expected}"
                )
            }
            (None, None) => {
                format!("{what}: a member is missing or has another type, at column {column}")
            }
        },
        Category::Eof => format!("{what}: it ends too early"),
        Category::Io | Category::Syntax => format!("{what}: it is no JSON at column {column}"),
    })
}

/// How long an answer took, by a recording: one that took longer than a day is not believed.
pub(super) fn believed(elapsed: Duration) -> Duration {
    const MOST: Duration = Duration::from_hours(24);
    if elapsed <= MOST {
        elapsed
    } else {
        Duration::ZERO
    }
}

/// The pieces of a request, in the spelling of the recording.
#[derive(Default)]
pub(super) struct Pieces<'a> {
    pub(super) method: &'a [u8],
    /// In origin form, or absolute.
    pub(super) target: &'a [u8],
    pub(super) headers: Vec<(&'a [u8], &'a [u8])>,
    pub(super) body: Vec<u8>,
    pub(super) client: Option<IpAddr>,
}

impl Pieces<'_> {
    /// The request, and the host that it was for.
    pub(super) fn request(self) -> Result<(Request, Option<Box<str>>), Why> {
        let method = Method::from_bytes(self.method).map_err(|_| malformed("not a method"))?;
        if method == Method::CONNECT {
            return Err(malformed("a tunnel cannot be replayed"));
        }
        let (target, authority) = target(self.target)?;
        let mut headers = fields(self.headers.iter().copied())?;
        if let Some(authority) = &authority
            && !headers.contains(&HOST)
        {
            headers.push(HOST, authority.as_bytes());
        }
        let host = headers
            .get(&HOST)
            .map(|host| host.lossy().to_ascii_lowercase().into());
        let client = |address| Client {
            address,
            secure: false,
        };
        // No recording says the version, and gRPC has one only. Its `TE` has one value, which a recording may hide.
        let kind = headers.get(&CONTENT_TYPE);
        let is_grpc = kind.is_some_and(|kind| is_grpc_type(kind.as_bytes()));
        if is_grpc {
            headers = headers.partition(|name| *name == TE).1;
            headers.push(TE, b"trailers");
        }
        let request = Request {
            headers: framed(&headers, &method, self.body.len()),
            method,
            target,
            body: self.body.into(),
            origin: Origin {
                client: self.client.map(client),
                version: if is_grpc {
                    Version::HTTP_2
                } else {
                    Version::HTTP_11
                },
                ..Origin::default()
            },
        };
        Ok((request, host))
    }
}

/// Path and query, and the authority of an absolute target.
fn target(text: &[u8]) -> Result<(Box<str>, Option<Box<str>>), Why> {
    let wrong = || malformed("not a path or a URL");
    // A fragment never leaves a client.
    let whole = text.split(|byte| *byte == b'#').next().unwrap_or_default();
    if whole.first() == Some(&b'/') {
        let path = PathAndQuery::try_from(whole).map_err(|_| wrong())?;
        return Ok((path.as_str().into(), None));
    }
    if whole == b"*" {
        return Ok(("*".into(), None));
    }
    let uri = Uri::try_from(whole).map_err(|_| wrong())?;
    let scheme = uri.scheme_str().ok_or_else(wrong)?;
    if !matches!(scheme, "http" | "https") {
        return Err(malformed("not a URL of HTTP"));
    }
    // Credentials before the host are a header's matter.
    let authority = uri.authority().ok_or_else(wrong)?.as_str();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    Ok((path.into(), Some(authority.into())))
}

/// Header fields, without the pseudo fields of HTTP/2.
pub(super) fn fields<'a>(
    lines: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<FieldLines, Why> {
    let mut fields = FieldLines::default();
    for (name, value) in lines {
        if name.first() == Some(&b':') {
            continue;
        }
        let name = HeaderName::from_bytes(name).map_err(|_| malformed("not a header name"))?;
        let value = HeaderValue::from_bytes(value.trim_ascii()).map_err(|_| {
            Why::Malformed(format!(
                "the value of the header `{name}` has control characters"
            ))
        })?;
        if fields.len() == MAX_FIELDS {
            return Err(Why::Malformed(format!(
                "more than {MAX_FIELDS} header fields"
            )));
        }
        fields.push(name, value.as_bytes());
    }
    Ok(fields)
}

/// How a keyed hash begins.
const HASH: &str = "hmac:";

/// The fields without what a recording hides in them, by the names of the parts; `None` if they have nothing of that. A keyed hash is
/// no value of a field: without it a service sees that there is none.
pub(super) fn without_hidden(fields: &FieldLines, hidden: &[Box<str>]) -> Option<FieldLines> {
    let is_hidden = |name: &HeaderName| {
        let mut names = hidden
            .iter()
            .filter_map(|part| part.strip_prefix("header/"));
        names.any(|part| {
            let field = part.split('/').next().unwrap_or_default();
            field.eq_ignore_ascii_case(name.as_str())
        })
    };
    let has_hash = |value: &str| value.contains(HASH);
    let mut kept = FieldLines::default();
    let mut changes = false;
    for (name, value) in fields.iter() {
        let text = value.lossy();
        if !(is_hidden(name) && has_hash(&text)) {
            kept.push(name.clone(), value.as_bytes());
            continue;
        }
        changes = true;
        if *name == COOKIE {
            let pairs = text.split(';').map(str::trim);
            let pairs: Vec<&str> = pairs.filter(|pair| !has_hash(pair)).collect();
            if !pairs.is_empty() {
                kept.push(name.clone(), pairs.join("; ").as_bytes());
            }
        }
    }
    changes.then_some(kept)
}

/// The fields with the framing of the body that is there.
fn framed(fields: &FieldLines, method: &Method, body: usize) -> FieldLines {
    let had_length = fields.contains(&CONTENT_LENGTH) || fields.contains(&TRANSFER_ENCODING);
    let dropped = |name: &HeaderName| [CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT].contains(name);
    let mut kept = fields.partition(|name| dropped(name)).1;
    let expects_one = *method == Method::POST || *method == Method::PUT || *method == Method::PATCH;
    if body > 0 || had_length && expects_one {
        kept.push(CONTENT_LENGTH, body.to_string().as_bytes());
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pieces: Pieces<'_>) -> Result<(Request, Option<Box<str>>), String> {
        pieces.request().map_err(|why| why.to_string())
    }

    fn lines(request: &Request) -> Vec<String> {
        let line = |(name, value): (&HeaderName, parity_schemas::fields::FieldValue<'_>)| {
            format!("{name}: {}", value.lossy())
        };
        request.headers.iter().map(line).collect()
    }

    #[test]
    fn a_request_has_the_length_of_the_body_that_is_there() {
        let (post, host) = request(Pieces {
            method: b"POST",
            target: b"https://user:pass@API.example:8443/a?b=c#d",
            headers: vec![
                (b":authority", b"other"),
                (b"Content-Length", b"999"),
                (b"Transfer-Encoding", b"chunked"),
                (b"X-A", b" b "),
            ],
            body: b"12345".to_vec(),
            client: None,
        })
        .expect("a request");
        assert_eq!(&*post.target, "/a?b=c");
        assert_eq!(host.as_deref(), Some("api.example:8443"));
        assert_eq!(
            lines(&post),
            ["x-a: b", "host: API.example:8443", "content-length: 5"]
        );
        let empty = |method, length: &'static [u8]| {
            let headers = vec![(&b"content-length"[..], length)];
            let pieces = Pieces {
                method,
                target: b"/",
                headers,
                ..Pieces::default()
            };
            lines(&request(pieces).expect("a request").0)
        };
        assert_eq!(empty(b"POST", b"7"), ["content-length: 0"]);
        assert_eq!(empty(b"GET", b"0"), [""; 0]);
    }

    #[test]
    fn what_http_cannot_send_is_refused() {
        for (method, target, name, value, message) in [
            ("G T", "/", "a", "b", "not a method"),
            ("CONNECT", "a:1", "a", "b", "a tunnel cannot be replayed"),
            ("GET", "/a b", "a", "b", "not a path or a URL"),
            ("GET", "ftp://a/b", "a", "b", "not a URL of HTTP"),
            ("GET", "data:text/html,x", "a", "b", "not a path or a URL"),
            ("GET", "", "a", "b", "not a path or a URL"),
            ("GET", "/", "a b", "b", "not a header name"),
            (
                "GET",
                "/",
                "a",
                "b\r\nc: d",
                "the value of the header `a` has control characters",
            ),
        ] {
            let refused = request(Pieces {
                method: method.as_bytes(),
                target: target.as_bytes(),
                headers: vec![(name.as_bytes(), value.as_bytes())],
                ..Pieces::default()
            });
            assert_eq!(refused.err().as_deref(), Some(message));
        }
    }
}
