//! What the pages say once something is excused: a link to its group goes on to work, both rates are of the same rules, and who looks at
//! the chart or at the audit sees which rule or known difference it was.

use parity_schemas::time::Timestamp;

use crate::support::process::{Mirror, Place};
use crate::support::service::{Service, nobody};
use crate::support::{wait_for, wait_or_tell};

const RULE: &str = "[[rule]]\nid = \"new-total\"\npath = \"/total\"\naction = \"ignore\"\nowner = \"me\"\nreason = \"none\"\n";

fn differing(place: &Place) -> (Service, Service, Mirror<'_>) {
    let legacy = Service::json("{\"total\":1,\"name\":\"x\"}");
    let candidate = Service::json("{\"total\":2,\"name\":\"x\"}");
    place.write("parity.toml", "");
    let urls = (legacy.url(), candidate.url());
    let mirror = place.mirror(&urls.0, &urls.1, &["--candidate-version", "1"]);
    (legacy, candidate, mirror)
}

/// Sends so many requests, and returns the address of the only group.
fn one_group(mirror: &Mirror<'_>, count: u64) -> String {
    for _ in 0..count {
        assert_eq!(mirror.get("/orders/7").status, 200);
    }
    let report = mirror.settled(count);
    let name = report.0["groups"][0]["fingerprint"].as_str().expect("one");
    format!("/groups/{name}")
}

fn shows(of: &Mirror<'_>, path: &str, told: &[&str]) -> String {
    wait_for(&format!("{told:?} on {path}"), || {
        let answer = of.ask(path);
        let page = answer.text();
        (answer.status == 200 && told.iter().all(|told| page.contains(told))).then_some(page)
    })
}

fn reload(place: &Place, mirror: &Mirror<'_>, text: &str) {
    let said = "configuration reloaded";
    let before = mirror.log().matches(said).count();
    place.write("parity.toml", text);
    mirror.signal("HUP");
    wait_for("the reload", || {
        (mirror.log().matches(said).count() > before).then_some(())
    });
}

/// The link was "no group", though somebody had posted it in the chat of the incident.
#[test]
fn a_group_that_a_rule_excuses_keeps_its_page_and_both_rates_are_of_the_present_rules() {
    let place = Place::new();
    let (_legacy, _candidate, mirror) = differing(&place);
    let link = one_group(&mirror, 20);
    let counted = shows(&mirror, &link, &["<h1>GET /orders/{id}: body /total</h1>"]);
    assert!(!counted.contains("id=\"excused\""), "{counted}");

    let before = Timestamp::now();
    reload(&place, &mirror, RULE);
    // Before anything is received by the new rules: where it is excused leads to its page, and the chart has the mark.
    let to_group = format!("<a href=\"{link}?of_route=");
    let rules = shows(
        &mirror,
        "/rules",
        &[
            "<h2>Excused by rules that came later</h2>",
            "20 mismatches by earlier rules",
            "<h2 id=\"excused\">Groups that a rule excuses now</h2>",
            "<td>new-total</td>",
            &to_group,
        ],
    );
    assert!(!rules.contains("No rule excused anything"), "{rules}");
    shows(&mirror, "/", &[": added new-total</li>"]);
    for _ in 0..20 {
        mirror.get("/orders/7");
    }
    let report = mirror.settled(40);
    // What counts by the new rules began with them, and not with the minute.
    let from: Timestamp =
        serde_json::from_value(report.0["window"]["from"].clone()).expect("a time");
    assert!(from >= before, "{from}");
    let ui = place.ui();
    for of in [&mirror, &ui] {
        let page = shows(
            of,
            &link,
            &[
                "id=\"excused\">Excused since 20",
                " by the rule new-total: it does not count against the candidate any more.",
                "<h1>GET /orders/{id}: body /total</h1>",
                "all 20 stored mismatches are of GET /orders/7",
                "<svg class=\"chart wide\"",
                "as it was counted by the rules before",
            ],
        );
        assert!(!page.contains("If it is meant to differ"), "{page}");
        let overview = shows(
            of,
            "/",
            &[
                "all 40 compared requests are equal",
                "Excused: 20 requests (50 %) by rules that came after they were compared",
                "The chart (last day) is by the same rules.",
                ": added new-total</li>",
            ],
        );
        // No bar is high: what the rule excuses differs in none of them.
        assert!(!overview.contains("class=\"high\""), "{overview}");
        for unknown in ["/groups/0123456789abcdef", "/groups/x"] {
            assert_eq!(of.ask(unknown).status, 404, "{unknown}");
            let unknown = format!("/api/v1{unknown}");
            assert_eq!(of.ask(&unknown).status, 404, "{unknown}");
        }
        // The API knows what the pages know.
        let group = of.ask(&format!("/api/v1{link}"));
        assert_eq!(group.status, 200, "{}", group.text());
        let group = group.json();
        assert_eq!(group["uncounted"]["rules"][0], "new-total", "{group}");
        assert_eq!(group["group"]["group"]["count"], 20, "{group}");
        assert_ne!(group["rules_hash"], report.0["rules_hash"], "{group}");
        let rules = of.ask("/api/v1/rules").json();
        let name = link.strip_prefix("/groups/");
        assert_eq!(
            rules["excused"][0]["group"]["fingerprint"].as_str(),
            name,
            "{rules}"
        );
        let groups = of.ask("/groups").text();
        assert!(groups.contains("href=\"/rules#excused\""), "{groups}");
    }
    let history = mirror.ask("/api/v1/history?since=1h").json();
    let marks = history["marks"].as_array().expect("marks");
    let rules = marks.iter().find(|mark| mark["kind"] == "rules");
    let named = rules.map(|mark| &mark["names"]["added"][0]);
    assert_eq!(named, Some(&"new-total".into()), "{history}");
    let audit = mirror.ask("/audit").text();
    assert!(audit.contains(" (added new-total)"), "{audit}");
    ui.stop();
    mirror.stop();
}

