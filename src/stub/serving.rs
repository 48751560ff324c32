//! The two ports on which services make their calls: takes a call whole, within limits, and answers it.
//!
//! Peers may hang, crawl, reset or never end: each connection has a place among a fixed number, heads and bodies a time, bodies a size
//! and a share of one budget. What does not fit is answered and counted, never kept. So is what may have been a call and never came whole, and
//! what still waits for a place in the end ([`super::begun`]).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderName};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use parity_schemas::exchange::{ByteBudget, ByteHold};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::answer::{Answer, Canned, response};
use super::begun::{Begun, Noticing, Reading};
use super::call::{Call, Side};
use super::pairing::Book;
use super::waiting::Played;
use crate::fetching::Fetching;

/// Time for the head of a call, counted from the connection or from the answer before it, so that an idle connection is closed, too.
const HEAD: Duration = Duration::from_secs(10);
/// Time for the body of a call: services send theirs at once.
const BODY: Duration = Duration::from_secs(10);
/// After this a connection takes no new call: who never reads an answer must not keep its place.
const LIFE: Duration = Duration::from_mins(2);
/// Time that a call under way has after that.
const LAST: Duration = Duration::from_secs(10);
/// Largest head: that of usual servers.
const LARGEST_HEAD: usize = 32 * 1024;
/// Pause after a failed accept. Without it, a lack of file descriptors would make the loop spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections without a place that are counted in the end: as many as systems let wait.
const MOST_UNSERVED: usize = 65_536;

/// Where answers come from.
pub(crate) enum Answers {
    /// A file.
    Canned(Canned),
    /// A real service, which the legacy's calls are sent to. The candidate gets what the legacy got.
    Upstream {
        fetching: Box<Fetching>,
        scheme: Scheme,
        authority: Authority,
        time: Duration,
    },
}

/// What all connections share.
pub(crate) struct Desk {
    pub(crate) book: Arc<Mutex<Book>>,
    pub(crate) answers: Answers,
    pub(crate) correlate_by: Vec<HeaderName>,
    /// Largest body of a call or of an answer.
    pub(crate) largest: usize,
    pub(crate) budget: ByteBudget,
    /// How long an answer to the candidate waits for the legacy's call.
    pub(crate) answer_wait: Duration,
}

/// A connection. What it has read behind a whole call and never took up is told when it ends, whatever ends it.
struct Counted<'a, S>
where
    S: Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    connection: Option<http1::Connection<TokioIo<Noticing>, S>>,
    begun: &'a Begun,
}

impl<S> Drop for Counted<'_, S>
where
    S: Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.begun.left(&connection.into_parts().read_buf);
        }
    }
}

/// Why a call was not taken.
enum Lost {
    TooLarge,
    NoRoom,
    BrokenOff,
    TooSlow,
}

/// A connection that waits already; `None` if there is none.
async fn at_once(listener: &TcpListener) -> Option<std::io::Result<(TcpStream, SocketAddr)>> {
    // A task may do only so much at a time, and would be told to wait though more are there.
    let accept = tokio::task::unconstrained(listener.accept());
    tokio::time::timeout(Duration::ZERO, accept).await.ok()
}

