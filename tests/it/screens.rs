//! The screens of the admin port as somebody walks through them: from the overview to one exchange, by links alone.

use std::collections::BTreeSet;

use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};

/// All screens that the navigation leads to.
const SCREENS: [&str; 11] = [
    "/",
    "/history",
    "/causes",
    "/groups",
    "/routes",
    "/noise",
    "/rules",
    "/decisions",
    "/audit",
    "/report",
    "/health",
];
/// As a service may answer it.
const HOSTILE: &str = "<script>alert(1)</script>\u{202e}";

fn services() -> [Service; 2] {
    [0, 1].map(|side| {
        Service::start(move |request| {
            let wrong = side == 1;
            let body = match request.target.split('/').nth(1) {
                Some("prices") => format!("{{\"price\":{}}}", if wrong { 999 } else { 100 }),
                Some("names") => {
                    let name = if wrong { HOSTILE } else { "plain" };
                    serde_json::json!({ "name": name }).to_string()
                }
                _ => "{\"a\":1}".to_owned(),
            };
            Answer::json(body)
        })
    })
}

fn page(of: &Mirror<'_>, path: &str) -> String {
    let answer = of.ask(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let text = answer.text();
    // Captured text is never markup, and no character that nobody sees is left in it.
    assert!(!text.contains("<script>alert"), "{path}: {text}");
    assert!(!text.contains('\u{202e}'), "{path}");
    text
}

/// The addresses of the links on a page.
fn links(page: &str) -> Vec<String> {
    let links = page.split("href=\"").skip(1);
    let links = links.filter_map(|rest| rest.split('"').next());
    links
        .map(|link| link.replace("&#38;", "&").replace("&amp;", "&"))
        .filter(|link| link.starts_with('/') && !link.starts_with("/assets"))
        .collect()
}

fn link(page: &str, begins: &str) -> String {
    let mut all = links(page).into_iter();
    let found = all.find(|link| link.starts_with(begins));
    found.unwrap_or_else(|| panic!("no link to {begins}: {page}"))
}

fn send(mirror: &Mirror<'_>) {
    for number in 0..6 {
        mirror.get(&format!("/prices/{number}"));
        mirror.get(&format!("/equal/{number}"));
    }
    mirror.get("/names/1");
    mirror.settled(13);
}

#[test]
fn from_the_overview_three_links_lead_to_what_differs() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    send(&mirror);
    let overview = page(&mirror, "/");
    for told in [
        "Clients now: ",
        "all versions:",
        "Stop shadowing",
        "7 of 13 compared requests differ",
        "Can this be trusted?",
        "The gravest differences",
        "/price",
    ] {
        assert!(overview.contains(told), "{told}: {overview}");
    }
    let groups = page(&mirror, &link(&overview, "/groups"));
    let group = page(&mirror, &link(&groups, "/groups/"));
    for told in [
        "GET /prices/{id}: body /price",
        "What is different about these requests?",
        "- 100</span>",
        "+ 999</span>",
        "100 % of the compared requests of the route",
        "parity known add ",
        "No rule is suggested",
        "/prices/5",
    ] {
        assert!(group.contains(told), "{told}: {group}");
    }
    let exchange = page(&mirror, &link(&group, "/mismatches/"));
    assert!(exchange.contains("Findings"), "{exchange}");
    // One under the other, then side by side.
    for told in [
        "@@ -1,3 +1,3 @@",
        "side by side",
        "&#34;price&#34;: <mark>999</mark>",
    ] {
        assert!(exchange.contains(told), "{told}: {exchange}");
    }
    let mut all = links(&exchange).into_iter();
    let split = all.find(|link| link.contains("split=true"));
    let split = page(&mirror, &split.expect("the other layout"));
    for told in [
        "class=\"split\"",
        "one under the other",
        "&#34;price&#34;: <mark>100</mark>",
    ] {
        assert!(split.contains(told), "{told}: {split}");
    }
    // And back.
    assert!(page(&mirror, &link(&exchange, "/groups/")).contains("GET /prices/{id}: body /price"));
    mirror.stop();
}

#[test]
fn every_link_of_every_screen_leads_somewhere() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    send(&mirror);
    let ui = place.ui();
    for of in [&mirror, &ui] {
        let mut seen: BTreeSet<String> = SCREENS.map(str::to_owned).into();
        let mut next: Vec<String> = seen.iter().cloned().collect();
        while let Some(path) = next.pop() {
            assert!(seen.len() < 1_000, "{seen:?}");
            if path.starts_with("/api/") {
                let answer = of.ask(&path);
                assert_eq!(answer.status, 200, "{path}: {}", answer.text());
                assert!(answer.json().is_object(), "{path}");
                continue;
            }
            if path.contains("/bodies/") {
                // A file has what was captured as it was.
                let answer = of.ask(&path);
                let is_file = answer.header("content-disposition").is_some();
                assert!(answer.status == 200 && is_file, "{path}");
                continue;
            }
            for link in links(&page(of, &path)) {
                if seen.insert(link.clone()) {
                    next.push(link);
                }
            }
        }
        let visited = |begins: &str| seen.iter().any(|path| path.starts_with(begins));
        assert!(visited("/groups/") && visited("/mismatches/"), "{seen:?}");
    }
    ui.stop();
    mirror.stop();
}

