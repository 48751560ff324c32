//! Requests that are sent again: by which order, within which limits, and what becomes of them when they cannot be.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use parity_mirror::{
    Mode, NotAnswered, Recheck, RecheckDone, RecheckSender, Rechecked, SecondLook, rechecks,
};
use parity_schemas::exchange::Exchange;
use parity_schemas::verdict::Reason;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::support::{Next, PATIENCE, Rig, Running, Service, ok};

/// Tells what became of a recheck; `None` if it was dropped.
struct Outcome {
    ended: Option<Sender<Option<Rechecked>>>,
}

impl RecheckDone for Outcome {
    fn done(mut self: Box<Self>, rechecked: Rechecked) {
        let ended = self.ended.take().expect("it ends once");
        ended.send(Some(rechecked)).expect("the test waits");
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // A test that failed waits no more. A panic here would end the whole suite, and hide why it failed.
            drop(ended.send(None));
        }
    }
}

fn recheck(exchange: Exchange, look: SecondLook) -> (Recheck, Receiver<Option<Rechecked>>) {
    let (ended, end) = channel();
    let recheck = Recheck {
        exchange: Box::new(exchange),
        look,
        due: Instant::now(),
        done: Box::new(Outcome { ended: Some(ended) }),
    };
    (recheck, end)
}

fn sent(to: &RecheckSender, exchange: Exchange, look: SecondLook) -> Receiver<Option<Rechecked>> {
    let (recheck, end) = recheck(exchange, look);
    to.place().expect("there is room").send(recheck);
    end
}

fn end(ended: &Receiver<Option<Rechecked>>) -> Rechecked {
    let ended = ended.recv_timeout(PATIENCE).expect("it ends");
    ended.expect("it was not dropped")
}

/// Why there were no second answers.
fn failed(rechecked: &Rechecked) -> NotAnswered {
    rechecked
        .answers
        .as_ref()
        .err()
        .copied()
        .expect("no answers")
}

/// A service that answers with a number: how many requests it has had.
fn counting() -> Service {
    let count = std::sync::atomic::AtomicUsize::new(0);
    Service::new(move |_, conn| {
        let before = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        conn.say(ok(&(before + 1).to_string()));
        Next::Keep
    })
}

/// A mirror, an exchange of it, and where its rechecks are sent.
fn start(rig: Rig, in_flight: usize) -> (Running, RecheckSender) {
    let (sender, receiver) = rechecks(in_flight);
    (rig.rechecks(receiver).start(), sender)
}

#[test]
fn both_services_get_the_request_again_in_the_order_that_was_asked_for() {
    for (look, mode) in [
        (SecondLook::LegacyFirst, Mode::Proxy),
        (SecondLook::CandidateFirst, Mode::Proxy),
        (SecondLook::LegacyFirst, Mode::Tap),
    ] {
        let (legacy, candidate) = (counting(), counting());
        let rig = Rig::new(&legacy, &candidate).policy(|policy| policy.mode = mode);
        let (mirror, rechecks) = start(rig, 1);
        let mut client = mirror.client();
        client.send("GET /a?b=\"<c>\" HTTP/1.1\r\nhost: shop\r\nx-user: 7\r\n\r\n");
        client.reply();
        let exchange = mirror.ledger.exchange();
        let held = mirror.control.shadow_bytes_held();
        let again = end(&sent(&rechecks, exchange, look));
        let Ok((of_legacy, of_candidate, _)) = &again.answers else {
            panic!("no answers: {:?}", failed(&again));
        };
        assert_eq!(&*of_legacy.body.contiguous(), b"2");
        let of_candidate = of_candidate.as_ref().expect("it was asked");
        assert_eq!(&*of_candidate.body.contiguous(), b"2");
        assert!(mirror.control.shadow_bytes_held() > held);
        for service in [&legacy, &candidate] {
            let requests = service.requests(2);
            for request in &requests {
                assert_eq!(request.target(), "/a?b=\"<c>\"");
                assert_eq!(request.header("host"), ["shop"]);
                assert_eq!(request.header("x-user"), ["7"]);
                assert_eq!(request.header("x-forwarded-for"), ["127.0.0.1"]);
            }
            assert_eq!(requests[1].header("x-parity-shadow"), ["1"]);
        }
        drop(again);
        mirror.wait_free();
        let mut registry = Registry::default();
        mirror.metrics.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).expect("memory");
        // Of shadows, only those to the candidate are counted by how they ended.
        for line in [
            "parity_shadow_requests_total{outcome=\"sent\",purpose=\"recheck\"} 1",
            "parity_upstream_request_duration_seconds_count{purpose=\"recheck\",upstream=\"legacy\"} 1",
            "parity_upstream_request_duration_seconds_count{purpose=\"traffic\",upstream=\"legacy\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in:\n{text}");
        }
    }
}

