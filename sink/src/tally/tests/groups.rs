//! Which mismatches a group stands for.

use super::*;

#[test]
fn groups_of_the_same_mismatches_have_one_digest_however_they_were_gathered() {
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let route = Route::new("GET /a");
    let mut store = Store::default();
    let mut expected = BTreeMap::<&str, Vec<Uuid>>::new();
    for number in 0..60 {
        // Another thread each time, in three intervals, some of them between two snapshots.
        let recorder = book.recorder(book.generation());
        let now = Timestamp::from_micros(START + number * INTERVAL_MICROS / 20);
        let names: &[&str] = match number % 3 {
            0 => &["a", "b", "b", "c"],
            1 => &["b", "a"],
            _ => &["c"],
        };
        let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
        let id = new_id();
        recorder.mismatch(&route, 1, 1, &Sighting::unconfirmed(id, now, &groups));
        for name in ["a", "b", "c"] {
            if names.contains(&name) {
                expected.entry(name).or_default().push(id);
            }
        }
        if number % 4 == 0 {
            let snapshot = book.snapshot(now);
            store.write(&snapshot);
            book.acknowledge(&snapshot);
        }
    }
    store.write(&book.snapshot(Timestamp::from_micros(START + 3 * INTERVAL_MICROS)));
    for (name, ids) in &expected {
        let rows = store.groups.values();
        let stored = rows.filter(|row| row.group.fingerprint == *name);
        assert_eq!(
            sum(stored.map(|row| row.exchange_digest)),
            sum(ids.iter().map(|id| ExchangeDigest::of(*id))),
            "{name}"
        );
    }
    assert_eq!(expected["a"], expected["b"]);
}

fn sum(digests: impl Iterator<Item = ExchangeDigest>) -> Option<ExchangeDigest> {
    digests.reduce(|mut sum, digest| {
        sum.add(digest);
        sum
    })
}

#[test]
fn groups_beyond_the_cap_are_no_set_of_mismatches() {
    // Beyond the cap of a thread, and of the interval when another thread has filled it.
    for names in [["a", "b"], ["b", "b"]] {
        let book = book(MAX_ROUTES, 1);
        let route = Route::new("GET /a");
        let time = Timestamp::from_micros(START);
        for names in [&["a"][..], &names, &names] {
            let recorder = book.recorder(book.generation());
            let groups: Vec<Group> = names.iter().map(|name| group(name)).collect();
            recorder.mismatch(
                &route,
                1,
                1,
                &Sighting::unconfirmed(new_id(), time, &groups),
            );
        }
        let snapshot = book.snapshot(time);
        let of = |name: &str| {
            let mut rows = snapshot.groups.iter();
            rows.find(|row| row.group.fingerprint == name)
                .map(|row| row.exchange_digest.is_known())
        };
        assert_eq!((of("a"), of(OTHER)), (Some(true), Some(false)));
    }
}
