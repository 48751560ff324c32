//! One request with the two answers to it, as they were seen.
//!
//! Nothing here implements `Serialize` or `Debug`: these values are unredacted, and may leave the process only through
//! the comparator's `redact` module. The compiler checks it:
//!
//! ```compile_fail,E0277
//! fn shown<T: std::fmt::Debug>() {}
//! shown::<parity_schemas::exchange::Exchange>();
//! ```
//! ```compile_fail,E0277
//! fn sent<T: serde::Serialize>() {}
//! sent::<parity_schemas::exchange::Exchange>();
//! ```
//! ```compile_fail,E0277
//! fn shown<T: std::fmt::Debug>() {}
//! shown::<parity_schemas::verdict::Finding>();
//! ```
//! ```compile_fail,E0277
//! fn sent<T: serde::Serialize>() {}
//! sent::<parity_schemas::verdict::Finding>();
//! ```
//!
//! Bodies are reference-counted slices of what was read from the socket;
//! cloning an exchange copies no body.

mod budget;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Method, Version};
use smallvec::SmallVec;

pub use self::budget::{ByteBudget, ByteHold};
use self::budget::{LARGEST_PIECE, Piece};
use crate::fields::{FieldLines, FieldValue};
use crate::route::Route;
use crate::time::Timestamp;

/// One request with its two captures, both with status and header fields. A body that could not be kept is
/// [`Omitted`]; what broke off or never came never becomes an exchange, it is settled as `not_compared` where that was
/// seen.
pub struct Exchange {
    /// When the head of the request was parsed.
    pub time: Timestamp,
    /// The route that the request was counted under.
    pub route: Arc<Route>,
    /// The request as the client sent it.
    pub request: Request,
    /// The answer that the client got.
    pub legacy: Capture,
    /// The answer that nobody but us sees.
    pub candidate: Capture,
    /// The share of the process's byte budget that this exchange holds until it is dropped, so the budget also bounds
    /// the comparison queue. `ByteHold::default()` holds nothing (tests, `parity diff`).
    pub hold: ByteHold,
}

impl Exchange {
    /// Bytes of memory that its heads and trailers take.
    pub fn heads_held(&self) -> usize {
        self.request.head_held() + self.legacy.fields_held() + self.candidate.fields_held()
    }
}

/// Says which trace a request belongs to (W3C Trace Context).
/// The header that marks the requests of a mirror, so that a service can skip side effects.
pub const SHADOW_HEADER: &str = "x-parity-shadow";
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The request of an exchange, as the client sent it.
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query as on the request line, still percent-encoded: `/users/1?page=2`.
    pub target: Box<str>,
    /// Header fields as received.
    pub headers: FieldLines,
    /// The whole body; empty when there was none.
    pub body: Body,
    /// What else is needed to send it again as it came.
    pub origin: Origin,
}

/// How a request came, as far as the services can see it. It is neither compared nor recorded: it is kept so that the
/// same request can be sent again. The default is a request that no client sent.
#[derive(Clone, Default)]
pub struct Origin {
    /// The client, which the services are told of; `None` if there was none.
    pub client: Option<Client>,
    /// The HTTP version that the client used.
    pub version: Version,
    /// The host of a target in absolute form or of HTTP/2's `:authority`.
    pub authority: Option<Box<str>>,
    /// The bytes of the target, where they are not those of [`Request::target`].
    pub target: Option<Box<[u8]>>,
    /// Trailer fields, if any came.
    pub trailers: Option<FieldLines>,
    /// What each service got in the place of what the request says, if that was not the same.
    pub own: Option<Arc<PerService>>,
}

/// What of a request is not the same for both services: values that each of them gave out itself, and those that were set for
/// it. They are secrets as a rule, and are sent and nothing else: what is recorded is the request without them.
#[derive(Default)]
pub struct PerService {
    /// For the legacy.
    pub legacy: OwnParts,
    /// For the candidate.
    pub candidate: OwnParts,
}

/// The parts of a request that one service gets in its own form; those that are `None` are as the request says.
#[derive(Clone, Default)]
pub struct OwnParts {
    /// All header fields.
    pub headers: Option<FieldLines>,
    /// Path and query.
    pub target: Option<Box<str>>,
    /// The whole body.
    pub body: Option<Body>,
}

impl PerService {
    /// Bytes of memory that everything but the bodies takes.
    fn held(&self) -> usize {
        let head = |own: &OwnParts| {
            own.headers.as_ref().map_or(0, FieldLines::held)
                + own.target.as_ref().map_or(0, |target| target.len())
        };
        head(&self.legacy) + head(&self.candidate)
    }

    /// Bytes of the bodies that are not the request's.
    pub fn bodies(&self) -> usize {
        let body = |own: &OwnParts| own.body.as_ref().map_or(0, Body::len);
        body(&self.legacy) + body(&self.candidate)
    }
}

impl OwnParts {
    /// Whether the service gets the request as it is.
    pub fn is_empty(&self) -> bool {
        self.headers.is_none() && self.target.is_none() && self.body.is_none()
    }

