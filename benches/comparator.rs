//! What one comparison costs, beside what others need to read the same bodies.
//!
//! The pair is two kilobytes of JSON with every object's keys in another order, so that no byte comparison succeeds.
//! `simd-json tape ×2` only parses the two bodies: the comparator is held to 1.3 times that (DESIGN.md §8).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::{AnswerPair, Comparator, Limits, RuleConfig, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Part, Verdict};

const LEGACY: &[u8] = include_bytes!("pair/legacy.json");
const CANDIDATE: &[u8] = include_bytes!("pair/candidate.json");

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
        headers,
        body: body.to_vec().into(),
        trailers: None,
        elapsed: Duration::from_millis(1),
    }
}

/// `/**/updated_at` and others as an operator would have them; none excuses anything in the pair.
fn rules() -> Arc<Rules> {
    let rule = |id: &str, path: &str, action: &str| RuleConfig {
        id: id.to_owned(),
        route: None,
        part: Part::Body,
        path: path.to_owned(),
        action: action.to_owned(),
        explanations: Vec::new(),
        field: None,
        absolute: None,
        relative: None,
        kind: None,
        reason: None,
        owner: None,
        expires: None,
    };
    let rules = [
        rule("updated-at", "/**/updated_at", "ignore"),
        rule("etag", "/meta/etag", "ignore"),
        rule("tags", "/orders/*/tags", "unordered"),
    ];
    Arc::new(Rules::compile(&rules, Timestamp::from_micros(0)).expect("the rules are right"))
}

fn pair(criterion: &mut Criterion) {
    let (legacy, candidate) = (capture(LEGACY), capture(CANDIDATE));
    let answers = AnswerPair {
        route: "GET /accounts/{id}",
        method: &Method::GET,
        time: Timestamp::from_micros(0),
        legacy: &legacy,
        candidate: &candidate,
    };
    let mut group = criterion.benchmark_group("reordered 2 KB pair");
    for (name, rules) in [
        ("parity", Arc::new(Rules::default())),
        ("parity with three rules", rules()),
    ] {
        let mut comparator = Comparator::new(rules, Limits::default());
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let comparison = comparator.compare_answers(black_box(answers));
                assert!(comparison.verdict == Verdict::Match);
            });
        });
    }
    // It overwrites its input, so each round copies the bodies; the copies alone are measured too.
    let mut buffers = (Vec::new(), Vec::new());
    let mut tape = simd_json::Buffers::new(4_096);
    group.bench_function("copying the two bodies", |bencher| {
        bencher.iter(|| {
            copy(&mut buffers);
            black_box(&buffers);
        });
    });
    group.bench_function("simd-json tape ×2", |bencher| {
        bencher.iter(|| {
            copy(&mut buffers);
            for body in [&mut buffers.0, &mut buffers.1] {
                black_box(
                    simd_json::to_tape_with_buffers(body, &mut tape)
                        .expect("JSON")
                        .0
                        .len(),
                );
            }
        });
    });
    group.bench_function("sonic-rs Value ==", |bencher| {
        bencher.iter(|| {
            let read = |body| sonic_rs::from_slice::<sonic_rs::Value>(body).expect("JSON");
            assert!(read(black_box(LEGACY)) == read(black_box(CANDIDATE)));
        });
    });
    group.bench_function("serde_json Value ==", |bencher| {
        bencher.iter(|| {
            let read = |body| serde_json::from_slice::<serde_json::Value>(body).expect("JSON");
            assert!(read(black_box(LEGACY)) == read(black_box(CANDIDATE)));
        });
    });
    group.finish();
}

fn copy(buffers: &mut (Vec<u8>, Vec<u8>)) {
    buffers.0.clear();
    buffers.0.extend_from_slice(black_box(LEGACY));
    buffers.1.clear();
    buffers.1.extend_from_slice(black_box(CANDIDATE));
}

/// Time has to grow with the body, not faster.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(20);
    for copies in [1, 10, 100, 1_000] {
        let list = |body: &[u8]| {
            let mut list = vec![b'['];
            list.extend(vec![body; copies].join(&b','));
            list.push(b']');
            list
        };
        let (legacy, candidate) = (list(LEGACY), list(CANDIDATE));
        group.throughput(criterion::Throughput::Bytes(
            (legacy.len() + candidate.len()) as u64,
        ));
        let (legacy, candidate) = (capture(&legacy), capture(&candidate));
        let answers = AnswerPair {
            route: "GET /accounts",
            method: &Method::GET,
            time: Timestamp::from_micros(0),
            legacy: &legacy,
            candidate: &candidate,
        };
        let mut comparator = Comparator::new(Arc::new(Rules::default()), Limits::default());
        group.bench_function(format!("{} KB", copies * 2), |bencher| {
            bencher.iter(|| comparator.compare_answers(black_box(answers)).verdict);
        });
    }
    group.finish();
}

criterion_group!(benches, pair, growth);
criterion_main!(benches);
