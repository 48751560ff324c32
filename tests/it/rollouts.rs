//! The gate for rollout controllers: each file of examples/rollout is used as its controller uses it, against a real mirror.
//!
//! The controllers' rules are in `argo` and `flagger`, as their sources have them. What must never happen is a yes without
//! proof: to go on without a pass, or to roll back without a proven fail.

mod argo;
mod calls;
mod faults;
mod flagger;
mod stored;
mod wire;

use argo::{Phase, Template};
use flagger::{Canary, Hook};

use crate::support::client::Connection;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::wait_for;

/// The token of the port, as its file has it.
const TOKEN: &str = "a-token-that-nobody-sees";
/// The build that the files ask for.
const VERSION: &str = "1.7.0";
/// Equal answers that prove 0.1 % at 95 %, however often the gate is asked, and some more.
const ENOUGH: usize = 4_000;

/// Arguments of a mirror as the files expect it.
fn arguments() -> [&'static str; 6] {
    [
        "--admin-token-file",
        "token",
        "--migration",
        "payments",
        "--candidate-version",
        VERSION,
    ]
}

fn place() -> Place {
    let place = Place::new();
    place.write("token", format!("{TOKEN}\n"));
    place
}

fn template() -> Template {
    Template::with(&[("candidate-version", VERSION), ("token", TOKEN)])
}

fn canary() -> Canary {
    Canary::read().with("token", TOKEN)
}

/// Sends requests on one connection.
fn send(mirror: &Mirror<'_>, count: usize) {
    let mut connection = Connection::open(mirror.address);
    for number in 0..count {
        connection.send("GET", &format!("/items/{number}"), &[], b"");
        let answer = connection.answer("GET").expect("an answer");
        assert_eq!(answer.status, 200);
    }
}

fn is_no(hook: &Hook) -> bool {
    matches!(hook, Hook::No(_))
}

/// The answer of the hooks when nothing is proven, with the reasons.
fn undecided(hooks: &[Hook; 3]) -> bool {
    hooks.iter().all(|hook| match hook {
        Hook::Yes => false,
        Hook::No(why) => why.starts_with("undecided: "),
    })
}

#[test]
fn controllers_go_on_with_a_pass_and_with_nothing_else() {
    let place = place();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":1}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &arguments());
    let (template, canary) = (template(), canary());

    // Nothing is recorded yet, which is no error.
    let (value, phase) = wait_for("a store", || {
        Some(template.measure(mirror.admin)).filter(|(_, phase)| *phase != Phase::Error)
    });
    assert_eq!(phase, Phase::Inconclusive, "{value}");
    let asked = canary.ask(mirror.admin);
    assert!(undecided(&asked), "{asked:?}");

    send(&mirror, 50);
    let (value, phase) = template.measure(mirror.admin);
    assert_eq!(phase, Phase::Inconclusive, "{value}");
    for member in ["\"compared\":50,", "\"differing\":0,"] {
        assert!(value.contains(member), "{value}");
    }
    let asked = canary.ask(mirror.admin);
    assert!(undecided(&asked), "{asked:?}");

    send(&mirror, ENOUGH);
    let (value, phase) = template.measure(mirror.admin);
    assert_eq!(phase, Phase::Successful, "{value}");
    assert!(value.len() < 1024, "Argo keeps it: {value}");
    let [begin, promote, roll_back] = canary.ask(mirror.admin);
    assert_eq!((begin, promote), (Hook::Yes, Hook::Yes));
    assert!(
        matches!(&roll_back, Hook::No(why) if why.starts_with("pass: ")),
        "{roll_back:?}"
    );

    // Another build was never seen, so nothing is known of it.
    let other = Template::with(&[("candidate-version", "1.7.1"), ("token", TOKEN)]);
    let (value, phase) = other.measure(mirror.admin);
    assert_eq!(phase, Phase::Inconclusive, "{value}");
    assert!(value.contains("`1.7.1`"), "{value}");
    let asked = canary.with("candidate_version", "1.7.1").ask(mirror.admin);
    assert!(undecided(&asked), "{asked:?}");
    mirror.stop();
}

#[test]
fn controllers_abort_and_roll_back_on_a_proven_fail() {
    let place = place();
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &arguments());
    send(&mirror, 40);
    let (template, canary) = (template(), canary());
    let (value, phase) = wait_for("a store", || {
        Some(template.measure(mirror.admin)).filter(|(_, phase)| *phase != Phase::Error)
    });
    assert_eq!(phase, Phase::Failed, "{value}");
    let [begin, promote, roll_back] = canary.ask(mirror.admin);
    assert!(is_no(&begin) && is_no(&promote), "{begin:?} {promote:?}");
    assert_eq!(roll_back, Hook::Yes);
    mirror.stop();

    // The record alone says the same, by `parity ui`; and nothing when it is gone.
    let mut command = place.command(&["ui", "--admin", "127.0.0.1:0"]);
    command.args(["--admin-token-file", "token", "--migration", "payments"]);
    let mut ui = place.start(&mut command);
    ui.admin = ui.announced("serving http://");
    assert_eq!(template.measure(ui.admin).1, Phase::Failed);
    assert_eq!(canary.call("rollback", ui.admin), Hook::Yes);
    std::fs::rename(place.path().join("parity.db"), place.path().join("gone")).expect("moved");
    // Whoever asks within a second gets what was decided before.
    let asked = wait_for("what was decided before to be over", || {
        let asked = canary.ask(ui.admin);
        (asked[2] != Hook::Yes).then_some(asked)
    });
    for hook in asked.iter().skip(2).chain(&canary.ask(ui.admin)) {
        assert!(
            matches!(hook, Hook::No(why) if why.starts_with("there is no store")),
            "{hook:?}"
        );
    }
    let (value, phase) = template.measure(ui.admin);
    assert_eq!(phase, Phase::Error);
    assert!(
        value.starts_with("503: ") && value.contains("there is no store"),
        "{value}"
    );
    ui.stop();
}

