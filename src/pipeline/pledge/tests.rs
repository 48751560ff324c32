//! A mismatch counts once, whatever becomes of the pledge: settled, dropped, dropped by a panic, or a panic while it is counted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parity_schemas::field_share::FieldNumbers;
use parity_schemas::tally::{Counts, Identity};
use parity_sink::tally::TargetKey;
use parity_sink::{StoreConfig, StoreUrl, TallyBook, TallyConfig, Writer, WriterOptions};

use super::*;

/// A book, and what counts into it.
struct Counting {
    book: Arc<TallyBook>,
    settling: Arc<Settling>,
    events: Arc<EventCounts>,
    writer: Writer,
    _directory: tempfile::TempDir,
}

impl Counting {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite:{}", directory.path().join("parity.db").display());
        let store = StoreConfig::from(url.parse::<StoreUrl>().expect("a URL"));
        let identity = Identity {
            migration: "default".to_owned(),
            legacy_version: String::new(),
            candidate_version: String::new(),
            rules_hash: "none".to_owned(),
        };
        let book = TallyBook::new(TallyConfig::new(identity, "test", Vec::new()));
        let writer = Writer::open(&store, Arc::clone(&book), WriterOptions::default());
        let writer = writer.expect("it opens");
        let events = Arc::<EventCounts>::default();
        let recorder = book.recorder(book.generation());
        let settling = Settling::new(recorder, writer.handle(), Arc::clone(&events));
        Self {
            settling: Arc::new(settling),
            book,
            events,
            writer,
            _directory: directory,
        }
    }

    fn pledge(&self, rule_hits: Vec<(usize, u32)>) -> Pledge {
        let route = Arc::new(Route::new("GET /a"));
        let recorder = self.book.recorder(self.book.generation());
        let elapsed = Elapsed {
            head_us: 1,
            end_us: 1,
        };
        let mismatch = Mismatch {
            attributes: Box::default(),
            epoch: recorder.received(&route),
            route,
            time: Timestamp::now(),
            legacy_status: 200,
            target: TargetKey::new(b"key").hash("GET", "/a"),
            legacy: elapsed,
            candidate: elapsed,
            rule_hits,
            fields: Some(FieldNumbers::default().map(|_| 3)),
            id: Uuid::now_v7(),
            groups: Vec::new(),
            is_complete: true,
            record: None,
        };
        Pledge::new(mismatch, &self.settling)
    }

    /// What was counted of so many received requests, which all are settled.
    fn counts(self, received: u64) -> Counts {
        let counts = self.book.totals().total;
        assert_eq!((counts.received, counts.settled()), (received, received));
        assert_eq!(counts.classes.values().sum::<u64>(), counts.mismatch);
        drop(self.settling);
        self.writer
            .finish(std::time::Duration::from_secs(10))
            .expect("it is written");
        counts
    }
}

#[test]
fn one_that_is_dropped_is_unconfirmed() {
    let counting = Counting::new();
    drop(counting.pledge(Vec::new()));
    drop(
        counting
            .pledge(Vec::new())
            .otherwise(&[RecheckEvent::RefusedShutdown]),
    );
    counting.pledge(Vec::new()).unconfirmed(&[]);
    let refused = RecheckEvent::RefusedShutdown as usize;
    assert_eq!(counting.events[refused].load(Ordering::Relaxed), 1);
    let counts = counting.counts(3);
    assert_eq!(counts.classes, [(MismatchClass::Unconfirmed, 3)].into());
    assert_eq!(counts.rechecks, [(RecheckEvent::RefusedShutdown, 1)].into());
}

#[test]
fn one_that_is_lost_by_a_panic_is_counted_all_the_same() {
    let counting = Counting::new();
    let pledge = counting.pledge(Vec::new());
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _pledge = pledge;
        panic!("planted: while it is classified");
    }));
    assert!(panicked.is_err());
    let counts = counting.counts(1);
    assert_eq!(counts.classes, [(MismatchClass::Unconfirmed, 1)].into());
}

/// Only a debug build checks what is counted.
#[cfg(debug_assertions)]
#[test]
fn a_panic_while_it_is_counted_is_counted_as_such_and_the_next_one_is_not_touched() {
    let counting = Counting::new();
    // There is no such rule.
    let broken = counting.pledge(vec![(usize::MAX, 1)]);
    let panicked = catch_unwind(AssertUnwindSafe(|| broken.unconfirmed(&[])));
    counting.pledge(Vec::new()).unconfirmed(&[]);
    let counts = counting.counts(2);
    assert!(panicked.is_err(), "nothing was broken: {counts:?}");
    assert_eq!(counts.classes, [(MismatchClass::Unconfirmed, 1)].into());
    assert_eq!(counts.not_compared, [(Reason::InternalPanic, 1)].into());
}

#[test]
fn what_kept_a_mismatch_from_being_told_says_whether_others_speak_for_it() {
    for event in RecheckEvent::ALL {
        let expected = match event {
            RecheckEvent::RefusedMethod => Some(Unasked::Never),
            RecheckEvent::RefusedPaused | RecheckEvent::RefusedWaiting => Some(Unasked::Unheard),
            RecheckEvent::Failed => Some(Unasked::Silent),
            _ => None,
        };
        assert_eq!(unasked(&[*event]), expected, "{event}");
    }
    let failed = [RecheckEvent::Asked, RecheckEvent::Failed];
    assert_eq!(unasked(&failed), Some(Unasked::Silent));
    assert_eq!(unasked(&[]), None);
}
