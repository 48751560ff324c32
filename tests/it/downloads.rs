//! A gate does not wait for a download that takes hours, because its body will not be compared.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::client::Connection;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

const BODY: &str = "{\"a\":1}";

#[test]
fn a_download_over_the_limit_does_not_hold_the_gate_up() {
    let legacy = Service::misbehaving(|request, stream| {
        let (length, body) = match request.target.as_str() {
            "/download" => (50 << 20, "{\"begin\":"),
            _ => (BODY.len(), BODY),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let _gone = stream.write_all(format!("{head}{body}").as_bytes());
        if request.target == "/download" {
            // Until the one who reads it is gone.
            let _gone = stream.read(&mut [0]);
        }
    });
    let candidate = Service::start(|_| Answer::json(BODY));
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut download = TcpStream::connect(mirror.address).expect("it listens");
    download
        .write_all(b"GET /download HTTP/1.1\r\nhost: a\r\n\r\n")
        .expect("sent");
    let mut head = [0; 16];
    download.read_exact(&mut head).expect("it begins");
    let mut connection = Connection::open(mirror.address);
    for number in 0..400 {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        assert_eq!(connection.answer("GET").expect("answered").status, 200);
    }
    let gate = place.run(&["gate", "--max-mismatch-rate", "0.05"]);
    assert_eq!(gate.code, 0, "{}", gate.stdout);
    assert!(!gate.stdout.contains("no outcome yet"), "{}", gate.stdout);
    let report = mirror.settled(401);
    assert_eq!(report.not_compared().get("response_too_large"), Some(&1));
    assert_eq!(report.0["watermarks"][0]["state"], "complete");
    // Its client is still served, and counted when that is over.
    assert_eq!(report.0["clients"]["2xx"], 400);
    drop(connection);
    drop(mirror);
    wait_for("the end of the download", || {
        download
            .read(&mut [0; 4096])
            .map_or(true, |read| read == 0)
            .then_some(())
    });
}
