//! What a watermark promises: nothing received before it is missing, and it names what must be there.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use parity_schemas::watermark::Watermark;

use super::*;

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(START + millis * 1_000)
}

fn only(snapshot: &Snapshot) -> &Watermark {
    let [watermark] = snapshot.watermarks.as_slice() else {
        panic!("one run: {:?}", snapshot.watermarks);
    };
    watermark
}

fn under_way(watermark: &Watermark) -> Vec<(Timestamp, u64)> {
    let all = watermark.under_way.iter();
    all.map(|open| (open.since, open.requests)).collect()
}

#[test]
fn it_stays_before_what_is_not_settled_and_goes_on_behind_it() {
    let book = book(10, 10);
    let (serving, comparing) = (
        book.recorder(book.generation()),
        book.recorder(book.generation()),
    );
    let route = Route::new("GET /a");
    assert_eq!(only(&book.snapshot(at(250))).complete_until, at(250));
    let slow = serving.received(&route);
    assert_eq!(under_way(only(&book.snapshot(at(500)))), [(at(250), 1)]);
    // Of later requests it is known that they are settled, although the slow one is not.
    for millis in (1_000..5_000).step_by(250) {
        let quick = serving.received(&route);
        let open = book.snapshot(at(millis));
        assert_eq!(only(&open).complete_until, at(250));
        assert_eq!(only(&open).under_way_before(at(400)), 1);
        comparing.matched(&route, 1, 1);
        comparing.settled(quick);
        let watermark = book.snapshot(at(millis + 1)).watermarks.remove(0);
        assert_eq!(under_way(&watermark), [(at(250), 1)]);
    }
    serving.not_compared(&route, Reason::LegacyTruncated);
    serving.settled(slow);
    let last = book.snapshot(at(6_000));
    assert_eq!(only(&last).complete_until, at(6_000));
    assert!(only(&last).under_way.is_empty() && !only(&last).ended);
}

#[test]
fn requests_that_never_end_leave_room_for_others() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let mut open = Vec::new();
    // An hour in which one of each quarter second is not settled.
    for millis in (0..3_600_000).step_by(250) {
        open.push(recorder.received(&route));
        let settled = recorder.received(&route);
        recorder.settled(settled);
        drop(book.snapshot(at(millis)));
    }
    let snapshot = book.snapshot(at(3_600_000));
    let known: u64 = only(&snapshot)
        .under_way
        .iter()
        .map(|open| open.requests)
        .sum();
    assert_eq!(known, open.len() as u64);
    assert!(only(&snapshot).under_way.len() <= 32);
    for epoch in open {
        recorder.settled(epoch);
    }
    assert_eq!(
        only(&book.snapshot(at(3_600_250))).complete_until,
        at(3_600_250)
    );
}

#[test]
fn what_a_thread_left_behind_counts_on() {
    let book = book(10, 10);
    let route = Route::new("GET /a");
    let serving = book.recorder(book.generation());
    let epochs: Vec<Epoch> = (0..5).map(|_| serving.received(&route)).collect();
    drop(serving);
    drop(book.snapshot(at(250)));
    assert_eq!(only(&book.snapshot(at(500))).under_way_before(at(500)), 5);
    let comparing = book.recorder(book.generation());
    for epoch in epochs {
        comparing.settled(epoch);
    }
    assert_eq!(only(&book.snapshot(at(750))).complete_until, at(750));
}

/// What a reader finds of the tallies that a watermark names.
fn found(store: &Store, watermark: &Watermark) -> (u64, u64, u64) {
    let mut sums = (0, 0, 0);
    for tally in store
        .tallies
        .values()
        .filter(|tally| tally.run == watermark.id)
    {
        if (watermark.counted_from..watermark.open_from).contains(&tally.interval_start) {
            sums.0 += 1;
            sums.1 += tally.counts.received;
            sums.2 += tally.counts.settled();
        }
    }
    for open in &watermark.open {
        assert!(store.tallies[&open.id].revision >= open.revision);
        assert!(store.tallies[&open.id].interval_start >= watermark.open_from);
    }
    sums
}

#[test]
fn it_names_exactly_what_was_written_also_after_weeks() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    let mut store = Store::default();
    let mut given_up = 0;
    // Forty days, looked at every 20 minutes, with traffic in most of them.
    for step in 0..(40 * 24 * 3) {
        let now = at(step * 20 * 60_000);
        for (every, route) in (2..).zip(ROUTES) {
            if step % every == 0 {
                let route = Route::new(route);
                let epoch = recorder.received(&route);
                recorder.matched(&route, 1, 1);
                recorder.settled(epoch);
                // An outcome of its own, which is no part of the sums.
                recorder.client(&route, ClientOutcome::Success);
            }
        }
        let snapshot = book.snapshot(now);
        store.write(&snapshot);
        // Now and then the store is away for a while.
        if step % 7 != 0 {
            book.acknowledge(&snapshot);
        }
        let watermark = only(&snapshot);
        assert_eq!(
            found(&store, watermark),
            (watermark.tallies, watermark.received, watermark.settled),
            "step {step}"
        );
        given_up = given_up.max(watermark.counted_from.as_micros());
    }
    assert!(given_up > START, "the sums do not grow for ever");
    let oldest = at(40 * 24 * 3_600_000).as_micros() - given_up;
    assert!(oldest > 24 * 3_600_000_000, "and reach back far enough");
}

