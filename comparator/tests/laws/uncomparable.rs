//! Bodies that cannot be compared: the verdict for each combination, and that none hides a difference.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::{AnswerPair, Comparator, Comparison, Limits, RuleConfig, Rules};
use parity_schemas::exchange::{Body, Capture, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part, Verdict};
use proptest::prelude::*;

/// The state of a body. `Json` is the only one that a client and the comparator can read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Json,
    Empty,
    /// Labelled gzip, but it is not.
    Broken,
    /// In an encoding that is not known here.
    Unknown,
    /// More than the limit once decompressed.
    Bomb,
    /// JSON, nested deeper than the limit.
    Deep,
    /// More than the limit as sent.
    Large,
    Stream,
}

const ALL: [Is; 8] = [
    Is::Json,
    Is::Empty,
    Is::Broken,
    Is::Unknown,
    Is::Bomb,
    Is::Deep,
    Is::Large,
    Is::Stream,
];

/// Rows are the legacy's body, columns the candidate's, both in the order of [`ALL`]; status and fields are equal.
/// `c_` stands for `candidate_`.
const TABLE: [&str; 8] = [
    "match mismatch mismatch c_undecodable c_too_large c_too_deep c_too_large c_stream",
    "mismatch match mismatch c_undecodable mismatch mismatch mismatch c_stream",
    "mismatch mismatch match undecodable response_too_large mismatch response_too_large stream",
    "undecodable undecodable undecodable match response_too_large undecodable response_too_large stream",
    "response_too_large mismatch response_too_large response_too_large match response_too_large response_too_large response_too_large",
    "too_deep mismatch mismatch c_undecodable c_too_large match c_too_large c_stream",
    "response_too_large mismatch response_too_large response_too_large response_too_large response_too_large response_too_large response_too_large",
    "stream stream stream stream response_too_large stream response_too_large stream",
];

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn answer(status: u16, is: Is, json: &str) -> Capture {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut coded = |coding| headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    let body: Body = match is {
        Is::Json => json.as_bytes().to_vec().into(),
        Is::Empty => Body::default(),
        Is::Broken => {
            coded("gzip");
            b"{}".to_vec().into()
        }
        Is::Unknown => {
            coded("compress");
            b"{}".to_vec().into()
        }
        Is::Bomb => {
            coded("gzip");
            gzip(&vec![b' '; 2 << 20]).into()
        }
        Is::Deep => ("[".repeat(500) + &"]".repeat(500)).into_bytes().into(),
        Is::Large => Body::omitted(Omitted::TooLarge { at_least: 2 << 20 }),
        Is::Stream => Body::omitted(Omitted::Stream),
    };
    Capture {
        status,
        headers: (&headers).into(),
        body,
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

fn compare_by(
    rules: &[RuleConfig],
    method: &Method,
    legacy: &Capture,
    candidate: &Capture,
) -> Comparison {
    let now = Timestamp::from_micros(0);
    let rules = Rules::compile(rules, now).expect("the rules are right");
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    let pair = AnswerPair {
        route: "GET /",
        method,
        request: None,
        time: now,
        legacy,
        candidate,
        asked_together: true,
    };
    let explained = comparator.explain_answers(pair);
    let seen = comparator.compare_answers(pair);
    assert_eq!(seen.verdict, explained.verdict);
    explained
}

fn compare(legacy: &Capture, candidate: &Capture) -> Comparison {
    compare_by(&[], &Method::GET, legacy, candidate)
}

fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::NotCompared(reason) => match reason.as_str().strip_prefix("candidate_") {
            Some(rest) => format!("c_{rest}"),
            None => reason.to_string(),
        },
        verdict => verdict.as_str().to_owned(),
    }
}

#[test]
fn each_two_bodies_have_one_verdict() {
    for (legacy, row) in ALL.into_iter().zip(TABLE) {
        for (candidate, expected) in ALL.into_iter().zip(row.split(' ')) {
            let equal = compare(
                &answer(200, legacy, "{\"a\":1}"),
                &answer(200, candidate, "{\"a\":1}"),
            );
            assert_eq!(
                word(equal.verdict),
                expected,
                "{legacy:?} against {candidate:?}"
            );
            let other = compare(
                &answer(200, legacy, "{\"a\":1}"),
                &answer(500, candidate, "{\"a\":1}"),
            );
            assert_eq!(other.verdict, Verdict::Mismatch);
            assert!(other.findings[0].part == Part::Status);
            // The body has a finding, or a reason why it has none.
            let not_compared = other.body_not_compared.map(Verdict::NotCompared);
            let of_body = other
                .findings
                .iter()
                .any(|finding| finding.part == Part::Body);
            assert_eq!(
                of_body,
                expected == "mismatch",
                "{legacy:?} against {candidate:?}"
            );
            assert_eq!(
                not_compared.map(word),
                (!["match", "mismatch"].contains(&expected)).then(|| expected.to_owned())
            );
        }
    }
}

#[test]
fn where_there_is_no_body_or_it_does_not_count_the_head_decides() {
    for legacy in ALL {
        for candidate in ALL {
            let (one, two) = (answer(200, legacy, "{}"), answer(200, candidate, "{}"));
            let head = compare_by(&[], &Method::HEAD, &one, &two);
            assert_eq!(head.verdict, Verdict::Match, "{legacy:?} {candidate:?}");
            let ignore = [RuleConfig::new("body", "", "ignore")];
            let ignored = compare_by(&ignore, &Method::GET, &one, &two);
            assert_eq!(ignored.verdict, Verdict::Match, "{legacy:?} {candidate:?}");
            for status in [204, 304] {
                let (one, two) = (
                    answer(status, legacy, "{}"),
                    answer(status, candidate, "{}"),
                );
                assert_eq!(compare(&one, &two).verdict, Verdict::Match);
            }
        }
    }
}

