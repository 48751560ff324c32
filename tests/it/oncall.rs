//! What a person on call reads first: clients now and before, the current incident, what is down or off, and links that still lead
//! somewhere when another candidate runs.

use parity_schemas::time::Timestamp;

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
    // The mirror knows its own seconds, and the record minutes.
    for (of, when) in [
        (&out, "Clients get errors now"),
        (&place.ui(), "Clients got errors since "),
    ] {
        says(
            of,
            &[
                "<title>clients fail",
                when,
                "40 of 40 requests",
                "all versions",
            ],
        );
    }
    says(
        &out,
        &[
            "The legacy does not answer",
            "no answer of the legacy at this moment",
        ],
    );
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
        exchange.contains("candidate 1.0 ·") && !exchange.contains("· 0 µs /"),
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
    let before = Timestamp::now();
    // After 50 failures the mirror leaves it alone.
    send(&mirror);
    send(&mirror);
    // The record counts by minutes, and knows nothing of now.
    let recorded = "Clients, in the last minute that is recorded (since ";
    for (of, when) in [(&mirror, "Clients now: "), (&ui, recorded)] {
        let page = says(of, &["Candidate down</strong>: since ", when]);
        let [alarm, clients] = ["Candidate down", when].map(|text| page.find(text));
        assert!(alarm < clients && clients.is_some(), "{page}");
    }
    // The mirror has seen it begin, and has written it into the record: so both say the same, each once it has counted them.
    let since = mirror.ask("/api/v1/status").json()["candidate_failing_since"].clone();
    let since = since.as_str().and_then(|since| since.parse().ok());
    let since: Timestamp = since.expect("a time");
    // What is noticed is told to within a quarter of a second, which may be of the minute before, in which it was asked, or of the next one.
    let minutes = [before, since, since.saturating_add_micros(1_000_000)].map(|time| {
        let text = time.to_string();
        format!(" {}", text.get(11..17).expect("a minute"))
    });
    let alarm = "Candidate down</strong>: since";
    let is_told = |page: &str| {
        let told = page.split(alarm).nth(1).and_then(|told| told.get(..25));
        let mut minutes = minutes.iter();
        told.is_some_and(|told| minutes.any(|minute| told.contains(minute.as_str())))
            && page.contains(" requests failed")
            && page.contains(" not sent to it")
    };
    for of in [&mirror, &ui] {
        let page = || of.ask(&format!("/?{ALLOWED}")).text();
        let page = wait_or_tell(
            || Some(page()).filter(|page| is_told(page)),
            || format!("{minutes:?}: {}", page()),
        );
        assert!(!page.contains("since between"), "{page}");
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

/// Nobody knows whether a service answers that was asked nothing.
#[test]
fn a_service_is_not_told_to_answer_before_it_was_asked() {
    let service = Service::json("{\"a\":1}");
    let place = Place::new();
    let off = ["--shadow", "off"];
    let mirror = place.mirror(&service.url(), NOBODY, &off);
    let told = |path: &str| mirror.ask(path).text();
    let status = |name: &str| mirror.ask("/api/v1/status").json()[name].clone();
    let top = || {
        let admin = mirror.admin.to_string();
        place.run(&["top", "--once", "--admin", &admin]).stdout
    };
    let health = told("/health");
    assert_eq!(health.matches("<dd>not asked yet: ").count(), 2, "{health}");
    let seen = top();
    assert!(
        seen.contains("legacy not asked yet · candidate not asked yet"),
        "{seen}"
    );
    assert_eq!(status("legacy_asked"), false);
    assert_eq!(status("candidate_asked"), false);
    mirror.get("/items/1");
    let health = told("/health");
    assert!(
        health.contains("<dt>Legacy</dt><dd>answered the last request</dd>")
            && health.contains("<dt>Candidate</dt><dd>not asked yet: "),
        "{health}"
    );
    let seen = top();
    assert!(
        seen.contains("legacy answers · candidate not asked yet"),
        "{seen}"
    );
    // One failure does not make it down, and is no answer.
    client::send(mirror.admin, "POST", "/api/v1/shadowing/on", &[], b"");
    mirror.get("/items/2");
    wait_or_tell(
        || (status("candidate_asked") == true).then_some(()),
        || told("/health"),
    );
    assert_eq!(status("candidate_reachable"), true);
    let health = told("/health");
    assert!(
        health.contains("failed on the last requests, since "),
        "{health}"
    );
    let seen = top();
    assert!(
        seen.contains("candidate fails since ") && !seen.contains("candidate answers"),
        "{seen}"
    );
    mirror.stop();
}

/// Two mirrors with a version each. What the one counts says nothing of the other, on any page.
#[test]
fn two_candidates_side_by_side_are_told_apart() {
    let legacy = Service::json("{\"a\":1}");
    let [right, wrong] = ["{\"a\":1}", "{\"a\":2}"].map(Service::json);
    let place = Place::new();
    let of = |instance, version, candidate: &str| {
        let flags = ["--instance", instance, "--candidate-version", version];
        place.mirror(&legacy.url(), candidate, &flags)
    };
    let (one, two) = (
        of("one", "1.0", &wrong.url()),
        of("two", "2.0", &right.url()),
    );
    // In turn, so that both count in each minute.
    for number in 0..REQUESTS {
        for mirror in [&one, &two] {
            mirror.get(&format!("/items/{number}"));
        }
    }
    let ui = place.ui();
    let all = || ui.ask("/api/v1/history").json();
    wait_or_tell(
        || {
            let buckets = all()["buckets"].as_array()?.clone();
            let compared = buckets.iter().filter_map(|one| one["compared"].as_u64());
            (compared.sum::<u64>() == 2 * REQUESTS).then_some(())
        },
        || all().to_string(),
    );
    let of_version = |version: &str| format!("{ALLOWED}&candidate_version={version}");
    let page = |version: &str| ui.ask(&format!("/history?{}", of_version(version))).text();
    let first = page("1.0");
    for told in [
        "<summary>Routes over time, candidate 1.0 alone</summary>",
        "<td>40</td><td>40</td>",
    ] {
        assert!(first.contains(told), "{told}: {first}");
    }
    let second = page("2.0");
    assert!(
        !second.contains("Routes over time") && !second.contains("50 %"),
        "{second}"
    );
    // In as many minutes as the requests took.
    for (page, version, rate) in [(&first, "1.0", "100"), (&second, "2.0", "0")] {
        let end = format!(" (candidate {version} alone)");
        let begin = format!(": {rate} % differ, ");
        let told: Vec<&str> = page.split_inclusive(&end).collect();
        let bars = told.iter().filter_map(|part| part.strip_suffix(&end));
        let mut count = 0;
        for bar in bars {
            let (differing, compared) = bar
                .rsplit_once(&begin)
                .and_then(|(_, counts)| counts.split_once(" of "))
                .unwrap_or_else(|| panic!("{begin} is not at the end of {bar}"));
            assert_eq!(differing, if rate == "0" { "0" } else { compared });
            count += 1;
        }
        assert!(count > 0, "{end}: {page}");
    }
    let history = ui.ask(&format!("/api/v1/history?{ALLOWED}")).json();
    let newest = history["of_candidate"].as_str().expect("two versions");
    let differing = if newest == "1.0" { 40 } else { 0 };
    assert_eq!(history["routes"][0]["compared"], 40, "{history}");
    assert_eq!(history["routes"][0]["differing"], differing, "{history}");
    two.stop();
    // The next one is down, while the first one goes on to answer.
    let three = of("three", "3.0", NOBODY);
    // After 50 failures it is left alone.
    for mirror in [&one, &three, &three] {
        send(mirror);
    }
    for of in [&ui, &one] {
        let page = says(
            of,
            &["Candidate 3.0 down</strong>: since ", " not sent to it"],
        );
        assert!(!page.contains("Candidate 1.0 "), "{page}");
    }
    let top = || {
        let admin = ui.admin.to_string();
        place.run(&["top", "--once", "--admin", &admin]).stdout
    };
    wait_or_tell(
        || top().contains("CANDIDATE 3.0 DOWN since ").then_some(()),
        top,
    );
    for mirror in [ui, one, three] {
        mirror.stop();
    }
}

/// Whoever reads that a route differs takes it for all of the route.
#[test]
fn that_all_mismatches_of_a_group_are_of_one_target_is_told() {
    let [legacy, wrong] = ["{\"a\":1}", "{\"a\":2}"].map(Service::json);
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &wrong.url(), &[]);
    for _ in 0..8 {
        mirror.get("/orders/7");
    }
    let group = |told: &str| {
        let groups = mirror.ask("/api/v1/groups").json();
        let name = groups["groups"][0]["group"]["fingerprint"]
            .as_str()?
            .to_owned();
        let page = mirror.ask(&format!("/groups/{name}")).text();
        page.contains(told).then_some(page)
    };
    let text = || group("<h1>").unwrap_or_default();
    wait_or_tell(
        || group("<dd id=\"alike\">all 8 stored mismatches are of GET /orders/7</dd>"),
        text,
    );
    mirror.get("/orders/8");
    wait_or_tell(
        || {
            group(
                "the 9 stored mismatches are of 2 targets only: GET /orders/7 (8), GET /orders/8 (1)",
            )
        },
        text,
    );
    for number in 0..REQUESTS {
        mirror.get(&format!("/orders/{number}"));
    }
    wait_or_tell(
        || group("older ones").filter(|page| !page.contains("id=\"alike\"")),
        text,
    );
    mirror.stop();
}

