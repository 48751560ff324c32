//! What people see of classes and noise: text, JSON, page, API and metrics, from a mirror whose services have ids that
//! differ by chance, texts of which too little is known, a race, and one field that is wrong.

use serde_json::Value;

use crate::rechecks::{by_turn, classes, gets, mirror};
use crate::support::process::{Mirror, Place};
use crate::support::report::Report;
use crate::support::service::{Request, Service};

/// Markup and a terminal's escape in a name, as JSON has it.
const HOSTILE: &str = r"<i>\u001b[31m";
/// Of so many requests one has an id: a group in every answer takes seven hundred rechecks.
const ONE_IN: usize = 20;
const ITEMS: usize = 60 * ONE_IN;
const TEXTS: usize = 30;
const WRONG: usize = 10;
const RACES: usize = 5;
const ALL: u64 = (ITEMS + TEXTS + WRONG + RACES) as u64;

fn number(request: &Request) -> usize {
    let name = request.target.rsplit('/').next().unwrap_or_default();
    name.parse().unwrap_or(0)
}

/// Each answer is another one where it may be; `wrong` and how far a race has come tell the services apart.
fn service(wrong: u8, begun: usize) -> Service {
    by_turn(move |request, turn| {
        let random = uuid::Uuid::new_v4();
        match request.target.split('/').nth(1) {
            Some("items") if number(request).is_multiple_of(ONE_IN) => {
                format!(r#"{{"{HOSTILE}":"{random}"}}"#)
            }
            // Words of two lengths, so of two shapes.
            Some("texts") => {
                let length = if number(request).is_multiple_of(2) {
                    10
                } else {
                    20
                };
                let letters = random.as_bytes().iter().cycle().take(length);
                let word: String = letters.map(|byte| char::from(b'g' + byte % 16)).collect();
                format!(r#"{{"note":"{word}"}}"#)
            }
            Some("wrong") => format!(r#"{{"a":{wrong}}}"#),
            Some("races") => format!(r#"{{"a":{}}}"#, (begun + turn).min(2)),
            _ => r#"{"a":1}"#.to_owned(),
        }
    })
}

fn driven<'a>(place: &'a Place, legacy: &Service, candidate: &Service) -> (Mirror<'a>, Report) {
    let mirror = mirror(place, legacy, candidate, &[]);
    for (path, count) in [
        ("/items/", ITEMS),
        ("/texts/", TEXTS),
        ("/wrong/", WRONG),
        ("/races/", RACES),
    ] {
        gets(mirror.address, path, count);
    }
    let report = mirror.settled(ALL);
    (mirror, report)
}

fn lines_of<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(title));
    lines
        .next()
        .unwrap_or_else(|| panic!("no {title} in\n{text}"));
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn what_counts_is_told_apart_from_what_does_not_everywhere() {
    let place = Place::new();
    // A race: the legacy moves from the first answer to the second, where the candidate is already.
    let (legacy, candidate) = (service(1, 0), service(2, 1));
    let (mirror, report) = driven(&place, &legacy, &candidate);
    let by_class = classes(&report);
    assert_eq!(report.count("mismatch"), 60 + 30 + 10 + 5);
    assert_eq!(by_class["noise"], 90, "{by_class:?}");
    assert_eq!(by_class["confirmed"], 10, "{by_class:?}");
    assert_eq!(by_class["transient"], 5, "{by_class:?}");
    assert_eq!(
        report.count("differing"),
        10 + 30,
        "{}",
        report.0["excused"]
    );
    assert_eq!(report.0["excused"]["transient"], 5);
    assert_eq!(report.0["excused"]["noise"], 60);
    assert_eq!(report.0["excused"]["open"], 30);
    let proven = &report.0["noise"][0];
    assert_eq!(proven["state"], "proven");
    assert_eq!(
        (&proven["count"], &proven["shape"]),
        (&60.into(), &"uuid→uuid".into())
    );
    let id = proven["example_id"].as_str().expect("an example");

    let text = place.run(&["report"]).stdout;
    assert!(!text.contains("<i>\u{1b}"), "{text}");
    assert!(
        text.contains("60 mismatches do not count: by them the legacy differs from itself"),
        "{text}"
    );
    let differences = lines_of(&text, "DIFFERENCES (");
    assert!(
        differences
            .iter()
            .any(|line| line.contains("10 × GET /wrong/{id}")),
        "{text}"
    );
    assert!(
        differences
            .iter()
            .any(|line| line.ends_with("confirmed 10")),
        "{text}"
    );
    assert!(
        !differences
            .iter()
            .any(|line| line.contains("/items/") || line.contains("/texts/")),
        "{text}"
    );
    let transient = lines_of(
        &text,
        "TRANSIENT (1 group; the data changed, they do not count)",
    );
    assert!(transient[0].contains("5 × GET /races/{id}"), "{text}");
    let noise = lines_of(
        &text,
        "TAKEN FOR NOISE (1 place; 60 mismatches do not count)",
    );
    assert_eq!(noise.len(), 2, "{text}");
    assert!(
        noise[0].contains("60 × GET /items/{id}") && noise[0].contains("a UUID on both sides"),
        "{text}"
    );
    assert!(
        noise[1].contains("60 rechecks") && noise[1].contains(id),
        "{text}"
    );
    let open = lines_of(
        &text,
        "LOOKS LIKE NOISE, NOT PROVEN YET (1 place; they count)",
    );
    assert_eq!(
        open.len(),
        2,
        "two shapes of one field are one entry: {text}"
    );
    assert!(
        open[0].contains("30 × GET /texts/{id}") && open[0].contains("(15), "),
        "{text}"
    );
    assert!(open[1].contains("missing: "), "{text}");

    let gate = place.run(&["gate"]).stdout;
    assert!(!gate.contains("<i>\u{1b}"), "{gate}");
    for told in [
        "NOISE",
        "OPEN",
        "TAKEN FOR NOISE (1 place",
        "NOT PROVEN YET (1 place",
    ] {
        assert!(gate.contains(told), "{told}: {gate}");
    }
    page_says_the_same(&mirror, &report);
    metrics_say_the_same(&mirror, &report);
    others_count_it(&place, &mirror, &report);
    assert_eq!(mirror.stop().0, 0);
    suggestions_tell_it_apart(&place);
    the_register_takes_it_only_on_demand(&place);
}

fn suggestions_tell_it_apart(place: &Place) {
    let places = |more: &[&str]| {
        let asked = [&["rules", "suggest", "--output", "json"], more].concat();
        let document = place.run(&asked).json();
        assert_eq!(document["rules"], serde_json::json!([]), "{document:#}");
        let noise = document["noise_places"].as_array().expect("a list").clone();
        let told = noise.iter().map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            let groups = one["fingerprints"].as_array().map_or(0, Vec::len);
            (text("route"), text("state"), one["count"].clone(), groups)
        });
        let why = |at: usize| noise[at]["why"].as_str().unwrap_or_default().to_owned();
        (told.collect::<Vec<_>>(), why(0), why(1), document)
    };
    let (told, proven, open, document) = places(&[]);
    let expected = [
        ("GET /items/{id}", "proven", 60, 1),
        ("GET /texts/{id}", "open", 30, 2),
    ];
    let expected = expected.map(|(route, state, count, groups)| {
        (route.to_owned(), state.to_owned(), count.into(), groups)
    });
    // The race does not count, whatever it looks like.
    assert_eq!(told, expected, "{document:#}");
    assert!(proven.starts_with("proven noise: it does not count, so it needs no rule; "));
    assert!(open.starts_with("looks like noise: rechecks find that the legacy itself differs there; it counts until that is proven; missing: "), "{open}");
    let unruled = document["unruled"].as_array().expect("a list");
    assert_eq!(unruled.len(), 1, "only what is wrong: {document:#}");
    let text = place.run(&["rules", "suggest"]).stdout;
    let lines = lines_of(&text, "# where the legacy differs from itself, too:");
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with("#   GET /items/{id}: ")
            && lines[0].contains("in 60 mismatches: proven"),
        "{text}"
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    // Who only wants it reported reads that it counts.
    let (_, proven, _, document) = places(&["--noise", "report"]);
    assert!(
        proven.contains("which counts because noise is only reported"),
        "{proven}"
    );
    assert!(document["unruled"].as_array().map_or(0, Vec::len) > 1);
}

