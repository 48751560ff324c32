//! Clients that use TLS, and services that choose their HTTP version in the handshake.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use http::Response;
use parity_mirror::{BindError, Target, TlsError};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::support::authority::Authority;
use crate::support::h2::{Act, H2Service};
use crate::support::h2_client::H2Client;
use crate::support::{Rig, Running, Service, ok};

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").expect("a name")
}

/// One exchange of HTTP/1.1 by TLS, read until the mirror closes.
fn ask(mirror: &Running, authority: &Authority, protocols: &[&str], request: &str) -> String {
    let session = ClientConnection::new(authority.client(protocols), localhost());
    let stream = TcpStream::connect(mirror.address).expect("the mirror listens");
    let mut stream = StreamOwned::new(session.expect("a session"), stream);
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    // The end may come without TLS's own farewell.
    let _end = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

#[test]
fn clients_choose_http2_or_http1_in_the_handshake() {
    let authority = Authority::new();
    let service = Service::saying(ok("legacy"));
    let files = authority.files.clone();
    let mirror = Rig::new(&service, &service)
        .policy(|policy| {
            policy.tls = Some(files);
            policy.forwarding.x_forwarded_origin = true;
        })
        .start();
    let request = "GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    for protocols in [&["http/1.1"][..], &[]] {
        let answer = ask(&mirror, &authority, protocols, request);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nlegacy"), "{answer}");
    }
    let connector = tokio_rustls::TlsConnector::from(authority.client(&["h2"]));
    let address = mirror.address;
    let mut client = H2Client::over(async move {
        let stream = tokio::net::TcpStream::connect(address).await;
        connector
            .connect(localhost(), stream.expect("the mirror listens"))
            .await
            .expect("a session")
    });
    assert_eq!(client.get("/").body, b"legacy");
    mirror.ledger.exchanges(3);
    let request = &service.requests(1)[0];
    assert_eq!(request.header("x-forwarded-proto"), ["https"]);
}

#[test]
fn a_client_that_does_not_speak_tls_harms_nobody() {
    let authority = Authority::new();
    let service = Service::saying(ok("legacy"));
    let files = authority.files.clone();
    let mirror = Rig::new(&service, &service)
        .policy(|policy| policy.tls = Some(files))
        .start();
    let mut plain = mirror.client();
    plain.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    assert!(plain.try_reply("GET").is_none());
    let request = "GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    let answer = ask(&mirror, &authority, &["http/1.1"], request);
    assert!(answer.ends_with("legacy"), "{answer}");
}

#[test]
fn a_handshake_that_stands_still_ends_in_time() {
    let authority = Authority::new();
    let service = Service::saying(ok("legacy"));
    let files = authority.files.clone();
    let mirror = Rig::new(&service, &service)
        .policy(|policy| policy.tls = Some(files))
        .limits(|limits| limits.header_read = std::time::Duration::from_millis(50))
        .start();
    let mut slow = mirror.client();
    slow.send([0x16, 3, 1]);
    assert_eq!(slow.rest(), b"");
}

#[test]
fn a_key_of_another_certificate_and_files_without_either_are_refused() {
    let (one, other) = (Authority::new(), Authority::new());
    let service = Service::saying(ok("a"));
    let refused = |certificate: &std::path::Path, key: &std::path::Path| {
        let files = parity_mirror::ServerTls {
            certificate_file: certificate.to_owned(),
            key_file: key.to_owned(),
        };
        let rig = Rig::new(&service, &service).policy(|policy| policy.tls = Some(files));
        match rig.bind() {
            Err(BindError::Tls(error)) => error,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("accepted"),
        }
    };
    let (certificate, key) = (&one.files.certificate_file, &one.files.key_file);
    let error = refused(certificate, &other.files.key_file);
    assert!(matches!(error, TlsError::Pair { .. }), "{error}");
    let error = refused(certificate, certificate);
    assert!(matches!(error, TlsError::NoKey { .. }), "{error}");
    let error = refused(key, key);
    assert!(matches!(error, TlsError::Empty { .. }), "{error}");
}

#[test]
fn services_choose_http2_or_http1_in_the_handshake() {
    let authority = Authority::new();
    for (protocols, connections) in [(&["h2"][..], 1), (&["h2", "http/1.1"], 1)] {
        let legacy = H2Service::tls(authority.server(protocols), |_| {
            Act::Answer(Response::new(()), vec![b"two"], None)
        });
        let candidate = Service::tls(authority.server(&["http/1.1"]), &ok("two"));
        let url = legacy.tls_url();
        let mirror = Rig::new(&candidate, &candidate)
            .policy(|policy| policy.legacy = Target::new(url.parse().expect("a URL")))
            .ca_file(authority.file.clone())
            .start();
        let mut client = mirror.client();
        for _ in 0..3 {
            assert_eq!(client.get("/").text(), "two");
            mirror.ledger.exchange();
        }
        assert_eq!(
            (legacy.connections(), candidate.connections()),
            (connections, 1)
        );
        assert_eq!(legacy.seen()[0].head.uri.scheme_str(), Some("https"));
    }
}

#[test]
fn an_upgrade_goes_by_http1_also_to_a_service_that_prefers_http2() {
    let authority = Authority::new();
    let switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhello";
    let config = authority.server(&["h2", "http/1.1"]);
    let legacy = Service::tls(Arc::clone(&config), switching);
    let mirror = Rig::new(&legacy, &Service::refusing())
        .ca_file(authority.file.clone())
        .start();
    let mut client = mirror.client();
    client
        .send("GET / HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    assert!(client.head().expect("a head").starts_with("HTTP/1.1 101 "));
    client.read_until(b"hello");
}
