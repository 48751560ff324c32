//! `--report KIND=FILE` and `--annotations`: what is in the files, whoever wrote the traffic, and what becomes of the exit code.

mod files;
mod hostile;
mod readers;

use std::io::Write as _;

use crate::support::process::{Ended, Place};
use crate::support::service::Service;

/// The flags of a file of each kind.
const ALL: [&str; 10] = [
    "--report",
    "junit=junit.xml",
    "--report",
    "html=report.html",
    "--report",
    "markdown=report.md",
    "--report",
    "json=report.json",
    "--report",
    "text=report.txt",
];

/// Runs a command that writes a file of each kind.
fn written(place: &Place, command: &[&str]) -> Ended {
    let mut arguments = command.to_vec();
    arguments.extend(ALL);
    let ended = place.run(&arguments);
    assert!(!ended.stderr.contains("not written"), "{}", ended.stderr);
    ended
}

/// What a file has.
fn file(place: &Place, name: &str) -> String {
    let read = std::fs::read_to_string(place.path().join(name));
    read.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A store in which `/bad/…` differs always, `/down/…` had no answer of the candidate, and `/good/…` is equal.
fn recorded() -> Place {
    let place = Place::new();
    let legacy = Service::json("{\"price\":1,\"name\":\"a\"}");
    let candidate = Service::misbehaving(|request, stream| {
        if request.target.starts_with("/down") {
            return;
        }
        let price = u8::from(request.target.starts_with("/bad")) + 1;
        let body = format!("{{\"price\":{price},\"name\":\"a\"}}");
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
        let length = body.len();
        // The proxy may have gone away.
        let _gone = write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}");
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for _ in 0..20 {
        for path in ["/bad/it", "/down/it", "/good/it"] {
            mirror.get(path);
        }
    }
    mirror.settled(60);
    mirror.stop();
    place
}