impl Desk {
    /// The book; nothing waits while it is held.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        // A panic in the comparator cannot leave the lists inconsistent in a way that matters: the call is lost.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes calls until it is dropped. `has_waiting` says whether connections may wait that came when there was no place: until it
    /// is seen that none does.
    pub(crate) async fn serve(
        self: Arc<Self>,
        side: Side,
        listener: Arc<TcpListener>,
        (places, has_waiting): (Arc<Semaphore>, Arc<AtomicBool>),
    ) {
        let mut connections = JoinSet::new();
        loop {
            let place = if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                place
            } else {
                has_waiting.store(true, Ordering::Relaxed);
                let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                    return;
                };
                place
            };
            let accepted = if let Some(accepted) = at_once(&listener).await {
                accepted
            } else {
                has_waiting.store(false, Ordering::Relaxed);
                listener.accept().await
            };
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(Arc::clone(&self).connection(side, stream, place));
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept connections; trying again");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            while connections.try_join_next().is_some() {}
        }
    }

    /// Counts the connections that found no place until the end, and one at least: each may have had calls.
    pub(crate) async fn count_unserved(&self, listener: &TcpListener) {
        self.book().judge.lose("no_place");
        for _ in 1..MOST_UNSERVED {
            let Some(Ok(_)) = at_once(listener).await else {
                return;
            };
            self.book().judge.lose("no_place");
        }
    }

    async fn connection(
        self: Arc<Self>,
        side: Side,
        stream: TcpStream,
        place: OwnedSemaphorePermit,
    ) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection is served without TCP_NODELAY");
        }
        let begun = Begun::new(&self.book);
        let service = service_fn(|request| {
            let (desk, reading) = (Arc::clone(&self), begun.read());
            async move { Ok::<_, Infallible>(desk.answer(side, request, reading).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(Noticing::new(stream, &begun)), service);
        let mut counted = Counted {
            connection: Some(connection),
            begun: &begun,
        };
        if let Some(connection) = &mut counted.connection {
            let mut connection = Pin::new(connection);
            if let Ok(ended) = tokio::time::timeout(LIFE, connection.as_mut()).await {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended");
                }
            } else {
                connection.as_mut().graceful_shutdown();
                // What is still under way then is cut.
                drop(tokio::time::timeout(LAST, connection).await);
            }
        }
        drop(counted);
        drop(place);
    }

    async fn answer(
        &self,
        side: Side,
        request: Request<Incoming>,
        reading: Reading,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let mut hold = self.budget.hold();
        let read = tokio::time::timeout(BODY, self.read(body, &mut hold)).await;
        let (body, trailers) = match read.unwrap_or(Err(Lost::TooSlow)) {
            Ok(read) => read,
            Err(lost) => return self.refuse(&lost, reading),
        };
        let content = (body.clone(), trailers);
        let call = Call::new(&head, content, &self.correlate_by, ByteHold::default());
        // A head is held as often as it is kept.
        if !hold.grow(call.request.head_held() + call.content.fields_held() + call.key.len()) {
            return self.refuse(&Lost::NoRoom, reading);
        }
        reading.whole();
        let call = Call { hold, ..call };
        match &self.answers {
            Answers::Canned(canned) => {
                let found = canned.to(&head.method, head.uri.path());
                let mut book = self.book();
                if found.is_some() {
                    book.judge.answered("canned");
                } else {
                    book.judge.unanswered(&call.request);
                }
                book.enter(side, call, Played::Apart, Instant::now());
                drop(book);
                found.map_or_else(
                    || {
                        response(&Answer::told(
                            StatusCode::NOT_FOUND,
                            "the file of answers has none for this call",
                        ))
                    },
                    |answer| response(&answer),
                )
            }
            Answers::Upstream { .. } if side == Side::Legacy => {
                self.pass_on(call, head, body).await
            }
            Answers::Upstream { .. } => self.play(call).await,
        }
    }

    async fn read(
        &self,
        mut body: Incoming,
        hold: &mut ByteHold,
    ) -> Result<(Bytes, Option<HeaderMap>), Lost> {
        let mut all = BytesMut::new();
        let mut trailers = None;
        while let Some(frame) = body.frame().await {
            let data = match frame.map_err(|_| Lost::BrokenOff)?.into_data() {
                Ok(data) => data,
                Err(frame) => {
                    // The last frame of a body; hyper bounds it as it does heads.
                    trailers = frame.into_trailers().ok();
                    continue;
                }
            };
            if all.len() + data.len() > self.largest {
                return Err(Lost::TooLarge);
            }
            if !hold.grow(data.len()) {
                return Err(Lost::NoRoom);
            }
            all.extend_from_slice(&data);
        }
        // Exactly its size, as the budget counts it.
        Ok((Bytes::from(all.to_vec()), trailers))
    }

    fn refuse(&self, lost: &Lost, reading: Reading) -> Response<Full<Bytes>> {
        reading.counted();
        let (limit, status, words) = match lost {
            Lost::TooLarge => (
                "too_large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is over limits.body",
            ),
            Lost::NoRoom => (
                "bytes",
                StatusCode::SERVICE_UNAVAILABLE,
                "all calls together hold limits.shadow_bytes",
            ),
            Lost::BrokenOff => (
                "broken_off",
                StatusCode::BAD_REQUEST,
                "the call did not come whole",
            ),
            Lost::TooSlow => (
                "broken_off",
                StatusCode::REQUEST_TIMEOUT,
                "the call did not come whole in time",
            ),
        };
        let mut book = self.book();
        book.judge.lose(limit);
        book.judge.answered("refused");
        drop(book);
        let mut refused = response(&Answer::told(status, words));
        // The rest of the body is not read.
        refused.headers_mut().insert(
            header::CONNECTION,
            header::HeaderValue::from_static("close"),
        );
        refused
    }
}
