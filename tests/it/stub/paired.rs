//! Which calls are partners: among many, in any order, of one request or of none, and at the end.

use parity_schemas::stub::StubOutcome;

use super::{JSON, Stub, calls, counts};
use crate::support::process::Place;
use crate::support::{client, wait_for};

#[test]
fn another_body_is_found_among_equal_calls_whoever_comes_first() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    // The candidate's first, in another order, and one of them wrong.
    for total in [3, 2, 99] {
        Stub::totals(stub.candidate, &[], &format!("{{\"total\":{total}}}"));
    }
    for total in [1, 2, 3] {
        Stub::totals(stub.legacy, &[], &format!("{{\"total\":{total}}}"));
    }
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Fail);
    assert_eq!(counts(&document), [3, 3, 2, 1, 0, 0], "{}", ended.stdout);
    assert_eq!(calls(&document), ["differs POST /totals"]);
    let finding = &document.calls[0].findings[0];
    assert_eq!(
        (
            &*finding.path,
            finding.legacy.as_deref(),
            finding.candidate.as_deref()
        ),
        ("/total", Some("1"), Some("99"))
    );
    let group = &document.groups[0];
    assert_eq!(
        (&*group.route, &*group.pattern, group.count),
        ("POST /totals", "/total", 1)
    );
}

#[test]
fn calls_of_one_side_alone_are_missing_or_extra() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--shadowed", "all"]);
    stub.both(&[], ["{}", "{}"]);
    client::get(stub.legacy, "/users/1");
    client::get(stub.candidate, "/users/2");
    // One more of the same.
    Stub::totals(stub.candidate, &[], "{}");
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Fail);
    assert_eq!(counts(&document), [2, 3, 1, 0, 1, 2], "{}", ended.stdout);
    let mut calls = calls(&document);
    calls.sort();
    assert_eq!(
        calls,
        [
            "extra GET /users/2",
            "extra POST /totals",
            "missing GET /users/1"
        ]
    );
}

