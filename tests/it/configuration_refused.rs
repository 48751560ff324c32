//! What a mirror refuses at its start is what `config check` refuses, with the place in the file.

use crate::configuration::{UPSTREAMS, refused};
use crate::support::process::Place;

#[test]
fn names_that_redaction_refuses_are_told_with_their_line() {
    refused(
        &format!(
            "{UPSTREAMS}[redact]\nkeep_headers = [\"authorization\", \"x-id\", \"x id\"]\nmask_keys = [\"iban\", \"--\"]\n"
        ),
        &[
            "parity.toml:5:1: redact.keep_headers: `authorization` carries credentials",
            "remove it",
            "parity.toml:5:1: redact.keep_headers: `x id` is not a header name",
            "parity.toml:6:1: redact.mask_keys: `--` names no key",
        ],
    );
}

#[test]
fn files_of_certificates_that_cannot_be_used_are_told_with_their_line() {
    let place = Place::new();
    let none = place.write("none.pem", "no certificate\n");
    let none = none.display();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let certificate = place.write("certificate.pem", made.cert.pem());
    let certificate = certificate.display();
    let other = rcgen::KeyPair::generate().expect("a key");
    let other = place.write("other.pem", other.serialize_pem());
    let other = other.display();
    let tls = |certificate: &dyn std::fmt::Display, key: &dyn std::fmt::Display| {
        format!("{UPSTREAMS}tls_certificate_file = \"{certificate}\"\ntls_key_file = \"{key}\"\n")
    };
    for (text, words) in [
        (
            tls(&none, &none),
            "parity.toml:4:1: mirror.tls_certificate_file: ",
        ),
        (
            tls(&certificate, &none),
            "parity.toml:5:1: mirror.tls_key_file: ",
        ),
        (
            tls(&certificate, &other),
            "parity.toml:5:1: mirror.tls_key_file: the certificate in ",
        ),
        (
            format!(
                "[mirror]\nlegacy = \"http://127.0.0.1:7001\"\ncandidate = \"https://127.0.0.1:7002\"\nca_file = \"{none}\"\n"
            ),
            "parity.toml:4:1: mirror.ca_file: ",
        ),
    ] {
        refused(&text, &[words]);
    }
}

#[test]
fn one_port_for_clients_and_for_the_admin_is_refused() {
    let place = Place::new();
    for (listen, admin, same) in [
        ("127.0.0.1:8080", "127.0.0.1:8080", true),
        ("0.0.0.0:8080", "127.0.0.1:8080", true),
        ("127.0.0.1:8080", "127.0.0.1:8081", false),
        ("127.0.0.1:0", "127.0.0.1:0", false),
        ("127.0.0.2:8080", "127.0.0.1:8080", false),
    ] {
        let text = format!("{UPSTREAMS}listen = \"{listen}\"\nadmin = \"{admin}\"\n");
        place.write("parity.toml", text);
        let ended = place.run(&["config", "check"]);
        assert_eq!(ended.code, if same { 2 } else { 0 }, "{}", ended.stderr);
        let words =
            format!("parity.toml:5:1: mirror.admin: {admin} is where mirror.listen listens");
        assert_eq!(ended.stderr.contains(&words), same, "{}", ended.stderr);
    }
}
