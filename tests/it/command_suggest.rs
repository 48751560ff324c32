//! `parity rules suggest` and `rules test`: from what a store has to rules in a file, by which the same traffic differs in what is
//! wrong alone.

use serde_json::Value;

use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Routes with the same change of spelling, each with a field of which the value is wrong.
const ROUTES: [&str; 3] = ["/users", "/orders", "/carts"];

fn legacy() -> Service {
    Service::json(
        r#"{"created_at":"2026-03-01T09:30:12.1Z","tags":null,"links":null,"notes":null,"total":5,"extra\n[[rule]]\u202e":"1.10"}"#,
    )
}

fn candidate() -> Service {
    Service::start(|_| {
        Answer::json(
            r#"{"created_at":"2026-03-01T09:30:12.100Z","tags":[],"links":[],"notes":[],"total":7,"extra\n[[rule]]\u202e":"1.1"}"#,
        )
    })
}

/// A place with the record of some traffic, and the groups of its report.
fn recorded(place: &Place, more: &[&str]) -> Vec<String> {
    let (legacy, candidate) = (legacy(), candidate());
    let mirror = place.mirror(&legacy.url(), &candidate.url(), more);
    for route in ROUTES {
        mirror.get(route);
    }
    let groups = mirror.settled(ROUTES.len() as u64).groups();
    mirror.stop();
    groups
}

/// What a person makes of the suggestions who accepts all of them: no rule is commented out.
fn all_accepted(text: &str) -> String {
    let accepted = text.lines().map(|line| match line.strip_prefix('#') {
        Some(rule) if !rule.starts_with(' ') => rule,
        _ => line,
    });
    accepted.fold(String::new(), |text, line| text + line + "\n")
}