    /// The request as the service gets it.
    pub fn of(&self, request: &Request) -> Request {
        let mut origin = request.origin.clone();
        origin.own = None;
        if self.target.is_some() {
            origin.target = None;
        }
        Request {
            method: request.method.clone(),
            target: self
                .target
                .clone()
                .unwrap_or_else(|| request.target.clone()),
            headers: self
                .headers
                .clone()
                .unwrap_or_else(|| request.headers.clone()),
            body: self.body.clone().unwrap_or_else(|| request.body.clone()),
            origin,
        }
    }
}

impl Origin {
    /// Bytes of memory that it takes besides its own size.
    fn held(&self) -> usize {
        self.authority.as_ref().map_or(0, |text| text.len())
            + self.target.as_ref().map_or(0, |bytes| bytes.len())
            + self.trailers.as_ref().map_or(0, FieldLines::held)
            + self.own.as_ref().map_or(0, |own| own.held())
    }
}

/// Who sent a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The address of its connection.
    pub address: IpAddr,
    /// Whether that connection used TLS.
    pub secure: bool,
}

impl Request {
    /// Bytes of memory that everything but the body takes.
    pub fn head_held(&self) -> usize {
        self.target.len() + self.headers.held() + self.origin.held()
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target
            .split_once('?')
            .map_or(&*self.target, |(path, _)| path)
    }

    /// The query without its `?`; empty when there is none.
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The trace id (32 hex digits) of a well-formed W3C `traceparent`, else `None`.
    pub fn trace_id(&self) -> Option<&str> {
        let value = self
            .headers
            .get(&TRACEPARENT)
            .and_then(FieldValue::as_str)?;
        let id = value.split('-').nth(1)?;
        (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
    }
}

/// One side's answer.
pub struct Capture {
    /// Status code.
    pub status: u16,
    /// Header fields as received, hop-by-hop ones included.
    pub headers: FieldLines,
    /// The whole body as received, still encoded by its `Content-Encoding`, or why there is none.
    pub body: Body,
    /// Trailer fields, if there were any. Unknown for an answer whose body was omitted.
    pub trailers: Option<FieldLines>,
    /// What of it is not what the service answered, because a recording hides it or does not have it: the names are those of
    /// [`RecordedResponse::hidden`](crate::recording::RecordedResponse::hidden), and
    /// [`UNKNOWN_TRAILERS`](crate::recording::UNKNOWN_TRAILERS). `None` for an answer as it came.
    pub hidden: Option<Arc<[String]>>,
    /// From sending the request to the head of the answer.
    pub head_elapsed: Duration,
    /// From sending the request to the last byte of the answer, without the time in which we did not read because the
    /// client was not reading. For an omitted body, up to when it was given up.
    pub elapsed: Duration,
}

impl Capture {
    /// Bytes of memory that header and trailer fields take.
    pub fn fields_held(&self) -> usize {
        self.headers.held() + self.trailers.as_ref().map_or(0, FieldLines::held)
    }
}

/// Why a capture has no body although the answer had one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// It has no end, such as server-sent events; for gRPC, more than one message.
    Stream,
    /// It is larger than the body limit.
    TooLarge {
        /// Its least size in bytes, by its `Content-Length` or as received so far.
        at_least: u64,
    },
    /// There was no room for it among the bytes that may be held for shadows.
    NoRoom {
        /// Its least size in bytes, as received so far.
        at_least: u64,
    },
    /// It was received in full and then dropped, because the other side's body cannot be kept.
    LetGo {
        /// Its length.
        bytes: u64,
    },
}

/// A body in pieces. Most bodies have one piece, which is stored inline.
#[derive(Clone, Default)]
pub struct Body {
    chunks: SmallVec<[Bytes; 1]>,
    length: usize,
    /// The bytes after `chunks`. Never grows beyond its capacity.
    tail: Piece,
    omitted: Option<Omitted>,
}

/// Smallest piece after the first one, so that a peer that sends byte by byte does not create a piece per byte.
const SMALLEST_PIECE: usize = 4 * 1024;

impl Body {
    /// A body that was not kept. It holds no bytes, but must not be treated as an empty body.
    pub fn omitted(why: Omitted) -> Self {
        Self {
            omitted: Some(why),
            ..Self::default()
        }
    }

    /// Why the body was not kept; `None` if it was.
    pub fn omission(&self) -> Option<Omitted> {
        self.omitted
    }

    /// Appends a copy of the bytes that were read.
    ///
    /// A copy, because a slice would keep the whole read buffer alive, which may be a hundred times larger; and because
    /// the reader can then reuse its buffer, which makes up for the cost of copying.
    ///
    /// Large pieces are taken from the spare ones of `budget`.
    fn add(&mut self, mut chunk: &[u8], budget: Option<&ByteBudget>) {
        while !chunk.is_empty() {
            let free = self.tail.free();
            if free == 0 {
                self.seal();
                // The first piece is usually the only one. Later ones depend on what has been received, so that the
                // memory is not much more than what the budget counts; and they have only two sizes, which avoids heap
                // fragmentation.
                let piece = match self.length {
                    0 => chunk.len(),
                    length if length < 2 * LARGEST_PIECE => SMALLEST_PIECE,
                    _ => LARGEST_PIECE,
                };
                self.tail = Piece::new(piece, budget);
                continue;
            }
            let (now, later) = chunk.split_at(free.min(chunk.len()));
            self.tail.extend(now);
            self.length += now.len();
            chunk = later;
        }
    }