#[test]
fn the_order_within_a_request_counts_unless_it_shall_not() {
    for (more, outcome, turned) in [
        ([].as_slice(), StubOutcome::Fail, 1),
        (&["--any-order"], StubOutcome::Pass, 0),
    ] {
        let place = Place::new();
        let stub = Stub::canned(&place, more);
        let (first, second) = ([("x-request-id", "a")], [("x-request-id", "b")]);
        for total in ["1", "2"] {
            Stub::totals(stub.legacy, &first, total);
            Stub::totals(stub.legacy, &second, total);
        }
        // Those of the second request in order, although others stand between them.
        Stub::totals(stub.candidate, &second, "1");
        for total in ["2", "1"] {
            Stub::totals(stub.candidate, &first, total);
        }
        Stub::totals(stub.candidate, &second, "2");
        let (ended, document) = stub.stop();
        assert_eq!(counts(&document), [4, 4, 4, 0, 0, 0], "{}", ended.stdout);
        assert_eq!(
            (document.other_order, document.outcome),
            (turned, outcome),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn a_partner_that_comes_after_the_end_still_counts() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--wait", "20s"]);
    Stub::totals(stub.legacy, &[], "{}");
    stub.signal("TERM");
    // New ones do not count any more, the partner of what waits does.
    wait_for("a call that does not count", || {
        assert_eq!(client::get(stub.legacy, "/users/1").text(), "one");
        Some(())
    });
    Stub::totals(stub.candidate, &[], "{}");
    let (ended, document) = stub.ended();
    assert!(
        document.counts.equal == 1 && document.counts.extra == 0,
        "{}",
        ended.stdout
    );
}

#[test]
fn calls_of_different_requests_are_no_partners_while_their_own_may_come() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let of = |id: &'static str| [("x-request-id", id)];
    // The candidate sends half: what it sends for the one is what the legacy sends for another.
    for (id, legacy, candidate) in [("a", "4", "2"), ("b", "2", "1"), ("c", "8", "4")] {
        Stub::totals(stub.legacy, &of(id), legacy);
        Stub::totals(stub.candidate, &of(id), candidate);
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [3, 3, 0, 3, 0, 0], "{}", ended.stdout);
}

#[test]
fn ids_that_each_side_makes_itself_are_no_difference() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    for (id, total) in [("l-1", "1"), ("l-2", "2"), ("l-3", "2")] {
        Stub::totals(stub.legacy, &[("x-request-id", id)], total);
    }
    for (id, total) in [("c-1", "2"), ("c-2", "1"), ("c-3", "2")] {
        Stub::totals(stub.candidate, &[("x-request-id", id)], total);
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [3, 3, 3, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
}

#[test]
fn keep_alive_chunks_and_gzip_are_no_difference() {
    use std::io::Write as _;
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let (begin, end) = ("{\"tot", "al\":12}");
    let text = format!("{begin}{end}");
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zipped.write_all(text.as_bytes()).expect("into memory");
    let zipped = zipped.finish().expect("into memory");
    let mut kept = client::Connection::open(stub.legacy);
    for _ in 0..3 {
        kept.send("POST", "/totals", &[JSON], text.as_bytes());
        assert_eq!(kept.answer("POST").expect("an answer").status, 202);
    }
    assert_eq!(
        client::send(
            stub.candidate,
            "POST",
            "/totals",
            &[JSON, ("content-encoding", "gzip")],
            &zipped
        )
        .status,
        202
    );
    let mut chunked = std::net::TcpStream::connect(stub.candidate).expect("it listens");
    for _ in 0..2 {
        write!(chunked, "POST /totals HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{begin}\r\n7\r\n{end}\r\n0\r\n\r\n").expect("it reads");
    }
    let mut answers = client::Connection::on(chunked);
    for _ in 0..2 {
        assert_eq!(answers.answer("POST").expect("an answer").status, 202);
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [3, 3, 3, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Pass);
}

#[test]
fn equal_calls_are_found_among_any_number_without_a_header() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    for total in 0..40 {
        Stub::totals(stub.legacy, &[], &format!("{{\"total\":{total},\"of\":1}}"));
    }
    // The last ones first, so that their partners stand far behind, and in another spelling.
    for total in (0..40).rev() {
        Stub::totals(
            stub.candidate,
            &[],
            &format!("{{\"of\": 1.0, \"total\": {total}}}"),
        );
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [40, 40, 40, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Pass, "{}", ended.stdout);
}

#[test]
fn the_nearest_are_partners_without_a_header() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let body = |order: u64, amount: u64| format!("{{\"order\":{order},\"amount\":{amount}}}");
    for order in 1..=60 {
        Stub::totals(stub.legacy, &[], &body(order, 1_000 * order));
    }
    for order in (1..=60).rev() {
        Stub::totals(stub.candidate, &[], &body(order, 1_000 * order + 1));
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [60, 60, 0, 60, 0, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Fail);
    let groups: Vec<(&str, u64, u64)> = document
        .groups
        .iter()
        .map(|group| (&*group.pattern, group.count, group.guessed))
        .collect();
    assert_eq!(groups, [("/amount", 60, 0)], "{}", ended.stdout);
}

#[test]
fn a_guess_is_told_as_one_and_proves_nothing_among_many() {
    for (calls, differing, crowded) in [(3, 3, 0), (20, 0, 20)] {
        let place = Place::new();
        let stub = Stub::canned(&place, &["--report", "text=found.txt"]);
        for total in 0..calls {
            Stub::totals(stub.legacy, &[], &total.to_string());
        }
        for total in 0..calls {
            Stub::totals(stub.candidate, &[], &(100 + total).to_string());
        }
        let (ended, document) = stub.stop();
        assert_eq!(document.counts.differing, differing, "{}", ended.stdout);
        let limit = document.limits.get("crowded").copied().unwrap_or(0);
        assert_eq!(limit, crowded, "{}", ended.stdout);
        let text = std::fs::read_to_string(place.path().join("found.txt")).expect("written");
        if crowded == 0 {
            assert_eq!(document.groups[0].guessed, differing, "{}", ended.stdout);
            assert!(text.contains("its partner is a guess"), "{text}");
        } else {
            assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
            assert_eq!(document.calls[0].reason.as_deref(), Some("crowded"));
            assert!(
                text.contains("20 pairs unclear") && text.contains("pass x-request-id"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_header_tells_partners_among_any_number_of_calls() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    let traced = |number: u64| format!("00-{number:032x}-{number:016x}-01");
    for total in 1..=40 {
        Stub::totals(
            stub.legacy,
            &[("traceparent", &traced(total))],
            &total.to_string(),
        );
    }
    for total in (1..=40).rev() {
        let sent = if total == 7 { 8 } else { total };
        Stub::totals(
            stub.candidate,
            &[("traceparent", &traced(total))],
            &sent.to_string(),
        );
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [40, 40, 39, 1, 0, 0], "{}", ended.stdout);
    assert_eq!(document.calls[0].findings[0].legacy.as_deref(), Some("7"));
}

#[test]
fn a_second_signal_proves_nothing_of_what_still_waits() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--wait", "60s"]);
    stub.both(&[], ["{}", "{}"]);
    Stub::totals(stub.legacy, &[], "{\"total\":1}");
    Stub::totals(stub.candidate, &[], "{\"total\":2}");
    let (ended, document) = stub.cut();
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert_eq!(counts(&document), [2, 2, 1, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(document.limits["unsettled"], 2, "{}", ended.stdout);
}

#[test]
fn calls_of_different_requests_are_not_called_a_difference_where_ids_are_passed_on() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    // Both sides pass on the ids of these requests.
    for id in ["one", "two", "three"] {
        stub.both(&[("x-request-id", id)], ["{}", "{}"]);
    }
    Stub::totals(stub.legacy, &[("x-request-id", "a")], "{\"total\":1}");
    Stub::totals(stub.candidate, &[("x-request-id", "b")], "{\"total\":2}");
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [4, 4, 3, 0, 0, 1], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Fail, "{}", ended.stdout);
}

#[test]
fn one_id_that_is_always_the_same_does_not_say_that_ids_are_passed_on() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    for _ in 0..5 {
        stub.both(&[("x-request-id", "health-check")], ["{}", "{}"]);
    }
    // All others have ids of their own on each side, and are partners all the same.
    Stub::totals(stub.legacy, &[("x-request-id", "a")], "{\"total\":1}");
    Stub::totals(stub.candidate, &[("x-request-id", "b")], "{\"total\":2}");
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [6, 6, 5, 1, 0, 0], "{}", ended.stdout);
}
