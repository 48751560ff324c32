//! The alert rules for Grafana on a real ClickHouse with what real mirrors wrote: each fires where it should, and nowhere else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::clickhouse::{ask, number};
use super::expand::{Range, Variables, sql};
use super::{list, word, yaml};
use crate::servers::{ClickHouse, Database};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service, nobody};
use crate::support::wait_for;

/// More than the rules need to say anything.
const ENOUGH: usize = 150;

/// The migrations for which each rule fires; there are others that are well.
const FIRES: [(&str, &[&str]); 8] = [
    ("parity-broken", &["different"]),
    ("parity-decision", &["different"]),
    ("parity-new-group", &["different"]),
    ("parity-no-comparisons", &["down", "unserved", "writes"]),
    ("parity-drops", &["down"]),
    ("parity-lag", &["killed"]),
    ("parity-clients", &["unserved"]),
    ("parity-candidate-down", &["down"]),
];

/// What a rule says now: the migrations for which its threshold is passed.
fn firing(database: &Database<'_>, rule: &Value, to: i64) -> BTreeSet<String> {
    let at = word(rule, "/uid");
    let [query, reduce, threshold] = list(rule, "/data") else {
        panic!("{at}: a query, what is reduced of it, and a threshold");
    };
    assert_eq!(word(rule, "/condition"), word(threshold, "/refId"));
    assert_eq!(word(reduce, "/model/expression"), word(query, "/refId"));
    assert_eq!(word(threshold, "/model/expression"), word(reduce, "/refId"));
    let evaluator = &threshold["model"]["conditions"][0]["evaluator"];
    assert_eq!(evaluator["type"], "gt");
    let limit = number(&evaluator["params"][0]);
    let seconds = query["relativeTimeRange"]["from"]
        .as_i64()
        .expect("seconds");
    let range = Range {
        from: to - seconds * 1_000,
        to,
        interval: 60_000,
    };
    let query = sql(word(query, "/model/rawSql"), range, &Variables::default());
    let rows = ask(database, at, &query);
    // Grafana takes each row for an alert of its own: one number, and texts, which are its labels.
    let is_text = |column: &Value| word(column, "/type").contains("String");
    let (labels, values): (Vec<&Value>, Vec<&Value>) = list(&rows, "/meta")
        .iter()
        .partition(|column| is_text(column));
    let [value] = values.as_slice() else {
        panic!("{at}: one number, not {values:?}");
    };
    assert!(!labels.is_empty(), "{at}");
    let rows = list(&rows, "/data").iter();
    let passed = rows.filter(|row| number(&row[word(value, "/name")]) > limit);
    passed
        .map(|row| word(row, "/migration").to_owned())
        .collect()
}

/// A mirror of a migration of its own that has got its requests.
fn mirrored<'a>(
    place: &'a Place,
    store: &str,
    migration: &str,
    (legacy, candidate): (&str, &str),
    method: &str,
) -> Mirror<'a> {
    let more = ["--store", store, "--migration", migration];
    let mirror = place.mirror(legacy, candidate, &more);
    for _ in 0..ENOUGH {
        client::send(mirror.address, method, "/items", &[], b"");
    }
    mirror
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn each_rule_fires_where_it_should_and_nowhere_else() {
    let server = ClickHouse::shared();
    let database = server.database();
    let place = Place::new();
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);

    let (one, two) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let hangs_up = Service::misbehaving(|_, _| {});
    let (one, two, nobody) = (one.url(), two.url(), nobody());
    let failing = hangs_up.url();
    // So that the last request before the end was answered.
    let errs = Service::start(|_| Answer::new(503, "sorry"));
    for (migration, services, method) in [
        ("healthy", (&one, &one), "GET"),
        ("different", (&one, &two), "GET"),
        ("down", (&one, &nobody), "GET"),
        ("writes", (&one, &one), "POST"),
        ("unserved", (&failing, &one), "GET"),
        // Errors of the legacy are its own, and both services agree.
        ("sorry", (&errs.url(), &errs.url()), "GET"),
        ("killed", (&one, &one), "GET"),
    ] {
        let mirror = mirrored(&place, &url, migration, (services.0, services.1), method);
        if migration == "killed" {
            wait_for("its counts", || {
                let sum = "SELECT sum(received) FROM tallies_final WHERE migration = 'killed'";
                (database.number(sum) == ENOUGH as u64).then_some(())
            });
            mirror.kill();
        } else {
            assert_eq!(mirror.stop().0, 0);
        }
    }
    for (migration, code) in [("healthy", 3), ("different", 1)] {
        let ended = place.run(&["gate", "--store", &url, "--migration", migration]);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    }

    let file = yaml("provisioning/alerting/parity-clickhouse.yaml");
    let rules = list(&file, "/groups/0/rules");
    let names: Vec<&str> = rules.iter().map(|rule| word(rule, "/uid")).collect();
    let known: Vec<&str> = FIRES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known);
    let now = Range::now().to;
    for (rule, (name, expected)) in rules.iter().zip(FIRES) {
        // Nobody is behind before its time.
        let (to, expected) = match name {
            "parity-lag" => {
                assert!(firing(&database, rule, now).is_empty());
                (now + 300_000, expected)
            }
            _ => (now, expected),
        };
        let expected: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(firing(&database, rule, to), expected, "{name}");
        if name != "parity-lag" && name != "parity-decision" {
            // An hour later all of that is long ago.
            assert!(
                firing(&database, rule, now + 3_600_000).is_empty(),
                "{name}"
            );
        }
    }
}