#[test]
fn what_is_not_decided_is_never_taken_for_success() {
    use Phase::{Error, Failed, Inconclusive, Successful};
    let template = template();
    let cases: [(Vec<Phase>, Option<Phase>); 8] = [
        (vec![Inconclusive; 19], None),
        (vec![Inconclusive; 20], Some(Inconclusive)),
        (vec![Inconclusive, Failed], Some(Failed)),
        (vec![Error; 4], None),
        (vec![Error; 5], Some(Error)),
        ([vec![Error; 4], vec![Successful; 19]].concat(), None),
        (vec![Successful; 20], Some(Successful)),
        (
            [vec![Inconclusive; 19], vec![Successful]].concat(),
            Some(Successful),
        ),
    ];
    for (measured, expected) in cases {
        assert_eq!(template.assess(&measured), expected, "{measured:?}");
    }
}

#[test]
fn the_series_say_pass_only_of_a_pass_of_this_build() {
    let place = place();
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::start(|request| {
        Answer::json(if request.target.contains("/odd/") {
            "{\"a\":2}"
        } else {
            "{\"a\":1}"
        })
    });
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &arguments());
    let canary = canary();
    let scrape = || {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str())];
        crate::support::client::send(mirror.admin, "GET", "/metrics", &headers, b"").text()
    };
    // Nothing is decided until somebody scrapes.
    let first = scrape();
    assert!(!first.contains("parity_gate_outcome"), "{first}");
    assert_eq!(canary.measure(&first), Err("no values found".to_owned()));
    send(&mirror, ENOUGH);
    let label = |route: &str| {
        format!("migration=\"payments\",candidate_version=\"{VERSION}\",route=\"{route}\"")
    };
    let value = |scrape: &str, name: &str| flagger::query(&format!("min({name})"), scrape);
    let passing = wait_for("a pass", || {
        let scrape = scrape();
        canary.measure(&scrape).is_ok().then_some(scrape)
    });
    let upper = format!(
        "parity_gate_route_differing_upper{{{}}}",
        label("GET /items/{id}")
    );
    assert!(
        value(&passing, &upper).is_some_and(|upper| upper < 0.001),
        "{passing}"
    );
    assert!(
        passing.contains("parity_gate_last_decision_successful 1"),
        "{passing}"
    );

    // A build of which nothing is recorded has no series, so that Flagger halts.
    let other = passing.replace(&format!("=\"{VERSION}\""), "=\"1.6.9\"");
    assert_eq!(canary.measure(&other), Err("no values found".to_owned()));

    let mut connection = Connection::open(mirror.address);
    for number in 0..300 {
        connection.send("GET", &format!("/odd/{number}"), &[], b"");
        connection.answer("GET").expect("an answer");
    }
    let failing = wait_for("a fail", || {
        let scrape = scrape();
        canary.measure(&scrape).is_err().then_some(scrape)
    });
    let outcome = |word: &str| {
        let labels = format!("migration=\"payments\",candidate_version=\"{VERSION}\"");
        value(
            &failing,
            &format!("parity_gate_outcome{{{labels},outcome=\"{word}\"}}"),
        )
    };
    let new_groups = |scrape: &str, state: &str| {
        let labels = format!("migration=\"payments\",candidate_version=\"{VERSION}\"");
        value(
            scrape,
            &format!("parity_gate_new_groups{{{labels},state=\"{state}\"}}"),
        )
    };
    assert_eq!(new_groups(&passing, "open"), Some(0.0), "{passing}");
    // Nothing is asked again here, so nothing is confirmed.
    assert_eq!(
        ["confirmed", "open"].map(|state| new_groups(&failing, state)),
        [Some(0.0), Some(1.0)],
        "{failing}"
    );
    assert_eq!(
        ["pass", "fail", "undecided"].map(outcome),
        [Some(0.0), Some(1.0), Some(0.0)],
        "{failing}"
    );
    let of_odd = |name: &str| value(&failing, &format!("{name}{{{}}}", label("GET /odd/{id}")));
    assert_eq!(of_odd("parity_gate_route_differing"), Some(300.0));
    assert_eq!(of_odd("parity_gate_route_differing_rate"), Some(1.0));
    assert!(of_odd("parity_gate_route_differing_lower").is_some_and(|lower| lower > 0.9));
    mirror.stop();
}
