//! What a result proves: requests that never reached the candidate, calls that nobody answered, too few of them, and calls that a
//! person must find.

use parity_schemas::stub::{StubDocument, StubOutcome};

use super::{JSON, Stub, counts};
use crate::support::client;
use crate::support::process::Place;

/// The text besides the document.
const TEXT: [&str; 2] = ["--report", "text=found.txt"];

fn text(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("found.txt")).expect("written")
}

fn has_reason(document: &StubDocument, words: &str) -> bool {
    document.reasons.iter().any(|reason| reason.contains(words))
}

#[test]
fn requests_that_a_mirror_leaves_out_are_no_missing_calls() {
    for (more, outcome, missing, not_reached) in [
        ([].as_slice(), StubOutcome::Undecided, 0, 4),
        (&["--shadowed", "some"], StubOutcome::Pass, 0, 4),
        (&["--shadowed", "all"], StubOutcome::Fail, 4, 0),
    ] {
        let place = Place::new();
        let stub = Stub::canned(&place, &[&TEXT, more].concat());
        for number in 0..8 {
            let id = format!("r-{number}");
            let (id, body) = ([("x-request-id", &*id)], number.to_string());
            Stub::totals(stub.legacy, &id, &body);
            if number % 2 == 0 {
                Stub::totals(stub.candidate, &id, &body);
            }
        }
        let (ended, document) = stub.stop();
        assert_eq!(counts(&document), [8, 4, 4, 0, missing, 0], "{more:?}");
        assert_eq!(document.counts.not_reached, not_reached, "{more:?}");
        assert_eq!(document.outcome, outcome, "{}", ended.stdout);
        let is_told = has_reason(&document, "is the mirror sampling");
        assert_eq!(is_told, more.is_empty(), "{}", ended.stdout);
        assert_eq!(text(&place).contains("--shadowed all"), is_told);
    }
}

#[test]
fn without_ids_half_of_the_calls_are_no_missing_ones() {
    let place = Place::new();
    let stub = Stub::canned(&place, &[]);
    for number in 0..6 {
        Stub::totals(stub.legacy, &[], &number.to_string());
    }
    for number in [4, 1] {
        Stub::totals(stub.candidate, &[], &number.to_string());
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [6, 2, 2, 0, 0, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert!(has_reason(&document, "4 of the legacy's 6 calls"));
}

#[test]
fn a_call_is_missing_if_another_one_of_its_request_came() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--shadowed", "some"]);
    for id in ["a", "b", "c", "d"] {
        let id = [("x-request-id", id)];
        stub.both(&id, ["{}", "{}"]);
        client::send(stub.legacy, "GET", "/users/1", &id, b"");
        if id[0].1 != "d" {
            client::send(stub.candidate, "GET", "/users/1", &id, b"");
        }
    }
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [8, 7, 7, 0, 1, 0], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Fail, "{}", ended.stdout);
}

/// An id of a user, of whose requests a mirror that samples leaves out some. One request that makes a call twice looks the same, so neither is told
/// from the other, and neither passes.
#[test]
fn an_id_that_several_requests_share_makes_no_call_missing() {
    for (more, outcome, missing, not_reached) in [
        ([].as_slice(), StubOutcome::Undecided, 0, 4),
        (&["--shadowed", "some"], StubOutcome::Undecided, 0, 4),
        (&["--shadowed", "all"], StubOutcome::Fail, 4, 0),
    ] {
        let place = Place::new();
        let stub = Stub::canned(&place, more);
        for user in ["a", "b", "c", "d"] {
            let id = [("x-correlation-id", user)];
            for request in 0..3 {
                let body = format!("{{\"of\":\"{user}\",\"number\":{request}}}");
                Stub::totals(stub.legacy, &id, &body);
                if request != 1 {
                    Stub::totals(stub.candidate, &id, &body);
                }
            }
        }
        let (ended, document) = stub.stop();
        assert_eq!(counts(&document), [12, 8, 8, 0, missing, 0], "{more:?}");
        assert_eq!(document.counts.not_reached, not_reached, "{more:?}");
        assert_eq!(document.outcome, outcome, "{}", ended.stdout);
        let is_told = has_reason(&document, "may be of several requests");
        assert_eq!(is_told, missing == 0, "{}", ended.stdout);
    }
}

/// What differs or is made besides is proven whatever an id is of.
#[test]
fn an_id_that_several_requests_share_excuses_no_other_difference() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--shadowed", "some"]);
    for user in ["a", "b", "c"] {
        let id = [("x-correlation-id", user)];
        stub.both(&id, ["{\"n\":1}", "{\"n\":1}"]);
        stub.both(&id, ["{\"n\":2}", "{\"n\":2}"]);
    }
    let id = [("x-correlation-id", "a")];
    stub.both(&id, ["{\"n\":3}", "{\"n\":4}"]);
    Stub::totals(stub.candidate, &id, "{\"n\":5}");
    let (ended, document) = stub.stop();
    assert_eq!(counts(&document), [7, 8, 6, 1, 0, 1], "{}", ended.stdout);
    assert_eq!(document.outcome, StubOutcome::Fail, "{}", ended.stdout);
}

