//! What is refused before anything starts.

use parity_mirror::{BindError, TlsError};

use crate::support::{Rig, Service, ok};

fn refused(rig: Rig) -> BindError {
    match rig.bind() {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error,
    }
}

#[test]
fn a_port_that_somebody_holds_is_an_error_with_a_hint() {
    let service = Service::saying(ok("a"));
    let running = Rig::new(&service, &service).start();
    let error = refused(Rig::new(&service, &service).listen(running.address));
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on {}: another process has it; stop that one or choose another port",
            running.address
        )
    );
}

#[test]
fn the_port_is_free_again_after_the_end() {
    let service = Service::saying(ok("a"));
    let mut first = Rig::new(&service, &service).workers(2).start();
    first.client().get("/");
    first.stop();
    let second = Rig::new(&service, &service).listen(first.address).start();
    assert_eq!(second.client().get("/").text(), "a");
}

#[test]
fn a_ca_file_is_checked_where_tls_is_asked_for() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let plain = Service::saying(ok("a"));
    let secure = || Service::refusing().at("https://localhost:1");
    let missing = folder.path().join("missing.pem");
    let error = refused(Rig::new(&plain, &secure()).ca_file(missing));
    assert!(
        matches!(error, BindError::Tls(TlsError::File { .. })),
        "{error}"
    );

    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate\n").expect("written");
    let error = refused(Rig::new(&plain, &secure()).ca_file(empty));
    assert!(
        matches!(error, BindError::Tls(TlsError::Empty { .. })),
        "{error}"
    );

    let broken = folder.path().join("broken.pem");
    let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&broken, text).expect("written");
    let error = refused(Rig::new(&secure(), &plain).ca_file(broken));
    assert!(
        matches!(error, BindError::Tls(TlsError::Authority { .. })),
        "{error}"
    );
}

#[test]
fn no_test_file_was_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).expect("this binary");
    for entry in std::fs::read_dir(folder).expect("this folder") {
        let name = entry.expect("readable").file_name();
        let name = name.to_str().expect("ASCII").trim_end_matches(".rs");
        let declared = main.contains(&format!("mod {name};"));
        assert!(name == "main" || declared, "{name} is not declared");
    }
}
