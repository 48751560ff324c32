//! Who may read the database and not write it.

use super::tables;
use crate::servers::{ClickHouse, READER};
use crate::support::process::Place;
use crate::support::service::Service;

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_user_who_may_only_read_still_gets_the_verdict() {
    let place = Place::new();
    // A server of one's own, since that of somebody else has no such user.
    let server = ClickHouse::own();
    let database = server.database();
    let url = tables(&place, &database);
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":1.0}"));
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--store", &url]);
    for number in 0..300 {
        mirror.get(&format!("/items/{number}"));
    }
    mirror.settled_in(&url, 300);
    assert_eq!(mirror.stop().0, 0);

    let own = database.url_of(READER);
    for (allowed, code, outcome) in [("0.02", 0, "pass"), ("0.001", 3, "undecided")] {
        let ended = place.run(&[
            "gate",
            "--store",
            &own,
            "--max-mismatch-rate",
            allowed,
            "--output",
            "json",
        ]);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        let document = ended.json();
        assert_eq!(
            (&document["outcome"], &document["stored"]),
            (&outcome.into(), &false.into())
        );
        let why = document["not_stored"].as_str().expect("a reason");
        assert!(why.contains("INSERT"), "{why}");
        assert!(
            ended.stderr.contains("the decision is not stored: "),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(database.number("SELECT count() FROM decisions"), 0);
    let stored = place.run(&["gate", "--store", &url, "--max-mismatch-rate", "0.02"]);
    assert_eq!(stored.code, 0, "{}{}", stored.stdout, stored.stderr);
    assert_eq!(database.number("SELECT count() FROM decisions"), 1);
}