#[test]
fn lengths_prove_what_they_can() {
    let of = |media, body, length: Option<&'static str>| {
        let mut answer = answer(200, Is::Empty, "");
        let length = length.map(|length| (CONTENT_LENGTH, length));
        answer.headers = [(CONTENT_TYPE, media)].into_iter().chain(length).collect();
        answer.body = body;
        answer
    };
    let large = || Body::omitted(Omitted::TooLarge { at_least: 2 << 20 });
    let let_go = |bytes| Body::omitted(Omitted::LetGo { bytes });
    for (media, legacy, candidate, expected) in [
        // Bytes of another length are other bytes; a text of another length may be the same JSON.
        ("image/png", (large(), None), (let_go(9), None), "mismatch"),
        (
            "application/json",
            (large(), None),
            (let_go(9), None),
            "response_too_large",
        ),
        (
            "application/json",
            (large(), None),
            (let_go(0), None),
            "mismatch",
        ),
        (
            "image/png",
            (large(), Some("3000000")),
            (large(), Some("3000001")),
            "mismatch",
        ),
        (
            "image/png",
            (large(), Some("3000000")),
            (large(), Some("3000000")),
            "response_too_large",
        ),
        (
            "image/png",
            (large(), None),
            (large(), None),
            "response_too_large",
        ),
    ] {
        let legacy = of(media, legacy.0, legacy.1);
        let candidate = of(media, candidate.0, candidate.1);
        let verdict = compare(&legacy, &candidate).verdict;
        assert_eq!(word(verdict), expected, "{media}");
    }
}

#[test]
fn several_messages_of_grpc_are_not_one_and_trailers_after_them_are_not_known() {
    let grpc = |body: Body, status: Option<&'static str>| {
        let mut answer = answer(200, Is::Empty, "");
        answer.headers = FieldLines::from_iter([(CONTENT_TYPE, "application/grpc")]);
        answer.body = body;
        answer.trailers = status.map(|status| {
            let name = HeaderName::from_static("grpc-status");
            FieldLines::from_iter([(name, status)])
        });
        answer
    };
    let one = || grpc(b"\0\0\0\0\x01a".to_vec().into(), Some("0"));
    let several = || grpc(Body::omitted(Omitted::Stream), None);
    for (legacy, candidate) in [(one(), several()), (several(), one())] {
        let comparison = compare(&legacy, &candidate);
        assert_eq!(comparison.verdict, Verdict::Mismatch);
        assert_eq!(comparison.findings.len(), 1);
        let finding = &comparison.findings[0];
        assert!(finding.part == Part::Body && finding.kind == Kind::Value);
    }
    assert_eq!(word(compare(&several(), &several()).verdict), "stream");
    let large = grpc(Body::omitted(Omitted::TooLarge { at_least: 2 << 20 }), None);
    assert_eq!(word(compare(&one(), &large).verdict), "c_too_large");
    // A large answer of the legacy was read to its end, and its trailers then reported a failure.
    let legacy = |status| {
        let body = Body::omitted(Omitted::TooLarge { at_least: 2 << 20 });
        grpc(body, Some(status))
    };
    let let_go = grpc(Body::omitted(Omitted::LetGo { bytes: 6 }), Some("0"));
    assert_eq!(
        word(compare(&legacy("0"), &let_go).verdict),
        "response_too_large"
    );
    let failed = compare(&legacy("13"), &let_go);
    assert_eq!(failed.verdict, Verdict::Mismatch);
    assert!(failed.findings[0].part == Part::Trailer);
    let failed = grpc(Body::default(), Some("5"));
    assert_eq!(word(compare(&one(), &failed).verdict), "mismatch");
}

fn any_body() -> impl Strategy<Value = Is> {
    prop::sample::select(&ALL[..])
}

/// The bodies of the legacy that the comparator can read.
fn readable() -> impl Strategy<Value = Is> {
    prop::sample::select(&[Is::Json, Is::Empty][..])
}

proptest! {
    #[test]
    fn another_status_or_field_is_a_mismatch_whatever_the_bodies_are(
        legacy in any_body(),
        candidate in any_body(),
        status in 200_u16..600,
        other in 200_u16..600,
        field in any::<bool>(),
    ) {
        let one = answer(status, legacy, "{}");
        let mut two = answer(other, candidate, "{}");
        if field {
            two.headers.push(HeaderName::from_static("x-limit"), b"1");
        }
        let differs = status != other || field;
        let mismatch = compare(&one, &two).verdict == Verdict::Mismatch;
        prop_assert!(mismatch || !differs);
        prop_assert!(compare(&two, &one).verdict == Verdict::Mismatch || !differs);
    }

    #[test]
    fn a_defect_of_the_candidate_never_makes_a_mismatch_anything_better(
        legacy in readable(),
        json in prop::sample::select(&["{}", "{\"a\":2}", "[1,2]", "null"][..]),
        defect in any_body(),
    ) {
        let one = answer(200, legacy, "{\"a\":1}");
        let before = compare(&one, &answer(200, Is::Json, json)).verdict;
        prop_assert_eq!(before, Verdict::Mismatch);
        prop_assume!(defect != Is::Json && defect != legacy);
        let after = compare(&one, &answer(200, defect, json)).verdict;
        let counts = match after {
            Verdict::Mismatch => true,
            Verdict::NotCompared(reason) => reason.is_candidate_failure(),
            Verdict::Match => false,
        };
        prop_assert!(counts, "{:?} with {:?}", after, defect);
    }
}