#[test]
fn calls_that_nobody_answers_prove_nothing() {
    let place = Place::new();
    let stub = Stub::canned(&place, &TEXT);
    for _ in 0..12 {
        for address in [stub.legacy, stub.candidate] {
            assert_eq!(client::get(address, "/nobody").status, 404);
        }
    }
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Undecided, "{}", ended.stdout);
    assert_eq!(document.unanswered["GET /nobody"], 24);
    assert!(has_reason(&document, "no call was answered"));
    let text = text(&place);
    assert!(
        text.contains("WARNING 24 of 24 calls got 404") && text.contains("GET /nobody (24)"),
        "{text}"
    );
}

#[test]
fn a_pass_needs_so_many_pairs() {
    for (pairs, outcome) in [(9, StubOutcome::Undecided), (10, StubOutcome::Pass)] {
        let place = Place::new();
        let stub = Stub::canned(&place, &["--min-calls", "10"]);
        for _ in 0..pairs {
            stub.both(&[], ["{}", "{}"]);
        }
        let (ended, document) = stub.stop();
        assert_eq!(document.outcome, outcome, "{}", ended.stdout);
        assert_eq!(document.min_calls, 10);
        assert_eq!(has_reason(&document, "a pass needs 10"), pairs == 9);
    }
}

#[test]
fn calls_can_be_found_and_equal_lines_are_one() {
    const BODY: &str = "{\"what\":\"audit\",\"password\":\"hunter2\"}";
    let place = Place::new();
    let stub = Stub::canned(&place, &[TEXT, ["--report", "json=found.json"]].concat());
    stub.both(&[], ["{}", "{}"]);
    for number in 0..120 {
        let id = format!("r-{number}");
        let headers = [JSON, ("x-request-id", &*id)];
        client::send(stub.candidate, "POST", "/audit", &headers, BODY.as_bytes());
    }
    let (ended, document) = stub.stop();
    assert_eq!(document.outcome, StubOutcome::Fail, "{}", ended.stdout);
    assert_eq!((document.calls.len(), document.not_equal), (100, 120));
    let call = &document.calls[7];
    let correlation = call.correlation.as_ref().expect("an id");
    assert_eq!(
        (&*correlation.header, &*correlation.id),
        ("x-request-id", "r-7")
    );
    assert!(call.time.as_micros() > 0);
    let body = call.body.as_deref().expect("a body");
    assert!(
        body.contains("audit") && !body.contains("hunter2"),
        "{body}"
    );
    let text = text(&place);
    for words in [
        "100 times POST /audit: only the candidate makes this call\n  x-request-id r-0, 2",
        "  and 97 more of them\n",
        "and 20 more that are not equal; --report json=FILE",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let written = std::fs::read_to_string(place.path().join("found.json")).expect("written");
    let written: StubDocument = serde_json::from_str(&written).expect("of this type");
    assert_eq!(written, document);
}

#[test]
fn what_is_proven_is_listed_before_what_is_not() {
    let place = Place::new();
    let stub = Stub::canned(&place, &TEXT);
    for number in 0..110 {
        Stub::totals(stub.legacy, &[], &number.to_string());
    }
    client::get(stub.candidate, "/users/2");
    let (ended, document) = stub.stop();
    assert_eq!((document.calls.len(), document.not_equal), (100, 111));
    let extra = |call: &parity_schemas::stub::StubCall| call.outcome == "extra";
    assert!(document.calls.iter().any(extra), "{}", ended.stdout);
    let text = text(&place);
    let place = |words: &str| text.find(words).expect(words);
    assert!(place("only the candidate makes this call") < place("perhaps its request"));
}

#[test]
fn a_credential_that_correlates_is_hidden() {
    let place = Place::new();
    let stub = Stub::canned(&place, &["--correlate-by", "authorization"]);
    let secret = [("authorization", "Bearer hunter2hunter2")];
    Stub::totals(stub.candidate, &secret, "{}");
    let (ended, document) = stub.stop();
    assert!(!ended.stdout.contains("hunter2"), "{}", ended.stdout);
    let correlation = document.calls[0].correlation.as_ref().expect("told");
    assert!(correlation.id.starts_with("hmac:"), "{}", ended.stdout);
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_done() {
    let place = Place::new();
    place.write("answers.toml", super::ANSWERS);
    for report in ["html=a.html", "json=absent/found.json", "json=-", "found"] {
        let ended = place.run(&[
            "stub",
            "--legacy-listen",
            "127.0.0.1:0",
            "--candidate-listen",
            "127.0.0.1:0",
            "--answers",
            "answers.toml",
            "--for",
            "1ms",
            "--report",
            report,
        ]);
        assert_eq!(ended.code, 2, "{report}: {}", ended.stdout);
        assert!(ended.stderr.contains("--report"), "{}", ended.stderr);
    }
}
