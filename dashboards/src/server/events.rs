//! `GET /api/v1/events`: tells an open page when there is something new to fetch, as a stream of server-sent events.
//!
//! What is new, the page fetches itself; here are only two marks, of the record and of the process, which change when that does.
//! One task reads them for all that listen, and only while somebody does. Who listens holds one number and not a queue, so
//! somebody who reads slowly costs no memory and misses nothing but marks that are outdated. Streams hold connections,
//! so there are few, and each ends after a while: then a page asks again.

use std::convert::Infallible;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use parity_schemas::documents::ErrorCode;
use parity_schemas::lately::WaitedFor;
use parity_sink::{StoreError, StoreUrl};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::answer::{ErrorAnswer, read};
use super::guard;
use super::openapi::Api;
use super::site::{Process, Site};

/// Streams at a time: a quarter of the connections of this port at the most, so that pages and probes always get one.
const LISTENERS: usize = 8;
/// Shortest time between two looks. A record grows about once a second; a person does not read faster than this.
const EVERY: Duration = Duration::from_secs(2);
/// A look that took long is repeated after so many times as long: then looking takes a twentieth of a core at the most.
const REST: u32 = 20;
/// Longest time between two looks: one that waited for a store that does not answer says nothing of how long the next one takes.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// An empty line goes over the stream so often: then a page knows that the connection is still there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A stream ends after this, before its connection is over (`connections`).
const LIFE: Duration = Duration::from_secs(50);

/// What changes when there is something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    record: u64,
    process: u64,
}

/// The streams of a port.
pub(super) struct Events {
    marks: watch::Sender<Option<Marks>>,
    places: Arc<Semaphore>,
    asked: Notify,
    ending: watch::Receiver<bool>,
}

impl Events {
    /// For a port with so many connections; the streams end when `ending` says so.
    pub(super) fn new(connections: usize, ending: watch::Receiver<bool>) -> Self {
        let places = LISTENERS.min(connections / 4).max(1);
        Self {
            marks: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(places)),
            asked: Notify::new(),
            ending,
        }
    }
}

/// Looks for what is new while somebody listens. It never ends by itself.
pub(super) async fn look(site: &Site, events: &Events) {
    loop {
        events.asked.notified().await;
        while events.marks.receiver_count() > 0 {
            let began = Instant::now();
            let marks = Marks {
                record: of_record(site).await,
                process: of_process(site),
            };
            events.marks.send_if_modified(|known| {
                let is_new = *known != Some(marks);
                *known = Some(marks);
                is_new
            });
            let took = began.elapsed();
            let rest = (took * REST).min(LONGEST_REST);
            tokio::time::sleep(EVERY.saturating_sub(took).max(rest)).await;
        }
        // Who comes next gets no mark of long ago.
        events.marks.send_replace(None);
    }
}

/// A store that cannot be read has a mark, too: a page that says so is new.
async fn of_record(site: &Site) -> u64 {
    if matches!(site.store.url, StoreUrl::Kafka(_)) {
        return 0;
    }
    let mark = read(site, |reader| Ok::<_, StoreError>(reader.mark()?.number()));
    mark.await.unwrap_or(0)
}

/// Of what a page shows of the process, without what changes with every request.
fn of_process(site: &Site) -> u64 {
    let mut hasher = DefaultHasher::new();
    let register = (site.register)();
    serde_json::to_string(&*register.known)
        .unwrap_or_default()
        .hash(&mut hasher);
    register.refused.hash(&mut hasher);
    match &site.process {
        Process::Mirror(mirror) => {
            let status = mirror.status();
            let now = status.clients_now.as_ref();
            [
                status.ready,
                status.shadowing,
                status.legacy_reachable,
                status.legacy_asked,
                status.candidate_reachable,
                status.candidate_asked,
                status.store_error.is_some(),
                // "Now" passes although nothing happens.
                now.is_some_and(|now| now.failed() > 0),
                now.is_some_and(|now| now.ended() > 0),
                now.is_some_and(|now| now.left() > 0),
                status.is_given_up(WaitedFor::Legacy),
                status.is_given_up(WaitedFor::Candidate),
            ]
            .hash(&mut hasher);
            [
                &Some(status.legacy_version),
                &Some(status.candidate_version),
                &Some(status.rules_hash),
                &status.store_loss,
                &status.config_error,
                &status.descriptors_low,
                &status.last_failed_client.map(|time| time.to_string()),
                &status.legacy_failing_since.map(|time| time.to_string()),
                &status.candidate_failing_since.map(|time| time.to_string()),
                &status.recording.and_then(|recording| recording.error),
                &status.rollout.map(|rollout| rollout.told()),
            ]
            .hash(&mut hasher);
        }
        Process::Sink(status) => {
            let status = status();
            (status.ready, status.error.is_some()).hash(&mut hasher);
            (status.partitions, status.lag, status.dead_letters).hash(&mut hasher);
        }
        Process::Reader => {}
    }
    hasher.finish()
}