fn the_register_takes_it_only_on_demand(place: &Place) {
    place.write("parity.toml", "");
    let list = place.run(&["known", "list", "--output", "json"]).json();
    let likely = list["not_known"].as_array().expect("a list").clone();
    let likely: Vec<&Value> = likely
        .iter()
        .filter(|one| one["likely_noise"].is_string())
        .collect();
    assert!(
        likely.len() == 1 && likely[0]["route"] == "GET /texts/{id}",
        "{list:#}"
    );
    let text = place.run(&["known", "list"]).stdout;
    assert!(
        text.contains("compared; looks like noise, missing: "),
        "{text}"
    );
    let baseline = [
        "known",
        "add",
        "--owner",
        "us",
        "--reason",
        "seen",
        "--baseline",
    ];
    let first = place.run(&baseline);
    for told in [
        "1 difference is entered",
        "1 difference looks like noise and is not entered: rechecks find that the legacy itself differs there",
        "--with-likely-noise enters it",
    ] {
        assert!(first.stderr.contains(told), "{told}: {}", first.stderr);
    }
    assert!(first.stdout.contains("GET /wrong/{id}"), "{}", first.stdout);
    // Neither it, nor what is proven, nor what is only transient.
    assert_eq!(first.stdout.lines().count(), 1, "{}", first.stdout);
    let again = place.run(&baseline);
    assert!(
        again
            .stderr
            .contains("everything else that counts is known already"),
        "{}",
        again.stderr
    );
    let all = place.run(&[&baseline[..], &["--with-likely-noise"]].concat());
    assert!(
        all.stdout.contains("GET /texts/{id}") && !all.stderr.contains("not entered"),
        "{} {}",
        all.stdout,
        all.stderr
    );
    assert_eq!(all.stdout.lines().count(), 1, "{}", all.stdout);
    // By its name it is entered, too.
    place.write("parity.toml", "");
    let name = likely[0]["fingerprint"].as_str().expect("a name");
    let named = place.run(&["known", "add", name, "--owner", "us", "--reason", "seen"]);
    assert!(named.stdout.contains("GET /texts/{id}"), "{}", named.stderr);
    assert_eq!(named.code, 0);
    assert_eq!(
        place
            .run(&[
                "known",
                "add",
                "--with-likely-noise",
                "--owner",
                "us",
                "--reason",
                "x"
            ])
            .code,
        2
    );
}

