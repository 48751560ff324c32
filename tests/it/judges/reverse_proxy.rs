//! The cases of Go's tests of its reverse proxy (`net/http/httputil/reverseproxy_test.go`), rewritten for the mirror. Those
//! about upgrades are in [`super::reverse_proxy_upgrades`].
//!
//! Cases of Go's that are not here, with the reason:
//!
//! - `XForwardedFor_Omit`, `ModifyResponse`, `ModifyResponseClosesBody`, `ErrorHandler`, `RewriteReplacesOut`,
//!   `ClonesRequestHeaders`, `ServeHTTPDeepCopy`, `AllocatedHeader`, `SelectFlushInterval`, `GetPutBuffer`: hooks and
//!   memory of a Go library; the mirror has no code of its user's in its way. That the legacy's own answer is not
//!   changed, which is what the hooks would do, is asked in every case here.
//! - `ResponseControllerFlushInterval`: as above; that bytes are passed on at once is `what_comes_early_is_passed_on`.
//! - `SetURL`, `SingleJoinSlash`, `JoinURLPath`, the first column of `Query`: a URL of ours has no path (the
//!   configuration refuses one), so nothing is joined.
//! - `PanicBodyError`, `PanicClosesIncomingBody`: panics are Go's way to end a connection; what the client and the
//!   legacy see of it is `an_answer_that_breaks_off_breaks_off_for_the_client` and `a_client_that_leaves_is_gone`.
//! - `Test1xxHeadersNotModifiedAfterRoundTrip`: a data race in Go's maps.
//! - `Test1xxResponses`: the mirror does not pass 1xx on, because hyper's server cannot send it; that the final
//!   answer is not harmed is vtc/informational.vtc.
//! - The clean queries of `QueryParameterSmuggling`: Go drops what its own parser does not understand, for the sake
//!   of handlers in the same program that have parsed it. Nothing in the mirror decides by a query, so all of it is
//!   passed on as it is, which is Go's other answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;

use socket2::SockRef;

