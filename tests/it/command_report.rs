//! `parity report`, and the page that shows the same.

use crate::support::process::Place;
use crate::support::service::{Answer, Service, nobody};
use crate::support::wait_for;

#[test]
fn an_empty_store_reports_that_nothing_was_recorded() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    place.mirror(&legacy.url(), &candidate.url(), &[]).stop();
    let ended = place.run(&["report"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with("NOTHING RECORDED"),
        "{}",
        ended.stdout
    );
    let document = place.run(&["report", "--output", "json"]).json();
    assert_eq!(
        (&document["received"], &document["window"]),
        (&0.into(), &serde_json::Value::Null)
    );
}

#[test]
fn that_nothing_was_received_yet_is_told_alike_by_report_page_and_gate() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let told = "no traffic recorded yet for migration `default`";
    let report = wait_for("its first watermark", || {
        let ended = place.run(&["report"]);
        ended.stderr.contains(told).then_some(ended)
    });
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(
        report.stdout.starts_with("NOTHING RECORDED"),
        "{}",
        report.stdout
    );
    let page = mirror.ask("/report").text();
    assert!(page.contains("nothing recorded"), "{page}");
    let shown = told.replace("`default`", "<code>default</code>");
    assert!(page.contains(&shown), "{page}");
    let gate = place.run(&["gate"]);
    assert!(gate.stdout.contains(told), "{}", gate.stdout);
    mirror.stop();
}

#[test]
fn hostile_answers_are_spelt_out_in_the_report() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":\"x\"}");
    let candidate =
        Service::start(|_| Answer::json("{\"a\":\"\u{9b}31m\u{202e}<script>alert(1)</script>\"}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/x%1b%5b31m");
    mirror.settled(1);
    let page = mirror.ask("/report").text();
    assert!(
        !page.contains("<script>") && page.contains("&#60;script&#62;")
            || page.contains("&lt;script&gt;"),
        "{page}"
    );
    for api in ["report", "gate", "mismatches"] {
        let answer = mirror.ask(&format!("/api/v1/{api}")).text();
        let raw = answer.contains(['\u{1b}', '\u{9b}', '\u{202e}']);
        assert!(!raw, "{api}: {answer}");
    }
    let answer = mirror.ask("/api/v1/report").text();
    assert!(answer.contains("\\u202e"), "{answer}");
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    assert!(text.contains("\\u{202e}"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{text}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json("1"), Service::json("1"));
    place.mirror(&legacy.url(), &candidate.url(), &[]).stop();
    let status = std::process::Command::new("bash")
        .args([
            "-c",
            "set -o pipefail; \"$0\" config schema | head -c 1 >/dev/null; \"$0\" report | true; \"$0\" gate | true; test ${PIPESTATUS[0]} = 3",
        ])
        .arg(env!("CARGO_BIN_EXE_parity"))
        .current_dir(place.path())
        .status();
    assert!(status.expect("bash runs").success());
}

/// Ten answers on each of three routes, each with thirty fields. The number in the path selects the fields that are
/// `empty`.
fn lists(empty: &'static str) -> Service {
    Service::start(move |request| {
        let number: usize = request
            .target
            .rsplit('/')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0);
        let fields: Vec<String> = (0..30)
            .map(|field| {
                let value = if (number * 7 + field * field).is_multiple_of(3) {
                    empty
                } else {
                    "[1]"
                };
                format!("\"field_{field}\":{value}")
            })
            .collect();
        Answer::json(format!("{{{}}}", fields.join(",")))
    })
}

