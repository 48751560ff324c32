//! Calls of gRPC over HTTP/2 with both services, recorded and replayed: how a call ended is in the trailers of its answer.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as Listener};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::recording::recording;
use crate::support::process::{Ended, Place};

const MEDIA: &str = "application/grpc+proto";
const MESSAGE: &[u8] = b"\0\0\0\0\x03\x0a\x01a";
/// The same in base64.
const WRITTEN: &str = "AAAAAAMKAWE=";

/// A message in a frame or none, the status, and a message for people or none.
type Ending = (&'static [u8], &'static str, Option<&'static str>);

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// A service that speaks nothing but HTTP/2. A call that fails without a message ends with its head.
fn service(ending: fn(&str) -> Ending) -> String {
    let listener = Listener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let answer = service_fn(move |request: Request<Incoming>| async move {
                        let path = request.uri().path().to_owned();
                        let _read = request.into_body().collect().await;
                        Ok::<_, Infallible>(answered(ending(path.rsplit('/').next().unwrap_or(""))))
                    });
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _gone = server.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
    });
    url
}

fn answered(
    (message, status, told): Ending,
) -> Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>> {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", HeaderValue::from_static(status));
    if let Some(told) = told {
        fields.insert("grpc-message", HeaderValue::from_static(told));
    }
    let mut head = Response::builder().header("content-type", MEDIA);
    let mut trailers = Some(Ok(fields));
    if message.is_empty()
        && told.is_none()
        && let Some(Ok(fields)) = trailers.take()
    {
        head.headers_mut().expect("a head").extend(fields);
    }
    let body = Full::new(Bytes::from_static(message));
    head.body(body.with_trailers(std::future::ready(trailers)))
        .expect("an answer")
}

/// How the legacy ends a call.
fn legacy(call: &str) -> Ending {
    match call {
        "None" => (b"", "5", None),
        "Told" => (b"", "5", Some("no quote of that name")),
        _ => (MESSAGE, "0", None),
    }
}

/// Makes a call, and tells the status that the client gets.
fn call(client: &Runtime, address: SocketAddr, call: &str) -> String {
    let called = async {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("it speaks HTTP/2");
        tokio::spawn(connection);
        let request = Request::post(format!("http://shop/shop.Quotes/{call}"))
            .header("content-type", MEDIA)
            .header("te", "trailers")
            .body(Full::new(Bytes::from_static(MESSAGE)))
            .expect("a request");
        let (head, body) = sender
            .send_request(request)
            .await
            .expect("answered")
            .into_parts();
        let body = body.collect().await.expect("whole");
        let fields = body.trailers().cloned().unwrap_or(head.headers);
        let status = &fields[HeaderName::from_static("grpc-status")];
        status.to_str().expect("text").to_owned()
    };
    client.block_on(called)
}

fn replay(place: &Place, file: &str, candidate: &str, migration: &str) -> Ended {
    place.run(&[
        "replay",
        file,
        "--recorded-answers",
        "--candidate",
        candidate,
        "--allow-unsafe",
        "--migration",
        migration,
        "--output",
        "json",
    ])
}

/// Matches and mismatches, and the groups of the latter.
fn found(ended: &Ended) -> (u64, u64, Vec<String>) {
    let report = ended.json();
    let number = |name: &str| report[name].as_u64().expect("a number");
    let groups = report["groups"].as_array().expect("a list").iter();
    let mut groups: Vec<String> = groups
        .map(|group| {
            let text = |name: &str| group[name].as_str().unwrap_or_default();
            let (part, pattern, kind) = (text("part"), text("pattern"), text("kind"));
            format!("{} {part} {pattern} {kind}", text("route"))
        })
        .collect();
    groups.sort();
    (number("match"), number("mismatch"), groups)
}

const UNKNOWN: &str = "trailers are not in the recording, and not compared";

