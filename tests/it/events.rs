//! `GET /api/v1/events`: an open page hears that there is something new, at no cost worth naming.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::{PATIENCE, client, wait_for};

/// As many as may listen at a time.
const LISTENERS: usize = 8;

/// Somebody who listens.
struct Listener(BufReader<TcpStream>);

impl Listener {
    fn of(mirror: &Mirror<'_>) -> Self {
        let mut stream = TcpStream::connect(mirror.admin).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream
            .write_all(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .expect("sent");
        let mut listener = Self(BufReader::new(stream));
        let status = listener.line();
        assert!(status.contains(" 200 "), "{status}");
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("a line in time");
        assert!(read > 0, "the stream ended");
        line
    }

    /// The next event and its data.
    fn event(&mut self) -> (String, Value) {
        loop {
            if let Some(name) = self.line().strip_prefix("event: ") {
                let data = self.line();
                let data = data.strip_prefix("data: ").expect("data");
                let data = serde_json::from_str(data).expect("JSON");
                return (name.trim().to_owned(), data);
            }
        }
    }

    /// Events that have come and were not read; a minute that ends makes one.
    fn waiting(&mut self) -> usize {
        let mut text = vec![0; 1 << 16];
        self.0.get_ref().set_nonblocking(true).expect("an option");
        let read = self.0.get_ref().peek(&mut text).unwrap_or(0);
        self.0.get_ref().set_nonblocking(false).expect("an option");
        let text = String::from_utf8_lossy(&text[..read]);
        text.matches("event:").count()
    }

    fn marks(&mut self) -> Value {
        let (name, data) = self.event();
        assert_eq!(name, "marks", "{data}");
        data
    }
}

#[test]
fn an_event_comes_when_the_record_or_the_process_has_changed_and_not_else() {
    let services = [Service::json("{\"a\":1}"), Service::json("{\"a\":2}")];
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    mirror.get("/items/1");
    mirror.settled(1);
    let ui = place.ui();
    let mut all = [
        Listener::of(&mirror),
        Listener::of(&mirror),
        Listener::of(&ui),
    ];
    let first = all.each_mut().map(Listener::marks);
    assert_eq!(first[0], first[1]);
    // Watermarks are written meanwhile; nothing else is.
    let heard = || mirror.ask("/api/v1/report").json()["watermarks"][0]["last_heard"].clone();
    let mut beats = vec![heard()];
    wait_for("watermarks", || {
        let now = heard();
        if beats.last() != Some(&now) {
            beats.push(now);
        }
        (beats.len() > 4).then_some(())
    });
    for listener in &mut all {
        assert!(listener.waiting() <= 1, "events without a change");
    }
    mirror.get("/items/2");
    let second = all.each_mut().map(Listener::marks);
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first["process"], second["process"]);
        assert_ne!(first["record"], second["record"]);
    }
    client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    for listener in &mut all[..2] {
        wait_for("the event", || {
            (listener.marks()["process"] != first[0]["process"]).then_some(())
        });
    }
    // Both end, and say so, although somebody listens.
    mirror.stop();
    ui.stop();
    for listener in &mut all {
        wait_for("the end", || (listener.event().0 == "end").then_some(()));
    }
}

#[test]
fn few_may_listen_and_no_page_of_another_origin() {
    let service = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    let other = [("sec-fetch-site", "cross-site"), ("host", "localhost")];
    let refused = client::send(mirror.admin, "GET", "/api/v1/events", &other, b"");
    assert_eq!(refused.status, 403, "{}", refused.text());
    let listening: Vec<Listener> = (0..LISTENERS).map(|_| Listener::of(&mirror)).collect();
    let full = mirror.ask("/api/v1/events");
    assert_eq!(full.status, 503);
    assert_eq!(full.header("retry-after"), Some("30"));
    assert!(
        full.text().contains("as many pages listen as may"),
        "{}",
        full.text()
    );
    // Pages and probes are served all the same, and a place is free again when somebody has gone.
    assert_eq!(mirror.ask("/").status, 200);
    drop(listening);
    wait_for("a place", || {
        let stream = TcpStream::connect(mirror.admin).ok()?;
        let mut asked = &stream;
        asked
            .write_all(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .ok()?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).ok()?;
        line.contains(" 200 ").then_some(())
    });
    assert_eq!(mirror.stop().0, 0);
}