/// The audit said that nothing had changed, and no mark was in the chart.
#[test]
fn a_known_difference_that_is_added_is_a_change_and_its_group_says_so() {
    let place = Place::new();
    let (_legacy, _candidate, mirror) = differing(&place);
    let link = one_group(&mirror, 20);
    let name = link.strip_prefix("/groups/").expect("a group");
    let known = format!(
        "[[known]]\nblocks = false\nid = \"old-totals\"\nfingerprints = [\"{name}\"]\nowner = \"payments\"\nreason = \"agreed\"\n\
         expires = \"2099-01-01\"\nrate = 1.0\n"
    );
    // It reads the file again by itself, so that the two do not contradict each other.
    let ui = place.ui();
    reload(&place, &mirror, &known);
    for of in [&mirror, &ui] {
        let to_group = format!("<a href=\"{link}?of_route=");
        let excused = "Excused: 20 requests (100 %) by 1 known difference.";
        shows(of, "/", &[excused]);
        shows(of, "/rules", &[&to_group, "id=\"register\""]);
    }
    let page = shows(
        &mirror,
        &link,
        &[
            "id=\"excused\">Excused since 20",
            " by the known difference old-totals, until 2099-01-01 00:00:00Z",
            "payments: agreed",
        ],
    );
    assert!(
        !page.contains("as it was counted by the rules before"),
        "{page}"
    );
    shows(
        &mirror,
        "/",
        &[
            "Excused: 20 requests (100 %) by 1 known difference.",
            "known differences: added old-totals, by a signal</li>",
        ],
    );
    let audit = shows(&mirror, "/audit", &["the known differences were changed"]);
    for told in [
        "changed: known differences (added old-totals)",
        "added old-totals</td>",
    ] {
        assert!(audit.contains(told), "{told}: {audit}");
    }
    let group = mirror.ask(&format!("/api/v1{link}")).json();
    assert_eq!(group["uncounted"]["known"], "old-totals", "{group}");
    // What is wrong in a file changes nothing, and each page says so.
    place.write("parity.toml", "[[known]]\nid = \"old-totals\"\n");
    let told = " was not read again: ";
    let page = shows(&ui, "/groups", &["id=\"refused\">", told, "owner"]);
    assert!(page.contains("stays in force"), "{page}");
    mirror.signal("HUP");
    for of in [&mirror, &ui] {
        shows(
            of,
            "/",
            &["id=\"refused\">", told, "by 1 known difference."],
        );
    }
    reload(&place, &mirror, "");
    shows(
        &mirror,
        "/",
        &["known differences: removed old-totals, by a signal</li>"],
    );
    for of in [&mirror, &ui] {
        let gone = ["id=\"excused\"", "id=\"refused\""];
        let page = || of.ask(&link).text();
        wait_or_tell(
            || {
                let page = page();
                let is_gone = gone.iter().all(|gone| !page.contains(gone));
                is_gone.then_some(())
            },
            page,
        );
    }
    ui.stop();
    mirror.stop();
}

/// The first failure was told to be at the change of the rules, and what was carried over to be counted since then.
#[test]
fn what_was_counted_by_earlier_rules_begins_when_it_was() {
    let legacy = Service::json("{}");
    let place = Place::new();
    place.write("parity.toml", "");
    let mirror = place.mirror(&legacy.url(), &nobody(), &["--candidate-version", "1"]);
    for _ in 0..10 {
        mirror.get("/x");
    }
    let before = mirror.settled(10).0["rules_hash"].clone();
    reload(&place, &mirror, RULE);
    for _ in 0..10 {
        mirror.get("/x");
    }
    mirror.settled(20);
    mirror.stop();
    // As if the rules had changed an hour later.
    let hour = 3_600_000_000_i64;
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let before = before.as_str().expect("a hash");
    for change in [
        "UPDATE tallies SET interval_start = interval_start - ?1 WHERE rules_hash = ?2",
        "UPDATE watermarks SET started = started - ?1, written = written - ?1, complete_until = complete_until - ?1, \
         open_from = open_from - ?1 WHERE rules_hash = ?2",
    ] {
        let moved = store.execute(change, rusqlite::params![hour, before]);
        assert_eq!(moved.expect("written"), 1);
    }
    let begin: i64 = store
        .query_row("SELECT min(interval_start) FROM tallies", (), |row| {
            row.get(0)
        })
        .expect("counted");
    drop(store);
    let begin = Timestamp::from_micros(begin).to_string();
    let begin = begin.get(..19).expect("a time").replace('T', " ");
    let minute = format!("{}:00", begin.get(..16).expect("a minute"));
    let ui = place.ui();
    let page = ui.ask("/groups").text();
    let told = format!("candidate_refused 20 times on GET /x, first between {minute}Z");
    assert!(page.contains(&told), "{told}: {page}");
    let overview = ui.ask("/").text();
    for told in [
        format!("Counted since {begin}Z"),
        format!("<dd>{begin}Z to "),
    ] {
        assert!(overview.contains(&told), "{told}: {overview}");
    }
    ui.stop();
}