use super::origin::{Heard, Next, Origin};
use crate::support::PATIENCE;
use crate::support::client::{Connection, send};
use crate::support::process::Place;
use crate::support::service::nobody;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Runs a test with a mirror before this legacy.
pub(super) fn before(origin: &Origin, test: impl FnOnce(SocketAddr)) {
    let place = Place::new();
    let mirror = place.mirror(&origin.url(), &nobody(), &["--workers", "1"]);
    test(mirror.address);
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// What the legacy hears of a request, and what the client gets.
fn through(request: &str, answer: &str) -> (Heard, Vec<u8>) {
    let origin = Origin::saying(answer);
    let mut got = Vec::new();
    let mut heard = None;
    before(&origin, |address| {
        let mut client = TcpStream::connect(address).expect("somebody listens");
        client
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        client.write_all(request.as_bytes()).expect("written");
        heard = Some(origin.requests(1).remove(0));
        client.read_to_end(&mut got).expect("closed at the end");
    });
    (heard.expect("a request"), got)
}

/// `name: value` lines of an answer, names in lower case, sorted.
fn lines(answer: &[u8]) -> (String, Vec<String>, String) {
    let text = String::from_utf8(answer.to_vec()).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut lines = head.split("\r\n");
    let status = lines.next().expect("a status line").to_owned();
    let mut fields: Vec<_> = lines
        .map(|line| {
            let (name, value) = line.split_once(':').expect("a field");
            format!("{}:{value}", name.to_ascii_lowercase())
        })
        .collect();
    fields.sort();
    (status, fields, body.to_owned())
}

/// Go: `ReverseProxy`, `UnannouncedTrailer`.
#[test]
fn status_fields_body_and_trailers_are_the_legacys_and_hops_end() {
    let (heard, answer) = through(
        "GET / HTTP/1.1\r\nHost: some-name\r\nConnection: close, TE\r\nTE: foo\r\nTE: bar, trailers\r\n\
         Proxy-Connection: should be deleted\r\nUpgrade: foo\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nTrailers: not a special field\r\nTrailer: X-Trailer\r\nX-Foo: bar\r\n\
         Upgrade: foo\r\nKeep-Alive: foo\r\nX-Multi-Value: foo\r\nX-Multi-Value: bar\r\n\
         Set-Cookie: flavor=chocolateChip\r\nTransfer-Encoding: chunked\r\n\r\n\
         10\r\nI am the backend\r\n0\r\nX-Trailer: trailer_value\r\nX-Unannounced: u\r\n\r\n",
    );
    assert_eq!(heard.all("host"), ["some-name"]);
    assert_eq!(heard.all("x-forwarded-for"), ["127.0.0.1"]);
    // TE is for one hop, so the mirror sends its own, and names it in Connection.
    assert_eq!(heard.all("te"), ["trailers"]);
    assert_eq!(heard.all("connection"), ["te"]);
    for gone in ["upgrade", "proxy-connection", "transfer-encoding"] {
        assert!(heard.all(gone).is_empty(), "{gone}");
    }
    let (status, fields, body) = lines(&answer);
    assert_eq!(status, "HTTP/1.1 404 Not Found");
    assert_eq!(
        fields,
        [
            "connection: close",
            "set-cookie: flavor=chocolateChip",
            "trailer: X-Trailer",
            "trailers: not a special field",
            "transfer-encoding: chunked",
            "x-foo: bar",
            "x-multi-value: bar",
            "x-multi-value: foo",
        ]
    );
    // What was not announced is dropped: hyper sends no other trailers, and RFC 9110 §6.5 lets a proxy do so.
    assert_eq!(
        body,
        "10\r\nI am the backend\r\n0\r\nx-trailer: trailer_value\r\n\r\n"
    );
}

/// Go: `StripHeadersPresentInConnection`, `StripEmptyConnection`.
#[test]
fn what_any_connection_line_nominates_ends_here() {
    for first in ["Upgrade, X-Token", "", ",, X-Token ,"] {
        let (heard, answer) = through(
            &format!(
                "GET / HTTP/1.1\r\nHost: h\r\nConnection: {first}\r\nConnection: X-Some, close\r\n\
                 X-Token: 1\r\nX-Some: 2\r\nX-Other: 3\r\n\r\n"
            ),
            &format!(
                "HTTP/1.1 200 OK\r\nConnection: {first}\r\nConnection: X-Some\r\nX-Token: 1\r\nX-Some: 2\r\n\
                 X-Other: 3\r\nContent-Length: 2\r\n\r\nhi"
            ),
        );
        let kept = if first.is_empty() { &["1"][..] } else { &[] };
        assert_eq!(heard.all("x-token"), kept, "{first}");
        assert_eq!(heard.all("x-some"), [""; 0], "{first}");
        assert_eq!(heard.all("connection"), [""; 0], "{first}");
        assert_eq!(heard.all("x-other"), ["3"]);
        let (_, fields, body) = lines(&answer);
        let mut expected = vec!["connection: close", "content-length: 2", "x-other: 3"];
        if first.is_empty() {
            expected.push("x-token: 1");
        }
        assert_eq!(fields, expected, "{first}");
        assert_eq!(body, "hi");
    }
}

/// Go: `XForwardedFor`, `RewriteStripsForwarded`, `UserAgentHeader`, `TestNilBody`, `NilBody`.
#[test]
fn the_legacy_hears_of_the_client_and_nothing_that_it_did_not_say() {
    let (heard, _) = through(
        "GET / HTTP/1.0\r\nX-Forwarded-For: client ip\r\nForwarded: for=x\r\nX-Forwarded-Host: x\r\n\r\n",
        OK,
    );
    assert_eq!(heard.all("x-forwarded-for"), ["client ip, 127.0.0.1"]);
    // Unlike Go's Rewrite: without a list of trusted proxies a client's claims are passed on, as they would reach the
    // legacy without us.
    assert_eq!(heard.all("forwarded"), ["for=x"]);
    assert_eq!(heard.all("x-forwarded-host"), ["x"]);
    // None of ours in place of what a client leaves out.
    let mut names: Vec<_> = heard.fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["forwarded", "host", "x-forwarded-for", "x-forwarded-host"]
    );
    assert!(heard.body.is_empty());
    for agent in ["explicit UA", ""] {
        let (heard, _) = through(
            &format!("GET / HTTP/1.0\r\nHost: h\r\nUser-Agent: {agent}\r\n\r\n"),
            OK,
        );
        assert_eq!(heard.all("user-agent"), [agent]);
    }
}

/// Go: `Query`, `QueryParameterSmuggling` in its four forms.
#[test]
fn a_query_is_passed_on_to_the_byte() {
    let many = "a=1&".repeat(10_000) + "a=1";
    for query in [
        "",
        "?",
        "?us=er",
        "?a=1&a=2;b=3",
        "?a=1&a=%zz&b=3",
        "?a=%zz",
        "?a=%00%0d%0a&b=[]{}|^`",
        "?%2e%2e/..//?x=y",
        &format!("?{many}"),
    ] {
        let (heard, _) = through(
            &format!("GET /a//b/../c%2F{query} HTTP/1.0\r\nHost: h\r\n\r\n"),
            OK,
        );
        assert_eq!(heard.target, format!("/a//b/../c%2F{query}"));
    }
}

