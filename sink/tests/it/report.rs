//! The report that is read from what was written.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::{Evidence, LeftOutSpan};
use parity_schemas::id::new_id;
use parity_schemas::record::{MismatchClass, Record};
use parity_schemas::route::Route;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_sink::read::Neighbours;
use parity_sink::{MismatchFilter, Selection, WriterOptions};
use uuid::Uuid;

use crate::support::{
    PATIENCE, Store, book, group_tally, identity, matched, mismatch, mismatched, route, tally,
};

#[test]
fn a_report_of_nothing_is_all_zeros() {
    let store = Store::new();
    drop(store.writer(&book("here"), WriterOptions::default()));
    let report = store.report();
    assert_eq!(report.migration, "default");
    assert_eq!((report.counts.received, report.window), (0, None));
    let evidence = store.reader().evidence(&Selection::default());
    // A run was there, and it received nothing.
    let evidence = evidence.expect("it is read").expect("of that run");
    assert_eq!((evidence.routes, evidence.runs.len()), (Vec::new(), 1));
}

#[test]
fn what_was_counted_is_reported_with_an_example_of_each_group() {
    let store = Store::new();
    let book = book("here");
    let writer = store.writer(&book, WriterOptions::default());
    let (sender, recorder, route) = (writer.handle(), book.recorder(book.generation()), route());
    for _ in 0..97 {
        matched(&recorder, &route);
        recorder.rule_hits(&route, &[(0, 2)]);
    }
    for _ in 0..3 {
        let record = mismatched(&recorder, &route, 100);
        sender.send(record).expect("there is room");
    }
    let other = Route::new("POST /quotes");
    recorder.received(&other);
    recorder.client(&other, ClientOutcome::LegacyUnreachable);
    recorder.not_compared(&other, Reason::UnsafeMethod);
    let finished = writer.finish(PATIENCE).expect("the writer ends");
    assert_eq!(
        (finished.records_dropped, finished.unwritten_tallies),
        (0, 0)
    );

    let report = store.report();
    assert_eq!(report.counts.received, 101);
    assert_eq!(report.counts.settled(), report.counts.received);
    assert_eq!((report.counts.matched, report.counts.mismatch), (97, 3));
    assert_eq!(report.instances, ["here"]);
    let names: Vec<_> = report.routes.iter().map(|route| &*route.route).collect();
    assert_eq!(names, ["GET /users/{id}", "POST /quotes"]);
    assert_eq!(report.counts.clients_settled(), report.counts.received);
    let failed: Vec<_> = report
        .routes
        .iter()
        .map(|route| route.counts.clients_failed())
        .collect();
    assert_eq!(failed, [0, 1]);
    let legacy = &report.routes[0].legacy_us;
    assert_eq!([legacy["p50"], legacy["p95"], legacy["p99"]], [1_008; 3]);
    assert_eq!(report.routes[0].candidate_head_us["p50"], 912);
    assert_eq!(
        (report.rules[0].id.as_str(), report.rules[0].hits),
        ("updated-at", 194)
    );
    assert_eq!(report.groups.len(), 1);
    let group = &report.groups[0];
    assert_eq!((group.count, &*group.route), (3, "GET /users/{id}"));
    let example = group.example.as_ref().expect("it was stored");
    assert_eq!(example.target, "/users/7?page=2");
    assert_eq!(example.candidate.as_deref(), Some("12.51"));

    let reader = store.reader();
    let stored = reader.mismatch(group.example_id).expect("it is read");
    assert_eq!(stored.expect("it is there").fingerprints, ["f00d"]);
    assert_eq!(reader.mismatch(Uuid::nil()).expect("it is read"), None);
    let evidence = reader.evidence(&Selection::default()).expect("it is read");
    let evidence = evidence.expect("there is some");
    assert_eq!(evidence.total(), report.counts);
    assert_eq!(Some(evidence.window), report.window);
    assert_eq!(evidence.identity, identity());
    let evidence = Evidence {
        runs: Vec::new(),
        ..evidence
    };
    assert_eq!(report.evidence(), Some(evidence));
}

#[test]
fn a_stored_mismatch_reads_back_as_it_was() {
    let store = Store::new();
    let mut record = mismatch("f00d", Timestamp::now(), 10);
    record.findings[0].text_diff = Some("-ö\n+\u{0}".to_owned());
    record.findings_cut = true;
    record.trace_id = "0af7651916cd43dd8448eb211c80319c".to_owned();
    store.fill([Record::Mismatch(Box::new(record.clone()))]);
    let read = store.reader().mismatch(record.id).expect("it is read");
    assert_eq!(read, Some(record));
}

