//! What it costs to count the target of a compared request: hashing it with the key, and counting the hash. All of it is on
//! the thread that compares, beside a comparison of some ten microseconds.
//!
//! `cargo bench -p parity-sink` prints it: for a target that repeats, for a few of them in turn, and for one that is new
//! each time, which is the worst for the counters of frequent targets.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use parity_schemas::route::Route;
use parity_schemas::tally::Identity;
use parity_sink::tally::TargetKey;
use parity_sink::{TallyBook, TallyConfig};

fn targets(criterion: &mut Criterion) {
    let key = TargetKey::new(b"0123456789abcdef0123456789abcdef");
    let book = TallyBook::new(TallyConfig::new(Identity::default(), "here", Vec::new()));
    let (recorder, route) = (
        book.recorder(book.generation()),
        Route::new("GET /users/{id}/orders"),
    );
    let all: Vec<String> = (0..100_000)
        .map(|user| format!("/users/{user}/orders?page=2&limit=50"))
        .collect();
    let mut group = criterion.benchmark_group("target");
    group.bench_function("hash", |bencher| {
        bencher.iter(|| key.hash(black_box("GET"), black_box(&all[7])));
    });
    for (name, distinct) in [("one", 1), ("ten", 10), ("many", all.len())] {
        let mut next = all.iter().take(distinct).cycle();
        group.bench_function(format!("hash and count, {name}"), |bencher| {
            bencher.iter(|| {
                let target = next.next().map_or("", String::as_str);
                recorder.compared(&route, 200, key.hash("GET", black_box(target)));
            });
        });
    }
    // What the call cost before it counted targets.
    group.bench_function("a count alone", |bencher| {
        bencher.iter(|| recorder.answered(black_box(&route), 200));
    });
    group.finish();
}

criterion_group!(benches, targets);
criterion_main!(benches);