#[test]
fn one_service_waits_for_the_other_and_a_control_asks_the_legacy_alone() {
    let (legacy, candidate) = (counting(), counting());
    let (mirror, rechecks) = start(Rig::new(&legacy, &candidate), 1);
    mirror.client().get("/");
    let again = end(&sent(
        &rechecks,
        mirror.ledger.exchange(),
        SecondLook::Control,
    ));
    assert!(matches!(again.answers, Ok((_, None, _))));
    assert_eq!(
        (legacy.requests(2).len(), candidate.requests(1).len()),
        (2, 1)
    );
    drop(again);
    mirror.wait_free();
}

/// A service that answers the first request, and does something else with all others.
fn once(
    then: impl Fn(&mut crate::support::service::Conn) -> Next + Send + Sync + 'static,
) -> Service {
    let first = std::sync::atomic::AtomicBool::new(true);
    Service::new(move |_, conn| {
        if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
            conn.say(ok("first"));
            return Next::Close;
        }
        then(conn)
    })
}

#[test]
fn a_service_that_fails_the_second_time_is_told_with_its_side() {
    type Then = fn(&mut crate::support::service::Conn) -> Next;
    let faults: [(Then, Reason, Reason); 4] = [
        (
            |_| Next::Hang,
            Reason::LegacyTimeout,
            Reason::CandidateTimeout,
        ),
        (
            |_| Next::Reset,
            Reason::LegacyUnreachable,
            Reason::CandidateReset,
        ),
        (
            |conn| {
                conn.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
                Next::Close
            },
            Reason::LegacyTruncated,
            Reason::CandidateTruncated,
        ),
        (
            |conn| {
                conn.say("this is not HTTP\r\n\r\n");
                Next::Close
            },
            Reason::LegacyUnreachable,
            Reason::CandidateProtocol,
        ),
    ];
    for (fault, of_legacy, of_candidate) in faults {
        for legacy_fails in [true, false] {
            let (legacy, candidate) = if legacy_fails {
                (once(fault), counting())
            } else {
                (counting(), once(fault))
            };
            let rig = Rig::new(&legacy, &candidate).limits(|limits| {
                limits.candidate_deadline = Duration::from_millis(300);
            });
            let (mirror, rechecks) = start(rig, 1);
            mirror.client().get("/");
            let exchange = mirror.ledger.exchange();
            let again = end(&sent(&rechecks, exchange, SecondLook::LegacyFirst));
            let expected = if legacy_fails {
                NotAnswered::Legacy(of_legacy)
            } else {
                NotAnswered::Candidate(of_candidate)
            };
            assert_eq!(failed(&again), expected);
            // A legacy that fails is reason enough not to ask the candidate.
            assert_eq!(candidate.seen().len() == 1, legacy_fails);
            drop(again);
            mirror.wait_free();
        }
    }
}

#[test]
fn a_service_that_is_down_for_the_second_look_is_told() {
    let (legacy, candidate) = (counting(), Service::refusing());
    let (mirror, rechecks) = start(Rig::new(&legacy, &legacy), 2);
    mirror.client().get("/");
    let exchange = mirror.ledger.exchange();
    // The thread has begun to serve the former policy: one that is replaced before is never served.
    let exchange = end(&sent(&rechecks, exchange, SecondLook::LegacyFirst)).exchange;
    // The candidate moves to where nobody listens.
    let moved = Rig::new(&legacy, &candidate).into_policy();
    let (to_moved, receiver) = parity_mirror::rechecks(1);
    let ledger = mirror.ledger.clone();
    let loaded = parity_mirror::Mirror::check(moved).expect("no files");
    mirror
        .control
        .apply(loaded, move |_| ledger.observer(), Some(receiver));
    let again = end(&sent(&to_moved, *exchange, SecondLook::CandidateFirst));
    assert_eq!(
        failed(&again),
        NotAnswered::Candidate(Reason::CandidateRefused)
    );
    // What was sent under the former policy still goes to the former services.
    let again = end(&sent(
        &rechecks,
        *again.exchange,
        SecondLook::CandidateFirst,
    ));
    assert!(again.answers.is_ok());
    drop(again);
    mirror.wait_free();
}

#[test]
fn nothing_is_sent_while_shadowing_is_off_or_the_breaker_is_open() {
    let (legacy, candidate) = (counting(), once(|_| Next::Hang));
    let rig = Rig::new(&legacy, &candidate).limits(|limits| {
        limits.candidate_deadline = Duration::from_millis(100);
        limits.breaker_failures = 1;
        limits.breaker_pause = Duration::from_hours(1);
    });
    let (mirror, rechecks) = start(rig, 1);
    let mut client = mirror.client();
    client.get("/");
    let exchange = mirror.ledger.exchange();
    mirror.control.set_shadowing(false);
    let again = end(&sent(&rechecks, exchange, SecondLook::LegacyFirst));
    assert_eq!(failed(&again), NotAnswered::ShadowingOff);
    mirror.control.set_shadowing(true);
    client.get("/");
    mirror.ledger.reasons(2);
    assert!(!mirror.control.candidate_reachable());
    let asked = legacy.seen().len();
    let again = end(&sent(&rechecks, *again.exchange, SecondLook::LegacyFirst));
    assert_eq!(failed(&again), NotAnswered::BreakerOpen);
    assert_eq!(legacy.seen().len(), asked);
}

