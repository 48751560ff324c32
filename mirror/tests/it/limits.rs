//! Every limit, just below and just above.

use std::time::Duration;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::{Body, Omitted};
use parity_schemas::verdict::Reason;

use crate::support::wire::{fill_until, find};
use crate::support::{Client, Next, Rig, Running, Service, ok};

fn of(length: usize) -> String {
    ok(&"x".repeat(length))
}

fn with_body_limit(legacy: &Service, candidate: &Service) -> Running {
    Rig::new(legacy, candidate)
        .route("POST /{*any}", Some(true))
        .limits(|limits| limits.body = 1000)
        .start()
}

#[test]
fn a_body_at_the_cap_is_kept_and_of_one_with_a_byte_more_the_head() {
    let large = Some(Omitted::TooLarge { at_least: 1001 });
    let let_go = Some(Omitted::LetGo { bytes: 10 });
    for (legacy, candidate, omitted) in [
        (1000, 1000, [None, None]),
        (1001, 10, [large, let_go]),
        (10, 1001, [None, large]),
        (1001, 1001, [large, large]),
    ] {
        let mirror = with_body_limit(
            &Service::saying(of(legacy)),
            &Service::saying(of(candidate)),
        );
        assert_eq!(mirror.client().get("/").body.len(), legacy);
        let exchange = mirror.ledger.exchange();
        let answers = [&exchange.legacy, &exchange.candidate];
        assert_eq!(answers.map(|answer| answer.status), [200, 200]);
        assert_eq!(answers.map(|answer| answer.body.omission()), omitted);
        let kept = if omitted[0].is_none() { legacy } else { 0 };
        assert_eq!(exchange.legacy.body.len(), kept);
        drop(exchange);
        assert_eq!(mirror.control.shadow_bytes_held(), 0);
    }
}

#[test]
fn a_large_answer_is_settled_and_nothing_is_held_beside_it_while_it_goes_on() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for size in [500, 501, 499] {
            wait.lock().expect("no panic").recv().expect("told");
            conn.say(format!("{size:x}\r\n{}\r\n", "x".repeat(size)));
        }
        conn.say("0\r\n\r\n");
        Next::Keep
    });
    let mirror = with_body_limit(&legacy, &Service::saying(of(10)));
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    go.send(()).expect("the legacy waits");
    // Both bodies so far, and the candidate's fields: 40 bytes for a line, its name and its value.
    let fields = [("content-type", "text/plain"), ("content-length", "10")];
    let fields = fields.map(|(name, value)| 40 + name.len() + value.len());
    let so_far = 500 + 10 + fields.iter().sum::<usize>();
    mirror.wait("both are kept so far", |mirror| {
        mirror.control.shadow_bytes_held() == so_far && mirror.control.in_flight() == 0
    });
    go.send(()).expect("the legacy waits");
    // A download may take hours: the record does not wait for what is known.
    let exchange = mirror.ledger.exchange();
    let held = exchange.heads_held();
    assert_eq!(mirror.control.shadow_bytes_held(), held);
    assert_eq!(mirror.ledger.clients_settled(), 0);
    go.send(()).expect("the legacy waits");
    assert_eq!(client.reply().body.len(), 1500);
    assert_eq!(mirror.ledger.client(), ClientOutcome::Success);
    let bodies = [&exchange.legacy.body, &exchange.candidate.body];
    assert_eq!(
        bodies.map(Body::omission),
        [
            Some(Omitted::TooLarge { at_least: 1001 }),
            Some(Omitted::LetGo { bytes: 10 })
        ]
    );
}

#[test]
fn the_buffer_that_a_large_answer_is_read_into_counts_while_it_comes() {
    const COME: usize = 300_000;
    /// Where a connection begins with its buffers, and the least that the larger one is then.
    const BEGIN: usize = 28 * 1024;
    const MORE: usize = 16 * 1024;
    let candidate = Service::new(|_, conn| {
        conn.say(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            2 * COME
        ));
        conn.say("x".repeat(COME));
        Next::Hang
    });
    let mirror = Rig::new(&Service::saying(of(10)), &candidate)
        .limits(|limits| limits.drain = Duration::from_millis(1))
        .start();
    assert_eq!(mirror.client().get("/").body.len(), 10);
    mirror.wait("all of it held", |mirror| {
        mirror.control.shadow_bytes_held() >= 10 + COME + BEGIN + MORE
    });
}

