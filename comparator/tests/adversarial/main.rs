//! Inputs that are made to be expensive: none costs more than in proportion to its size, unless a budget ends it
//! before.
//!
//! Each is compared at one size and at four times that size, by both passes. Processor time of the thread is measured,
//! not elapsed time, so other load on the machine matters little. Linear work takes four times as much, quadratic work
//! sixteen times. A ratio above the bound is measured again before it counts.

mod attacks;

use std::sync::Arc;
use std::time::Duration;

use attacks::{ATTACKS, FIELDS, Pair, XML, YAML};
use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::{AnswerPair, Comparator, DocumentKind, Limits, RuleConfig, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Reason, Verdict};

/// How much more four times the size may take: between four and sixteen.
const GROWTH: f64 = 8.0;
/// Shortest time for which a ratio means anything: below it, allocations and caches dominate.
const NEGLIGIBLE: Duration = Duration::from_millis(20);
/// How often a ratio above the bound is measured; the best time of each size counts.
const RUNS: usize = 5;

/// Processor time that this thread has taken.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time goes on")
}

/// A media type, the repeated text (with `#` for its number), and the text at the end.
const FRAMED: &[(&str, &str, &str)] = &[
    ("text/event-stream", "data: {\"a\":#}\n\n", "\n\n"),
    ("text/event-stream", "data: [\n", "\n\n"),
    ("text/event-stream", ":\r", "\n\n"),
    ("text/event-stream", "id: #\n", "\n\n"),
    ("application/x-ndjson", "{\"id\":#}\n", "\n"),
    ("application/json-seq", "\u{1e}[#]\n", "\n"),
    ("application/x-www-form-urlencoded", "n#=%41+&", ""),
    ("application/x-www-form-urlencoded", "a=#&", ""),
    ("multipart/mixed; boundary=x", "--x", "\r\n--x--"),
    ("multipart/mixed; boundary=x", "--x\n\n#\n", "\n--x--"),
    ("multipart/mixed; boundary=x", "\n--x \t", "\n--x--"),
    ("multipart/mixed; boundary=x", "--x\na: #\n\n\n", "\n--x--"),
    ("text/csv", "a#,b#,\n", ""),
    ("text/csv", "a#,", ""),
    ("text/csv", "a\n", ""),
    ("text/csv", "\"\"", ""),
    ("text/csv", "\"\n", ""),
    ("text/plain; charset=shift_jis", "é", ""),
];

