//! gRPC-Web over HTTP/1.1 between real services: the status in the body counts as the status.

use crate::support::client::send;
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

const CONFIG: &str = "[[route]]\nmatch = \"POST /shop.Quotes/{call}\"\nshadow = true\n";
const BINARY: &str = "application/grpc-web+proto";
const TEXT: &str = "application/grpc-web-text";
const MESSAGE: &[u8] = b"\0\0\0\0\x03\x0a\x01a";

fn ended(status: &str) -> Vec<u8> {
    let fields = format!("grpc-status:{status}\r\n");
    let mut frame = vec![0x80, 0, 0, 0, u8::try_from(fields.len()).expect("short")];
    frame.extend_from_slice(fields.as_bytes());
    frame
}

/// The answer of one side to a call.
fn answer(call: &str, is_candidate: bool) -> Answer {
    let good = [MESSAGE, &ended("0")].concat();
    let (media, body) = match call {
        // Base64 of the frames, each on its own or as a whole.
        "Text" if is_candidate => (TEXT, b"AAAAAAMKAWGAAAAADWdycGMtc3RhdHVzOjA=".to_vec()),
        "Text" => (TEXT, b"AAAAAAMKAWE=gAAAAA1ncnBjLXN0YXR1czow".to_vec()),
        "CutText" if is_candidate => (TEXT, b"AAAAAAMKAWGAAAAADWdycGMtc3RhdHVzOjA".to_vec()),
        "CutText" => (TEXT, b"AAAAAAMKAWGAAAAADWdycGMtc3RhdHVzOjA=".to_vec()),
        "Fails" if is_candidate => (BINARY, [MESSAGE, &ended("13")].concat()),
        "CutFrame" if is_candidate => (BINARY, good[..good.len() - 1].to_vec()),
        "Stream" => (BINARY, [MESSAGE, MESSAGE, &ended("0")].concat()),
        _ => (BINARY, good),
    };
    Answer::new(200, body).header("content-type", media)
}

#[test]
fn calls_are_compared_by_message_and_status() {
    let service = |is_candidate| {
        Service::start(move |request| {
            let call = request.target.rsplit('/').next().unwrap_or_default();
            answer(call, is_candidate)
        })
    };
    let (legacy, candidate) = (service(false), service(true));
    let place = Place::new();
    let calls = ["Get", "Text", "Fails", "CutText", "CutFrame", "Stream"];
    let config: String = calls
        .iter()
        .map(|call| CONFIG.replace("{call}", call))
        .collect();
    place.write("parity.toml", config);
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml"],
    );
    for call in calls {
        let headers = [("content-type", BINARY)];
        let path = format!("/shop.Quotes/{call}");
        assert_eq!(
            send(mirror.address, "POST", &path, &headers, MESSAGE).status,
            200
        );
    }
    let report = mirror.settled(calls.len() as u64);
    assert_eq!(
        report.groups(),
        [
            "POST /shop.Quotes/CutFrame body  decode -",
            "POST /shop.Quotes/CutText body  decode -",
            "POST /shop.Quotes/Fails trailer grpc-status value -",
        ]
    );
    assert_eq!(
        (report.count("match"), report.not_compared()["stream"]),
        (2, 1)
    );
    let groups = report.0["groups"].as_array().expect("a list");
    assert_eq!(
        groups[0]["pattern"], "grpc-status",
        "the gravest comes first"
    );
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn saved_answers_are_compared_by_their_type() {
    let place = Place::new();
    let saved = |name: &str, status: &str| {
        let body = [MESSAGE, &ended(status)].concat();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {BINARY}\r\n\r\n");
        place.write(name, [head.as_bytes(), &body].concat());
    };
    saved("old.http", "0");
    saved("same.http", " 0");
    saved("new.http", "5");
    assert_eq!(place.run(&["diff", "old.http", "same.http"]).code, 0);
    let differs = place.run(&["diff", "old.http", "new.http"]);
    assert_eq!(differs.code, 1);
    assert!(differs.stdout.contains("grpc-status"), "{}", differs.stdout);
}
