//! Requests with an effect: the candidate serves them only where that is said, and none is ever sent twice.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{hanging, named, on_the_way, rollout, under_way, who};
use crate::support::client;
use crate::support::process::Mirror;
use crate::support::service::{Service, nobody};

const UNSAFE: &str = "unsafe_methods = true\nmin_requests = 100000";

fn write(mirror: &Mirror<'_>, method: &str, body: &[u8]) -> client::Answer {
    client::send(mirror.address, method, "/quotes", &[("x-user", "a")], body)
}

#[test]
fn who_executes_a_write_is_the_candidate_and_the_legacy_only_where_a_route_says_so() {
    for (more, legacy_gets) in [
        ("", 0),
        (
            "\n[[route]]\nmatch = \"POST /quotes\"\nshadow = true\n[[route]]\nmatch = \"DELETE /quotes\"\nshadow = true",
            2,
        ),
    ] {
        let place = under_way(100.0, &format!("{UNSAFE}{more}"));
        let (legacy, candidate) = (named("legacy"), named("candidate"));
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        assert_eq!(who(&write(&mirror, "POST", b"a quote")), "candidate");
        assert_eq!(who(&write(&mirror, "DELETE", b"")), "candidate");
        let report = mirror.settled(2);
        assert_eq!(
            (legacy.seen(), candidate.seen()),
            (legacy_gets, 2),
            "{}",
            report.0
        );
        let compared = report.count("match");
        assert_eq!(compared, legacy_gets as u64, "{}", report.0);
    }
}

/// Case 2: a GET that asks for another method, or for a mutation, was served by the candidate where its route may be shadowed.
#[test]
fn a_write_by_a_safe_method_is_a_write_though_its_route_may_be_shadowed() {
    let routes = "min_requests = 100000\n[[route]]\nmatch = \"GET /quotes\"\nshadow = true\n\
                  [[route]]\nmatch = \"GET /graphql\"\ngraphql = true\nshadow = true";
    let place = under_way(100.0, routes);
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let user = ("x-user", "a");
    for (path, more, serves) in [
        ("/quotes", None, "candidate"),
        ("/graphql?query=%7Ba%7D", None, "candidate"),
        (
            "/quotes",
            Some(("x-http-method-override", "DELETE")),
            "legacy",
        ),
        ("/quotes", Some(("X_HTTP_Method", "put")), "legacy"),
        ("/graphql?query=mutation%7Bpay%7D", None, "legacy"),
        ("/graphql?query=%7B", None, "legacy"),
    ] {
        let headers: Vec<_> = [user].into_iter().chain(more).collect();
        let answer = client::send(mirror.address, "GET", path, &headers, b"");
        assert_eq!(who(&answer), serves, "{path} {more:?}");
    }
}

#[test]
fn a_write_that_the_candidate_may_have_got_is_not_sent_again() {
    let hang = |_: &_, stream: &mut std::net::TcpStream| {
        let _closed = std::io::Read::read(stream, &mut [0]);
    };
    let reset = |_: &_, stream: &mut std::net::TcpStream| {
        let _linger = socket2::SockRef::from(&*stream).set_linger(Some(Duration::ZERO));
    };
    let shadowed = format!("{UNSAFE}\n[[route]]\nmatch = \"DELETE /quotes\"\nshadow = true");
    for (name, candidate, status, outcome) in [
        (
            "hangs",
            Service::misbehaving(hang),
            504,
            "candidate_timeout",
        ),
        (
            "resets",
            Service::misbehaving(reset),
            502,
            "candidate_unreachable",
        ),
    ] {
        let place = hanging(&shadowed);
        let legacy = named("legacy");
        let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
        for (method, body) in [("POST", &b"a quote"[..]), ("DELETE", b"")] {
            let answer = write(&mirror, method, body);
            assert_eq!(answer.status, status, "{name} {method}");
            let words = answer.text();
            assert!(
                words.starts_with("parity: the candidate"),
                "{name}: {words}"
            );
        }
        let report = mirror.answered_in("sqlite:parity.db", 2);
        assert_eq!(report.0["clients"][outcome], 2, "{}", report.0);
        assert_eq!((legacy.seen(), candidate.seen()), (0, 2), "{name}");
        assert_eq!(rollout(&mirror)["repaired"], 0, "{name}");
    }
}

