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
            assert!(seen.len() < 400, "{seen:?}");
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