/// Who stopped shadowing, and that a restart has it on again.
#[test]
fn a_restart_that_shadows_again_has_its_line_and_its_mark() {
    let service = Service::json("{\"a\":1}");
    let place = Place::new();
    let first = place.mirror(&service.url(), &service.url(), &[]);
    send(&first);
    first.settled(REQUESTS);
    client::send(first.admin, "POST", "/api/v1/shadowing/off", &[], b"");
    let refused = [("origin", "http://evil.example")];
    let foreign = client::send(first.admin, "POST", "/api/v1/shadowing/on", &refused, b"");
    assert_eq!(foreign.status, 403);
    first.stop();
    let second = place.mirror(&service.url(), &service.url(), &[]);
    send(&second);
    let ui = place.ui();
    let page = || ui.ask("/audit").text();
    let lines = wait_or_tell(
        || {
            let page = page();
            (page.matches("the process began").count() == 2).then_some(page)
        },
        page,
    );
    let mut rest = lines.as_str();
    for told in [
        "the process began",
        "shadowing is on",
        "asked to start shadowing",
        "refused",
        "shadowing was stopped",
        "the process began",
    ] {
        let at = rest.find(told);
        let at = at.unwrap_or_else(|| panic!("`{told}` is not where it belongs in {lines}"));
        rest = rest.split_at(at + told.len()).1;
    }
    assert!(!lines.contains("shadowing was started"), "{lines}");
    let chart = || ui.ask("/history").text();
    wait_or_tell(
        || {
            chart()
                .contains("shadowing was started: by a restart of test")
                .then_some(())
        },
        chart,
    );
    second.stop();
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
