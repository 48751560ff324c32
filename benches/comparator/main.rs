//! The cost of one comparison, next to what other parsers need to read the same bodies.
//!
//! The candidate's objects have their keys in another order, so that no byte comparison succeeds. `simd-json tape` only
//! parses the two bodies, into memory that it reuses: the comparator may take at most 1.3 times that on the pair of 2
//! KB. `sonic-rs` and `serde_json` parse both and compare the values, which does not tell where a difference is.
//! `benches/comparator/run` prints all of it as a table.

mod documents;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use documents::{Pair, pairs, with_findings};
use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::rules::Profile;
use parity_comparator::{AnswerPair, Comparator, Limits, RuleConfig, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

fn capture(body: &[u8]) -> Capture {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("content-length", "2048"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Capture {
        status: 200,
        headers: (&headers).into(),
        body: body.to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::from_millis(1),
        elapsed: Duration::from_millis(1),
    }
}

/// Rules like an operator's, none of which excuses anything here, and a profile.
fn rules() -> Rules {
    let rule = |id: &str, path: &str, action: &str| RuleConfig::new(id, path, action);
    let mut rules = vec![
        rule("updated-at", "/**/updated_at", "ignore"),
        rule("etag", "/meta/etag", "ignore"),
        rule("labels", "/orders/*/labels", "unordered"),
    ];
    rules.extend(Profile::named("go-to-rust").expect("a profile").rules());
    Rules::compile(&rules, Timestamp::from_micros(0)).expect("the rules are right")
}

fn ours(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    rules: Rules,
    [legacy, candidate]: [&[u8]; 2],
    verdict: Verdict,
) {
    let (legacy, candidate) = (capture(legacy), capture(candidate));
    let answers = AnswerPair {
        asked_together: true,
        route: "GET /accounts/{id}",
        method: &Method::GET,
        request: None,
        time: Timestamp::from_micros(0),
        legacy: &legacy,
        candidate: &candidate,
    };
    let mut comparator = Comparator::new(Arc::new(rules), Limits::default());
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let comparison = comparator.compare_answers(black_box(answers));
            assert!(comparison.verdict == verdict);
            comparison.findings.len()
        });
    });
}

fn peers(group: &mut BenchmarkGroup<'_, WallTime>, pair: &Pair) {
    // It overwrites its input, so each round copies the bodies, which takes a hundredth of the time.
    let mut buffer = Vec::new();
    let mut tape = simd_json::Buffers::new(pair.legacy.len());
    let mut parse = |body: &[u8]| {
        buffer.clear();
        buffer.extend_from_slice(black_box(body));
        let tape = simd_json::to_tape_with_buffers(&mut buffer, &mut tape);
        black_box(tape.expect("JSON").0.len());
    };
    group.bench_function("simd-json tape", |bencher| {
        bencher.iter(|| {
            parse(&pair.legacy);
            parse(&pair.candidate);
        });
    });
    group.bench_function("sonic-rs", |bencher| {
        bencher.iter(|| {
            let read = |body| sonic_rs::from_slice::<sonic_rs::Value>(body).expect("JSON");
            read(black_box(&pair.legacy)) == read(black_box(&pair.candidate))
        });
    });
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| {
            let read = |body| serde_json::from_slice::<serde_json::Value>(body).expect("JSON");
            assert!(read(black_box(&pair.legacy)) == read(black_box(&pair.candidate)));
        });
    });
}

fn compare(criterion: &mut Criterion) {
    for pair in pairs() {
        let mut group = criterion.benchmark_group(pair.name);
        let bytes = pair.legacy.len() + pair.candidate.len();
        group.throughput(Throughput::Bytes(bytes as u64));
        // Ten rounds of ten megabytes are as exact as a hundred of two kilobytes.
        group.sample_size(if bytes > 1_000_000 { 10 } else { 50 });
        let (one, two) = (&*pair.legacy, &*pair.candidate);
        ours(
            &mut group,
            "identical",
            Rules::default(),
            [one, one],
            Verdict::Match,
        );
        ours(
            &mut group,
            "reordered",
            Rules::default(),
            [one, two],
            Verdict::Match,
        );
        ours(
            &mut group,
            "reordered, rules",
            rules(),
            [one, two],
            Verdict::Match,
        );
        let changed = with_findings(two, 1);
        ours(
            &mut group,
            "1 finding",
            Rules::default(),
            [one, &changed],
            Verdict::Mismatch,
        );
        if bytes > 1_000_000 {
            let changed = with_findings(two, 1_000);
            ours(
                &mut group,
                "1,000 findings",
                Rules::default(),
                [one, &changed],
                Verdict::Mismatch,
            );
        }
        peers(&mut group, &pair);
        group.finish();
    }
}

criterion_group!(benches, compare);
criterion_main!(benches);