/// The endpoint of the stream.
pub(super) fn api() -> Api<Arc<Events>> {
    Api::new().events(
        "/api/v1/events",
        "Tells when there is something new to fetch",
        listen,
    )
}

/// The path of the stream, with its guard.
pub(super) fn router(site: &Arc<Site>, events: &Arc<Events>) -> Router {
    api()
        .into_router()
        .layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::admit,
        ))
        .with_state(Arc::clone(events))
}

async fn listen(State(events): State<Arc<Events>>, headers: HeaderMap) -> Response {
    // A page of another origin could not read the stream, but it could take the places of ours.
    if !guard::same_origin(&headers) {
        let text = "a page of another origin may not listen here".to_owned();
        return ErrorAnswer::new(ErrorCode::ForeignPage, text).into_response();
    }
    let Ok(place) = Arc::clone(&events.places).try_acquire_owned() else {
        let full = ErrorAnswer::unavailable(
            "as many pages listen as may; close one, or ask again later".to_owned(),
        );
        let mut response = full.into_response();
        let later = HeaderValue::from_static("30");
        response.headers_mut().insert(header::RETRY_AFTER, later);
        return response;
    };
    let mut marks = events.marks.subscribe();
    // Those that are known are told at once.
    marks.mark_changed();
    let listener = Listener {
        marks,
        ending: events.ending.clone(),
        since: Instant::now(),
        _place: place,
    };
    events.asked.notify_one();
    let stream = Stream {
        next: Some(Box::pin(listener.next())),
    };
    let content_type = (header::CONTENT_TYPE, "text/event-stream");
    ([content_type], Body::new(stream)).into_response()
}

/// Who listens, and since when.
struct Listener {
    marks: watch::Receiver<Option<Marks>>,
    ending: watch::Receiver<bool>,
    since: Instant,
    _place: OwnedSemaphorePermit,
}

/// What goes over the stream next, and who listens on; nobody when it has ended.
type Next = (Bytes, Option<Listener>);

impl Listener {
    async fn next(mut self) -> Next {
        let left = LIFE.saturating_sub(self.since.elapsed());
        let ended = async {
            // An error means that the sender was dropped, which also ends the port.
            let _either = self.ending.wait_for(|ending| *ending).await;
        };
        let changed = async {
            loop {
                if self.marks.changed().await.is_err() {
                    return std::future::pending().await;
                }
                if let Some(marks) = *self.marks.borrow_and_update() {
                    return marks;
                }
            }
        };
        let text = tokio::select! {
            biased;
            () = ended => return (Bytes::from_static(b"event: end\ndata: {}\n\n"), None),
            marks = changed => format!(
                "event: marks\ndata: {{\"record\":\"{:016x}\",\"process\":\"{:016x}\"}}\n\n",
                marks.record, marks.process
            ),
            () = tokio::time::sleep(left.min(HEARTBEAT)) => {
                if self.since.elapsed() >= LIFE {
                    return (Bytes::from_static(b"event: again\ndata: {}\n\n"), None);
                }
                ":\n\n".to_owned()
            }
        };
        (Bytes::from(text), Some(self))
    }
}

/// The body of the answer: made while it is sent, so there is never more than one piece of it.
struct Stream {
    next: Option<Pin<Box<dyn Future<Output = Next> + Send>>>,
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let Poll::Ready((bytes, listener)) = next.as_mut().poll(context) else {
            return Poll::Pending;
        };
        self.next = listener.map(|listener| Box::pin(listener.next()) as _);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