#[test]
fn a_run_ends_when_nobody_counts_in_it_any_more() {
    let book = book(10, 10);
    let route = Route::new("GET /a");
    let before = book.recorder(book.generation());
    let epoch = before.received(&route);
    let identity = Identity {
        rules_hash: "other".to_owned(),
        ..Identity::default()
    };
    book.begin_generation(identity, Vec::new());
    let after = book.recorder(book.generation());
    let both = book.snapshot(at(250));
    assert_eq!(
        both.watermarks
            .iter()
            .map(|run| run.ended)
            .collect::<Vec<_>>(),
        [false, false]
    );
    assert_ne!(both.watermarks[0].id, both.watermarks[1].id);
    before.matched(&route, 1, 1);
    before.settled(epoch);
    drop(before);
    // It is noticed as gone, and said at the next look, until the store has heard it.
    drop(book.snapshot(at(500)));
    let told = book.snapshot(at(750));
    assert!(told.watermarks[0].ended && !told.watermarks[1].ended);
    let again = book.snapshot(at(1_000));
    assert!(again.watermarks[0].ended);
    book.acknowledge(&again);
    assert_eq!(only(&book.snapshot(at(1_250))).identity.rules_hash, "other");
    drop(after);
    assert!(!book.lacks_its_end());
    book.end();
    assert!(book.lacks_its_end());
    let last = book.snapshot(at(1_500));
    assert!(only(&last).ended);
    book.acknowledge(&last);
    assert!(!book.lacks_its_end());
    assert!(book.snapshot(at(1_750)).watermarks.is_empty());
}

/// Threads receive and settle as fast as they can; no watermark ever passes a request that is not settled.
#[test]
fn no_watermark_passes_a_request_that_is_under_way() {
    const THREADS: usize = 3;
    /// Nothing is under way.
    const NONE: i64 = i64::MAX;
    let started = Timestamp::now();
    let identity = Identity::default();
    let book = TallyBook::new(TallyConfig {
        started,
        ..TallyConfig::new(identity, "here", Vec::new())
    });
    let stop = AtomicBool::new(false);
    // Since when the request is surely received that a thread has under way.
    let since: Vec<AtomicI64> = (0..THREADS).map(|_| AtomicI64::new(NONE)).collect();
    std::thread::scope(|scope| {
        for since in &since {
            let recorder = book.recorder(book.generation());
            let stop = &stop;
            scope.spawn(move || {
                let route = Route::new("GET /a");
                let mut number = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    let epoch = recorder.received(&route);
                    since.store(Timestamp::now().as_micros(), Ordering::SeqCst);
                    if number.is_multiple_of(1_000) {
                        std::thread::yield_now();
                    }
                    since.store(NONE, Ordering::SeqCst);
                    recorder.matched(&route, 1, 1);
                    recorder.settled(epoch);
                }
            });
        }
        // Also when an assertion fails: the threads are waited for.
        let _stops = Stops(&stop);
        let mut now = Timestamp::now();
        for _ in 0..2_000 {
            let open: Vec<i64> = since.iter().map(|it| it.load(Ordering::SeqCst)).collect();
            // Epochs are as long as they are: time is made to pass faster.
            now = now.saturating_add_micros(300_000).max(Timestamp::now());
            let snapshot = book.snapshot(now);
            let watermark = only(&snapshot);
            for (open, since) in open.iter().zip(&since) {
                if *open != NONE && since.load(Ordering::SeqCst) == *open {
                    assert!(watermark.complete_until < now, "{watermark:?}");
                    assert!(!watermark.under_way.is_empty());
                }
            }
            if watermark.under_way.is_empty() {
                assert_eq!(watermark.complete_until, now);
            }
            book.acknowledge(&snapshot);
        }
    });
    let last = book.snapshot(now_behind(&book));
    assert!(only(&last).under_way.is_empty());
}

/// Ends the threads of a test with its scope.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Behind every time that a book was looked at.
fn now_behind(book: &TallyBook) -> Timestamp {
    let snapshot = book.snapshot(Timestamp::now());
    only(&snapshot)
        .written
        .saturating_add_micros(10_000_000_000)
}

/// What was received before the clock was set back is not taken for received later than now.
#[test]
fn a_clock_that_is_set_back_settles_nothing() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    drop(book.snapshot(at(4_000)));
    let slow = recorder.received(&Route::new("GET /a"));
    drop(book.snapshot(at(4_250)));
    for millis in [-60_000, -59_000, -58_000] {
        let snapshot = book.snapshot(at(millis));
        assert_eq!(only(&snapshot).complete_until, at(-60_000), "{millis}");
        assert_eq!(only(&snapshot).under_way_before(at(millis)), 1);
    }
    recorder.settled(slow);
    assert_eq!(
        only(&book.snapshot(at(-57_000))).complete_until,
        at(-57_000)
    );
}