    /// Moves the tail into a shared piece, so that clones share it. Later bytes begin a new piece.
    pub fn seal(&mut self) {
        if !self.tail.as_ref().is_empty() {
            self.chunks.push(std::mem::take(&mut self.tail).into());
        }
    }

    /// Bytes in all chunks.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces in their order.
    pub fn into_chunks(mut self) -> impl ExactSizeIterator<Item = Bytes> {
        self.seal();
        self.chunks.into_iter()
    }

    /// Whether both are the same bytes, however they were cut into pieces; nothing is copied.
    pub fn same_bytes(&self, other: &Self) -> bool {
        if self.length != other.length {
            return false;
        }
        let (mut ours, mut theirs) = (self.pieces(), other.pieces());
        let (mut one, mut two): (&[u8], &[u8]) = (&[], &[]);
        loop {
            if one.is_empty() {
                one = match ours.next() {
                    Some(piece) => piece,
                    // The lengths are equal, so the other side has ended too.
                    None => return true,
                };
            }
            if two.is_empty() {
                two = theirs.next().unwrap_or_default();
            }
            let common = one.len().min(two.len());
            if common == 0 || one[..common] != two[..common] {
                return false;
            }
            (one, two) = (&one[common..], &two[common..]);
        }
    }

    /// The pieces, none of them empty.
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let tail = self.tail.as_ref();
        let tail = (!tail.is_empty()).then_some(tail);
        self.chunks.iter().map(|chunk| &**chunk).chain(tail)
    }

    /// The body as one slice: borrowed if it has one piece, else copied.
    pub fn contiguous(&self) -> Cow<'_, [u8]> {
        match (self.chunks.as_slice(), self.tail.as_ref()) {
            ([], tail) => Cow::Borrowed(tail),
            ([only], []) => Cow::Borrowed(only),
            (many, tail) => {
                let mut all = Vec::with_capacity(self.length);
                for chunk in many {
                    all.extend_from_slice(chunk);
                }
                all.extend_from_slice(tail);
                Cow::Owned(all)
            }
        }
    }
}

impl From<Bytes> for Body {
    /// Without a copy.
    fn from(bytes: Bytes) -> Self {
        let length = bytes.len();
        let chunks = if length == 0 {
            SmallVec::new()
        } else {
            SmallVec::from_buf([bytes])
        };
        Self {
            chunks,
            length,
            tail: Piece::default(),
            omitted: None,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_in_order() {
        let mut body = Body::default();
        let mut whole = Vec::new();
        for length in [1, 0, 2, 5_000, 1, 200_000, 3] {
            let chunk: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            body.add(&chunk, None);
            whole.extend_from_slice(&chunk);
        }
        assert_eq!((body.len(), &*body.contiguous()), (whole.len(), &*whole));
        let chunks: Vec<_> = body.into_chunks().collect();
        assert!(
            chunks
                .iter()
                .all(|chunk| (1..=LARGEST_PIECE).contains(&chunk.len()))
        );
        assert_eq!(chunks.concat(), whole);
    }

    #[test]
    fn chunks_do_not_count_for_equality() {
        const SMALL: usize = SMALLEST_PIECE;
        let cut = |text: &str, at: &[usize]| {
            let (mut body, mut from) = (Body::default(), 0);
            for until in at.iter().copied().chain([text.len()]) {
                body.add(&text.as_bytes()[from..until], None);
                from = until;
            }
            body
        };
        let text = "0123456789".repeat(2 * SMALL);
        let other = format!("{}x", text.strip_suffix('9').expect("its last digit"));
        for at in [&[][..], &[1], &[SMALL, 2 * SMALL], &[SMALL + 1, SMALL + 2]] {
            let body = cut(&text, at);
            assert!(body.same_bytes(&cut(&text, &[SMALL + 7])));
            assert!(!body.same_bytes(&cut(&other, &[SMALL + 7])));
            assert!(!body.same_bytes(&cut(&text.repeat(2), &[])));
        }
        assert!(Body::default().same_bytes(&cut("", &[])));
    }

    #[test]
    fn a_body_holds_what_it_is_however_it_came() {
        for chunk in [1, 100, 4_000, 40_000, 128 * 1024] {
            let mut body = Body::default();
            while body.len() < 1 << 20 {
                body.add(&vec![b'x'; chunk], None);
            }
            let length = body.len();
            let held = body.tail.capacity() + body.chunks.iter().map(Bytes::len).sum::<usize>();
            assert!(
                held <= length + LARGEST_PIECE,
                "{held} for {length} by {chunk}"
            );
        }
        let mut body = Body::default();
        body.add(b"{}", None);
        assert_eq!((body.tail.capacity(), body.chunks.len()), (2, 0));
    }
}
