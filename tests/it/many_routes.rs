//! More paths than the record has routes for: a differing route must not disappear among them.

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};

/// As many routes as one process counts under names of their own.
const ROUTES: usize = 1_000;

fn service(who: &'static str) -> Service {
    Service::start(move |request| {
        let broken = request.target.starts_with("/broken") || request.target.starts_with("/named");
        Answer::json(format!(
            "{{\"a\":\"{}\"}}",
            if broken { who } else { "same" }
        ))
    })
}

fn send(mirror: &Mirror<'_>, method: &str, targets: impl Iterator<Item = String>) {
    let mut connection = Connection::open(mirror.address);
    for target in targets {
        connection.send(method, &target, &[], b"");
        assert_eq!(connection.answer(method).expect("answered").status, 200);
    }
}

/// A word that does not look like an id.
fn word(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap_or_default());
    [number / 676, number / 26, number]
        .map(letter)
        .iter()
        .collect()
}

#[test]
fn a_broken_route_does_not_pass_behind_a_thousand_paths_that_somebody_tried() {
    let place = Place::new();
    let (legacy, candidate) = (service("legacy"), service("candidate"));
    place.write("parity.toml", "[[route]]\nmatch = \"GET /named/{id}\"\n");
    let mirror = place.mirror(
        &legacy.url(),
        &candidate.url(),
        &["--config", "parity.toml"],
    );
    send(
        &mirror,
        "POST",
        (0..ROUTES).map(|number| format!("/x{}", word(number))),
    );
    send(&mirror, "GET", (0..3).map(|_| "/broken/it".to_owned()));
    send(&mirror, "GET", (0..8_000).map(|_| "/same".to_owned()));
    let hidden = place.run(&["gate"]);
    assert_eq!(hidden.code, 3, "{}", hidden.stdout);
    assert!(
        hidden
            .stdout
            .contains("_other: 3 of 8,003 differ, on routes that are counted together"),
        "{}",
        hidden.stdout
    );
    // A route that the configuration names is counted separately.
    send(&mirror, "GET", (0..3).map(|id| format!("/named/{id}")));
    let named = place.run(&["gate"]);
    assert_eq!(named.code, 1, "{}", named.stdout);
    assert!(
        named
            .stdout
            .contains("GET /named/{id}: at least 10.84 % differ"),
        "{}",
        named.stdout
    );
    assert_eq!(mirror.stop().0, 0);
}