/// The page of a route of this mirror or of its record.
fn is_the_page_of_prices(of: &Mirror<'_>) {
    let told = page(of, "/routes?of_route=GET+%2Fprices%2F%7Bid%7D");
    for wanted in [
        "<span class=\"outcome fail\">fail</span> GET /prices/{id}</h1>",
        "id=\"verdict\"><strong>at least ",
        " % differ, 0.10 % allowed</strong>",
        "100 %, between ",
        "6 of 6 requests",
        "How fast both answer",
        "<th scope=\"row\">p99</th>",
        ">counting 1</a>",
        "Legacy",
        "Who asks for it",
        "Rules that apply to it",
        "/price",
        "and to its last byte",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    // It leads to what it is made of, and the choice at its top keeps the route.
    for begins in [
        "/groups/",
        "/mismatches/",
        "/groups?tab=new&of_route=GET%20%2Fprices%2F%7Bid%7D",
        "/rules",
        "/api/v1/groups?route=",
        "/api/v1/history?route=",
        "/api/v1/mismatches?route=",
    ] {
        page(of, &link(&told, begins));
    }
    let kept = "<input type=\"hidden\" name=\"of_route\" value=\"GET /prices/{id}\">";
    assert!(told.contains(kept), "{told}");
    let document = of.ask(&link(&told, "/api/v1/routes/")).json();
    assert_eq!(document["schema"], "parity.route/v1");
    assert_eq!(document["route"]["counted"]["compared"], 6);
    assert_eq!(document["route"]["decision"]["outcome"], "fail");
    assert_eq!(document["groups"]["counting"], 1);
    assert_eq!(document["rules"], serde_json::json!([]));
    let verdict = document["told"][0].as_str().expect("a sentence");
    assert!(verdict.starts_with("at least "), "{verdict}");
    // Nothing of others is there.
    assert!(
        !told.contains("/names/") && !told.contains("/equal/"),
        "{told}"
    );
}

#[test]
fn a_route_has_a_page_that_each_other_page_leads_to() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    send(&mirror);
    assert_eq!(place.run(&["gate"]).code, 1);
    let ui = place.ui();
    for of in [&mirror, &ui] {
        is_the_page_of_prices(of);
        let exchange = link(
            &page(of, "/routes?of_route=GET%20/prices/%7Bid%7D"),
            "/mismatches/",
        );
        let group = link(&page(of, "/groups?find=price"), "/groups/");
        let decision = link(&page(of, "/decisions"), "/decisions/");
        let to = "/routes?of_route=GET%20%2Fprices%2F%7Bid%7D";
        for path in [
            "/", "/causes", "/groups", "/routes", "/report", &exchange, &group,
        ] {
            assert!(
                links(&page(of, path)).iter().any(|link| link == to),
                "{path}"
            );
        }
        let decided = page(of, &decision);
        assert!(
            decided.contains("of_route=GET%20%2Fprices%2F%7Bid%7D"),
            "{decided}"
        );
        // One with no difference, and one that is not there.
        let equal = page(of, "/routes?of_route=GET%20/equal/%7Bid%7D");
        for wanted in [
            "more requests, if all match, would settle it",
            "No group of differences counts here",
            "None is stored.",
        ] {
            assert!(equal.contains(wanted), "{wanted}: {equal}");
        }
        let hostile =
            "/routes?of_route=GET%20%2F%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE&since=1h";
        assert!(page(of, hostile).contains("Nothing of this route is counted in what is chosen"));
    }
    let refused = mirror.ask("/routes?of_route=GET%20/prices/%7Bid%7D&after=x");
    assert_eq!(refused.status, 400, "{}", refused.text());
    ui.stop();
    mirror.stop();
}

