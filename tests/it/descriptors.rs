//! File descriptors: clients are served, whatever other connections are opened to parity.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// Clients at a time, each on a connection of its own.
const CLIENTS: usize = 100;

/// A mirror with a limit on its file descriptors.
fn limited<'a>(place: &'a Place, descriptors: u64, legacy: &str, candidate: &str) -> Mirror<'a> {
    // The clients of this test have descriptors of their own.
    let own = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: own.maximum,
        maximum: own.maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("a limit can be raised to the highest");
    let limit = format!("ulimit -n {descriptors}");
    place.mirror_with(legacy, candidate, &[], |command| {
        place.under(&limit, command)
    })
}

/// Accepts connections and never answers.
fn hung() -> Service {
    Service::misbehaving(|_, stream| {
        let mut sink = [0; 64];
        while stream.read(&mut sink).is_ok_and(|read| read > 0) {}
    })
}

/// All clients at once, twice over the same connections; each is answered.
fn serve_all(address: SocketAddr) -> Duration {
    let begun = Instant::now();
    let mut connections: Vec<_> = (0..CLIENTS).map(|_| Connection::open(address)).collect();
    for round in 0..2 {
        for connection in &mut connections {
            connection.send("GET", "/items/1", &[], b"");
        }
        for (number, connection) in connections.iter_mut().enumerate() {
            let answer = connection.answer("GET");
            let status = answer.map(|answer| answer.status);
            assert_eq!(status, Some(200), "client {number}, round {round}");
        }
    }
    begun.elapsed()
}

fn descriptors(mirror: &Mirror<'_>) -> usize {
    let folder = format!("/proc/{}/fd", mirror.pid());
    std::fs::read_dir(folder).expect("it runs").count()
}

#[test]
fn connections_to_the_admin_port_take_nothing_from_clients() {
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let place = Place::new();
    let mirror = limited(&place, 1024, &legacy.url(), &candidate.url());
    let half_open: Vec<_> = (0..3_200)
        .map_while(|_| {
            let address = mirror.admin;
            let stream = TcpStream::connect_timeout(&address, Duration::from_secs(1));
            let mut stream = stream.ok()?;
            stream.write_all(b"GET / HT").ok()?;
            Some(stream)
        })
        .collect();
    // Some are accepted, and further ones wait in the system's backlog.
    assert!(half_open.len() > 32, "{}", half_open.len());
    assert!(descriptors(&mirror) < 200, "{}", descriptors(&mirror));
    serve_all(mirror.address);
    // The accepted ones are cut when their time is over, without an answer.
    wait_for("the first one to be cut", || {
        let mut first = half_open.first()?;
        first
            .set_read_timeout(Some(Duration::from_millis(10)))
            .ok()?;
        first.read(&mut [0; 512]).is_ok().then_some(())
    });
    drop(half_open);
    let status = wait_for("the admin port", || {
        let answer = mirror.ask("/api/v1/status");
        (answer.status == 200).then(|| answer.json())
    });
    let low = status["descriptors_low"].as_str().expect("it is told");
    assert!(low.starts_with("1024 file descriptors"), "{low}");
    assert!(
        mirror.log().contains("raise `ulimit -n`"),
        "{}",
        mirror.log()
    );
    assert!(!mirror.log().contains("cannot accept"), "{}", mirror.log());
    mirror.stop();
}

#[test]
fn connections_that_ask_nothing_keep_no_probe_waiting() {
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let idle: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(mirror.admin).expect("there is a backlog");
            stream.write_all(b"GET / HT").expect("sent");
            stream
        })
        .collect();
    let asked = Instant::now();
    assert_eq!(mirror.ask("/healthz").status, 200);
    // If idle connections were not closed sooner, it would take 10 seconds, the time for a head.
    assert!(
        asked.elapsed() < Duration::from_secs(7),
        "{:?}",
        asked.elapsed()
    );
    drop(idle);
    mirror.stop();
}

#[test]
fn shadows_give_way_to_clients() {
    let (legacy, candidate) = (Service::json("{}"), hung());
    let place = Place::new();
    for limit in [1024, 512] {
        let mirror = limited(&place, limit, &legacy.url(), &candidate.url());
        for _ in 0..5 {
            serve_all(mirror.address);
        }
        assert!(!mirror.log().contains("cannot accept"), "{}", mirror.log());
        let metrics = mirror.ask("/metrics").text();
        let open = metrics
            .lines()
            .find_map(|line| {
                line.strip_prefix("parity_shadow_connections{upstream=\"candidate\"} ")
            })
            .and_then(|number| number.parse::<u64>().ok());
        assert!(open.is_some_and(|open| open < limit), "{open:?}");
        mirror.kill();
    }
}

#[test]
fn heads_that_never_end_keep_nobody_out() {
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let place = Place::new();
    let mirror = limited(&place, 256, &legacy.url(), &candidate.url());
    // Several times as many connections as are allowed; half of them send the begin of a head.
    let half: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = TcpStream::connect(mirror.address).expect("the mirror listens");
            let begin: &[u8] = if number % 2 == 0 {
                b"GET / HT"
            } else {
                b"GET / HTTP/1.1\r\nhost: "
            };
            stream.write_all(begin).expect("sent");
            stream
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..3 {
        let mut client = Connection::open(mirror.address);
        client.send("GET", "/items/1", &[], b"");
        let status = client.answer("GET").map(|answer| answer.status);
        assert_eq!(status, Some(200));
    }
    // If connections were not closed sooner, the first would wait 10 seconds for each full set of connections before it.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(!mirror.log().contains("cannot accept"), "{}", mirror.log());
    drop(half);
    mirror.stop();
}
