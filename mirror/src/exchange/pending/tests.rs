//! How asks settle a request, without sockets.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::Body;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use tokio::runtime::{Builder, LocalOptions};

use super::{Ask, Pending};
use crate::exchange::capturing::Capturing;
use crate::exchange::fixture::{Log, asks, head, terms};
use crate::exchange::purpose::Purpose;
use crate::exchange::side::Side;
use crate::exchange::terms::Terms;
use crate::exchange::ticket::{Answer, Ticket};

fn open(terms: &Rc<Terms>) -> (Ask, Ask) {
    asks(terms, head())
}

fn complete(ask: Ask) {
    let now = Instant::now();
    let mut capturing = Capturing::new(ask, 200, &HeaderMap::new(), now, now);
    capturing
        .data(&Bytes::from_static(b"body"))
        .expect("there is room");
    capturing.complete(Duration::ZERO);
}

/// Does something to the legacy's and the candidate's ask.
type Step = fn(&mut Option<Ask>, &mut Option<Ask>);

/// After how many steps a request is settled, and with what reason, if not as an exchange.
fn settled(steps: &[Step]) -> (usize, Option<Reason>) {
    let log = Rc::<Log>::default();
    let terms = terms(&log);
    let (legacy, candidate) = open(&terms);
    let (mut legacy, mut candidate) = (Some(legacy), Some(candidate));
    let mut at = 0;
    for (index, step) in steps.iter().enumerate() {
        step(&mut legacy, &mut candidate);
        if log.outcomes().is_empty() {
            at = index + 2;
        }
    }
    drop((legacy, candidate));
    assert_eq!(log.outcomes().len(), 1, "settled exactly once");
    if log.outcomes() == [None] {
        drop(log.exchange());
    }
    assert_eq!(terms.admission().budget().held(), 0);
    (at.max(1), log.outcomes()[0])
}

fn take(ask: &mut Option<Ask>) -> Ask {
    ask.take().expect("each ask ends once")
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
fn an_abandoned_ask_leaves_the_reason_to_the_other() {
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
                let pending = Rc::clone(l.as_ref().expect("open").pending());
                assert_eq!(pending.terms().admission().budget().held(), 4);
                pending.note(Reason::ResponseTooLarge);
                assert_eq!(pending.terms().admission().budget().held(), 0);
            },
            |l, _| complete(take(l)),
        ]),
        (3, Some(Reason::ResponseTooLarge))
    );
}

#[test]
fn what_nobody_ends_is_settled_by_its_drop() {
    assert_eq!(settled(&[]), (1, Some(Reason::ClientAborted)));
    let log = Rc::<Log>::default();
    let terms = terms(&log);
    let asks = open(&terms);
    terms.tasks().cut();
    drop(asks);
    assert_eq!(log.outcomes(), [Some(Reason::Shutdown)]);
}

#[test]
fn a_panic_in_a_shadow_is_contained_and_counted() {
    let log = Rc::<Log>::default();
    let terms = terms(&log);
    let runtime = Builder::new_current_thread()
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let (legacy, candidate) = open(&terms);
        let shadow = terms.tasks().spawn(async move {
            let _candidate = candidate;
            panic!("a bug in a shadow, on purpose");
        });
        assert!(shadow.await.expect_err("it panics").is_panic());
        complete(legacy);
        terms.tasks().ended().await;
    });
    assert_eq!(log.outcomes(), [Some(Reason::InternalPanic)]);
}

#[test]
fn an_exchange_has_both_answers_and_pays_for_them_until_it_is_dropped() {
    let log = Rc::<Log>::default();
    let terms = terms(&log);
    let (legacy, candidate) = open(&terms);
    complete(candidate);
    complete(legacy);
    assert_eq!(log.outcomes(), [None]);
    let exchange = log.exchange();
    for capture in [&exchange.legacy, &exchange.candidate] {
        assert_eq!(
            (capture.status, &*capture.body.contiguous()),
            (200, &b"body"[..])
        );
    }
    let held = || terms.admission().budget().held();
    assert_eq!(held(), 2 * b"body".len() + exchange.heads_held());
    drop(exchange);
    assert_eq!(held(), 0);
}

/// A request that one service gets once more.
fn again(terms: &Rc<Terms>, side: Side) -> (Ask, impl Fn() -> Option<Result<Answer, Reason>>) {
    let route = Arc::new(Route::new("GET /"));
    let (ticket, answered) = Ticket::again(terms, route, Purpose::Recheck);
    let ask = Pending::for_one(ticket, side, head(), Body::default(), None);
    let answered = RefCell::new(answered);
    (ask, move || answered.borrow_mut().try_recv().ok())
}

#[test]
fn a_request_that_is_sent_again_ends_with_its_one_answer_and_counts_for_nobody() {
    for side in Side::ALL {
        let log = Rc::<Log>::default();
        let terms = terms(&log);
        let held = || terms.admission().budget().held();
        let (ask, answered) = again(&terms, side);
        assert!(answered().is_none());
        complete(ask);
        let answer = answered().expect("it has ended").expect("an answer");
        assert_eq!(&*answer.capture.body.contiguous(), b"body");
        assert_eq!(held(), b"body".len() + answer.capture.fields_held());
        drop(answer);
        assert_eq!(held(), 0);

        let (ask, answered) = again(&terms, side);
        ask.fail(Reason::CandidateReset);
        assert!(matches!(answered(), Some(Err(Reason::CandidateReset))));
        let (ask, answered) = again(&terms, side);
        drop(ask);
        assert!(matches!(answered(), Some(Err(Reason::ClientAborted))));
        // Nobody waits for this one any more.
        let (ask, answered) = again(&terms, side);
        drop(answered);
        complete(ask);
        assert_eq!((log.outcomes(), held()), (Vec::new(), 0));
    }
}