fn page_says_the_same(mirror: &Mirror<'_>, report: &Report) {
    let page = mirror.ask("/report").text();
    assert!(!page.contains("<i>") && !page.contains('\u{1b}'), "{page}");
    for told in [
        "<h2>Taken for noise</h2>",
        "1 place; 60 mismatches do not count",
        "a UUID on both sides",
        "<h2>Looks like noise, not proven yet</h2>",
        "confirmed 10</small>",
        "<h2>Transient</h2>",
        r#"<th scope="col">Noise</th>"#,
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let id = report.0["noise"][0]["example_id"].as_str().expect("an id");
    assert!(
        page.contains(&format!(r#"href="/mismatches/{id}""#)),
        "{page}"
    );
    let page = mirror.ask(&format!("/mismatches/{id}")).text();
    assert!(
        page.contains("<strong>noise</strong>: the legacy does not agree with itself here."),
        "{page}"
    );
    for (class, count) in classes(report) {
        let listed = mirror.ask(&format!("/api/v1/mismatches?limit=1000&class={class}"));
        let listed = listed.json()["mismatches"].clone();
        let listed = listed.as_array().expect("a list").clone();
        assert!(
            listed.iter().all(|one| one["class"] == class.as_str()),
            "{class}"
        );
        assert_eq!(listed.len() as u64, count, "{class}");
    }
    let refused = mirror.ask("/api/v1/mismatches?class=bad");
    assert_eq!(refused.status, 400);
    assert_eq!(
        refused.json()["error"],
        "class: `bad` is not a class; use one of confirmed, unstable, unconfirmed, noise, transient"
    );
}

fn metrics_say_the_same(mirror: &Mirror<'_>, report: &Report) {
    let metrics = mirror.ask("/metrics").text();
    let sum: u64 = metrics
        .lines()
        .filter(|line| line.starts_with("parity_mismatch_classes_total{"))
        .map(|line| {
            line.rsplit(' ')
                .next()
                .expect("a value")
                .parse::<u64>()
                .expect("a count")
        })
        .sum();
    assert_eq!(sum, report.count("mismatch"), "{metrics}");
    let line = r#"parity_mismatch_classes_total{route="GET /wrong/{id}",class="confirmed"} 10"#;
    assert!(metrics.lines().any(|it| it == line), "{metrics}");
}

/// Who wants no noise gets all of it counted, on every surface by the same word.
fn others_count_it(place: &Place, mirror: &Mirror<'_>, used: &Report) {
    let differing = |document: &Value| document["differing"].as_u64();
    let all = used.count("differing") + 60;
    for how in ["report", "off"] {
        let flag = place
            .run(&["report", "--noise", how, "--output", "json"])
            .json();
        assert_eq!(differing(&flag), Some(all), "{how}");
        let asked = mirror.ask(&format!("/api/v1/report?noise={how}")).json();
        assert_eq!(differing(&asked), Some(all), "{how}");
        assert_eq!(asked["excused"]["noise"], 0, "{how}");
        let gate = mirror.ask(&format!("/api/v1/gate?noise={how}")).json();
        assert_eq!(differing(&gate["total"]), Some(all), "{how}");
        assert_eq!(gate["thresholds"]["noise"], how);
        // The ids, two shapes of the text, and the race: it looks like noise and is listed as transient.
        let listed = asked["noise"].as_array().map(Vec::len);
        assert_eq!(listed, Some(if how == "off" { 0 } else { 4 }), "{how}");
    }
    let text = place.run(&["report", "--noise", "report"]).stdout;
    assert!(
        text.contains("TAKEN FOR NOISE (1 place; they count, because noise is only reported)"),
        "{text}"
    );
    assert!(
        lines_of(&text, "DIFFERENCES (")
            .iter()
            .any(|line| line.contains("60 × GET /items/{id}")),
        "{text}"
    );
    let page = mirror.ask("/report?noise=off").text();
    assert!(!page.contains("Taken for noise"), "{page}");
    for (asked, told) in [
        ("/?noise=no", "<code>no</code> is not a use of noise"),
        ("/api/v1/report?noise=no", "`no` is not a use of noise"),
    ] {
        let refused = mirror.ask(asked);
        assert_eq!(refused.status, 400, "{asked}");
        assert!(refused.text().contains(told), "{asked}");
    }
    let refused = place.run(&["report", "--noise", "no"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("is not a use of noise"),
        "{}",
        refused.stderr
    );
}
