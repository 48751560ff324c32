//! The meeting of the halves, without sockets.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri, Version};
use parity_schemas::exchange::Exchange;
use parity_schemas::route::{Route, RouteResolver};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use tokio::runtime::{Builder, LocalOptions};

use super::{Half, Head, Pending};
use crate::capture::Recorder;
use crate::config::Limits;
use crate::connect::Connector;
use crate::control::Shared;
use crate::link::Pool;
use crate::metrics::Metrics;
use crate::observer::{Observer, Ticket};
use crate::service::Service;
use crate::upstream::UpstreamUrl;
use crate::worker::{Sampler, Worker};

#[derive(Default)]
struct Log(RefCell<Vec<Option<Reason>>>);

impl Observer for Log {
    fn received(&self, _: &Arc<Route>) {}
    fn not_compared(&self, _: &Arc<Route>, reason: Reason) {
        self.0.borrow_mut().push(Some(reason));
    }
    fn exchange(&self, _: Exchange) {
        self.0.borrow_mut().push(None);
    }
    fn answered(&self, _: &Arc<Route>, _: u16) {}
}

fn worker(log: &Rc<Log>) -> Rc<Worker> {
    let shared = Arc::new(Shared::new(Limits::default(), true));
    let service = || {
        let url = UpstreamUrl::parse("unix:/nobody").expect("a URL");
        Service {
            connector: Connector::new(&url, || unreachable!("no TLS")).expect("no TLS"),
            pool: Pool::new(1, Duration::ZERO),
        }
    };
    Rc::new(Worker::new(
        Arc::clone(&shared),
        Rc::clone(log) as Rc<dyn Observer>,
        Metrics::new(1, shared).worker(0),
        RouteResolver::new(Arc::new([])),
        Sampler::new(1.0),
        [service(), service()],
    ))
}

fn open(worker: &Rc<Worker>) -> (Half, Half) {
    let ticket = Ticket::receive(worker, Arc::new(Route::new("GET /")));
    let head = Head {
        method: Method::GET,
        uri: Uri::from_static("/"),
        headers: HeaderMap::new(),
        version: Version::HTTP_11,
        client: HeaderValue::from_static("127.0.0.1"),
    };
    Pending::open(worker, ticket, head, Timestamp::now())
}

fn complete(half: Half) {
    let mut recorder = Recorder::new(half, 200, HeaderMap::new(), Instant::now());
    recorder
        .data(&Bytes::from_static(b"body"))
        .expect("there is room");
    recorder.complete(Duration::ZERO);
}

/// Does something to the legacy's and the candidate's half.
type Step = fn(&mut Option<Half>, &mut Option<Half>);

/// After how many steps a request is settled, and with what reason, if not as an exchange.
fn settled(steps: &[Step]) -> (usize, Option<Reason>) {
    let log = Rc::default();
    let worker = worker(&log);
    let (legacy, candidate) = open(&worker);
    let (mut legacy, mut candidate) = (Some(legacy), Some(candidate));
    let mut at = 0;
    for (index, step) in steps.iter().enumerate() {
        step(&mut legacy, &mut candidate);
        if log.0.borrow().is_empty() {
            at = index + 2;
        }
    }
    drop((legacy, candidate));
    assert_eq!(log.0.borrow().len(), 1, "settled exactly once");
    assert_eq!(worker.shared.budget.held(), 0);
    (at.max(1), log.0.borrow()[0])
}

fn take(half: &mut Option<Half>) -> Half {
    half.take().expect("each half ends once")
}

#[test]
fn two_captures_make_an_exchange_in_either_order() {
    assert_eq!(
        settled(&[|l, _| complete(take(l)), |_, c| complete(take(c))]),
        (2, None)
    );
    assert_eq!(
        settled(&[|_, c| complete(take(c)), |l, _| complete(take(l))]),
        (2, None)
    );
}

#[test]
fn the_first_reason_counts_whichever_came_first() {
    let (refused, aborted) = (Reason::CandidateRefused, Reason::ClientAborted);
    // A candidate's failure waits for the legacy, and gives way to what precedes it.
    assert_eq!(
        settled(&[
            |_, c| take(c).fail(Reason::CandidateRefused),
            |l, _| complete(take(l))
        ]),
        (2, Some(refused))
    );
    assert_eq!(
        settled(&[
            |_, c| take(c).fail(Reason::CandidateRefused),
            |l, _| take(l).fail(Reason::ClientAborted)
        ]),
        (2, Some(aborted))
    );
    assert_eq!(
        settled(&[
            |l, _| take(l).fail(Reason::Stream),
            |_, c| take(c).fail(Reason::CandidateRefused)
        ]),
        (2, Some(refused))
    );
}

#[test]
fn a_decisive_reason_settles_at_once() {
    assert_eq!(
        settled(&[
            |l, _| take(l).fail(Reason::LegacyUnreachable),
            |_, c| complete(take(c))
        ]),
        (1, Some(Reason::LegacyUnreachable))
    );
    assert_eq!(
        settled(&[
            |_, c| take(c).fail(Reason::InFlightCap),
            |l, _| complete(take(l))
        ]),
        (1, Some(Reason::InFlightCap))
    );
}

#[test]
fn an_abandoned_half_leaves_the_reason_to_the_other() {
    assert_eq!(
        settled(&[
            |_, c| take(c).abandon(),
            |l, _| take(l).fail(Reason::LegacyUnreachable)
        ]),
        (2, Some(Reason::LegacyUnreachable))
    );
    assert_eq!(
        settled(&[|_, c| take(c).abandon(), |l, _| complete(take(l))]),
        (2, Some(Reason::ClientAborted))
    );
}

#[test]
fn a_noted_reason_frees_what_is_held_and_ends_nothing() {
    assert_eq!(
        settled(&[
            |_, c| complete(take(c)),
            |l, _| {
                let pending = Rc::clone(&l.as_ref().expect("open").pending);
                assert_eq!(pending.worker.shared.budget.held(), 4);
                pending.note(Reason::ResponseTooLarge);
                assert_eq!(pending.worker.shared.budget.held(), 0);
            },
            |l, _| complete(take(l)),
        ]),
        (3, Some(Reason::ResponseTooLarge))
    );
}

#[test]
fn what_nobody_ends_is_settled_by_its_drop() {
    assert_eq!(settled(&[]), (1, Some(Reason::ClientAborted)));
    let log = Rc::default();
    let worker = worker(&log);
    let halves = open(&worker);
    worker.cutting.set(true);
    drop(halves);
    assert_eq!(*log.0.borrow(), [Some(Reason::Shutdown)]);
}

#[test]
fn a_panic_in_a_shadow_is_contained_and_counted() {
    let log = Rc::default();
    let worker = worker(&log);
    let runtime = Builder::new_current_thread()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let (legacy, candidate) = open(&worker);
        let shadow = worker.spawn(async move {
            let _candidate = candidate;
            panic!("a bug in a shadow, on purpose");
        });
        assert!(shadow.await.expect_err("it panics").is_panic());
        complete(legacy);
        worker.drained().await;
    });
    assert_eq!(*log.0.borrow(), [Some(Reason::InternalPanic)]);
}