#[test]
fn writing_twice_is_writing_once_and_a_lower_revision_changes_nothing() {
    let store = Store::new();
    let start = Timestamp::now();
    let (first, mut second) = (tally("GET /a", start, 10), tally("GET /a", start, 25));
    second.id = first.id;
    second.revision = 2;
    let counted = |revision, count| {
        let mut group = group_tally(&first, "f00d", count, new_id());
        group.revision = revision;
        Record::GroupTally(Box::new(group))
    };
    let mut differing = second.clone();
    differing.counts.mismatch = 7;
    let difference = Record::Mismatch(Box::new(mismatch("f00d", start, 0)));
    let records = [
        Record::Tally(Box::new(differing.clone())),
        counted(2, 7),
        Record::Tally(Box::new(first.clone())),
        counted(1, 3),
        Record::Tally(Box::new(differing)),
        counted(2, 7),
        difference.clone(),
        difference,
    ];
    store.fill(records.clone());
    store.fill(records);
    let report = store.report();
    assert_eq!((report.counts.received, report.counts.mismatch), (25, 7));
    assert_eq!(report.groups[0].count, 7);
    let all = store
        .reader()
        .mismatches(&MismatchFilter::default(), 100)
        .expect("they are read");
    assert_eq!(all.len(), 1);
}

#[test]
fn the_evidence_is_of_the_newest_identity_unless_named() {
    let store = Store::new();
    let minute = |minute: i64| Timestamp::from_micros(1_767_225_600_000_000 + minute * 60_000_000);
    let of = |version: &str, at: i64, count: u64| {
        let mut tally = tally("GET /a", minute(at), count);
        version.clone_into(&mut tally.identity.candidate_version);
        Record::Tally(Box::new(tally))
    };
    let mut elsewhere = tally("GET /a", minute(9), 1_000);
    "another".clone_into(&mut elsewhere.identity.migration);
    store.fill([
        of("old", 0, 1),
        of("new", 1, 10),
        of("old", 2, 2),
        of("new", 3, 20),
        of("new", 4, 40),
        Record::Tally(Box::new(elsewhere)),
    ]);
    let received = |selection: &Selection| {
        let report = store.reader().report(selection).expect("it is read");
        (report.candidate_version, report.counts.received)
    };
    let latest = Selection::default();
    assert_eq!(received(&latest), ("new".to_owned(), 70));
    let since = Selection {
        since: Some(minute(3)),
        ..latest.clone()
    };
    assert_eq!(received(&since), ("new".to_owned(), 60));
    let old = Selection {
        candidate_version: Some("old".to_owned()),
        ..latest.clone()
    };
    assert_eq!(received(&old), ("old".to_owned(), 3));
    let none = Selection {
        candidate_version: Some("unheard of".to_owned()),
        ..latest.clone()
    };
    assert_eq!(received(&none), ("unheard of".to_owned(), 0));
    let another = Selection {
        migration: Some("another".to_owned()),
        ..latest
    };
    assert_eq!(received(&another), ("rust-1".to_owned(), 1_000));
}

#[test]
fn what_is_left_out_is_not_counted_and_told() {
    let store = Store::new();
    let at = |seconds: i64| Timestamp::from_micros(1_767_225_600_000_000 + seconds * 1_000_000);
    let of = |minute: i64, count| Record::Tally(Box::new(tally("GET /a", at(minute * 60), count)));
    store.fill([of(0, 1), of(1, 10), of(2, 100), of(3, 1_000)]);
    let left_out = |spans: &[(i64, i64)]| {
        let selection = Selection {
            left_out: spans
                .iter()
                .map(|(from, to)| LeftOutSpan {
                    from: at(*from),
                    to: at(*to),
                    reason: "restart".to_owned(),
                })
                .collect(),
            ..Selection::default()
        };
        let report = store.reader().report(&selection).expect("it is read");
        let evidence = store.reader().evidence(&selection).expect("it is read");
        let evidence = evidence.expect("there is some");
        assert_eq!(evidence.total().received, report.counts.received);
        assert_eq!(evidence.left_out, report.left_out);
        let held: Vec<u64> = report.left_out.iter().map(|one| one.received).collect();
        (report.counts.received, held)
    };
    assert_eq!(left_out(&[]), (1_111, vec![]));
    assert_eq!(left_out(&[(60, 120)]), (1_101, vec![10]));
    // An interval that is only touched is left out as a whole.
    assert_eq!(left_out(&[(119, 121)]), (1_001, vec![110]));
    assert_eq!(left_out(&[(0, 30), (200, 201)]), (110, vec![1, 1_000]));
    assert_eq!(left_out(&[(-60, 0)]), (1_111, vec![0]));
    assert_eq!(left_out(&[(0, 1_000)]), (0, vec![1_111]));
}