#[test]
fn one_cause_in_thirty_fields_of_three_routes_is_one_entry() {
    let place = Place::new();
    let (legacy, candidate) = (lists("null"), lists("[]"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..30 {
        mirror.get(&format!("/{}/{number}", ["a", "b", "c"][number / 10]));
    }
    mirror.settled(30);
    let page = mirror.ask("/report").text();
    mirror.stop();
    let report = place.report().0;
    let cause = &report["causes"][0];
    assert_eq!(
        (&cause["explanation"], &cause["routes"], &cause["pattern"]),
        (&"null_vs_empty".into(), &3.into(), &serde_json::Value::Null)
    );
    let groups = cause["fingerprints"].as_array().map_or(0, Vec::len);
    assert!(groups > 30, "{cause}");
    let at_least = cause["at_least"].as_u64().expect("a count");
    assert!((9..=30).contains(&at_least), "{cause}");

    // Every mismatch is in a set, so the number of answers is known.
    assert_eq!(cause["at_most"], at_least, "{cause}");
    assert_eq!(cause["severity"], "near", "{cause}");

    let text = place.run(&["report"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let heading = format!("DIFFERENCES (1 cause of {groups} groups; worst first)");
    let title = lines
        .iter()
        .position(|line| *line == heading)
        .unwrap_or_else(|| panic!("no {heading} in\n{text}"));
    assert_eq!(
        lines[title + 1],
        format!(
            "{at_least:>6} × null_vs_empty: null on one side, empty on the other; has another type"
        )
    );
    let scope = format!("         {groups} groups on 3 routes, ");
    assert!(lines[title + 2].starts_with(&scope), "{text}");
    let end = lines.iter().skip(title).position(|line| line.is_empty());
    // With the line that says how to accept it.
    assert_eq!(end.unwrap_or(lines.len() - title), 10, "{text}");
    assert!(
        text.contains("explanations = [\"null_vs_empty\"]"),
        "{text}"
    );
    for cell in [
        format!("title=\"its most frequent group\">{at_least}</a></td><td>3 routes</td>"),
        format!("<summary>{groups} groups on 3 routes"),
    ] {
        assert!(page.contains(&cell), "{cell} is not in\n{page}");
    }
}

/// A rewrite that sends one header too many and prints dates in another way, and computes one amount wrongly.
fn shop(
    headers: &'static [(&'static str, &'static str)],
    at: &'static str,
    total: &'static str,
) -> Service {
    Service::start(move |request| {
        let body = match request.target.as_str() {
            "/orders" => format!("{{\"items\":[{{\"updated_at\":\"{at}\"}}]}}"),
            "/total" => format!("{{\"total\":\"{total}\"}}"),
            _ => format!("{{\"updated_at\":\"{at}\"}}"),
        };
        let answer = Answer::json(body);
        headers
            .iter()
            .fold(answer, |answer, (name, value)| answer.header(name, value))
    })
}

#[test]
fn a_header_on_all_routes_is_one_cause_and_a_wrong_amount_stands_first() {
    let place = Place::new();
    let legacy = shop(&[], "2026-03-01T09:30:12.12Z", "12.50");
    let candidate = shop(&[("x-frame", "rust")], "2026-03-01T09:30:12.120Z", "12.49");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for path in ["/orders", "/orders", "/account", "/account", "/total"] {
        mirror.get(path);
    }
    mirror.settled(5);
    let page = mirror.ask("/report").text();
    let served = mirror.ask("/api/v1/report").json();
    mirror.stop();
    let report = place.report().0;
    let causes = report["causes"].as_array().expect("a list");
    let told = causes.iter().map(|cause| {
        let of = ["severity", "pattern", "routes", "at_least", "at_most"].map(|key| &cause[key]);
        serde_json::json!(of)
    });
    assert_eq!(
        told.collect::<serde_json::Value>(),
        serde_json::json!([
            ["header", "x-frame", 3, 5, 5],
            ["format", "/**/updated_at", 2, 4, 4]
        ])
    );
    assert_eq!(served["causes"], report["causes"]);
    assert_eq!(served["groups"], report["groups"]);
    let first = &report["groups"][0];
    assert_eq!(
        (&first["severity"], &first["pattern"]),
        (&"body".into(), &"/total".into())
    );

    let text = place.run(&["report"]).stdout;
    let order = |shown: &str, wanted: &[&str]| {
        let at: Vec<usize> = wanted
            .iter()
            .map(|text| {
                shown
                    .find(text)
                    .unwrap_or_else(|| panic!("no {text} in\n{shown}"))
            })
            .collect();
        assert!(at.is_sorted(), "{shown}");
    };
    order(
        &text,
        &[
            "DIFFERENCES (1 cause of 3 groups, 1 other group; worst first)",
            "     1 × GET /total  body /total  has another value",
            "     5 × header x-frame  is only in the candidate  (absent) → hmac:",
            "GET /account · GET /orders · GET /total",
            "ONLY SPELT IN ANOTHER WAY (1 cause of 2 groups; they count as differing)",
            "     4 × body /**/updated_at  has another value",
        ],
    );
    assert!(!text.contains("also "), "{text}");
    order(
        &page,
        &[
            "<h2>Differences</h2>",
            "12.49",
            "<code>x-frame</code>",
            "<h2>Only spelt in another way</h2>",
            "<code>/**/updated_at</code>",
        ],
    );
}

#[test]
fn a_wrong_value_that_now_and_then_looks_rounded_is_not_to_be_accepted() {
    let place = Place::new();
    let legacy = Service::json("{\"fee\":1.2345}");
    let candidate = Service::start(|request| {
        let few = ["/1", "/2", "/3", "/4", "/5"].contains(&request.target.as_str());
        Answer::json(if few {
            "{\"fee\":1.23}"
        } else {
            "{\"fee\":2.5}"
        })
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 1..=29 {
        mirror.get(&format!("/{number}"));
    }
    mirror.settled(29);
    let page = mirror.ask("/report").text();
    mirror.stop();
    let report = place.report().0;
    let groups = report["groups"].as_array().expect("groups");
    let against: Vec<_> = groups
        .iter()
        .map(|group| (&group["count"], &group["explanation"], &group["against"]))
        .collect();
    assert_eq!(
        against,
        [
            (&24.into(), &serde_json::Value::Null, &0.into()),
            (&5.into(), &"rounded".into(), &24.into())
        ]
    );
    let text = place.run(&["report"]).stdout;
    assert!(
        text.contains("perhaps by chance, for 24 at the same place have no such explanation"),
        "{text}"
    );
    assert!(!text.contains("explanations ="), "{text}");
    assert!(
        page.contains("rounded, perhaps by chance: one is the other rounded"),
        "{page}"
    );
}

#[test]
fn a_mismatch_whose_body_was_not_compared_says_so_in_the_record_and_on_its_page() {
    let place = Place::new();
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::start(|_| Answer::events(500, "data: 1\n\n"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/a");
    let report = mirror.settled(1);
    let status = "GET /a status  value -".to_owned();
    assert!(report.groups().contains(&status));
    let id = report.0["groups"][0]["example_id"].clone();
    let page = mirror
        .ask(&format!("/mismatches/{}", id.as_str().expect("an id")))
        .text();
    assert!(
        page.contains("The bodies were not compared: candidate_stream, only the candidate"),
        "{page}"
    );
    assert!(
        page.contains("The body was not kept; it has no end."),
        "{page}"
    );
    mirror.stop();
}

#[test]
fn what_differs_in_the_same_answers_is_one_group() {
    let place = Place::new();
    let answer = |status, body: &'static str| Service::start(move |_| Answer::new(status, body));
    let legacy = answer(200, "{\"balance\":1,\"currency\":\"EUR\"}");
    let candidate = answer(500, "error \u{1b}[31mboom<b>");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..5 {
        mirror.get(&format!("/x/{number}"));
    }
    let report = mirror.settled(5);
    let page = mirror.ask("/report").text();
    mirror.stop();
    let groups = report.0["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 1, "{}", report.0);
    assert_eq!(
        (&groups[0]["part"], &groups[0]["count"]),
        (&"status".into(), &5.into())
    );
    assert_eq!(report.groups().len(), 2, "{}", report.0);
    let text = place.run(&["report"]).stdout;
    assert!(
        text.contains("DIFFERENCES (1 group; worst first)"),
        "{text}"
    );
    assert!(
        text.contains("also body, as a whole  has another value"),
        "{text}"
    );
    assert!(text.contains("boom") && !text.contains('\u{1b}'), "{text}");
    assert!(page.contains("<td>also</td>"), "{page}");
    assert!(page.contains("<td>body, as a whole</td>"), "{page}");
    assert!(page.contains("boom") && !page.contains("boom<b>"), "{page}");
}

#[test]
fn an_open_question_has_its_reasons_and_a_failed_candidate_is_told_once() {
    let place = Place::new();
    let legacy = Service::json("1");
    let mirror = place.mirror(&legacy.url(), &nobody(), &[]);
    mirror.get("/x");
    mirror.settled(1);
    let page = mirror.ask("/report").text();
    mirror.stop();
    let text = place.run(&["report"]).stdout;
    assert!(
        text.contains("\nFAIL 1 of 1") || text.contains("\nUNDECIDED 1 of 1"),
        "{text}"
    );
    assert!(text.contains("THE CANDIDATE FAILED (1)"), "{text}");
    assert!(text.contains("1 × candidate_refused"), "{text}");
    assert!(!text.contains("NOT COMPARED ("), "{text}");
    assert!(
        page.contains("<h2>The candidate failed</h2>") && !page.contains("<h2>Not compared</h2>"),
        "{page}"
    );
    let meaning = "the candidate refused the connection; counts against it";
    assert!(text.contains(meaning) && page.contains(meaning), "{page}");

    let place = Place::new();
    let candidate = Service::json("1");
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    mirror.get("/x");
    mirror.settled(1);
    mirror.stop();
    let report = place.run(&["report"]).stdout;
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(
        lines[0],
        "CLIENTS all 1 got the legacy's whole answer · 2xx 1"
    );
    assert!(
        lines[1].starts_with("UNDECIDED the only compared"),
        "{report}"
    );
    let reason = place.run(&["gate", "--output", "json"]).json()["reasons"][0].clone();
    let reason = reason.as_str().expect("a reason");
    assert_eq!(lines[2], format!("  {reason}"));
}
