//! The measured time of a service excludes the time spent waiting for the client.

use std::io::Read as _;
use std::time::Duration;

use crate::support::{Next, Rig, Running, Service, ok};

/// How long somebody is slow.
const SLOW: Duration = Duration::from_secs(4);
/// Far less than that, and far more than anything takes here that is not slow.
const PROMPT: Duration = Duration::from_millis(2_500);
/// More than all buffers on the way to a client that does not read.
const LARGE: usize = 16 << 20;

fn before(legacy: &Service) -> Running {
    Rig::new(legacy, &Service::saying(ok("candidate")))
        .route("POST /", Some(true))
        .limits(|limits| {
            limits.body = 2 * LARGE;
            limits.shadow_bytes = 4 * LARGE;
        })
        .start()
}

/// Being slow is what is tested.
fn be_slow() {
    let begin = std::time::Instant::now();
    while let Some(left) = SLOW.checked_sub(begin.elapsed()) {
        std::thread::park_timeout(left);
    }
}

#[test]
fn a_client_that_reads_slowly_makes_no_slow_legacy() {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
    let legacy = Service::saying([head.as_bytes(), &vec![b'x'; LARGE]].concat());
    let mirror = before(&legacy);
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    client.head().expect("it begins");
    be_slow();
    let mut rest = Vec::new();
    client.stream.read_to_end(&mut rest).expect("the rest");
    let exchange = mirror.ledger.exchange();
    assert_eq!(exchange.legacy.body.len(), LARGE);
    let legacy = &exchange.legacy;
    assert!(legacy.head_elapsed <= legacy.elapsed);
    assert!(legacy.elapsed < PROMPT, "{:?}", legacy.elapsed);
}

#[test]
fn a_client_that_sends_slowly_makes_no_slow_legacy() {
    let mirror = before(&Service::saying(ok("done")));
    let mut client = mirror.client();
    client.send("POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 4\r\n\r\nab");
    mirror.ledger.wait_received(1);
    be_slow();
    client.send("cd");
    assert_eq!(client.reply().text(), "done");
    let legacy = mirror.ledger.exchange().legacy;
    assert!(legacy.head_elapsed <= legacy.elapsed);
    assert!(legacy.elapsed < PROMPT, "{:?}", legacy.elapsed);
}

#[test]
fn a_legacy_that_is_slow_is_told_to_its_head_and_to_its_end() {
    let slow_head = Service::new(|_, conn| {
        be_slow();
        conn.say(ok("late"));
        Next::Keep
    });
    let mirror = before(&slow_head);
    assert_eq!(mirror.client().get("/").text(), "late");
    let exchange = mirror.ledger.exchange();
    assert!(exchange.legacy.head_elapsed >= SLOW);
    assert!(exchange.legacy.elapsed >= exchange.legacy.head_elapsed);
    assert!(exchange.candidate.elapsed < PROMPT);

    let slow_body = Service::new(|_, conn| {
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsome");
        be_slow();
        conn.say("more");
        Next::Keep
    });
    let mirror = before(&slow_body);
    assert_eq!(mirror.client().get("/").text(), "somemore");
    let exchange = mirror.ledger.exchange();
    assert!(exchange.legacy.head_elapsed < PROMPT);
    assert!(exchange.legacy.elapsed >= SLOW);
}