#[test]
fn a_recorded_call_is_compared_by_how_it_ended() {
    let place = Place::new();
    let recorder = recording(
        &place,
        &service(legacy),
        &["calls.ndjson", "--record-answers", "on"],
    );
    let client = runtime();
    for (name, status) in [("Get", "0"), ("None", "5"), ("Told", "5")] {
        assert_eq!(call(&client, recorder.address, name), status, "{name}");
    }
    let (code, log) = recorder.stop();
    assert_eq!(code, 0, "{log}");
    let text = std::fs::read_to_string(place.path().join("calls.ndjson")).expect("a recording");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let [get, none, told] = lines.as_slice() else {
        panic!("{text}");
    };
    assert_eq!(get["response"]["trailers"], json!([["grpc-status", "0"]]));
    // With its head alone it has none, and that is known.
    assert_eq!(none["response"]["trailers"], json!([]));
    // What a service tells people may hold anything.
    let told = &told["response"];
    assert_eq!(told["trailers"][0], json!(["grpc-status", "5"]));
    let message = told["trailers"][1][1].as_str().expect("a text");
    assert!(message.starts_with("hmac:"), "{message}");
    assert!(
        told["hidden"].to_string().contains("trailer/grpc-message"),
        "{told}"
    );

    // The same service answers the same. The message of `Get` is hidden as a whole, so nobody compares that.
    let same = replay(&place, "calls.ndjson", &service(legacy), "same");
    assert_eq!(found(&same), (2, 0, Vec::new()), "{}", same.stderr);
    let hidden = same.json()["not_compared"]["legacy_hidden"].clone();
    assert_eq!(hidden, 1, "{}", same.stderr);
    assert!(
        same.stderr.contains("trailer/grpc-message (1)"),
        "{}",
        same.stderr
    );
    assert!(!same.stderr.contains(UNKNOWN), "{}", same.stderr);
    // Another message is hidden, and another status is not; nor is a message that is missing.
    let other = service(|call| match call {
        "Get" => (MESSAGE, "13", None),
        "Told" => (b"", "5", Some("Quote not found")),
        _ => legacy(call),
    });
    let other = replay(&place, "calls.ndjson", &other, "other");
    let expected = ["POST /shop.Quotes/Get trailer grpc-status value"];
    assert_eq!(
        found(&other),
        (2, 1, expected.map(str::to_owned).into()),
        "{}",
        other.stderr
    );
    let silent = service(|call| match call {
        "Told" => (b"", "5", None),
        _ => legacy(call),
    });
    let silent = replay(&place, "calls.ndjson", &silent, "silent");
    let expected = ["POST /shop.Quotes/Told trailer grpc-message missing"];
    assert_eq!(
        found(&silent),
        (1, 1, expected.map(str::to_owned).into()),
        "{}",
        silent.stderr
    );
}

#[test]
fn a_recording_without_trailers_is_compared_in_all_else_and_that_is_said() {
    let line = |call: &str, body: &str, trailers: Option<Value>, more: Option<&str>| {
        let mut headers = vec![json!(["content-type", MEDIA])];
        headers.extend(more.map(|status| json!(["grpc-status", status])));
        let mut response = json!({
            "status": 200, "headers": headers, "body_base64": body,
        });
        if let Some(trailers) = trailers {
            response["trailers"] = trailers;
        }
        let exchange = json!({
            "schema": "parity.exchange/v1", "time": "2026-11-24T03:00:00Z", "method": "POST",
            "url": format!("/shop.Quotes/{call}"), "headers": [["content-type", MEDIA], ["te", "trailers"]],
            "response": response,
        });
        format!("{exchange}\n")
    };
    let ok = json!([["grpc-status", "0"]]);
    let place = Place::new();
    // The candidate ends `Fails` with another status, and `Other` with another message. How the legacy ended the first three nobody
    // knows, so two that look equal are no match.
    let lines = [
        line("Get", WRITTEN, None, None),
        line("Fails", WRITTEN, None, None),
        line("Other", WRITTEN, None, None),
        // Its status is in the head, so it had no trailers.
        line("None", "", None, Some("0")),
    ];
    place.write("old.ndjson", lines.concat());
    let candidate = service(|call| match call {
        "Fails" => (MESSAGE, "13", None),
        "Other" => (b"\0\0\0\0\x03\x0a\x01b", "0", None),
        _ => legacy(call),
    });
    let old = replay(&place, "old.ndjson", &candidate, "old");
    let differ = [
        "POST /shop.Quotes/None trailer grpc-status value",
        "POST /shop.Quotes/Other body  value",
    ];
    assert_eq!(
        found(&old),
        (0, 2, differ.map(str::to_owned).into()),
        "{}",
        old.stderr
    );
    assert!(
        old.stderr.contains(&format!("4 answers' {UNKNOWN}")),
        "{}",
        old.stderr
    );
    // Side by side with lines that have them, and with one that has something else.
    let lines = [
        line("Get", WRITTEN, Some(ok.clone()), None),
        line("Fails", WRITTEN, Some(ok), None),
        line("Get", WRITTEN, Some(json!([["a b", "0"]])), None),
        line("Fails", WRITTEN, None, None),
    ];
    place.write("new.ndjson", lines.concat());
    let new = replay(&place, "new.ndjson", &candidate, "new");
    let differ = ["POST /shop.Quotes/Fails trailer grpc-status value"];
    assert_eq!(
        found(&new),
        (1, 1, differ.map(str::to_owned).into()),
        "{}",
        new.stderr
    );
    let told = "new.ndjson:3: not a header name";
    assert!(new.stderr.contains(told), "{}", new.stderr);
    assert!(
        new.stderr
            .contains("1 answer's trailers are not in the recording"),
        "{}",
        new.stderr
    );
    // A check names it only where trailers came.
    let check = |file: &str, call: &str| {
        place.write(file, line(call, WRITTEN, None, None));
        place.run(&["check", file, "--target", &candidate, "--allow-unsafe"])
    };
    let checked = check("one.ndjson", "Get");
    assert_eq!(checked.code, 3, "{}", checked.stderr);
    let told = "present, not compared, because the file does not show them: trailer (1)";
    assert!(checked.stdout.contains(told), "{}", checked.stdout);
}