#[test]
fn decisions_and_changes_are_chosen_by_version_and_time_as_other_screens_are() {
    let services = services();
    let place = Place::new();
    let version = ["--candidate-version", "1.0"];
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &version);
    send(&mirror);
    assert_eq!(place.run(&["gate"]).code, 1);
    // The time and the version go along, what only a decision demands does not.
    let chosen = page(
        &mirror,
        "/causes?since=1h&candidate_version=1.0&max_mismatch_rate=0.5",
    );
    let decisions = link(&chosen, "/decisions");
    assert_eq!(
        decisions,
        "/decisions?migration=default&since=1h&candidate_version=1.0"
    );
    let changes = link(&chosen, "/audit");
    assert_eq!(changes, "/audit?migration=default&since=1h");
    let told = page(&mirror, &decisions);
    assert!(
        told.contains("<option value=\"1h\" selected>last hour")
            && told.contains("name=\"candidate_version\""),
        "{told}"
    );
    assert!(
        links(&told)
            .iter()
            .any(|link| link.starts_with("/decisions/0")),
        "{told}"
    );
    // And back.
    assert!(
        link(&told, "/groups").contains("since=1h&candidate_version=1.0"),
        "{told}"
    );
    let told = page(&mirror, &changes);
    assert!(
        told.contains("name=\"since\"") && !told.contains("name=\"candidate_version\""),
        "{told}"
    );
    assert!(told.contains("shadowing"), "{told}");
    // A form sends what is empty, and keeps what else was asked.
    let all = page(
        &mirror,
        "/decisions?migration=default&outcome=fail&candidate_version=&since=",
    );
    assert!(
        all.contains("<input type=\"hidden\" name=\"outcome\" value=\"fail\">"),
        "{all}"
    );
    assert!(
        links(&all)
            .iter()
            .any(|link| link.starts_with("/decisions/0")),
        "{all}"
    );
    for path in [
        "/decisions?candidate_version=2.0",
        "/decisions?since=2200-01-01T00:00:00Z",
        "/audit?since=2200-01-01T00:00:00Z",
    ] {
        assert!(page(&mirror, path).contains("in what is chosen"), "{path}");
    }
    // One time of when the process began.
    let health = page(&mirror, "/health");
    let since = health
        .split("runs since ")
        .nth(1)
        .and_then(|rest| rest.get(..20))
        .expect("a time");
    assert!(health.matches(since).count() >= 2, "{since}: {health}");
    mirror.stop();
}

#[test]
fn a_list_of_groups_is_cut_ordered_and_filtered_by_its_address() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    send(&mirror);
    let has = |path: &str| {
        let page = page(&mirror, path);
        let rows = page.split("<tbody>").nth(1).unwrap_or_default().to_owned();
        [rows.find("GET /prices/{id}"), rows.find("GET /names/{id}")]
    };
    let both = |path: &str| match has(path) {
        [Some(prices), Some(names)] => prices < names,
        other => panic!("{path}: {other:?}"),
    };
    assert!(both("/groups"));
    assert!(both("/groups?order=count&tab=new"));
    assert!(!both("/groups?order=route"));
    assert!(!both("/groups?order=last_seen&tab=all"));
    for (path, [prices, names]) in [
        ("/groups?find=%2FPRICE", [true, false]),
        ("/groups?find=nothing+has+this", [false, false]),
        ("/groups?of_route=GET%20%2Fnames%2F%7Bid%7D", [false, true]),
        ("/groups?tab=known", [false, false]),
        ("/groups?tab=noise", [false, false]),
        // A page behind the last one is the last one, and a form sends what is empty.
        (
            "/groups?page=7&find=&of_route=&since=&candidate_version=",
            [true, true],
        ),
    ] {
        assert_eq!(
            has(path).map(|found| found.is_some()),
            [prices, names],
            "{path}"
        );
    }
    for (path, told) in [
        (
            "/groups?tab=odd",
            "tab: <code>odd</code> is not known; use one of counting, new, known",
        ),
        (
            "/groups?page=0",
            "page: <code>0</code> is not a number from 1",
        ),
        (
            "/causes?sinse=1h",
            "there is no parameter <code>sinse</code>; did you mean <code>since</code>?",
        ),
        (
            "/groups/0123456789abcdef",
            "no group 0123456789abcdef is counted here",
        ),
        ("/groups/%3Cb%3E", "no group &#60;b&#62; is counted here"),
    ] {
        let answer = mirror.ask(path);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(answer.text().contains(told), "{path}: {}", answer.text());
    }
    // What is chosen is kept by every link.
    let chosen = page(&mirror, "/causes?since=1h&max_mismatch_rate=0.5");
    for link in links(&chosen)
        .iter()
        .filter(|link| !link.starts_with("/decisions") && !link.starts_with("/audit"))
    {
        let is_of_an_exchange = link.starts_with("/mismatches/");
        assert!(
            is_of_an_exchange
                || link.contains("since=1h") && link.contains("max_mismatch_rate=0.5"),
            "{link}"
        );
    }
    mirror.stop();
}

#[test]
fn screens_without_a_record_say_so() {
    let service = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    for path in SCREENS {
        page(&mirror, path);
    }
    assert!(page(&mirror, "/").contains("nothing recorded"));
    assert!(page(&mirror, "/groups").contains("0 groups"));
    mirror.stop();
}