fn places(document: &Value, of: &str) -> Vec<String> {
    let list = document[of].as_array().cloned().unwrap_or_default();
    let path = |one: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match of {
            "rules" => text(&one["rule"]["path"]),
            _ => text(&one["pattern"]),
        }
    };
    let mut paths: Vec<String> = list.iter().map(path).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn suggested_rules_leave_what_is_wrong_and_nothing_else() {
    let place = Place::new();
    recorded(&place, &["--candidate-version", "1"]);
    let document = place.run(&["rules", "suggest", "--output", "json"]).json();
    assert_eq!(document["schema"], "parity.suggested/v1");
    assert_eq!(
        places(&document, "rules"),
        ["/**", "/created_at"],
        "{document:#}"
    );
    let unruled = places(&document, "unruled");
    assert!(
        unruled.contains(&"/total".to_owned()) && unruled.len() == 2,
        "{document:#}"
    );
    let text = place.run(&["rules", "suggest"]).stdout;
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(text.contains("no rule is suggested for these:"), "{text}");
    assert_eq!(text.matches("\n[[rule]]\n").count(), 1, "{text}");
    assert_eq!(text.matches("\n#[[rule]]\n").count(), 1, "{text}");
    // What is printed can stand in a file as it is.
    place.write("new.toml", &text);
    let check = place.run(&["config", "check", "--config", "new.toml"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    place.write("parity.toml", all_accepted(&text));
    let check = place.run(&["config", "check"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    let left = recorded(&place, &["--candidate-version", "2"]);
    assert_eq!(left.len(), 2 * ROUTES.len(), "{left:?}");
    assert!(
        left.iter()
            .all(|group| !group.contains("tags") && !group.contains("created"))
    );
    assert!(left.iter().any(|group| group.contains("/total value")));
    // Under the rules there is nothing more to suggest.
    let again = place.run(&["rules", "suggest", "--output", "json"]).json();
    assert_eq!(again["rules"], serde_json::json!([]), "{again:#}");
}

#[test]
fn rules_are_written_behind_what_stands_in_the_file_and_only_once() {
    let place = Place::new();
    recorded(&place, &[]);
    let own = "# ours\n[record]   # odd  spacing\nstore = 'sqlite:parity.db'\n\n[[rule]]\nid=\"mine\" # why\npath='/x'\naction = \"ignore\"";
    let file = place.write("parity.toml", own);
    let read = || std::fs::read_to_string(&file).expect("it is there");
    let document = place.run(&["rules", "suggest", "--output", "json"]).json();
    let rules = document["rules"].as_array().expect("a list");
    let lossy = rules.iter().find(|one| one["effect"] == "lossy");
    let lossy = lossy.expect("one")["rule"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    // A decision on what is not suggested is none, and nothing is written then.
    let unknown = place.run(&[
        "rules",
        "suggest",
        "--write",
        "--lossy",
        &format!("{lossy}x"),
    ]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    let meant = format!("did you mean `{lossy}`?");
    assert!(unknown.stderr.contains(&meant), "{}", unknown.stderr);
    assert_eq!(read(), own);
    // What nobody has decided on is not written.
    let written = place.run(&["rules", "suggest", "--write"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    for told in [
        "1 rule added; its owner is \"(nobody yet)\": write who answers for it",
        "1 lossy rule needs a decision",
    ] {
        assert!(written.stderr.contains(told), "{}", written.stderr);
    }
    assert!(!read().contains(&lossy), "{}", read());
    let more = ["rules", "suggest", "--write", "--lossy", &lossy, "--owner"];
    let nameless = place.run(&[&more[..], &[""]].concat());
    assert_eq!(nameless.code, 2, "{}", nameless.stderr);
    // It is in the rule that is added, and changes none that stands there.
    let written = place.run(&[&more[..], &["team \"ledger\""]].concat());
    assert_eq!(written.code, 0, "{}", written.stderr);
    let told = "1 rule added; 1 rule stays as it is";
    assert!(written.stderr.contains(told), "{}", written.stderr);
    let owners = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("owner = "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let [first, second] = &owners(&read())[..] else {
        panic!("{}", read());
    };
    assert_eq!(first, "owner = \"(nobody yet)\"");
    assert!(second.contains("ledger"), "{second}");
    let text = read();
    assert!(text.starts_with(own) && text.contains(&lossy), "{text}");
    assert_eq!(place.run(&["config", "check"]).code, 0);
    // What a person made of a suggestion stays.
    let edited = text.replace("(nobody yet)", "team payments");
    place.write("parity.toml", &edited);
    let again = place.run(&["rules", "suggest", "--write", "--lossy", &lossy]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(
        again.stderr.contains("nothing to add; 2 rules stay"),
        "{}",
        again.stderr
    );
    assert_eq!(read(), edited);
}

#[test]
fn a_file_that_cannot_take_the_rules_stays_as_it_is() {
    let place = Place::new();
    recorded(&place, &[]);
    for (text, told) in [
        (
            "rule = [{ id = \"a\", path = \"/x\", action = \"ignore\" }]\n",
            "write each one as [[rule]]",
        ),
        ("unknown_key = 1\n", "unknown key"),
        ("[[rule]\n", "not TOML"),
        (
            "[[rule]]\nid = \"a\"\naction = \"nothing\"\n",
            "is not an action",
        ),
    ] {
        let file = place.write("parity.toml", text);
        let ended = place.run(&["rules", "suggest", "--write", "--store", "sqlite:parity.db"]);
        assert_eq!(ended.code, 2, "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{text}: {}", ended.stderr);
        assert_eq!(std::fs::read_to_string(file).expect("it is there"), text);
    }
    std::fs::remove_file(place.path().join("parity.toml")).expect("it was there");
    let none = place.run(&["rules", "suggest", "--write"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(
        none.stderr.contains("parity config init"),
        "{}",
        none.stderr
    );
    let files = std::fs::read_dir(place.path()).expect("a directory");
    let left: Vec<_> = files
        .map(|file| file.expect("readable").file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| name.to_string_lossy().starts_with("parity.db")),
        "{left:?}"
    );
}

/// A table of orders, and an answer in JSON, whose names the candidate changes.
fn renaming(customer: &'static str, id: &'static str, wrong: bool) -> Service {
    Service::start(move |request| {
        if request.target == "/export" {
            let rows = (0..40).map(|row| {
                let name = if wrong && row == 39 { 999 } else { row };
                format!("{row},name {name},n\n")
            });
            let table = format!("id,{customer},note\n{}", rows.collect::<String>());
            return Answer::new(200, table).header("content-type", "text/csv");
        }
        let value = if wrong { 8 } else { 7 };
        Answer::json(format!("{{\"{id}\":{value}}}"))
    })
}

/// Traffic with these names in the candidate; the groups of its report.
fn recorded_names(place: &Place, candidate: &Service, version: &str) -> Vec<String> {
    let legacy = renaming("cust", "orderId", false);
    let version = ["--candidate-version", version];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &version);
    for path in ["/export", "/order", "/export", "/order"] {
        mirror.get(path);
    }
    let groups = mirror.settled(4).groups();
    mirror.stop();
    groups
}

#[test]
fn other_names_become_rules_by_which_a_wrong_value_is_still_found() {
    let place = Place::new();
    recorded_names(&place, &renaming("customer", "order_id", false), "1");
    let document = place.run(&["rules", "suggest", "--output", "json"]).json();
    let rules = document["rules"].as_array().expect("a list");
    let mut said: Vec<String> = rules
        .iter()
        .map(|one| {
            let rule = &one["rule"];
            let text = |key: &str| rule[key].as_str().unwrap_or_default();
            let said = [text("action"), text("route"), text("path"), text("to")];
            said.join(" ")
        })
        .collect();
    said.sort();
    assert_eq!(
        said,
        [
            "rename GET /export /*/cust customer",
            "rename GET /order /orderId order_id"
        ],
        "{document:#}"
    );
    assert_eq!(document["unruled"], serde_json::json!([]), "{document:#}");
    // The report advises the same, and no wider rule.
    let report = place.run(&["report"]).stdout;
    assert!(
        report.contains("a [[rule]] with action = \"rename\"") && !report.contains("\"accept\""),
        "{report}"
    );
    let text = place.run(&["rules", "suggest"]).stdout;
    place.write("parity.toml", all_accepted(&text));
    let check = place.run(&["config", "check"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    let equal = recorded_names(&place, &renaming("customer", "order_id", false), "2");
    assert!(equal.is_empty(), "{equal:?}");
    let wrong = recorded_names(&place, &renaming("customer", "order_id", true), "3");
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    let other = recorded_names(&place, &renaming("client", "orderid", false), "4");
    assert!(other.len() >= 4, "{other:?}");
}

/// Rules for all that differs but the wrong value and the hostile name.
const NEAR: &str = "[[rule]]\nid = \"times\"\npath = \"/created_at\"\naction = \"as\"\ntype = \"timestamp\"\n\n[[rule]]\nid = \"lists\"\npath = \"/**\"\naction = \"accept\"\nexplanations = [\"null_vs_empty\"]\n";

fn fates(document: &Value) -> Vec<(String, String)> {
    let groups = document["groups"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut fates: Vec<_> = groups
        .iter()
        .map(|group| (text(&group["pattern"]), text(&group["fate"])))
        .collect();
    fates.sort();
    fates.dedup();
    fates
}

#[test]
fn rules_are_tried_on_what_is_stored_and_what_is_wrong_stays() {
    let place = Place::new();
    recorded(&place, &[]);
    place.write("new.toml", NEAR);
    let test = |file: &str, more: &[&str]| {
        place.run(
            &[
                &["rules", "test", "--config", file, "--output", "json"],
                more,
            ]
            .concat(),
        )
    };
    let ended = test("new.toml", &[]);
    let document = ended.json();
    assert_eq!(document["schema"], "parity.rules_test/v1");
    let fates_of = fates(&document);
    for (path, fate) in [
        ("/created_at", "excused"),
        ("/tags", "excused"),
        ("/total", "stays"),
    ] {
        let expected = (path.to_owned(), fate.to_owned());
        assert!(fates_of.contains(&expected), "{path}: {fates_of:?}");
    }
    // Each answer has a wrong value, so none of them becomes equal.
    assert_eq!(document["after"]["differing"], 3, "{document:#}");
    assert_ne!(ended.code, 0);
    // Everything excused: what the gate demands besides decides now.
    place.write(
        "all.toml",
        "[[rule]]\nid = \"all\"\npath = \"\"\naction = \"ignore\"\n",
    );
    let all = test(
        "all.toml",
        &["--min-requests", "1", "--max-mismatch-rate", "0.9"],
    );
    let document = all.json();
    assert_eq!(document["before"]["differing"], 3);
    assert_eq!(document["after"]["differing"], 0, "{document:#}");
    assert_eq!(all.code == 0, document["after"]["outcome"] == "pass");
    // The same file as before changes nothing.
    place.write("none.toml", "");
    let none = test("none.toml", &[]).json();
    assert_eq!(none["before"]["differing"], none["after"]["differing"]);
    assert!(
        fates(&none).iter().all(|(_, fate)| fate == "stays"),
        "{none:#}"
    );
    let text = place.run(&["rules", "test", "--config", "new.toml"]).stdout;
    assert!(!text.contains(['\u{202e}', '\u{1b}']), "{text}");
    assert!(text.starts_with("before  "), "{text}");
    place.write("wrong.toml", "[[rule]]\nid = \"x\"\naction = \"nothing\"\n");
    assert_eq!(test("wrong.toml", &[]).code, 2);
}

#[test]
fn what_lost_rules_excused_is_never_a_pass() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"body\"\npath = \"\"\naction = \"ignore\"\n",
    );
    recorded(&place, &[]);
    place.write("none.toml", "");
    let asked = ["--min-requests", "1", "--max-mismatch-rate", "0.9"];
    let test = |file: &str| {
        let asked = [
            &["rules", "test", "--config", file, "--output", "json"],
            &asked[..],
        ];
        place.run(&asked.concat())
    };
    let kept = test("parity.toml").json();
    assert_eq!(kept["lost"], serde_json::json!([]), "{kept:#}");
    let ended = test("none.toml");
    let document = ended.json();
    assert_eq!(
        document["lost"],
        serde_json::json!(["body"]),
        "{document:#}"
    );
    assert_ne!(document["after"]["outcome"], "pass");
    assert_ne!(ended.code, 0);
}

/// Answers in a format, by both services, and rules by which only what is wrong still differs.
const FORMATS: [(&str, &str, &str, &str); 2] = [
    (
        "application/xml",
        "<order><custName>Ada</custName><total>10.1</total><at>2026-03-01T09:30:12.1Z</at><state>paid</state></order>",
        "<order><custName>Ada</custName><total>10.105</total><at>2026-03-01T09:30:12.100Z</at><state>open</state></order>",
        "[[rule]]\nid = \"t\"\npath = \"/order/total\"\naction = \"tolerance\"\nabsolute = \"0.01\"\n\n[[rule]]\nid = \"n\"\npath = \"/order/total\"\naction = \"as\"\ntype = \"number\"\n\n[[rule]]\nid = \"a\"\npath = \"/order/at\"\naction = \"as\"\ntype = \"timestamp\"\n",
    ),
    (
        "text/csv",
        "id,total,at,state\n1,10.1,2026-03-01T09:30:12.1Z,paid\n",
        "id,total,at,state\n1,10.105,2026-03-01T09:30:12.100Z,open\n",
        "[[rule]]\nid = \"t\"\npath = \"/*/total\"\naction = \"tolerance\"\nabsolute = \"0.01\"\n\n[[rule]]\nid = \"n\"\npath = \"/*/total\"\naction = \"as\"\ntype = \"number\"\n\n[[rule]]\nid = \"a\"\npath = \"/*/at\"\naction = \"as\"\ntype = \"timestamp\"\n",
    ),
];

#[test]
fn rules_are_tried_on_xml_and_on_tables_as_on_json() {
    for (media_type, one, two, rules) in FORMATS {
        let place = Place::new();
        let [legacy, candidate] = [one, two].map(|body| {
            Service::start(move |_| Answer::new(200, body).header("content-type", media_type))
        });
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
        mirror.get("/orders");
        mirror.settled(1);
        mirror.stop();
        place.write("new.toml", rules);
        let document = place
            .run(&["rules", "test", "--config", "new.toml", "--output", "json"])
            .json();
        let fates = fates(&document);
        let fate_of = |end: &str| {
            let mut found = fates.iter().filter(|(path, _)| path.ends_with(end));
            found.next().map(|(_, fate)| fate.as_str())
        };
        for (end, fate) in [
            ("/total", "excused"),
            ("/at", "excused"),
            ("/state", "stays"),
        ] {
            assert_eq!(fate_of(end), Some(fate), "{media_type} {document:#}");
        }
    }
}

/// For each route: what the legacy answers, the rewrite, and the rewrite with a fault that is near in the same way.
fn noisy(route: &str, number: u64) -> [String; 3] {
    let time = format!("2026-03-01T09:30:{}", 12 + number);
    let unix = 1_772_357_412 + number;
    let whole = 1_000 + number;
    match route {
        "made" => [
            format!("\"{time}Z\""),
            unix.to_string(),
            (unix * 1_000).to_string(),
        ],
        "ttl" => [
            format!("\"PT{}M\"", number + 2),
            ((number + 2) * 60).to_string(),
            ((number + 2) * 60_000).to_string(),
        ],
        "cents" => [
            format!("{whole}.25"),
            format!("{whole}25"),
            format!("{}.{:02}25", whole / 100, whole % 100),
        ],
        "offset" => [
            format!("\"{time}\""),
            format!("\"{time}Z\""),
            format!("\"{time}+05:00\""),
        ],
        "lists" => ["null".to_owned(), "[]".to_owned(), "{}".to_owned()],
        "sums" => [
            format!("{whole}.4567"),
            format!("{whole}.46"),
            whole.to_string(),
        ],
        _ => [
            format!("\"/a b/{number}\""),
            format!("\"/a%20b/{number}\""),
            format!("\"/a+b/{number}\""),
        ],
    }
}

const NOISY: [&str; 7] = ["made", "ttl", "cents", "offset", "lists", "sums", "links"];
/// What the faults of these are near in.
const FAULTS: [&str; 7] = [
    "unix_millis",
    "duration_millis",
    "divided_by_100",
    "assumed_offset",
    "null_vs_empty_object",
    "rounded_to_whole",
    "form_encoding",
];
const ASKED: u64 = 10;

fn noisy_service(side: usize) -> Service {
    Service::start(move |request| {
        let mut names = request.target.trim_start_matches('/').split('/');
        let route = names.next().unwrap_or_default().to_owned();
        let number: u64 = names.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let is_wrong = side == 1 && number % 5 == 2;
        let value = &noisy(&route, number)[side + usize::from(is_wrong)];
        Answer::json(format!("{{\"value\":{value}}}"))
    })
}

#[test]
fn a_fault_that_is_near_like_the_noise_is_never_suggested_away() {
    let place = Place::new();
    let record = |version: &str| {
        let (legacy, candidate) = (noisy_service(0), noisy_service(1));
        let version = ["--candidate-version", version];
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &version);
        for number in 0..ASKED {
            for route in NOISY {
                mirror.get(&format!("/{route}/{number}"));
            }
        }
        let groups = mirror.settled(ASKED * NOISY.len() as u64).groups();
        mirror.stop();
        groups
    };
    record("1");
    let document = place.run(&["rules", "suggest", "--output", "json"]).json();
    let rules = document["rules"].as_array().expect("a list");
    assert_eq!(rules.len(), NOISY.len(), "{document:#}");
    let text = place.run(&["rules", "suggest"]).stdout;
    assert!(
        text.contains("# they cover a difference of at least 56 mismatches; of at least 56 of these they cover all"),
        "{text}"
    );
    // Not one of these is a rule before somebody has decided.
    place.write("parity.toml", &text);
    assert_eq!(place.run(&["config", "check"]).code, 0);
    assert!(!text.contains("\n[[rule]]\n"), "{text}");
    let written = place.run(&["rules", "suggest", "--write"]);
    assert!(
        written.stderr.contains("nothing to add"),
        "{}",
        written.stderr
    );
    let hidden = "# would hide: nothing else differs on GET /cents/{id}, so if this is a fault, it would look right";
    // Its faults are another group.
    assert!(!text.contains(hidden), "{text}");
    place.write("parity.toml", all_accepted(&text));
    assert_eq!(place.run(&["config", "check"]).code, 0);
    let left = record("2");
    for (route, fault) in NOISY.iter().zip(FAULTS) {
        let place = format!("/{route}/");
        let found: Vec<&String> = left.iter().filter(|group| group.contains(&place)).collect();
        assert!(!found.is_empty(), "{route}: {left:?}");
        assert!(
            found.iter().all(|group| group.contains(fault)),
            "{route}: {found:?}"
        );
    }
    // Alone they are no noise either: nothing says which of two units is meant.
    let gate = place.run(&["gate", "--min-requests", "1", "--max-mismatch-rate", "0"]);
    assert_eq!(gate.code, 1, "{}", gate.stdout);
}

/// Euros of which the candidate makes cents, with times in UTC; and sums, which it cuts and does not round.
fn prices(is_new: bool, is_wrong: bool) -> Service {
    Service::start(move |request| {
        let last = request.target.rsplit('/').next();
        let number: u64 = last.and_then(|text| text.parse().ok()).unwrap_or(0);
        let is_sum = request.target.starts_with("/sums");
        let value = match (is_sum, is_new) {
            (true, false) => format!("{number}.4567"),
            (true, true) => format!("{number}.45"),
            (false, false) => format!("{number}.25"),
            (false, true) if is_wrong => format!("{number}26"),
            (false, true) => format!("{number}25"),
        };
        let time = if is_new {
            "08:00:00Z"
        } else {
            "10:00:00+02:00"
        };
        let more = if is_sum {
            String::new()
        } else {
            format!(",\"at\":\"2026-01-01T{time}\"")
        };
        Answer::json(format!("{{\"value\":{value}{more}}}"))
    })
}

#[test]
fn a_fault_that_is_all_that_differs_on_a_route_is_no_rule_before_somebody_decides() {
    let place = Place::new();
    // Of each version another number, so that none is taken for the one before.
    let record = |version: &str, is_wrong: bool| {
        let each = 4 + version.parse::<u64>().expect("a number");
        let (legacy, candidate) = (prices(false, false), prices(true, is_wrong));
        let version = ["--candidate-version", version];
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &version);
        for number in 10..10 + each {
            mirror.get(&format!("/sums/{number}"));
            mirror.get(&format!("/prices/{number}"));
        }
        let groups = mirror.settled(2 * each).groups();
        mirror.stop();
        groups
    };
    record("1", false);
    let text = place.run(&["rules", "suggest"]).stdout;
    let hidden = "# would hide: nothing else differs on GET /sums/{id}, so if this is a fault, it would look right\n";
    assert!(text.contains(hidden), "{text}");
    assert!(
        text.contains("#action = \"scale\"\n") && text.contains("#factor = \"100\"\n"),
        "{text}"
    );
    assert!(!text.contains("\"scaled_by_100\""), "{text}");
    let report = place.run(&["report"]).stdout;
    assert!(
        !report.contains("explanations = [\"scaled_by_100\"]"),
        "{report}"
    );
    // Who copies all of it, and who writes all of it, has the fault still.
    place.write("parity.toml", &text);
    let left = record("2", false);
    assert!(
        left.iter().any(|group| group.contains("/sums/")),
        "{left:?}"
    );
    assert!(!left.iter().any(|group| group.contains("/at ")), "{left:?}");
    place.write("parity.toml", "");
    let written = place.run(&["rules", "suggest", "--candidate-version", "1", "--write"]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert!(
        written.stderr.contains("1 rule added"),
        "{}",
        written.stderr
    );
    assert!(
        written.stderr.contains("2 lossy rules need a decision"),
        "{}",
        written.stderr
    );
    let left = record("3", false);
    for route in ["/sums/", "/prices/"] {
        assert!(
            left.iter().any(|group| group.contains(route)),
            "{route}: {left:?}"
        );
    }
    // A decision on the unit excuses the unit alone.
    let document = place
        .run(&[
            "rules",
            "suggest",
            "--candidate-version",
            "1",
            "--output",
            "json",
        ])
        .json();
    let rules = document["rules"].as_array().expect("a list");
    let scale = rules.iter().find(|one| one["rule"]["action"] == "scale");
    let scale = scale.expect("one")["rule"]["id"].as_str().expect("an id");
    let written = place.run(&[
        "rules",
        "suggest",
        "--candidate-version",
        "1",
        "--write",
        "--lossy",
        scale,
    ]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let left = record("4", false);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains("/sums/"), "{left:?}");
    let left = record("5", true);
    assert!(
        left.iter().any(|group| group.contains("/prices/")),
        "{left:?}"
    );
}
