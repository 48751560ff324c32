//! How much of the answers rules leave to compare: report, page, API and gate say it, and the gate can demand a share.

use crate::decisions::{export, forged, state, verify};
use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;

/// Ten values, of which rules for `/all` leave none and those for `/some` leave six.
const BODY: &str = r#"{"a":1,"b":"x","c":[1,2,null],"d":{"e":true,"f":1.5,"g":[],"h":{}},"i":0}"#;
const RULES: &str = "[[rule]]\nid = \"all\"\nroute = \"GET /all\"\npath = \"/**\"\naction = \"ignore\"\n\n\
                     [[rule]]\nid = \"some\"\nroute = \"GET /some\"\npath = \"/d\"\naction = \"ignore\"\n";
const EACH: u64 = 1_500;

fn send(mirror: &Mirror<'_>, paths: &[&str], each: u64) {
    let mut connection = Connection::open(mirror.address);
    for path in paths {
        for _ in 0..each {
            connection.send("GET", path, &[], b"");
            assert_eq!(connection.answer("GET").expect("answered").status, 200);
        }
    }
}

#[test]
fn what_rules_leave_to_compare_is_told_everywhere_and_can_be_demanded() {
    let place = Place::new();
    place.write("parity.toml", RULES);
    // The same bytes, which are compared without being parsed.
    let (legacy, candidate) = (Service::json(BODY), Service::json(BODY));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, &["/all", "/some", "/whole"], EACH);
    mirror.settled(3 * EACH);

    let report = place.run(&["report", "--output", "json"]).json();
    let route = |name: &str| {
        let routes = report["routes"].as_array().expect("a list");
        let found = routes.iter().find(|route| route["route"] == name);
        found.expect(name).clone()
    };
    for (name, values_left, share) in [
        ("GET /all", 0, 0.0),
        ("GET /some", 6, 0.6),
        ("GET /whole", 10, 1.0),
    ] {
        let route = route(name);
        assert_eq!(route["match"], EACH);
        assert_eq!(route["fields_left"], share, "{name}");
        let fields = |word: &str| route["fields"][word].as_u64().unwrap_or(0);
        let sampled = fields("sampled");
        assert!((10..EACH / 5).contains(&sampled), "{name}: {sampled}");
        // Status and content type besides.
        assert_eq!(fields("all"), 12 * sampled, "{name}");
        assert_eq!(fields("body"), 10 * sampled, "{name}");
        assert_eq!(fields("left"), (values_left + 2) * sampled, "{name}");
        assert_eq!(fields("body_left"), values_left * sampled, "{name}");
    }
    let sampled = route("GET /all")["fields"]["sampled"].clone();
    let told = format!(
        "rules leave 0 % of the fields of the bodies of GET /all to compare ({sampled} answers sampled)"
    );
    let text = place.run(&["report"]).stdout;
    let page = mirror.ask("/report").text();
    let markdown = place.run(&["report", "--output", "markdown"]).stdout;
    assert!(
        markdown.contains("rules leave 0 % of the fields of the bodies of"),
        "{markdown}"
    );
    for shown in [&text, &page] {
        assert!(shown.contains(&told), "{shown}");
        assert!(
            shown.contains("rules leave 60 % of the fields of the bodies of GET /some to compare"),
            "{shown}"
        );
        assert!(!shown.contains("of GET /whole to compare"), "{shown}");
    }
    assert!(
        page.contains("Fields compared") && page.contains("<td>60 %</td>"),
        "{page}"
    );

    let pass = place.run(&["gate", "--max-mismatch-rate", "0.01", "--output", "json"]);
    assert_eq!(pass.code, 0, "{}", pass.stdout);
    let document = pass.json();
    let headline = document["headline"].as_str().expect("a text");
    assert!(
        headline.contains("rules leave less than half of the fields of GET /all"),
        "{headline}"
    );
    let little = "a match says little where rules leave little to compare: 0 % of the fields of the bodies of GET /all";
    let told = |document: &serde_json::Value, sentence: &str| {
        let reasons = document["reasons"].as_array().expect("a list");
        reasons.iter().any(|reason| {
            reason
                .as_str()
                .is_some_and(|reason| reason.contains(sentence))
        })
    };
    assert!(told(&document, little), "{document}");

    let asked = mirror
        .ask("/api/v1/gate?max_mismatch_rate=0.01&min_fields=0.5")
        .json();
    assert_eq!(
        (&asked["outcome"], &asked["thresholds"]["min_fields"]),
        (&"undecided".into(), &0.5.into())
    );
    let demanded = ["gate", "--max-mismatch-rate", "0.01", "--min-fields", "0.5"];
    let open = place.run(&demanded);
    assert_eq!(open.code, 3, "{}", open.stdout);
    for words in [
        "at least 50 % wanted; fewer or narrower rules would settle it",
        "fewer rules",
    ] {
        assert!(open.stdout.contains(words), "{words}: {}", open.stdout);
    }
    let enough = place.run(&["gate", "--max-mismatch-rate", "0.01", "--min-fields", "0"]);
    assert_eq!(enough.code, 0, "{}", enough.stdout);
    assert_eq!(mirror.stop().0, 0);
}

