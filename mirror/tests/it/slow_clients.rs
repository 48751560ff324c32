//! Clients that send or read slowly.

use std::io::Read as _;
use std::time::Duration;

use http::Request;
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Omitted;
use parity_schemas::verdict::Reason;

use crate::support::h2_client::H2Client;
use crate::support::{Next, Rig, Service, ok};

const SOON: Duration = Duration::from_millis(100);

#[test]
fn an_upload_that_stands_still_is_cut_and_a_slow_one_is_not() {
    let service = Service::saying(ok("done"));
    let mirror = Rig::new(&service, &service)
        .limits(|limits| limits.client_stall = SOON)
        .start();
    let mut still = mirror.client();
    still.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 10\r\n\r\n12345");
    assert!(
        still.try_reply("POST").is_none(),
        "closed without an answer"
    );
    assert_eq!(mirror.ledger.reason(), Reason::UnsafeMethod);
    service.wait_open(0);
}

#[test]
fn a_legacy_that_takes_its_time_is_not_the_clients_fault() {
    let legacy = Service::new(|_, conn| {
        // Longer than two looks at the client.
        std::thread::park_timeout(Duration::from_millis(2_500));
        conn.say(ok("late"));
        Next::Keep
    });
    let candidate = Service::saying(ok("late"));
    let mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| {
            limits.client_stall = SOON;
            limits.header_read = SOON;
            limits.client_idle = SOON;
        })
        .start();
    assert_eq!(mirror.client().get("/").text(), "late");
}

#[test]
fn an_answer_that_nobody_reads_is_given_up() {
    let body = vec![b'x'; 64 * 1024 * 1024];
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let legacy = Service::saying([head.as_bytes(), &body].concat());
    let candidate = Service::saying(ok("small"));
    let mirror = Rig::new(&legacy, &candidate)
        .limits(|limits| limits.client_stall = SOON)
        .start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    client.head().expect("it begins");
    // Nothing more is read; the legacy's connection must not be held for it.
    legacy.requests(1);
    legacy.wait_open(0);
    assert_eq!(mirror.ledger.client(), ClientOutcome::ClientAborted);
    // That it is too large was known before.
    let omitted = mirror.ledger.exchange().legacy.body.omission();
    assert!(matches!(omitted, Some(Omitted::TooLarge { .. })));
}

#[test]
fn an_answer_whose_window_stays_shut_is_given_up_and_the_others_of_its_connection_are_not() {
    let legacy = Service::saying(ok("some"));
    let mirror = Rig::new(&legacy, &Service::saying(ok("some")))
        .limits(|limits| limits.client_stall = SOON)
        .start();
    let mut shut = H2Client::with_window(mirror.address, 0);
    let request = Request::get("http://test/").body(()).expect("a request");
    let error = shut.ask(request, b"", None).expect_err("given up");
    assert!(error.is_reset(), "{error}");
    // The connection is as it was.
    let request = Request::head("http://test/").body(()).expect("a request");
    let reply = shut.ask(request, b"", None).expect("an answer");
    assert_eq!(reply.head.status, 200);
}

#[test]
fn an_upload_that_goes_on_behind_its_answer_is_no_head() {
    let legacy = Service::raw(|mut conn| {
        conn.read_exact(&mut [0; 10]).expect("a head begins");
        conn.say("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
        conn.wait_for_close();
    });
    let mirror = Rig::new(&legacy, &Service::refusing())
        .limits(|limits| limits.header_read = SOON)
        .start();
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 100000\r\n\r\n");
    assert_eq!(client.reply().status(), 413);
    // Longer than two looks at the connection.
    for _ in 0..25 {
        assert!(client.try_send([b'x'; 100]), "it was cut");
        std::thread::park_timeout(SOON);
    }
}