#[test]
fn an_answer_that_is_announced_to_be_large_is_settled_with_its_head() {
    let legacy = Service::raw(|mut conn| {
        let mut buffer = Vec::new();
        fill_until(&mut conn, &mut buffer, |bytes| find(bytes, b"\r\n\r\n"));
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\nbegin");
        conn.wait_for_close();
    });
    let mirror = with_body_limit(&legacy, &Service::saying(of(10)));
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.read_until(b"begin");
    let exchange = mirror.ledger.exchange();
    let large = Some(Omitted::TooLarge { at_least: 5000 });
    assert_eq!(
        (exchange.legacy.status, exchange.legacy.body.omission()),
        (200, large)
    );
    client.reset();
    assert_eq!(mirror.ledger.client(), ClientOutcome::ClientAborted);
}

#[test]
fn a_chunked_answer_is_counted_as_it_comes() {
    let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
    for (chunks, fits) in [(2, true), (3, false)] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}0\r\n\r\n",
            chunk.repeat(chunks)
        );
        let mirror = with_body_limit(&Service::saying(answer), &Service::saying(ok("")));
        assert_eq!(mirror.client().get("/").body.len(), chunks * 500);
        let omitted = mirror.ledger.exchange().legacy.body.omission();
        assert_eq!(omitted.is_none(), fits);
    }
}

#[test]
fn a_request_at_the_cap_is_copied_and_one_byte_more_is_not() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = with_body_limit(&legacy, &candidate);
    let mut client = mirror.client();
    assert_eq!(client.post("/", &"x".repeat(1000)).status(), 200);
    assert_eq!(mirror.ledger.exchange().request.body.len(), 1000);
    assert_eq!(client.post("/", &"x".repeat(1001)).status(), 200);
    assert_eq!(mirror.ledger.reasons(2), [Reason::RequestTooLarge]);
    client.send("POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n");
    client.send(format!("3e8\r\n{}\r\n", "x".repeat(1000)));
    client.send("1\r\nx\r\n0\r\n\r\n");
    assert_eq!(client.reply().status(), 200);
    assert_eq!(mirror.ledger.reasons(3).len(), 2);
    assert_eq!(candidate.seen().len(), 1);
    let bodies: Vec<_> = legacy.requests(3).iter().map(|it| it.body.len()).collect();
    assert_eq!(bodies, [1000, 1001, 1001]);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}

#[test]
fn shadows_in_flight_are_capped() {
    let candidate = Service::new(|_, _| Next::Hang);
    let mirror = Rig::new(&Service::saying(ok("a")), &candidate)
        .limits(|limits| {
            limits.in_flight = 3;
            limits.candidate_deadline = Duration::from_millis(500);
        })
        .start();
    let mut client = mirror.client();
    for _ in 0..10 {
        assert_eq!(client.get("/").text(), "a");
    }
    let reasons = mirror.ledger.reasons(10);
    let count = |wanted| reasons.iter().filter(|reason| **reason == wanted).count();
    assert_eq!(count(Reason::InFlightCap), 7);
    assert_eq!(count(Reason::CandidateTimeout), 3);
    assert_eq!(mirror.control.in_flight(), 0);
}

#[test]
fn bytes_are_budgeted_over_all_shadows() {
    let candidate = Service::new(|_, _| Next::Hang);
    let mirror = Rig::new(&Service::saying(of(400)), &candidate)
        .limits(|limits| {
            // Two answers with their fields, some 120 bytes.
            limits.shadow_bytes = 1100;
            limits.candidate_deadline = Duration::from_millis(500);
        })
        .start();
    let mut client = mirror.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").body.len(), 400);
        assert!(mirror.control.shadow_bytes_held() <= 1100);
    }
    let reasons = mirror.ledger.reasons(5);
    let count = |wanted| reasons.iter().filter(|reason| **reason == wanted).count();
    assert_eq!(count(Reason::ByteBudget), 3);
    assert_eq!(count(Reason::CandidateTimeout), 2);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}

#[test]
fn fields_of_a_candidate_that_answers_before_the_legacy_are_budgeted_while_they_wait() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("a"));
        Next::Keep
    });
    let long = format!("x-{}: {}\r\n", "n".repeat(600), "v".repeat(600)).repeat(20);
    let candidate = ok("a").replacen("\r\n", &format!("\r\n{long}"), 1);
    let mirror = Rig::new(&legacy, &Service::saying(candidate)).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    mirror.wait("the candidate's answer is held", |mirror| {
        mirror.control.in_flight() == 0 && mirror.control.shadow_bytes_held() > 20 * 1200
    });
    go.send(()).expect("the legacy waits");
    assert_eq!(client.reply().text(), "a");
    drop(mirror.ledger.exchange());
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}