fn answer(kind: DocumentKind, mut headers: HeaderMap, body: &str) -> Capture {
    let content_type = match kind {
        DocumentKind::Json => "application/json",
        DocumentKind::JsonLines => "application/x-ndjson",
        DocumentKind::Yaml => "application/yaml",
        DocumentKind::Xml => "application/xml",
        DocumentKind::Graphql => "application/graphql-response+json",
        DocumentKind::Csv => "text/csv",
        DocumentKind::Text | DocumentKind::Bytes => "text/plain",
    };
    headers
        .entry(http::header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(content_type));
    Capture {
        status: 200,
        headers: (&headers).into(),
        body: body.as_bytes().to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

/// The verdict by both passes, and the time that they take.
fn compared(pair: &Pair) -> (Verdict, Duration) {
    let now = Timestamp::from_micros(0);
    let rules = Rules::compile(&pair.rules, now).expect("the rules are right");
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    let legacy = answer(pair.kind, pair.headers[0].clone(), &pair.legacy);
    let candidate = answer(pair.kind, pair.headers[1].clone(), &pair.candidate);
    let before = processor_time();
    let comparison = comparator.compare_answers(AnswerPair {
        asked_together: true,
        route: "GET /",
        method: &Method::GET,
        request: None,
        time: now,
        legacy: &legacy,
        candidate: &candidate,
    });
    (comparison.verdict, processor_time().saturating_sub(before))
}

/// Fails if four times the size takes much more than four times as much.
fn grows_in_proportion(name: &str, size: usize, make: impl Fn(usize) -> Pair) {
    let pairs = [make(size), make(size * 4)];
    let mut best = [Duration::MAX; 2];
    for _ in 0..RUNS {
        for (best, pair) in best.iter_mut().zip(&pairs) {
            *best = (*best).min(compared(pair).1);
        }
        let [small, large] = best.map(|time| time.as_secs_f64());
        if best[1] < NEGLIGIBLE || large < small * GROWTH {
            return;
        }
    }
    panic!("{name}: {best:?} for {size} and four times as much");
}

#[test]
fn bodies_grow_in_proportion() {
    for (name, size, make) in ATTACKS {
        grows_in_proportion(name, *size, make);
    }
}

#[test]
fn yaml_grows_in_proportion() {
    for unit in YAML {
        grows_in_proportion(unit, 8_000, |n| {
            let text = unit.repeat(n);
            Pair::json(text.clone(), text + "1").of(DocumentKind::Yaml)
        });
    }
}

#[test]
fn xml_grows_in_proportion() {
    // Within an element, as attributes of one, and with every prefix in scope.
    let around = [
        ("<r>", "</r>"),
        ("<r", "/>"),
        ("<r xmlns:p='u'><p:c>", "</p:c></r>"),
    ];
    for (unit, (begin, end)) in XML
        .iter()
        .flat_map(|unit| around.map(|around| (unit, around)))
    {
        let attributes = begin == "<r";
        let unit = match unit
            .strip_prefix("<a ")
            .and_then(|unit| unit.strip_suffix("/>"))
        {
            Some(inner) if attributes => format!(" {inner}"),
            _ => (*unit).to_owned(),
        };
        grows_in_proportion(&format!("{begin}{unit}"), 8_000, |n| {
            let body: String = (0..n)
                .map(|at| unit.replace('#', &at.to_string()))
                .collect();
            let text = |add: &str| format!("{begin}{body}{end}{add}");
            Pair::json(text(""), text("<!-- x -->")).of(DocumentKind::Xml)
        });
    }
}

#[test]
fn framed_bodies_grow_in_proportion() {
    for (media_type, unit, end) in FRAMED {
        let name = format!("{media_type}: {unit:?}");
        grows_in_proportion(&name, 8_000, |n| {
            let body: String = (0..n)
                .map(|at| unit.replace('#', &at.to_string()))
                .collect();
            let mut pair = Pair::json(format!("{body}{end}"), format!("{body}1{end}"));
            let headers = [(
                http::header::CONTENT_TYPE,
                HeaderValue::from_static(media_type),
            )];
            pair.headers = [(); 2].map(|()| HeaderMap::from_iter(headers.clone()));
            pair
        });
    }
}

#[test]
fn fields_grow_in_proportion() {
    for (name, size, make) in FIELDS {
        grows_in_proportion(name, *size, |n| {
            let mut pair = Pair::json("1".to_owned(), "1".to_owned());
            pair.headers = [make(n, 0), make(n, 1)];
            pair
        });
    }
}

#[test]
fn what_cannot_be_had_within_the_budget_is_no_verdict() {
    for (pair, expected) in [
        (attacks::deep(100_000), Reason::TooDeep),
        (attacks::alias_bomb(9), Reason::ResponseTooLarge),
        (attacks::all_near(2_000), Reason::WorkBudget),
        (attacks::all_near_but_too_few(700), Reason::WorkBudget),
    ] {
        assert_eq!(compared(&pair).0, Verdict::NotCompared(expected));
    }
}

/// Each level asked twice would double the work: 2^100 comparisons.
#[test]
fn keys_repeated_in_one_another_cost_no_more_than_their_depth() {
    let nested = |leaf: &str| {
        (0..100).fold(leaf.to_owned(), |inner, _| {
            format!("{{\"a\":1,\"a\":{inner}}}")
        })
    };
    let mut pair = Pair::json(nested("1"), nested("1.0"));
    pair.rules.push(RuleConfig {
        explanations: vec!["null_vs_missing".to_owned()],
        ..RuleConfig::new("absent", "/**", "accept")
    });
    assert_eq!(compared(&pair).0, Verdict::Match);
    pair.candidate = nested("2");
    assert_eq!(compared(&pair).0, Verdict::Mismatch);
}

#[test]
fn great_exponents_are_numbers_like_others() {
    let verdict = |one: &str, two: &str, bound| {
        let pair = Pair::json(one.to_owned(), two.to_owned()).rule("", "tolerance", Some(bound));
        compared(&pair).0
    };
    for (one, two, bound, expected) in [
        ("1e999999999", "1e999999998", "0.01", Verdict::Mismatch),
        ("1e999999999", "1e999999998", "1e999999999", Verdict::Match),
        ("1e999999999", "10e999999998", "0", Verdict::Match),
        ("1e-999999999", "-1e-999999999", "0.01", Verdict::Match),
        ("1e999999999", "1e-999999999", "1", Verdict::Mismatch),
    ] {
        assert_eq!(verdict(one, two, bound), expected, "{one} {two} {bound}");
        assert_eq!(verdict(two, one, bound), expected, "{two} {one} {bound}");
    }
}
