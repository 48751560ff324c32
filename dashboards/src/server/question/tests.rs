//! What parameters are refused, and in which words.

use axum::http::Uri;

use super::super::parameters::asked;
use super::*;

fn refused<T: Parameters>(query: &str) -> String {
    let uri: Uri = format!("/x?{query}").parse().expect("a URI");
    asked::<T>(&uri).err().expect("refused")
}

#[test]
fn what_is_wrong_with_a_parameter_is_told() {
    for (query, told) in [
        (
            "min_requests=1&max_dropped=1%25",
            "max_dropped: `1%` is not a share; write a number between 0 and 1, for example 0.25",
        ),
        (
            "max_latency=p99%3D1.5x+5ms",
            "max_latency: `p99=1.5x 5ms` is no limit of a latency; write QUANTILE=FACTORx, for example p99=1.5x, or with a \
             time that is added p99=1.5x+5ms; in an address a `+` is a space: write `%2B`",
        ),
        (
            "since=2026-01-01T00:00:00+02:00",
            "since: `2026-01-01T00:00:00 02:00` is neither a time with an offset, such as 2026-01-31T09:30:00Z, nor an age, \
             such as 15m, 2h or 7d; in an address a `+` is a space: write `%2B`",
        ),
        (
            "min_requests=many",
            "min_requests: `many` is not a whole number",
        ),
        (
            "max_dropt=1",
            "there is no parameter `max_dropt`; did you mean `max_dropped`?",
        ),
        (
            "max-dropped=1",
            "there is no parameter `max-dropped`; did you mean `max_dropped`?",
        ),
        (
            "since=1h&since=2h",
            "since is given more than once; give it once",
        ),
        (
            "wait=1m",
            "wait is only a flag of `parity gate`: a request is answered at once; ask again",
        ),
        (
            "dry_run=true",
            "dry_run is only a flag of `parity gate`: GET stores nothing, and POST is the way to have a decision stored",
        ),
    ] {
        assert_eq!(refused::<Asking>(query), told);
    }
    for (query, told) in [
        ("max_mismatch_rate=1", "lets every candidate pass"),
        ("max_mismatch_rate=1.0", "lets every candidate pass"),
        ("max_mismatch_rate=10e-1", "lets every candidate pass"),
        (
            "max_mismatch_rate=0.99999999999999999999",
            "lets every candidate pass",
        ),
        ("candidate_version=", "names no build"),
        ("candidate_version=%20%09", "names no build"),
        ("migration=", "names no migration"),
        ("require_route=", "is not a route"),
    ] {
        for refused in [refused::<GateAsking>(query), refused::<HookAsking>(query)] {
            assert!(refused.contains(told), "{query}: {refused}");
        }
    }
    // A report of it shows what there is.
    let uri: Uri = "/x?candidate_version=&max_mismatch_rate=1"
        .parse()
        .expect("a URI");
    assert!(asked::<Asking>(&uri).is_ok());
    assert_eq!(
        refused::<MismatchQuestion>("nonsense=1"),
        "there is no parameter `nonsense`; use one of migration, route, fingerprint, class, candidate_version, since, until, limit, after"
    );
    assert_eq!(
        refused::<MismatchQuestion>("limit=0"),
        "limit: `0` is not a number from 1 to 1000"
    );
    assert_eq!(
        refused::<MismatchQuestion>("class=odd"),
        "class: `odd` is not a class; use one of confirmed, unstable, unconfirmed, noise, transient"
    );
    assert_eq!(
        refused::<DecisionQuestion>("outcome=passed"),
        "outcome: `passed` is no outcome; did you mean `pass`?"
    );
    assert_eq!(
        refused::<DecisionQuestion>("after=x"),
        "after: `x` is no place; give the `next` of the page before as it was"
    );
}

#[test]
fn what_may_be_repeated_is_read_each_time() {
    let uri: Uri = "/x?require_route=GET+%2Fa&require_route=GET%20/users/%7Bid%7D"
        .parse()
        .expect("a URI");
    let asked: Asking = asked(&uri).expect("it is right");
    assert_eq!(
        asked.0.thresholds.required_routes,
        ["GET /a", "GET /users/{id}"]
    );
}
