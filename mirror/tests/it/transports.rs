//! Services behind a Unix socket and behind TLS.

use parity_schemas::verdict::Reason;
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
