//! What is told of a rollout where the mirror is not asked, and that nothing of before a fall back stands as if it were of now.

use serde_json::Value;

use super::{change, get_as, named, post, rollout, set, settings, who};
use crate::servers::ClickHouse;
use crate::support::process::{Mirror, Place};
use crate::support::wait_or_tell;

/// The overview, once it says all of this.
fn says(of: &Mirror<'_>, words: &[&str]) -> String {
    let page = || of.ask("/").text();
    wait_or_tell(
        || {
            let page = page();
            words
                .iter()
                .all(|words| page.contains(words))
                .then_some(page)
        },
        || format!("{words:?} in {}", page()),
    )
}

/// How the record says that the only rollout stands, for programs.
fn recorded(ui: &Mirror<'_>) -> Value {
    let health = ui.ask("/api/v1/health").json();
    let rollouts = health["rollouts"].as_array().cloned().unwrap_or_default();
    let [one] = &rollouts[..] else {
        panic!("{health}");
    };
    one.clone()
}

/// A rollout that goes up, falls back and is begun again, as a process without the mirror tells it by this store.
fn told_by_the_record(store: &str) {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let named = ["--instance", "front-1", "--store", store];
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &named);
    let mut ui =
        place.start(&mut place.command(&["ui", "--admin", "127.0.0.1:0", "--store", store]));
    ui.admin = ui.announced("serving http://");
    set(&mirror, 10.0);
    let now = rollout(&mirror);
    assert_eq!(now["since"], now["set"]["at"], "{now}");
    says(
        &ui,
        &[
            "Rollout</strong>: 10 % of the clients of front-1 are served by the candidate since ",
            "That is by the audit record",
            "the process was heard of at ",
            "only its mirror knows",
        ],
    );
    let one = recorded(&ui);
    assert_eq!(
        (&one["percent"], &one["at_work"]),
        (&10.0.into(), &true.into()),
        "{one}"
    );
    assert_eq!(one["since"], now["since"], "{one}");
    assert_eq!(post(&mirror, "back").status, 200);
    let now = rollout(&mirror);
    let at = &now["fell_back"]["at"];
    // One time, wherever it is told.
    let line = change(&mirror, "rollout_back", |_| true);
    assert_eq!((&line["time"], &now["since"]), (at, at), "{now}");
    let back = "The rollout is back at the legacy";
    says(&ui, &[back, "front-1 fell back from 10 % to 0 % at "]);
    let one = recorded(&ui);
    assert_eq!(
        (&one["fell_back"]["at"], &one["fell_back"]["from"]),
        (at, &10.0.into()),
        "{one}"
    );
    // The chart has both, of the mirror and of who only reads.
    for of in [&mirror, &ui] {
        says(
            of,
            &[
                back,
                "rollout 0 % → 10 %: front-1, by ",
                "rollout fell back, 10 % → 0 %: front-1, by ",
            ],
        );
        let history = of.ask("/api/v1/history?since=1h").json();
        let marks = history["marks"].as_array().cloned().unwrap_or_default();
        let kinds: Vec<_> = marks
            .iter()
            .filter_map(|mark| mark["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["rollout_set", "rollout_back"], "{history}");
    }
    // A mirror tells its own once, as it knows it itself.
    assert_eq!(mirror.ask("/").text().matches(back).count(), 1);
    assert_eq!(mirror.stop().0, 0);
    says(
        &ui,
        &[back, "last heard of at ", "whether it serves is not known"],
    );
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &named);
    let begun = change(&mirror, "started", |line| {
        let detail = line["detail"].as_str().unwrap_or_default();
        detail.ends_with("; rollout at 0 %, after a fall back from 10 %")
    });
    says(&ui, &[back, "the process was heard of at "]);
    let one = recorded(&ui);
    assert_eq!(
        (&one["told"], &one["fell_back"]["at"]),
        (&begun["time"], at),
        "{one}"
    );
    assert_eq!(who(&get_as(&mirror, "anna", "/items/1")), "legacy");
}

#[test]
fn who_only_reads_the_store_tells_the_rollout_by_the_audit_record() {
    told_by_the_record("sqlite:parity.db");
}

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn who_only_reads_clickhouse_tells_the_rollout_by_the_audit_record() {
    let database = ClickHouse::shared().database();
    let url = database.url();
    let ended = Place::new().run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    told_by_the_record(&url);
}

/// A pass of before stood as one of now, and the bound by which it goes nowhere.
#[test]
fn what_was_before_a_fall_back_is_told_as_that_and_the_bound_is_named() {
    let place = Place::new();
    place.write("parity.toml", settings("candidate_percent = 0", ""));
    let (legacy, candidate) = (named("legacy"), named("candidate"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    set(&mirror, 10.0);
    let admin = mirror.admin.to_string();
    let status = || place.run(&["rollout", "status", "--admin", &admin]).stdout;
    let told = status();
    let since = rollout(&mirror)["since"].clone();
    let since = since.as_str().expect("a time");
    for words in [
        &format!("10 % of clients served by the candidate since {since}\n"),
        "\ngate: pass at ",
        "its bound (rollout.max_mismatch_rate): 0.5",
        // Rates are of this percent alone.
        "(the last 60 s, but not before the percent that is in force):",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let window = rollout(&mirror)["window_since"].clone();
    assert!(window.as_str() >= Some(since), "{window} {since}");
    let bound = "the gate of the rollout allows 50 % to differ (rollout.max_mismatch_rate), and not 0.1 % as the decision on this page";
    assert!(
        mirror.ask("/").text().contains(bound),
        "{}",
        mirror.ask("/").text()
    );
    let same = mirror.ask("/?max_mismatch_rate=0.5").text();
    assert!(!same.contains("the gate of the rollout allows"), "{same}");
    assert_eq!(post(&mirror, "back").status, 200);
    let told = status();
    assert!(
        told.contains("\ngate: not asked since the fall back; before it: pass at "),
        "{told}"
    );
    // What was wanted is the person's, and the text says no more than the fields.
    let now = rollout(&mirror);
    assert_eq!(
        (&now["target"], &now["blocked"]),
        (&0.0.into(), &10.0.into()),
        "{now}"
    );
    assert!(told.contains("10 % was wanted, and is kept back"), "{told}");
    assert!(mirror.ask("/").text().contains(bound));
}