#[test]
fn a_request_copy_is_budgeted_too() {
    let (legacy, candidate) = (Service::saying(ok("a")), Service::saying(ok("a")));
    let mirror = Rig::new(&legacy, &candidate)
        .route("POST /", Some(true))
        .limits(|limits| limits.shadow_bytes = 100)
        .start();
    assert_eq!(mirror.client().post("/", &"x".repeat(101)).status(), 200);
    assert_eq!(mirror.ledger.reason(), Reason::ByteBudget);
    assert_eq!(legacy.requests(1)[0].body.len(), 101);
    assert_eq!(candidate.seen().len(), 0);
}

#[test]
fn exchanges_hold_their_bytes_until_they_are_compared() {
    let service = Service::saying(of(400));
    let mirror = Rig::new(&service, &service)
        .limits(|limits| limits.shadow_bytes = 1500)
        .start();
    let mut client = mirror.client();
    client.get("/");
    let first = mirror.ledger.exchange();
    let heads = first.heads_held();
    assert!((100..500).contains(&heads), "{heads}");
    assert_eq!(mirror.control.shadow_bytes_held(), 800 + heads);
    client.get("/");
    mirror.wait("settled", |mirror| mirror.ledger.balance() == (2, 2));
    drop(first);
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
    client.get("/");
    mirror.ledger.exchange();
}

#[test]
fn a_candidate_that_keeps_failing_is_left_alone_and_taken_back() {
    let mirror = Rig::new(&Service::saying(ok("a")), &Service::refusing())
        .limits(|limits| {
            limits.breaker_failures = 3;
            limits.breaker_pause = Duration::from_hours(1);
        })
        .start();
    let mut client = mirror.client();
    for count in 1..=5 {
        assert_eq!(client.get("/").text(), "a");
        mirror.ledger.reasons(count);
    }
    let (refused, open) = (Reason::CandidateRefused, Reason::BreakerOpen);
    assert_eq!(
        mirror.ledger.reasons(5),
        [refused, refused, refused, open, open]
    );
    assert!(!mirror.control.candidate_reachable());

    // Fails until it has failed three times, then answers; the probe closes the breaker.
    let left = std::sync::atomic::AtomicUsize::new(3);
    let candidate = Service::raw(move |mut conn| {
        let order = std::sync::atomic::Ordering::SeqCst;
        if left
            .fetch_update(order, order, |left| left.checked_sub(1))
            .is_ok()
        {
            conn.wait_for_close();
            return;
        }
        let mut buffer = Vec::new();
        while crate::support::wire::read_request(&mut conn, &mut buffer).is_some() {
            conn.say(ok("b"));
        }
    });
    let mirror = Rig::new(&Service::saying(ok("a")), &candidate)
        .limits(|limits| {
            limits.breaker_failures = 3;
            limits.breaker_pause = Duration::from_millis(1);
            limits.candidate_deadline = Duration::from_millis(50);
        })
        .start();
    let mut client = mirror.client();
    for count in 1..=3 {
        client.get("/");
        mirror.ledger.reasons(count);
    }
    assert!(!mirror.control.candidate_reachable());
    mirror.wait("taken back", |mirror| {
        client.get("/");
        mirror.control.candidate_reachable()
    });
}

#[test]
fn client_connections_are_capped_and_wait_their_turn() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy).connections(2).start();
    let (mut one, mut two) = (mirror.client(), mirror.client());
    assert_eq!((one.get("/").status(), two.get("/").status()), (200, 200));
    let mut three = mirror.client();
    three.send("GET /three HTTP/1.1\r\nhost: test\r\n\r\n");
    // Both that are served go on being served while the third waits in the kernel.
    one.get("/");
    two.get("/");
    assert!(legacy.seen().iter().all(|it| it.target() != "/three"));
    drop(one);
    assert_eq!(three.reply().status(), 200);
}

#[test]
fn a_head_that_trickles_is_cut_and_an_idle_connection_is_not() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy)
        .limits(|limits| limits.header_read = Duration::from_millis(100))
        .start();
    let mut idle = mirror.client();
    idle.get("/");
    let mut slow = mirror.client();
    slow.send("GET / HTTP/1.1\r\nx-slow: ");
    assert_eq!(slow.rest(), b"");
    let mut slow_again = mirror.client();
    slow_again.get("/");
    slow_again.send("GET / HT");
    assert_eq!(slow_again.rest(), b"");
    assert_eq!(idle.get("/").status(), 200);
}

#[test]
fn an_idle_connection_ends_after_its_time() {
    let legacy = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &legacy)
        .limits(|limits| {
            limits.client_idle = Duration::from_millis(100);
            limits.upstream_idle = Duration::from_millis(100);
        })
        .start();
    let mut silent = Client::connect(mirror.address);
    let mut idle = mirror.client();
    idle.get("/");
    assert_eq!(idle.rest(), b"");
    assert_eq!(silent.rest(), b"");
    legacy.wait_open(0);
}
