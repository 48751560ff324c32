//! The admin port by TLS.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{CHANGES, bearer};
use crate::support::PATIENCE;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Service, nobody};
use crate::support::wait_for;

const FILES: [&str; 4] = [
    "--admin-tls-certificate-file",
    "certificate.pem",
    "--admin-tls-key-file",
    "key.pem",
];

/// Writes a new certificate for `localhost` and its key, and returns it.
fn certificate(place: &Place) -> String {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    place.write("key.pem", own.signing_key.serialize_pem());
    place.write("certificate.pem", own.cert.pem());
    own.cert.pem()
}

/// GET by TLS from who trusts this certificate alone. What went wrong is an error.
fn ask(
    address: SocketAddr,
    trusted: &str,
    path: &str,
    protocols: &[&[u8]],
) -> Result<String, String> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(trusted.as_bytes()).expect("a certificate");
    roots.add(certificate).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    let session = ClientConnection::new(Arc::new(config), name).expect("a session");
    let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    let mut stream = StreamOwned::new(session, stream);
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\nconnection: close\r\n\r\n",
        bearer(CHANGES)
    );
    let mut answer = String::new();
    stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.read_to_string(&mut answer))
        .map_err(|error| error.to_string())?;
    Ok(answer)
}

fn is_ready(address: SocketAddr, trusted: &str) -> bool {
    ask(address, trusted, "/readyz", &[]).is_ok_and(|answer| answer.ends_with("ready\n"))
}

fn start<'a>(place: &'a Place, services: [&str; 2], more: &[&str]) -> Mirror<'a> {
    let mut arguments = vec![
        "mirror",
        "--legacy",
        services[0],
        "--candidate",
        services[1],
    ];
    arguments.extend(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    arguments.extend(more);
    let mut mirror = place.start(&mut place.command(&arguments));
    mirror.address = mirror.announced("listening on http://");
    mirror.admin = mirror.announced("admin port on https://");
    mirror
}

#[test]
fn the_port_is_reached_by_tls_alone_and_takes_a_new_certificate() {
    let place = Place::new();
    let first = certificate(&place);
    place.write("changes", CHANGES);
    let service = Service::json("{}");
    let more = [&FILES[..], &["--admin-token-file", "changes"]].concat();
    let mirror = start(&place, [&service.url(), &nobody()], &more);
    for protocols in [
        &[][..],
        &[b"http/1.1".as_slice()],
        &[b"h2".as_slice(), b"http/1.1"],
    ] {
        let answer = ask(mirror.admin, &first, "/api/v1/status", protocols).expect("by TLS");
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("\"ready\":true"),
            "{answer}"
        );
    }
    // Who speaks HTTP/2 alone is told so in the handshake.
    assert!(ask(mirror.admin, &first, "/", &[b"h2"]).is_err());
    // Who speaks no TLS gets no answer, and the port goes on.
    let mut clear = TcpStream::connect(mirror.admin).expect("it listens");
    clear.set_read_timeout(Some(PATIENCE)).expect("an option");
    clear
        .write_all(b"GET /api/v1/status HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .expect("sent");
    let mut answer = Vec::new();
    let _end = clear.read_to_end(&mut answer);
    assert!(
        !answer.starts_with(b"HTTP"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert!(is_ready(mirror.admin, &first));
    // A certificate that cannot be used is refused as a whole, and the old one stays.
    place.write("certificate.pem", "nothing");
    mirror.signal("HUP");
    wait_for("a refusal", || {
        mirror
            .log()
            .contains("configuration not reloaded")
            .then_some(())
    });
    assert!(mirror.log().contains("certificate.pem"), "{}", mirror.log());
    assert!(is_ready(mirror.admin, &first));
    let second = certificate(&place);
    mirror.signal("HUP");
    wait_for("the new certificate", || {
        is_ready(mirror.admin, &second).then_some(())
    });
    assert!(!is_ready(mirror.admin, &first));
    mirror.stop();
}

#[test]
fn parity_ui_is_reached_by_tls_too() {
    let place = Place::new();
    let trusted = certificate(&place);
    let mirror = place.mirror(&nobody(), &nobody(), &[]);
    mirror.stop();
    let mut command = place.command(&["ui", "--admin", "127.0.0.1:0"]);
    let mut ui = place.start(command.args(FILES));
    ui.admin = ui.announced("serving https://");
    assert!(ask(ui.admin, &trusted, "/", &[]).is_ok_and(|page| page.contains("<h1>")));
    ui.stop();
}

#[test]
fn files_that_cannot_be_used_are_named_with_what_is_wrong() {
    let place = Place::new();
    certificate(&place);
    let other =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    place.write("other.pem", other.signing_key.serialize_pem());
    place.write("nothing.pem", "nothing\n");
    place.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n",
    );
    for section in ["mirror", "sink"] {
        for (files, told) in [
            ([Some("missing.pem"), Some("key.pem")], "missing.pem"),
            (
                [Some("nothing.pem"), Some("key.pem")],
                "nothing.pem holds no certificate",
            ),
            ([Some("broken.pem"), Some("key.pem")], "broken.pem"),
            (
                [Some("certificate.pem"), Some("nothing.pem")],
                "nothing.pem holds no private key",
            ),
            (
                [Some("certificate.pem"), Some("other.pem")],
                "cannot be used together",
            ),
            ([Some("certificate.pem"), None], "belong together"),
            ([None, Some("key.pem")], "belong together"),
        ] {
            let mut text = if section == "mirror" {
                "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"http://127.0.0.1:7002\"\n".to_owned()
            } else {
                "[sink]\nkafka = \"kafka://127.0.0.1:1/t\"\nclickhouse = \"clickhouse://u@127.0.0.1:1/d\"\n".to_owned()
            };
            for (name, file) in ["certificate", "key"].iter().zip(files) {
                if let Some(file) = file {
                    writeln!(text, "admin_tls_{name}_file = \"{file}\"").expect("to a text");
                }
            }
            place.write("parity.toml", text);
            let ended = place.run(&["config", "check"]);
            assert_eq!(ended.code, 2, "{files:?}: {}", ended.stderr);
            assert!(ended.stderr.contains(told), "{files:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_token_in_clear_off_loopback_is_warned_of() {
    let place = Place::new();
    certificate(&place);
    place.write("changes", CHANGES);
    let warning = "its token travels in clear";
    for (tls, scheme) in [(&FILES[..], "https"), (&[], "http")] {
        // Loopback has addresses that are none by name: all of them.
        let mut arguments = vec![
            "mirror",
            "--legacy",
            "http://127.0.0.1:1",
            "--candidate",
            "http://127.0.0.1:2",
        ];
        arguments.extend(["--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0"]);
        arguments.extend(["--admin-token-file", "changes"]);
        arguments.extend(tls);
        let mut mirror = place.start(&mut place.command(&arguments));
        mirror.announced(&format!("admin port on {scheme}://"));
        assert_eq!(
            mirror.log().contains(warning),
            tls.is_empty(),
            "{}",
            mirror.log()
        );
        mirror.stop();
    }
}
