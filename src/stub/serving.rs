//! The two ports on which services make their calls: takes a call whole, within limits, and answers it.
//!
//! Peers may hang, crawl, reset or never end: each connection has a place among a fixed number, heads and bodies a time, bodies a size
//! and a share of one budget. What does not fit is answered and counted, never kept.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderName};
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parity_schemas::exchange::{ByteBudget, ByteHold};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::answer::{Answer, Canned, response};
use super::call::{Call, Side};
use super::pairing::{Book, Coming, Played};
use crate::fetching::{Fetching, Missed, Within};

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
    pub(crate) book: Mutex<Book>,
    pub(crate) answers: Answers,
    pub(crate) correlate_by: Vec<HeaderName>,
    /// Largest body of a call or of an answer.
    pub(crate) largest: usize,
    pub(crate) budget: ByteBudget,
    /// How long an answer to the candidate waits for the legacy's call.
    pub(crate) answer_wait: Duration,
}

/// Why a call was not taken.
enum Lost {
    TooLarge,
    NoRoom,
    BrokenOff,
    TooSlow,
}

impl Desk {
    /// The book; nothing waits while it is held.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        // A panic in the comparator cannot leave the lists inconsistent in a way that matters: the call is lost.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes calls until it is dropped.
    pub(crate) async fn serve(
        self: Arc<Self>,
        side: Side,
        listener: TcpListener,
        places: Arc<Semaphore>,
    ) {
        let mut connections = JoinSet::new();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match listener.accept().await {
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

    async fn connection(
        self: Arc<Self>,
        side: Side,
        stream: TcpStream,
        place: OwnedSemaphorePermit,
    ) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection is served without TCP_NODELAY");
        }
        let service = service_fn(|request| {
            let desk = Arc::clone(&self);
            async move { Ok::<_, Infallible>(desk.answer(side, request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        if let Ok(ended) = tokio::time::timeout(LIFE, connection.as_mut()).await {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
                // A call may have been in it that nobody has seen.
                if error.is_parse() || error.is_incomplete_message() {
                    self.book().judge.lose("broken_off");
                }
            }
        } else {
            connection.as_mut().graceful_shutdown();
            // What is still under way then is cut.
            drop(tokio::time::timeout(LAST, connection).await);
        }
        drop(place);
    }

    async fn answer(&self, side: Side, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let mut hold = self.budget.hold();
        let read = tokio::time::timeout(BODY, self.read(body, &mut hold)).await;
        let body = match read.unwrap_or(Err(Lost::TooSlow)) {
            Ok(body) => body,
            Err(lost) => return self.refuse(&lost),
        };
        let call = Call::new(&head, body.clone(), &self.correlate_by, ByteHold::default());
        // A head is held as often as it is kept.
        if !hold.grow(call.request.head_held() + call.content.fields_held() + call.key.len()) {
            return self.refuse(&Lost::NoRoom);
        }
        let call = Call { hold, ..call };
        match &self.answers {
            Answers::Canned(canned) => {
                let found = canned.to(&head.method, head.uri.path());
                let mut book = self.book();
                book.judge.answered(if found.is_some() {
                    "canned"
                } else {
                    "no_answer"
                });
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

    async fn read(&self, mut body: Incoming, hold: &mut ByteHold) -> Result<Bytes, Lost> {
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Lost::BrokenOff)?.into_data() else {
                continue;
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
        Ok(Bytes::from(all.to_vec()))
    }

    fn refuse(&self, lost: &Lost) -> Response<Full<Bytes>> {
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

    /// Answers the legacy by the real service, and keeps the answer for the candidate.
    async fn pass_on(
        &self,
        call: Call,
        head: http::request::Parts,
        body: Bytes,
    ) -> Response<Full<Bytes>> {
        let Answers::Upstream {
            fetching,
            scheme,
            authority,
            time,
        } = &self.answers
        else {
            return response(&Answer::told(
                StatusCode::INTERNAL_SERVER_ERROR,
                "there is no service behind this port",
            ));
        };
        let (known, coming) = watch::channel(None);
        self.book()
            .enter(Side::Legacy, call, Played::Gives(coming), Instant::now());
        let target = head.uri.path_and_query().cloned();
        let uri = Uri::builder()
            .scheme(scheme.clone())
            .authority(authority.clone());
        let uri = uri
            .path_and_query(target.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")))
            .build();
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method;
        *request.headers_mut() = head.headers;
        for made_anew in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
            request.headers_mut().remove(made_anew);
        }
        parity_mirror::strip_hop_by_hop(request.headers_mut());
        let within = Within {
            bytes: self.largest,
            time: *time,
        };
        let answered = match uri {
            Ok(uri) => {
                *request.uri_mut() = uri;
                fetching.send(request, within).await
            }
            Err(error) => Err(Missed::NoAnswer(error.to_string())),
        };
        let (how, answer) = self.of_upstream(answered);
        let answer = Arc::new(answer);
        // Nobody may ever want it.
        known.send_replace(Some(Arc::clone(&answer)));
        self.book().judge.answered(how);
        response(&answer)
    }

    fn of_upstream(
        &self,
        answered: Result<(http::response::Parts, Bytes), Missed>,
    ) -> (&'static str, Answer) {
        let words = match answered {
            Ok((head, body)) => {
                let mut hold = self.budget.hold();
                if hold.grow(body.len()) {
                    let mut headers = head.headers;
                    headers.remove(header::CONTENT_LENGTH);
                    parity_mirror::strip_hop_by_hop(&mut headers);
                    let body = Bytes::copy_from_slice(&body);
                    return (
                        "upstream",
                        Answer {
                            status: head.status,
                            headers,
                            body,
                            hold,
                        },
                    );
                }
                self.book().judge.lose("bytes");
                "all calls together hold limits.shadow_bytes"
            }
            Err(Missed::NoAnswer(cause)) => {
                tracing::debug!(cause, "the service behind the stub does not answer");
                "the service behind this port does not answer"
            }
            Err(Missed::NotWhole(cause)) => {
                tracing::debug!(
                    cause,
                    "an answer of the service behind the stub is not whole"
                );
                "the answer of the service behind this port broke off, or is over limits.body"
            }
            Err(Missed::TooLate) => "the service behind this port does not answer in time",
        };
        (
            "upstream_failed",
            Answer::told(StatusCode::BAD_GATEWAY, words),
        )
    }

    /// Answers the candidate with what the legacy got for the same call.
    async fn play(&self, call: Call) -> Response<Full<Bytes>> {
        let until = tokio::time::Instant::now() + self.answer_wait;
        let key = call.key.clone();
        let (wanting, mut partner) = oneshot::channel();
        let number = self.book().enter(
            Side::Candidate,
            call,
            Played::Wants(wanting),
            Instant::now(),
        );
        let mut coming: Option<Coming> = tokio::time::timeout_at(until, &mut partner)
            .await
            .ok()
            .and_then(Result::ok);
        if coming.is_none()
            && let Some(number) = number
            && self.book().settle_now(&key, number)
        {
            // Another call of the legacy is the nearest there is: the two differ, and the candidate gets an answer all the same.
            coming = partner.try_recv().ok();
        }
        let answer = match coming {
            Some(mut coming) => {
                let known = tokio::time::timeout_at(until, coming.wait_for(Option::is_some)).await;
                known
                    .ok()
                    .and_then(Result::ok)
                    .and_then(|answer| answer.clone())
            }
            None => None,
        };
        self.book().judge.answered(if answer.is_some() {
            "played"
        } else {
            "not_played"
        });
        answer.map_or_else(
            || {
                response(&Answer::told(
                    StatusCode::GATEWAY_TIMEOUT,
                    "no call of the legacy was answered in time for this one",
                ))
            },
            |answer| response(&answer),
        )
    }
}