/// The time between the two is how long it ran, whatever the clock says.
#[test]
fn a_run_began_as_long_ago_as_it_has_lasted() {
    let book = book(10, 10);
    let (now, counted) = (Timestamp::now(), std::time::Instant::now());
    let started = |seconds: u64, set_by: i64| {
        let passed = Duration::from_secs(seconds);
        let now = now.saturating_add_micros(i64::try_from(passed.as_micros()).expect("short"));
        let snapshot = book.snapshot_when(now.saturating_add_micros(set_by), counted + passed);
        only(&snapshot).started.as_micros() - START
    };
    assert_eq!(started(4, 0), 0);
    for set_by in [3_600_000_000_i64, -65_000_000, 3_600_000_000, 0] {
        let moved = started(8, set_by);
        assert!((moved - set_by).abs() < 1_000_000, "{moved}");
    }
}

#[test]
fn it_has_what_was_seen_of_the_candidate_to_the_second() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let none = only(&book.snapshot(at(250))).candidate.clone();
    assert_eq!(none, Some(parity_schemas::lately::CandidateSeen::default()));
    let target = TargetKey::new(b"key").hash("GET", "/a");
    let status = |candidate_status| Group {
        candidate_status,
        ..group("status")
    };
    for millis in [1_000, 1_250] {
        for _ in 0..3 {
            recorder.compared(&route, 200, target);
            let groups = [status(500)];
            let seen = Sighting::unconfirmed(new_id(), at(millis), &groups);
            recorder.mismatch(&route, 1, 1, &seen);
        }
        drop(book.snapshot(at(millis)));
    }
    recorder.compared(&route, 500, target);
    recorder.matched(&route, 1, 1);
    for _ in 0..4 {
        recorder.not_compared(&route, Reason::CandidateRefused);
    }
    drop(book.snapshot(at(1_500)));
    recorder.not_compared(&route, Reason::BreakerOpen);
    let seen = only(&book.snapshot(at(1_750))).candidate.clone();
    let seen = seen.expect("this program tells");
    let [errors] = &seen.errors[..] else {
        panic!("{seen:?}");
    };
    assert_eq!((errors.from, errors.to), (at(1_000), at(1_250)));
    assert_eq!(
        (errors.compared, errors.errors, errors.legacy_errors),
        (6, 6, 0)
    );
    let [failures] = &seen.failures[..] else {
        panic!("{seen:?}");
    };
    assert_eq!((failures.from, failures.to), (at(1_500), at(1_500)));
    assert_eq!((failures.failed, failures.not_sent), (4, 1));
    // It is of that version alone.
    let other = Identity {
        candidate_version: "other".to_owned(),
        ..Identity::default()
    };
    book.begin_generation(other, Vec::new());
    let both = book.snapshot(at(2_000)).watermarks;
    let told = both.iter().map(|run| run.candidate.as_ref());
    let told: Vec<_> = told
        .map(|seen| seen.map(|seen| seen.errors.len()))
        .collect();
    assert_eq!(told, [Some(1), Some(0)]);
}

/// A hang is told from when its requests were sent, by the deadline that is in force, also one that a reload has set.
#[test]
fn a_time_out_is_dated_by_the_deadline_in_force() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let mut begins = Vec::new();
    for (seconds, deadline) in [(20, 2_000), (60, 8_000)] {
        book.set_candidate_deadline(Duration::from_millis(deadline));
        let sent = seconds * 1_000;
        let timed_out = sent + deadline.cast_signed();
        for millis in (sent - 1_000..timed_out + 1_000).step_by(250) {
            if millis == timed_out {
                for _ in 0..20 {
                    recorder.not_compared(&route, Reason::CandidateTimeout);
                }
            } else if !(sent..timed_out).contains(&millis) {
                recorder.matched(&route, 1, 1);
            }
            let snapshot = book.snapshot(at(millis));
            let seen = only(&snapshot).candidate.clone().unwrap_or_default();
            begins = seen.failures.iter().map(|one| one.from).collect();
            book.acknowledge(&snapshot);
        }
    }
    assert_eq!(begins, [at(20_000), at(60_000)]);
}

/// A client that gets a server error has a whole answer, so only this tells of it.
#[test]
fn it_has_when_clients_got_errors_and_from_which_service() {
    let book = book(10, 10);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    for millis in [1_000, 1_250] {
        for outcome in [ClientOutcome::ServerError, ClientOutcome::CandidateSuccess] {
            for _ in 0..3 {
                recorder.client(&route, outcome);
            }
        }
        drop(book.snapshot(at(millis)));
    }
    let seen = only(&book.snapshot(at(1_500))).candidate.clone();
    let seen = seen.expect("something was seen").client_errors;
    let [one] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(one.service, parity_schemas::lately::WaitedFor::Legacy);
    assert_eq!((one.answers, one.errors), (6, 6));
    assert_eq!((one.from, one.to, one.ended), (at(1_000), at(1_250), None));
    // The totals are of now, which is months later: nobody was answered since.
    let [later] = &book.totals().candidate.client_errors[..] else {
        panic!("one stretch");
    };
    assert_eq!((later.from, later.ended), (one.from, Some(at(1_250))));
}
