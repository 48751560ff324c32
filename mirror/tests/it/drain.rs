//! Draining: accepted requests are answered, and all are settled.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use parity_schemas::verdict::Reason;

use crate::support::sockets::other_end;
use crate::support::wire::{fill_until, find};
use crate::support::{Next, Rig, Service, ok};

#[test]
fn a_request_at_hand_is_answered_and_then_the_connection_ends() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let legacy = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let mut mirror = Rig::new(&legacy, &Service::saying(ok("b"))).start();
    let mut idle = mirror.client();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    legacy.requests(1);
    mirror.signal();
    assert_eq!(idle.rest(), b"", "an idle connection ends at once");
    go.send(()).expect("the legacy waits");
    let reply = client.reply();
    assert_eq!(reply.text(), "late");
    assert_eq!(reply.header("connection"), ["close"]);
    assert_eq!(client.rest(), b"");
    assert_eq!(mirror.stop().cut, 0);
    mirror.ledger.exchange();
}

#[test]
fn a_shadow_at_work_is_waited_for() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let candidate = Service::new(move |_, conn| {
        wait.lock().expect("no panic").recv().expect("told");
        conn.say(ok("late"));
        Next::Keep
    });
    let mut mirror = Rig::new(&Service::saying(ok("a")), &candidate).start();
    mirror.client().get("/");
    candidate.requests(1);
    mirror.signal();
    go.send(()).expect("the candidate waits");
    assert_eq!(mirror.stop().cut, 0);
    mirror.ledger.exchange();
}

#[test]
fn what_is_left_at_the_end_is_cut_and_counted() {
    let hung = || Service::new(|_, _| Next::Hang);
    let (legacy, candidate) = (hung(), hung());
    let mut mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| limits.drain = Duration::from_millis(100))
        .start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    candidate.requests(1);
    let begin = Instant::now();
    assert_eq!(
        mirror.stop().cut,
        2,
        "the client's connection and its shadow"
    );
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert_eq!(mirror.ledger.reason(), Reason::Shutdown);
    assert_eq!(client.rest(), b"");
}

#[test]
fn a_client_that_was_accepted_and_has_no_place_yet_is_answered_too() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let legacy = Service::new(move |request, conn| {
        if request.target() == "/slow" {
            wait.lock().expect("no panic").recv().expect("told");
        }
        conn.say(ok(request.target()));
        Next::Keep
    });
    let mut mirror = Rig::new(&legacy, &Service::saying(ok("b")))
        .connections(1)
        .start();
    let mut first = mirror.client();
    first.send("GET /slow HTTP/1.1\r\nhost: test\r\n\r\n");
    legacy.requests(1);
    let mut second = mirror.client();
    second.send("GET /second HTTP/1.1\r\nhost: test\r\n\r\n");
    mirror.wait("accepted", |_| {
        other_end(&second.stream).is_some_and(|end| end.is_accepted)
    });
    mirror.signal();
    go.send(()).expect("the legacy waits");
    for (client, target) in [(&mut first, "/slow"), (&mut second, "/second")] {
        let reply = client.reply();
        assert_eq!((reply.status(), reply.text()), (200, target));
        assert_eq!(reply.header("connection"), ["close"], "{target}");
        assert_eq!(client.rest(), b"");
    }
    assert_eq!(mirror.stop().cut, 0);
}

#[test]
fn a_client_that_only_sends_on_behind_its_answer_holds_nothing_up() {
    let legacy = Service::raw(|mut conn| {
        fill_until(&mut conn, &mut Vec::new(), |bytes| find(bytes, b"\r\n\r\n"));
        conn.say("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        conn.wait_for_close();
    });
    let mut mirror = Rig::new(&legacy, &Service::saying(ok("b"))).start();
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 1000000000\r\n\r\nsome");
    assert_eq!(client.reply().status(), 413);
    assert_eq!(client.rest(), b"", "our side is closed");
    // It sends on, which is thrown away for as long as 30 seconds.
    let sending = thread::spawn(move || {
        while client.try_send("x") {
            thread::park_timeout(Duration::from_millis(50));
        }
    });
    let begin = Instant::now();
    assert_eq!(mirror.stop().cut, 0);
    // Two rounds of a second.
    assert!(
        begin.elapsed() < Duration::from_secs(8),
        "{:?}",
        begin.elapsed()
    );
    sending.join().expect("it meets the end");
}

#[test]
fn a_cut_shadow_is_shutdown_too() {
    let candidate = Service::new(|_, _| Next::Hang);
    let mut mirror = Rig::new(&Service::saying(ok("a")), &candidate)
        .limits(|limits| limits.drain = Duration::from_millis(100))
        .start();
    assert_eq!(mirror.client().get("/").text(), "a");
    candidate.requests(1);
    mirror.stop();
    assert_eq!(mirror.ledger.reason(), Reason::Shutdown);
}

#[test]
fn under_load_no_request_that_was_received_is_cut() {
    let legacy = Service::saying(ok("a"));
    let mut mirror = Rig::new(&legacy, &legacy).workers(2).start();
    let address = mirror.address;
    let clients: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(move || {
                let mut client = crate::support::Client::connect(address);
                let mut answered = 0_usize;
                loop {
                    if !client.try_send("GET / HTTP/1.1\r\nhost: test\r\n\r\n") {
                        return answered;
                    }
                    let Some(reply) = client.try_reply("GET") else {
                        return answered;
                    };
                    assert_eq!(reply.text(), "a");
                    answered += 1;
                    if reply.header("connection") == ["close"] {
                        return answered;
                    }
                }
            })
        })
        .collect();
    mirror.ledger.wait_received(500);
    assert_eq!(mirror.stop().cut, 0);
    let answered: usize = clients
        .into_iter()
        .map(|client| client.join().expect("no wrong answer"))
        .sum();
    let (received, _) = mirror.ledger.balance();
    assert_eq!(answered, received, "each received request was answered");
}

#[test]
fn the_end_of_the_owner_is_the_end() {
    let service = Service::saying(ok("a"));
    let mirror = Rig::new(&service, &service).bind().expect("a free port");
    let (sender, signal) = tokio::sync::watch::channel(false);
    drop(sender);
    let ledger = crate::support::ledger::Ledger::default();
    let drained = mirror
        .run(
            {
                let ledger = ledger.clone();
                move |_| ledger.observer()
            },
            None,
            &signal,
        )
        .expect("workers run");
    assert_eq!(drained.cut, 0);
}
