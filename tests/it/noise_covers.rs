//! What a proof of noise does not cover, and how much may hide in it: by the gate, from a mirror whose services have ids that
//! differ by chance.

use serde_json::Value;

use crate::rechecks::{by_turn, gets, mirror};
use crate::support::process::Place;
use crate::support::service::Service;
use crate::support::wait_for;

/// Of so many requests one has an id: a group in every answer takes seven hundred rechecks.
const ONE_IN: usize = 20;

/// Fresh ids in some answers.
fn ids() -> Service {
    by_turn(|request, _| {
        let name = request.target.rsplit('/').next().unwrap_or_default();
        let number: usize = name.parse().unwrap_or(0);
        match number % ONE_IN {
            0 => format!(r#"{{"id":"{}"}}"#, uuid::Uuid::new_v4()),
            _ => r#"{"id":1}"#.to_owned(),
        }
    })
}

fn gate(place: &Place, more: &[&str]) -> (i32, Value) {
    let mut args = vec!["gate", "--output", "json", "--max-mismatch-rate", "0.01"];
    args.extend(more);
    let ran = place.run(&args);
    (ran.code, ran.json())
}

fn reasons(decision: &Value) -> String {
    let reasons = decision["reasons"].as_array().expect("reasons");
    let reasons = reasons.iter().map(|reason| reason.as_str().expect("text"));
    reasons.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_pass_is_not_given_while_too_much_may_hide_in_noise() {
    let place = Place::new();
    let (legacy, candidate) = (ids(), ids());
    let mirror = mirror(&place, &legacy, &candidate, &[]);
    gets(mirror.address, "/items/", 60 * ONE_IN);
    mirror.settled(60 * ONE_IN as u64);
    assert_eq!(mirror.stop().0, 0);

    let (code, passed) = gate(&place, &[]);
    assert_eq!(
        (code, &passed["thresholds"]["max_hidden"]),
        (0, &0.01.into()),
        "{passed:#}"
    );
    let hidden = passed["total"]["excused"]["hidden"]
        .as_f64()
        .expect("a share");
    assert!(hidden > 0.002 && hidden < 0.01, "{hidden}");

    let (code, held) = gate(&place, &["--max-hidden", "0.002"]);
    assert_eq!(
        (code, held["outcome"].as_str()),
        (3, Some("undecided")),
        "{held:#}"
    );
    assert_eq!(held["routes"][0]["outcome"], "undecided");
    let said = reasons(&held);
    let expected = "of the compared requests may hide a difference in what is taken for noise or for a change of the data, 0.20 % allowed; about ";
    assert!(
        said.contains(expected) && said.contains(" more rechecks"),
        "{said}"
    );
    let (_, none) = gate(&place, &["--max-hidden", "0"]);
    assert!(
        reasons(&none).contains("no number of rechecks can show"),
        "{none:#}"
    );

    // Decided again from its document, it says the same; and nobody makes less of what may hide.
    let id = held["decision_id"].as_str().expect("an id");
    let exported = place.run(&["decisions", "export", id]).stdout;
    place.write("held.json", &exported);
    assert_eq!(place.run(&["decisions", "verify", "held.json"]).code, 0);
    let page = place.run(&["gate", "--max-hidden", "1.5"]);
    assert_eq!(page.code, 2, "{}", page.stderr);
}

#[test]
fn what_is_counted_while_rechecking_is_off_is_not_excused_by_what_was_asked_before() {
    let place = Place::new();
    let (legacy, candidate) = (ids(), ids());
    place.write("parity.toml", "[recheck]\nrate = 10000\n");
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        command
            .env_remove("PARITY_RECHECK_RATE")
            .env("PARITY_RECHECK_DELAY", "1ms")
            .env("PARITY_RECHECK_IN_FLIGHT", "10000")
            .env("PARITY_RECHECK_CONTROL", "0")
    });
    gets(mirror.address, "/items/", 60 * ONE_IN);
    mirror.settled(60 * ONE_IN as u64);
    let (code, passed) = gate(&place, &["--max-hidden", "1"]);
    assert_eq!(code, 0, "{passed:#}");

    place.write("parity.toml", "[recheck]\nrate = 0\n");
    mirror.signal("HUP");
    wait_for("the reload", || {
        mirror
            .log()
            .contains("configuration reloaded")
            .then_some(())
    });
    gets(mirror.address, "/items/", 20 * ONE_IN);
    mirror.settled(80 * ONE_IN as u64);
    assert_eq!(mirror.stop().0, 0);

    let (code, decided) = gate(&place, &["--max-hidden", "1"]);
    assert_eq!(code, 3, "{decided:#}");
    let excused = &decided["total"]["excused"];
    assert_eq!(
        (&excused["noise"], &excused["open"], &excused["never_asked"]),
        (&60.into(), &20.into(), &20.into())
    );
    assert_eq!(decided["noise"][0]["evidence"]["never_asked"], 20);
    let said = reasons(&decided);
    assert!(
        said.contains("20 are of requests that are never asked again"),
        "{said}"
    );
}