/// Answers on connections that it keeps, but ends them for a DELETE that it has read.
fn keeping(deletes: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let deletes = Arc::clone(&deletes);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                while let Some(first) = lines.next() {
                    let _fields = lines.by_ref().take_while(|line| !line.is_empty()).count();
                    if first.starts_with("DELETE") {
                        deletes.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    if (&stream).write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Case 1: HTTP allows to repeat it on another connection, as the first one may have been idle for too long.
#[test]
fn a_write_on_a_kept_connection_that_ends_is_not_sent_again() {
    let place = under_way(100.0, UNSAFE);
    let legacy = named("legacy");
    let deletes = Arc::new(AtomicUsize::new(0));
    let candidate = keeping(Arc::clone(&deletes));
    let mirror = on_the_way(&place, &legacy.url(), &candidate, &["--workers", "1"]);
    for _ in 0..3 {
        let read = client::send(mirror.address, "GET", "/quotes", &[("x-user", "a")], b"");
        assert_eq!((read.status, read.text().as_str()), (200, "ok"));
        assert_eq!(write(&mirror, "DELETE", b"").status, 502);
    }
    assert_eq!(deletes.load(Ordering::Relaxed), 3);
}

#[test]
fn a_write_of_which_the_candidate_got_nothing_is_the_legacys_and_once() {
    for route in ["", "\n[[route]]\nmatch = \"POST /quotes\"\nshadow = true"] {
        let place = under_way(100.0, &format!("{UNSAFE}{route}"));
        let legacy = Service::start(|request| {
            let whole = request.body == b"a quote" || request.method == "DELETE";
            let status = if whole { 200 } else { 400 };
            super::Answer::new(status, "ok").header("server", "legacy")
        });
        let mirror = on_the_way(&place, &legacy.url(), &nobody(), &[]);
        for (method, body) in [("POST", &b"a quote"[..]), ("DELETE", b"")] {
            let answer = write(&mirror, method, body);
            assert_eq!(
                (answer.status, who(&answer).as_str()),
                (200, "legacy"),
                "{method}"
            );
        }
        let report = mirror.answered_in("sqlite:parity.db", 2);
        assert_eq!(legacy.seen(), 2, "{}", report.0);
        assert_eq!(report.0["clients"]["2xx"], 2, "{}", report.0);
        assert_eq!(rollout(&mirror)["repaired"], 2);
    }
}

#[test]
fn a_candidate_that_does_not_read_what_is_sent_is_late() {
    let place = hanging(UNSAFE);
    let legacy = named("legacy");
    // It takes the head, and nothing of the body until the test is over.
    let (over, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    let candidate = Service::raw(move |stream, _| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && std::io::Read::read_exact(stream, &mut byte).is_ok() {
            head.push(byte[0]);
        }
        let _over = waits.lock().expect("no panic while held").recv();
    });
    let mirror = on_the_way(&place, &legacy.url(), &candidate.url(), &[]);
    let stream = std::net::TcpStream::connect(mirror.address).expect("it listens");
    let mut sending = stream.try_clone().expect("a socket can be cloned");
    let body = vec![b'x'; 32 << 20];
    let writer = std::thread::spawn(move || {
        let head = format!(
            "POST /quotes HTTP/1.1\r\nhost: a\r\nx-user: a\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        // It is cut when the answer is there.
        let _cut = sending
            .write_all(head.as_bytes())
            .and_then(|()| sending.write_all(&body));
    });
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .expect("an answer");
    assert!(line.starts_with("HTTP/1.1 504"), "{line}");
    writer.join().expect("no panic");
    assert_eq!(legacy.seen(), 0, "a write is not sent twice");
    drop(over);
}
