//! The unit and the Dockerfile of docs/production.md. What needs neither systemd nor Docker is done as they would do it.

use std::process::Command;

use super::only;
use crate::support::process::Place;
use crate::support::root;
use crate::support::service::Service;
use crate::support::wait_for;

/// The value of a key of the unit.
fn of_unit(key: &str) -> String {
    let unit = only("ini", "systemd");
    let value = unit
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value
        .unwrap_or_else(|| panic!("the unit has no {key}"))
        .to_owned()
}

/// The rest of the one line of the Dockerfile that begins like this.
fn of_dockerfile(instruction: &str) -> String {
    let text = only("dockerfile", "");
    let mut found = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(instruction)?;
        Some(rest.trim().to_owned())
    });
    let value = found.next();
    assert!(found.next().is_none(), "{instruction} is not unique");
    value.unwrap_or_else(|| panic!("the Dockerfile has no {instruction}"))
}

#[test]
fn the_unit_starts_reloads_and_ends_a_mirror() {
    let (legacy, candidate, place) = (Service::json("{}"), Service::json("{}"), Place::new());
    let configuration = format!(
        "[mirror]\nlegacy = \"{}\"\ncandidate = \"{}\"\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n",
        legacy.url(),
        candidate.url()
    );
    let file = place.write("service.toml", configuration);
    let start = of_unit("ExecStart").replace(
        "/etc/parity/parity.toml",
        file.to_str().expect("a path in UTF-8"),
    );
    let words: Vec<&str> = start.split(' ').collect();
    let ["/usr/local/bin/parity", words @ ..] = words.as_slice() else {
        panic!("{start}");
    };
    let mut mirror = place.start(&mut place.command(words));
    mirror.address = mirror.announced("listening on http://");
    mirror.admin = mirror.announced("admin port on http://");
    assert_eq!(mirror.ask("/readyz").status, 200);
    let folder = of_unit("WorkingDirectory");
    assert_eq!(folder, format!("/var/lib/{}", of_unit("StateDirectory")));
    assert!(
        place.path().join("parity.db").exists(),
        "the record is there"
    );
    let reloaded = Command::new("bash")
        .args(["-c", &of_unit("ExecReload")])
        .env("MAINPID", mirror.pid().to_string())
        .status();
    assert!(reloaded.expect("bash runs").success());
    wait_for("a reload", || {
        mirror
            .log()
            .contains("configuration reloaded")
            .then_some(())
    });
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
}

#[test]
fn the_dockerfile_builds_this_program_with_its_rust() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("readable");
    let image = of_dockerfile("FROM rust:");
    let version = image.split('-').next().unwrap_or_default();
    assert!(
        manifest.contains(&format!("rust-version = \"{version}\"")),
        "{image}"
    );
    // What is built must find the C library of the system that it runs on.
    let system = |image: &str| {
        image
            .split([' ', '-'])
            .nth(1)
            .unwrap_or_default()
            .to_owned()
    };
    let runs_on = of_dockerfile("FROM debian:");
    assert_eq!(Some(system(&image).as_str()), runs_on.split('-').next());
    // The commands below the Dockerfile begin with the program.
    assert_eq!(of_dockerfile("ENTRYPOINT"), "[\"parity\"]");
    assert_eq!(of_dockerfile("WORKDIR"), of_dockerfile("VOLUME"));
}
