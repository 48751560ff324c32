#![allow(missing_docs)]
use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::{AnswerPair, Comparator, DocumentKind, Limits, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
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
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[2].parse().unwrap();
    let l = std::fs::read(&args[3]).unwrap();
    let c = std::fs::read(&args[4]).unwrap();
    let (legacy, candidate) = (capture(&l), capture(&c));
    let answers = AnswerPair {
        route: "GET /a",
        method: &Method::GET,
        time: Timestamp::from_micros(0),
        legacy: &legacy,
        candidate: &candidate,
    };
    match args[1].as_str() {
        "parity" => {
            let mut comparator = Comparator::new(Arc::new(Rules::default()), Limits::default());
            for _ in 0..n {
                black_box(comparator.compare_answers(black_box(answers)).verdict);
            }
        }
        "doc" => {
            let mut comparator = Comparator::new(Arc::new(Rules::default()), Limits::default());
            for _ in 0..n {
                black_box(
                    comparator
                        .compare_documents(
                            black_box(&l),
                            &c,
                            DocumentKind::Json,
                            Timestamp::from_micros(0),
                        )
                        .verdict,
                );
            }
        }
        "tape" => {
            let mut tape = simd_json::Buffers::new(4096);
            let mut b = Vec::new();
            for _ in 0..n {
                for d in [&l, &c] {
                    b.clear();
                    b.extend_from_slice(black_box(d));
                    black_box(
                        simd_json::to_tape_with_buffers(&mut b, &mut tape)
                            .unwrap()
                            .0
                            .len(),
                    );
                }
            }
        }
        _ => {}
    }
}