#[test]
fn only_so_many_are_in_flight_and_the_end_of_the_mirror_drops_them_at_once() {
    let (legacy, candidate) = (counting(), counting());
    let (mut mirror, rechecks) = start(Rig::new(&legacy, &candidate), 3);
    let mut client = mirror.client();
    let mut waiting = Vec::new();
    for _ in 0..4 {
        client.get("/");
        let exchange = mirror.ledger.exchange();
        let Some(place) = rechecks.place() else {
            continue;
        };
        let (mut recheck, ended) = recheck(exchange, SecondLook::LegacyFirst);
        recheck.due = Instant::now() + Duration::from_hours(1);
        place.send(recheck);
        waiting.push(ended);
    }
    assert_eq!(waiting.len(), 3);
    let begin = Instant::now();
    mirror.stop();
    assert!(
        begin.elapsed() < Duration::from_mins(1),
        "it waited for what is due in an hour"
    );
    for ended in waiting {
        assert!(ended.recv().expect("it ended").is_none());
    }
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
    assert_eq!((legacy.seen().len(), candidate.seen().len()), (4, 4));
    // Nobody is there to ask any more.
    let (one_more, receiver) = parity_mirror::rechecks(1);
    drop(receiver);
    let exchange = {
        let other = Rig::new(&legacy, &candidate).start();
        other.client().get("/");
        other.ledger.exchange()
    };
    let (recheck, ended) = recheck(exchange, SecondLook::Control);
    one_more.place().expect("there is room").send(recheck);
    assert!(ended.recv().expect("it ended").is_none());
}

#[test]
fn the_byte_budget_bounds_second_answers_and_all_of_it_comes_back() {
    let large = "x".repeat(64 * 1024);
    let service = {
        let small = std::sync::atomic::AtomicBool::new(true);
        let large = large.clone();
        Service::new(move |_, conn| {
            let first = small.swap(false, std::sync::atomic::Ordering::SeqCst);
            conn.say(ok(if first { "small" } else { &large }));
            Next::Keep
        })
    };
    let candidate = Service::saying(ok("small"));
    let rig = Rig::new(&service, &candidate).limits(|limits| {
        limits.shadow_bytes = 60 * 1024;
        limits.in_flight = 8;
    });
    let (mirror, rechecks) = start(rig, 1);
    mirror.client().get("/");
    let again = end(&sent(
        &rechecks,
        mirror.ledger.exchange(),
        SecondLook::LegacyFirst,
    ));
    assert_eq!(failed(&again), NotAnswered::Legacy(Reason::ByteBudget));
    drop(again);
    mirror.wait_free();
}

/// Panics when it is told the result, and when it is dropped.
struct Broken;

impl RecheckDone for Broken {
    fn done(self: Box<Self>, _: Rechecked) {
        std::mem::forget(self);
        panic!("planted: when it is told");
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        panic!("planted: when it is dropped");
    }
}

#[test]
fn a_panic_costs_one_recheck_and_neither_the_thread_nor_the_mirror() {
    let (legacy, candidate) = (counting(), counting());
    let (mut mirror, rechecks) = start(Rig::new(&legacy, &candidate), 2);
    let mut client = mirror.client();
    for _ in 0..3 {
        client.get("/");
        let (mut broken, ended) = recheck(mirror.ledger.exchange(), SecondLook::LegacyFirst);
        broken.done = Box::new(Broken);
        // What was replaced.
        assert!(ended.recv().expect("it ended").is_none());
        // The broken one of the round before may still hold its place while its panic is written.
        mirror.wait("free in both places", |_| {
            let both = [rechecks.place(), rechecks.place()];
            both.iter().all(Option::is_some)
        });
        rechecks.place().expect("the place is free").send(broken);
        client.get("/");
        let whole = end(&sent(
            &rechecks,
            mirror.ledger.exchange(),
            SecondLook::LegacyFirst,
        ));
        assert!(whole.answers.is_ok());
    }
    // One that is dropped with the thread.
    client.get("/");
    let (mut broken, _ended) = recheck(mirror.ledger.exchange(), SecondLook::LegacyFirst);
    broken.done = Box::new(Broken);
    broken.due = Instant::now() + Duration::from_hours(1);
    rechecks.place().expect("the place is free").send(broken);
    mirror.stop();
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}