#[test]
fn groups_of_several_tallies_merge_and_lists_have_one_order() {
    let store = Store::new();
    let at = |seconds: i64| Timestamp::from_micros(1_767_225_600_000_000 + seconds * 1_000_000);
    let mut records = Vec::new();
    let mut add = |route: &str, start: i64, fingerprint: &str, count: u64, example: Uuid| {
        let mut tally = tally(route, at(start), 100);
        tally.counts.received += count;
        tally.counts.mismatch = count;
        let group = group_tally(&tally, fingerprint, count, example);
        records.push(Record::GroupTally(Box::new(group)));
        records.push(Record::Tally(Box::new(tally)));
    };
    let kept = mismatch("aa", at(10), 0);
    add("GET /a", 0, "aa", 3, kept.id);
    add("GET /a", 60, "aa", 4, new_id());
    add("GET /b", 0, "bb", 7, new_id());
    add("GET /c", 0, "cc", 9, new_id());
    records.push(Record::Mismatch(Box::new(kept.clone())));
    store.fill(records);

    let report = store.report();
    let order: Vec<_> = report
        .groups
        .iter()
        .map(|group| (&*group.fingerprint, group.count))
        .collect();
    assert_eq!(order, [("cc", 9), ("aa", 7), ("bb", 7)]);
    let routes: Vec<_> = report.routes.iter().map(|route| &*route.route).collect();
    assert_eq!(routes, ["GET /c", "GET /a", "GET /b"]);
    let merged = &report.groups[1];
    let seen = (at(0).saturating_add_micros(1), at(110));
    assert_eq!((merged.first_seen, merged.last_seen), seen);
    // The newest example never reached the store, so an older one is shown.
    assert_eq!(merged.example_id, kept.id);
    assert!(merged.example.is_some());
    assert_eq!(report.groups[0].example, None);
}

#[test]
fn mismatches_are_found_by_group_and_route_in_pages() {
    let store = Store::new();
    let start = Timestamp::now();
    let records: Vec<_> = (0..10_u8)
        .map(|number| {
            let fingerprint = if number % 3 == 0 { "rare" } else { "common" };
            let mut mismatch = mismatch(fingerprint, start, 0);
            mismatch.time = start.saturating_add_micros(i64::from(number / 2));
            if number == 9 {
                "GET /b".clone_into(&mut mismatch.route);
            }
            if number % 4 == 1 {
                mismatch.class = MismatchClass::Confirmed;
            }
            mismatch
        })
        .collect();
    store.fill(
        records
            .iter()
            .map(|record| Record::Mismatch(Box::new(record.clone()))),
    );
    let reader = store.reader();
    let ids = |filter: &MismatchFilter, limit| -> Vec<Uuid> {
        let found = reader.mismatches(filter, limit).expect("they are read");
        found.iter().map(|mismatch| mismatch.id).collect()
    };
    let mut expected = records.clone();
    expected.sort_by_key(|record| std::cmp::Reverse((record.time, record.id)));
    let all: Vec<Uuid> = expected.iter().map(|record| record.id).collect();

    let mut filter = MismatchFilter::default();
    let mut pages = Vec::new();
    loop {
        let page = ids(&filter, 3);
        let Some(last) = page.last() else { break };
        let last = records.iter().find(|record| record.id == *last);
        let last = last.expect("one of ours");
        filter.before = Some((last.time, last.id));
        pages.extend(page);
    }
    assert_eq!(pages, all);

    let rare = MismatchFilter {
        fingerprint: Some("rare".to_owned()),
        route: Some("GET /users/{id}".to_owned()),
        ..MismatchFilter::default()
    };
    assert_eq!(ids(&rare, 100).len(), 3);
    let confirmed = MismatchFilter {
        class: Some(MismatchClass::Confirmed),
        ..MismatchFilter::default()
    };
    let of_class = records
        .iter()
        .filter(|it| it.class == MismatchClass::Confirmed);
    assert!(of_class.clone().count() > 1);
    assert_eq!(ids(&confirmed, 100).len(), of_class.count());
    let none = MismatchFilter {
        class: Some(MismatchClass::Transient),
        ..MismatchFilter::default()
    };
    assert_eq!(ids(&none, 100).len(), 0);
    let part_of_a_name = MismatchFilter {
        fingerprint: Some("rar".to_owned()),
        ..MismatchFilter::default()
    };
    assert_eq!(ids(&part_of_a_name, 100).len(), 0);
    // Each stands where the list has it.
    for filter in [MismatchFilter::default(), rare] {
        let listed = ids(&filter, 100);
        for (place, id) in listed.iter().enumerate() {
            let one = records.iter().find(|record| record.id == *id);
            let one = one.expect("one of ours");
            let found = reader.neighbours(&filter, (one.time, one.id));
            let expected = Neighbours {
                newer: place.checked_sub(1).map(|place| listed[place]),
                older: listed.get(place + 1).copied(),
                newer_count: place,
                older_count: listed.len() - place - 1,
                ..Neighbours::default()
            };
            assert_eq!(found.expect("it is read"), expected);
            // Those before a time are not among them.
            let since = MismatchFilter {
                since: Some(one.time),
                ..filter.clone()
            };
            let found = reader.neighbours(&since, (one.time, one.id));
            let found = found.expect("it is read");
            let same_time = |id: &&Uuid| {
                let mut all = records.iter();
                all.any(|record| record.id == **id && record.time == one.time)
            };
            let later = listed.iter().skip(place + 1).take_while(same_time);
            assert_eq!(found.older_count, later.count());
        }
    }
    let other_version = MismatchFilter {
        candidate_version: Some("another".to_owned()),
        ..MismatchFilter::default()
    };
    assert_eq!(ids(&other_version, 100).len(), 0);
}
