//! Services behind a Unix socket and behind TLS.

use std::io::{Read as _, Write as _};

use parity_schemas::verdict::Reason;
use socket2::{Domain, SockAddr, Socket, Type};
use tempfile::TempDir;

use crate::support::authority::Authority;
use crate::support::{Rig, Service, ok};

#[test]
fn both_sides_behind_tls_of_a_private_authority() {
    let authority = Authority::new();
    let legacy = Service::tls(authority.server(&[]), &ok("legacy"));
    let candidate = Service::tls(authority.server(&[]), &ok("candidate"));
    let mirror = Rig::new(&legacy, &candidate)
        .ca_file(authority.file.clone())
        .start();
    let mut client = mirror.client();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "legacy");
        let exchange = mirror.ledger.exchange();
        assert_eq!(&*exchange.candidate.body.contiguous(), b"candidate");
    }
    assert_eq!((legacy.connections(), candidate.connections()), (1, 1));
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let stranger = Service::tls(theirs.server(&[]), &ok("stranger"));

    let mirror = Rig::new(&Service::saying(ok("legacy")), &stranger)
        .ca_file(ours.file.clone())
        .start();
    assert_eq!(mirror.client().get("/").text(), "legacy");
    assert_eq!(mirror.ledger.reason(), Reason::CandidateTls);

    let mirror = Rig::new(&stranger, &Service::saying(ok("candidate")))
        .ca_file(ours.file.clone())
        .start();
    assert_eq!(mirror.client().get("/").status(), 502);
    assert_eq!(mirror.ledger.reason(), Reason::LegacyUnreachable);
    assert!(stranger.seen().is_empty());
}

#[test]
fn a_service_that_does_not_speak_tls_is_a_tls_failure() {
    let authority = Authority::new();
    let plain = Service::raw(|mut conn| {
        conn.say("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let port = plain.address().port();
    let candidate = Service::refusing().at(&format!("https://localhost:{port}"));
    let mirror = Rig::new(&Service::saying(ok("legacy")), &candidate)
        .ca_file(authority.file.clone())
        .start();
    assert_eq!(mirror.client().get("/").text(), "legacy");
    assert_eq!(mirror.ledger.reason(), Reason::CandidateTls);
}

#[test]
fn both_sides_behind_unix_sockets() {
    let folder = TempDir::new().expect("a folder");
    let legacy = Service::unix(&folder.path().join("legacy"), &ok("legacy"));
    let candidate = Service::unix(&folder.path().join("candidate"), &ok("candidate"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "legacy");
        mirror.ledger.exchange();
    }
    assert_eq!((legacy.connections(), candidate.connections()), (1, 1));
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.reply().status(), 200);
    assert_eq!(legacy.requests(4)[3].header("host"), ["localhost"]);
}

#[test]
fn a_unix_socket_that_is_not_there_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("nobody");
    let nobody = Service::refusing().at(&format!("unix:{}", path.display()));
    let mirror = Rig::new(&Service::saying(ok("legacy")), &nobody).start();
    assert_eq!(mirror.client().get("/").text(), "legacy");
    assert_eq!(mirror.ledger.reason(), Reason::CandidateRefused);
}

#[test]
fn a_full_backlog_of_a_unix_socket_is_waited_for() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("legacy");
    let listener = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
    let address = SockAddr::unix(&path).expect("a path");
    listener.bind(&address).expect("a free path");
    listener.listen(0).expect("a socket");
    let mut waiting = Vec::new();
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
        socket.set_nonblocking(true).expect("a socket");
        match socket.connect(&address) {
            Ok(()) => waiting.push(socket),
            Err(_) => break,
        }
    }
    let legacy = Service::refusing().at(&format!("unix:{}", path.display()));
    let candidate = Service::saying(ok("a"));
    let mirror = Rig::new(&legacy, &candidate).start();
    let mut client = mirror.client();
    client.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n");
    mirror.ledger.wait_received(1);
    for _ in &waiting {
        listener.accept().expect("it waits");
    }
    let (mut stream, _) = listener.accept().expect("the mirror comes");
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("a request");
    stream.write_all(ok("late").as_bytes()).expect("written");
    assert_eq!(client.reply().text(), "late");
}
