//! What a person on call reads first: clients now and before, the current incident, what is down or off, and links that still lead
//! somewhere when another candidate runs.

use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_or_tell;

/// Nobody listens there.
const NOBODY: &str = "http://127.0.0.1:1";
/// So many requests prove something with the allowed rate of the questions here.
const REQUESTS: u64 = 40;
const ALLOWED: &str = "max_mismatch_rate=0.2";

fn send(mirror: &Mirror<'_>) {
    for number in 0..REQUESTS {
        mirror.get(&format!("/items/{number}"));
    }
}

/// The overview, as soon as it says this. A store has what was counted a second later.
fn says(of: &Mirror<'_>, told: &[&str]) -> String {
    let page = || of.ask(&format!("/?{ALLOWED}")).text();
    wait_or_tell(
        || {
            let page = page();
            told.iter().all(|told| page.contains(told)).then_some(page)
        },
        || format!("{told:?} in {}", page()),
    )
}

fn version<'a>(place: &'a Place, legacy: &str, candidate: &str, version: &str) -> Mirror<'a> {
    place.mirror(legacy, candidate, &["--candidate-version", version])
}

#[test]
fn an_outage_of_the_legacy_is_told_under_the_next_candidate_and_its_difference_is_not() {
    let [legacy, right] = [0, 1].map(|_| Service::json("{\"a\":1}"));
    let wrong = Service::json("{\"a\":2}");
    let place = Place::new();
    let out = version(&place, NOBODY, &right.url(), "0.9");
    send(&out);
    for of in [&out, &place.ui()] {
        says(
            of,
            &[
                "<title>clients fail",
                "Clients get errors now",
                "40 of 40 requests",
                "all versions",
            ],
        );
    }
    says(&out, &["The legacy does not answer"]);
    out.stop();
    let first = version(&place, &legacy.url(), &wrong.url(), "1.0");
    send(&first);
    first.settled(REQUESTS);
    let differs = says(
        &first,
        &[
            "Candidate 1.0 differs since",
            "this version was first compared",
        ],
    );
    let groups = first.ask("/groups").text();
    let link = groups
        .split("href=\"")
        .find(|part| part.starts_with("/groups/"));
    let link = link
        .and_then(|part| part.split('"').next())
        .expect("a group");
    let link = link.replace("&#38;", "&");
    // The overview leads to it, and to its route.
    for wanted in [
        link.split('?').next().expect("a path"),
        "Route that fails",
        "/groups?max_mismatch_rate=0.2&#38;of_route=",
    ] {
        assert!(differs.contains(wanted), "{wanted}: {differs}");
    }
    first.stop();
    let second = version(&place, &legacy.url(), &right.url(), "2.0");
    send(&second);
    second.settled(REQUESTS);
    let ui = place.ui();
    for of in [&second, &ui] {
        // Clients do not care which candidate was beside.
        let page = says(
            of,
            &[
                "<title>clients fail",
                "40 × <code>legacy_unreachable</code>",
            ],
        );
        assert!(
            !page.contains("iffers since") && !page.contains("iffered from"),
            "{page}"
        );
        let group = of.ask(&link);
        assert_eq!(group.status, 200, "{}", group.text());
        let told = "Not seen under candidate 2.0: what stands here was seen under candidate 1.0.";
        assert!(group.text().contains(told), "{}", group.text());
        assert_eq!(of.ask("/groups/0123456789abcdef").status, 404);
    }
    let exchange = second
        .ask("/api/v1/mismatches?candidate_version=1.0")
        .json();
    let id = exchange["mismatches"][0]["id"]
        .as_str()
        .expect("one")
        .to_owned();
    let exchange = second.ask(&format!("/mismatches/{id}")).text();
    assert!(
        exchange.contains("candidate 1.0 ·") && !exchange.contains("0 µs /"),
        "{exchange}"
    );
    ui.stop();
    second.stop();
}

#[test]
fn what_is_down_or_off_is_told_first_and_marked() {
    let legacy = Service::json("{\"a\":1}");
    let place = Place::new();
    let mirror = version(&place, &legacy.url(), NOBODY, "1");
    let ui = place.ui();
    // After 50 failures the mirror leaves it alone.
    send(&mirror);
    send(&mirror);
    for of in [&mirror, &ui] {
        let page = says(of, &["Candidate down</strong>: since about "]);
        let [alarm, clients] = ["Candidate down", "Clients now: "].map(|text| page.find(text));
        assert!(alarm < clients && clients.is_some(), "{page}");
    }
    let off = client::send(mirror.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    assert_eq!(off.status, 200, "{}", off.text());
    for of in [&mirror, &ui] {
        says(
            of,
            &[
                "Shadowing is off</strong>: nothing of ",
                "it was stopped by the admin port",
            ],
        );
        let chart = of.ask("/history").text();
        assert!(
            chart.contains("shadowing was stopped: by the admin port"),
            "{chart}"
        );
        let audit = of.ask("/audit").text();
        assert!(
            audit.contains("are marks of the chart <a href=\"/history"),
            "{audit}"
        );
    }
    client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"");
    let on = || ui.ask("/").text();
    wait_or_tell(|| (!on().contains("Shadowing is off")).then_some(()), on);
    assert!(
        ui.ask("/history")
            .text()
            .contains("shadowing was started: ")
    );
    mirror.stop();
    says(
        &ui,
        &["No process records now</strong>: the last one ended at "],
    );
    ui.stop();
}

#[test]
fn who_may_only_look_is_told_so() {
    let service = Service::json("{\"a\":1}");
    let place = Place::new();
    place.write("changes", "0123456789abcdef0123456789abcdef");
    place.write("looks", "fedcba9876543210fedcba9876543210");
    let tokens = [
        "--admin-token-file",
        "changes",
        "--admin-look-token-file",
        "looks",
    ];
    let mirror = place.mirror(&service.url(), &service.url(), &tokens);
    for (token, is_told) in [
        ("Bearer fedcba9876543210fedcba9876543210", true),
        ("Bearer 0123456789abcdef0123456789abcdef", false),
    ] {
        let headers = [("authorization", token)];
        for path in ["/", "/groups", "/health"] {
            let page = client::send(mirror.admin, "GET", path, &headers, b"");
            assert_eq!(page.status, 200, "{path}");
            assert_eq!(
                page.text().contains(">look only</p>"),
                is_told,
                "{path}: {}",
                page.text()
            );
        }
    }
    mirror.stop();
}
