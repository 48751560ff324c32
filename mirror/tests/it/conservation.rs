//! Under a random mix of faults, on all sides at once, every received request is settled once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::service::Conn;
use crate::support::{Client, Next, Rig, Service, ok};

/// A small generator with a fixed seed: the mix is the same in every run, its interleaving is not.
#[derive(Clone)]
struct Dice(Arc<AtomicU64>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    fn roll(&self, sides: u64) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

fn misbehave(dice: &Dice, conn: &mut Conn, hangs: bool) -> Next {
    match dice.roll(16) {
        0 => Next::Close,
        1 => Next::Reset,
        2 if hangs => Next::Hang,
        3 => {
            conn.say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome");
            Next::Close
        }
        4 => {
            conn.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n");
            Next::Close
        }
        5 => {
            conn.say("nonsense\r\n\r\n");
            Next::Close
        }
        6 => {
            conn.say(ok(&"x".repeat(5000)));
            Next::Keep
        }
        7 => {
            conn.say(ok("then closes"));
            Next::Close
        }
        8 => {
            conn.say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: x\n\n");
            Next::Close
        }
        9 => {
            conn.say("HTTP/1.1 204 No Content\r\n\r\n");
            Next::Keep
        }
        _ => {
            conn.say(ok("fine"));
            Next::Keep
        }
    }
}

/// A request, and whether its client waits for the answer.
fn request(dice: &Dice) -> (String, bool) {
    let post = |length: usize, body: &str| {
        format!("POST /a HTTP/1.1\r\nhost: t\r\ncontent-length: {length}\r\n\r\n{body}")
    };
    let plain = |method: &str, more: &str| format!("{method} /a HTTP/1.1\r\nhost: t\r\n{more}\r\n");
    match dice.roll(12) {
        0 => (post(5, "hello"), true),
        1 => (post(50, "cut"), false),
        2 => (plain("GET", ""), false),
        3 => (post(3000, &"x".repeat(3000)), true),
        4 => (plain("GET", "connection: upgrade\r\nupgrade: x\r\n"), true),
        5 => (plain("DELETE", ""), true),
        _ => (plain("GET", ""), true),
    }
}

fn drive(address: std::net::SocketAddr, dice: &Dice, requests: usize) {
    let mut client = Client::connect(address);
    for _ in 0..requests {
        let (bytes, waits) = request(dice);
        let answered = client.try_send(bytes) && waits && client.try_reply("GET").is_some();
        if !answered || dice.roll(8) == 0 {
            client = Client::connect(address);
        }
    }
}

#[test]
fn received_equals_settled_to_the_unit() {
    let dice = Dice::new(20_260_131);
    let (for_legacy, for_candidate) = (dice.clone(), dice.clone());
    let legacy = Service::new(move |_, conn| misbehave(&for_legacy, conn, false));
    let candidate = Service::new(move |_, conn| misbehave(&for_candidate, conn, true));
    let mut mirror = Rig::new(&legacy, &candidate)
        .workers(2)
        .sample(0.9)
        .route("POST /a", Some(true))
        .limits(|limits| {
            limits.body = 2000;
            limits.in_flight = 6;
            limits.shadow_bytes = 20_000;
            limits.candidate_deadline = Duration::from_millis(100);
            limits.breaker_failures = 4;
            limits.breaker_pause = Duration::from_millis(20);
            limits.linger = Duration::from_millis(50);
            limits.drain = Duration::from_millis(500);
        })
        .start();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (address, dice) = (mirror.address, dice.clone());
            thread::spawn(move || drive(address, &dice, 150))
        })
        .collect();
    for client in clients {
        client.join().expect("clients only see HTTP or the end");
    }
    // Checks that received equals settled.
    mirror.stop();
    let (received, _) = mirror.ledger.balance();
    assert!(received > 1000, "{received}");
    let mut reasons = mirror.ledger.reasons(received);
    reasons.sort_unstable();
    reasons.dedup();
    assert!(reasons.len() > 8, "the mix was poor: {reasons:?}");
    drop(mirror.ledger.exchanges(1));
    assert_eq!(mirror.control.shadow_bytes_held(), 0);
}