/// Go: `Post`, and `TransferEncoding` of `ReverseProxy`.
#[test]
fn a_body_arrives_whole_in_the_framing_that_the_client_chose() {
    let origin = Origin::saying(OK);
    let body = vec![b'a'; 1 << 20];
    before(&origin, |address| {
        let answer = send(address, "POST", "/", &[], &body);
        assert_eq!((answer.status, answer.text().as_str()), (200, "hi"));
        let heard = origin.requests(1).remove(0);
        assert_eq!((heard.method.as_str(), heard.body == body), ("POST", true));
        assert_eq!(heard.all("content-length"), ["1048576"]);
        assert!(heard.all("transfer-encoding").is_empty());
    });
}

/// Go: `FlushInterval`, `FlushIntervalHeaders`.
#[test]
fn what_comes_early_is_passed_on() {
    for end in ["Content-Length: 10", "Transfer-Encoding: chunked", "X: y"] {
        // The legacy goes on only when the client has what came before.
        let (told, wait) = mpsc::sync_channel::<()>(0);
        let wait = std::sync::Mutex::new(wait);
        let origin = Origin::start(move |_, stream| {
            let wait = wait.lock().expect("no panic while held");
            let mut say = |text: &str| {
                drop(stream.write_all(text.as_bytes()));
                let _told = wait.recv_timeout(PATIENCE);
            };
            say(&format!("HTTP/1.1 200 OK\r\nMyHeader: hi\r\n{end}\r\n\r\n"));
            let chunked = end.starts_with("Transfer");
            say(if chunked { "5\r\nfirst\r\n" } else { "first" });
            let last = if chunked {
                "5\r\nafter\r\n0\r\n\r\n"
            } else {
                "after"
            };
            drop(stream.write_all(last.as_bytes()));
            Next::Close
        });
        before(&origin, |address| {
            let mut client = TcpStream::connect(address).expect("somebody listens");
            let patience = Some(PATIENCE);
            client.set_read_timeout(patience).expect("a socket option");
            let request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
            client.write_all(request.as_bytes()).expect("written");
            let mut got = String::new();
            for wanted in ["myheader: hi", "first"] {
                while !got.contains(wanted) || !got.contains("\r\n\r\n") {
                    let mut bytes = [0; 1024];
                    let length = client.read(&mut bytes).expect("what came before");
                    assert!(length > 0, "closed after {got:?}");
                    got.push_str(&String::from_utf8_lossy(&bytes[..length]));
                }
                assert!(!got.contains("after"), "{got}");
                told.send(()).expect("the legacy waits");
            }
            client.read_to_string(&mut got).expect("the rest");
            assert!(got.contains("after"), "{got}");
        });
    }
}

/// Go: `Cancellation`, `PanicClosesIncomingBody`.
#[test]
fn a_client_that_leaves_is_gone() {
    for request in [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody",
    ] {
        let origin = Origin::start(|_, stream| {
            // Nothing is said until the mirror hangs up.
            while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
            Next::Close
        });
        before(&origin, |address| {
            let mut client = TcpStream::connect(address).expect("somebody listens");
            client.write_all(request.as_bytes()).expect("written");
            origin.requests(1);
            // By a reset: one that only ends its side may still read, and is answered.
            let reset = Some(std::time::Duration::ZERO);
            SockRef::from(&client).set_linger(reset).expect("a socket");
            drop(client);
            origin.record();
        });
    }
}

/// Go: `CopyBuffer`, `PanicBodyError`.
#[test]
fn an_answer_that_breaks_off_breaks_off_for_the_client() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 84\r\n\r\nthis call was relayed by the reverse proxy",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2a\r\nthis call was relayed by the reverse proxy\r\n",
    ] {
        let origin = Origin::start(move |_, stream| {
            drop(stream.write_all(answer.as_bytes()));
            Next::Close
        });
        before(&origin, |address| {
            let mut client = Connection::open(address);
            client.send("GET", "/", &[], b"");
            assert_eq!(client.answer("GET"), None, "{answer}");
        });
    }
}

/// Go: the last part of `ReverseProxy`, `ErrorHandler` by default, `InvalidUpstream100ContinueDoNotHang`.
#[test]
fn a_legacy_that_does_not_answer_is_502() {
    let hanging_up = Origin::start(|_, _| Next::Close);
    for legacy in [nobody(), hanging_up.url()] {
        let place = Place::new();
        let mirror = place.mirror(&legacy, &nobody(), &[]);
        assert_eq!(mirror.get("/?mode=hangup").status, 502);
        assert_eq!(mirror.stop().0, 0);
    }
    // A client that waits to be asked for its body is answered instead.
    let place = Place::new();
    let mirror = place.mirror(&nobody(), &nobody(), &[]);
    let waiting = [("expect", "100-continue"), ("content-length", "16")];
    assert_eq!(send(mirror.address, "POST", "/", &waiting, b"").status, 502);
    assert_eq!(mirror.stop().0, 0);
}