#[test]
fn a_decision_keeps_the_fields_that_it_rests_on_and_follows_from_them() {
    let place = Place::new();
    place.write("parity.toml", RULES);
    let (legacy, candidate) = (Service::json(BODY), Service::json(BODY));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, &["/all"], 400);
    mirror.settled(400);
    assert_eq!(mirror.stop().0, 0);
    let demanded = ["gate", "--max-mismatch-rate", "0.01", "--min-fields", "0.5"];
    let open = place
        .run(&[&demanded[..], &["--output", "json"]].concat())
        .json();
    let file = export(&place, open["decision_id"].as_str().expect("an id"));
    let store = ["--store", "sqlite:parity.db"];
    let (code, document) = verify(&place, &file, &store);
    assert_eq!(code, 0, "{document}");
    for (from, to) in [
        ("\"left\":", "\"left\":7"),
        ("\"min_fields\":0.5", "\"min_fields\":0.0"),
    ] {
        let changed = forged(&file, |content| content.replace(from, to));
        let (code, document) = verify(&place, &changed, &store);
        assert_eq!(code, 1, "{to}: {document}");
        let (again, stored) = (state(&document, "again"), state(&document, "tallies"));
        assert!(
            again.starts_with("fails") || stored.starts_with("fails"),
            "{to}: {document}"
        );
    }
}

#[test]
fn of_what_an_older_program_counted_the_share_is_not_known() {
    let place = Place::new();
    let (legacy, candidate) = (Service::json(BODY), Service::json(BODY));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, &["/whole"], 400);
    mirror.settled(400);
    assert_eq!(mirror.stop().0, 0);
    let all = ["gate", "--max-mismatch-rate", "0.01", "--min-fields", "1"];
    assert_eq!(place.run(&all).code, 0);
    // As a mirror leaves it that brings an older store up to date.
    let store = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    store
        .execute("UPDATE tallies SET fields = '{}'", [])
        .expect("it is changed");
    drop(store);
    let text = place.run(&["report"]).stdout;
    let told = "which share of the fields rules leave to compare is not known of 1 route: an older parity counted";
    assert!(text.contains(told), "{text}");
    let document = place.run(&["report", "--output", "json"]).json();
    let route = &document["routes"][0];
    assert_eq!(route["fields_left"], serde_json::Value::Null);
    assert!(route.get("fields").is_none(), "{route}");
    let open = place.run(&all);
    assert_eq!(open.code, 3, "{}", open.stdout);
    for words in [
        "0 of 400 compared answers were sampled, at least 10 wanted",
        "samples",
    ] {
        assert!(open.stdout.contains(words), "{words}: {}", open.stdout);
    }
    // Without the demand nothing changes.
    assert_eq!(place.run(&all[..3]).code, 0);
}

#[test]
fn a_mismatch_is_sampled_as_a_match_is() {
    let place = Place::new();
    place.write("parity.toml", RULES);
    let legacy = Service::json(BODY);
    let candidate = Service::json(&BODY.replace("\"i\":0", "\"i\":1"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    send(&mirror, &["/some"], 5);
    mirror.settled(5);
    assert_eq!(mirror.stop().0, 0);
    let document = place.run(&["report", "--output", "json"]).json();
    let route = &document["routes"][0];
    assert_eq!(
        (&route["mismatch"], &route["fields_left"]),
        (&5.into(), &0.6.into())
    );
    assert_eq!(
        route["fields"]["sampled"], 5,
        "no more than there are, each once"
    );
}
