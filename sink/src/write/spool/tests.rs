//! Nothing that was appended and not acknowledged is ever missing, and nothing on disk makes it panic.

use std::collections::BTreeSet;
use std::path::Path;

use parity_schemas::record::RecordType;
use proptest::prelude::*;
use tempfile::TempDir;

use super::frame::Frame;
use super::segment::MAGIC;
use super::{AppendError, Next, Position, Spool};
use crate::store::SpoolConfig;

const TOPIC: &str = "kafka://a:9092/t";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn open(folder: &Path, max_bytes: u64) -> Spool {
    let config = SpoolConfig {
        folder: folder.to_owned(),
        max_bytes,
        succeeding: false,
    };
    Spool::open(&config, TOPIC).expect("it opens")
}

fn encoded(numbers: &[u32], size: usize) -> Vec<u8> {
    let mut frames = Vec::new();
    for number in numbers {
        Frame {
            record: RecordType::Mismatch,
            key: &number.to_le_bytes(),
            payload: &vec![*number as u8; size],
        }
        .write(&mut frames);
    }
    frames
}

fn append(spool: &mut Spool, numbers: &[u32], size: usize) -> Result<Position, AppendError> {
    spool.append(&encoded(numbers, size), numbers.len() as u32)
}

/// Reads on to the end.
fn rest(spool: &mut Spool) -> Vec<(Position, u32)> {
    let mut found = Vec::new();
    while let Next::Record(at, frame) = spool.next() {
        let key = frame.key.try_into().expect("a number");
        found.push((at, u32::from_le_bytes(key)));
    }
    found
}

fn all(spool: &mut Spool) -> Vec<(Position, u32)> {
    let first = spool.first();
    spool.seek(first);
    rest(spool)
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder)
        .expect("the folder")
        .filter(|entry| {
            let path = entry.as_ref().expect("an entry").path();
            path.extension().is_some_and(|suffix| suffix == "spool")
        })
        .count()
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize, usize),
    /// Of what was read or appended, the one at this place.
    Acknowledge(prop::sample::Index),
    Read,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..40_usize, 0..2_000_usize).prop_map(|(count, size)| Step::Append(count, size)),
        4 => any::<prop::sample::Index>().prop_map(Step::Acknowledge),
        1 => Just(Step::Read),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_not_acknowledged_is_found(steps in prop::collection::vec(step(), 1..60)) {
        let folder = folder();
        let limit = 256 << 10;
        let mut spool = open(folder.path(), limit);
        let (mut next, mut waiting) = (0_u32, BTreeSet::new());
        let mut places: Vec<(Position, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Append(count, size) => {
                    let numbers: Vec<u32> = (next..next + count as u32).collect();
                    if let Ok(first) = append(&mut spool, &numbers, size) {
                        next += count as u32;
                        for (index, number) in (first.index..).zip(numbers) {
                            waiting.insert(number);
                            places.push((Position { index, ..first }, number));
                        }
                    }
                    prop_assert!(spool.bytes() <= limit);
                }
                Step::Acknowledge(which) => {
                    if !places.is_empty() {
                        let (at, number) = places.swap_remove(which.index(places.len()));
                        spool.acknowledge(at);
                        waiting.remove(&number);
                    }
                }
                Step::Read => places = all(&mut spool),
                Step::Reopen => {
                    drop(spool);
                    spool = open(folder.path(), limit);
                    places = all(&mut spool);
                    // What was acknowledged may come again; that is what ids are for.
                    waiting.extend(places.iter().map(|(_, number)| *number));
                }
            }
            let found: BTreeSet<u32> = all(&mut spool).into_iter().map(|(_, number)| number).collect();
            prop_assert_eq!(&found, &waiting);
        }
        for (at, _) in all(&mut spool) {
            spool.acknowledge(at);
        }
        prop_assert!(spool.is_empty());
        prop_assert_eq!((spool.bytes(), files(folder.path())), (0, 0));
    }

    #[test]
    fn any_damage_costs_records_and_nothing_else(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let folder = folder();
        let mut spool = open(folder.path(), 1 << 20);
        let numbers: Vec<u32> = (0..100).collect();
        append(&mut spool, &numbers, 50).expect("there is room");
        drop(spool);
        let path = folder.path().join("0000000000.spool");
        let mut bytes = std::fs::read(&path).expect("the segment");
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        std::fs::write(&path, bytes).expect("writable");
        let mut spool = open(folder.path(), 1 << 20);
        for (at, number) in rest(&mut spool) {
            prop_assert!(number < 100);
            spool.acknowledge(at);
        }
        append(&mut spool, &[100], 50).expect("there is room");
        let found: Vec<u32> = all(&mut spool).into_iter().map(|(_, number)| number).collect();
        prop_assert_eq!(found, vec![100]);
    }
}

#[test]
fn records_are_read_in_order_across_segments_and_while_more_come() {
    let folder = folder();
    let mut spool = open(folder.path(), 1 << 20);
    for number in 0..600 {
        append(&mut spool, &[number], 1_000).expect("there is room");
    }
    assert!(files(folder.path()) > 3);
    for expected in 0..700 {
        if expected == 300 {
            (600..700).for_each(|number| {
                append(&mut spool, &[number], 1_000).expect("there is room");
            });
        }
        let Next::Record(_, frame) = spool.next() else {
            panic!("{expected} is missing");
        };
        assert_eq!(frame.key, u32::to_le_bytes(expected));
    }
    assert!(matches!(spool.next(), Next::End));
}

#[test]
fn the_limit_counts_what_was_there_at_the_start() {
    let folder = folder();
    let limit = 200_000;
    let mut spool = open(folder.path(), limit);
    let mut count = 0;
    while append(&mut spool, &[count], 1_000).is_ok() {
        count += 1;
    }
    assert!((180..200).contains(&count), "{count}");
    drop(spool);
    let mut spool = open(folder.path(), limit);
    assert!(matches!(
        append(&mut spool, &[0], 1_000),
        Err(AppendError::Full)
    ));
    // Segments are given back one by one, not only when all is acknowledged.
    for (at, _) in all(&mut spool).into_iter().take(count as usize / 2) {
        spool.acknowledge(at);
    }
    append(&mut spool, &[0], 1_000).expect("there is room again");
}

/// Found by the property above: records that fit to the byte, and the first bytes of the file that they began did not.
#[test]
fn the_first_bytes_of_a_new_file_count_towards_the_limit() {
    let folder = folder();
    let frames = encoded(&[0], 1_000);
    let limit = frames.len() as u64 + MAGIC.len() as u64;
    let mut spool = open(folder.path(), limit - 1);
    assert!(matches!(spool.append(&frames, 1), Err(AppendError::Full)));
    assert_eq!((spool.bytes(), files(folder.path())), (0, 0));
    drop(spool);
    let mut spool = open(folder.path(), limit);
    spool.append(&frames, 1).expect("there is room to the byte");
    assert_eq!(spool.bytes(), limit);
}

/// Found where a broker came back on a slow machine: the file of the newest records was told as a backlog of megabytes.
#[test]
fn what_arrived_is_no_backlog_while_another_record_is_under_way() {
    let folder = folder();
    let mut spool = open(folder.path(), 16 << 20);
    let mut under_way = append(&mut spool, &[0], 1_000).expect("there is room");
    for number in 1..1_000 {
        let next = append(&mut spool, &[number], 1_000).expect("there is room");
        spool.acknowledge(under_way);
        under_way = next;
        let waiting = spool.waiting_bytes();
        assert!((900..1_200).contains(&waiting), "{number}: {waiting}");
    }
    assert!(spool.bytes() > 900_000);
    drop(spool);
    // Nobody knows what of it had arrived before it is read.
    let mut spool = open(folder.path(), 16 << 20);
    assert_eq!(spool.waiting_bytes(), spool.bytes());
    for (at, _) in all(&mut spool) {
        spool.acknowledge(at);
    }
    assert_eq!(spool.waiting_bytes(), 0);
}

#[test]
fn a_record_larger_than_a_segment_fits_when_the_spool_has_room() {
    let folder = folder();
    let mut spool = open(folder.path(), 1 << 20);
    append(&mut spool, &[1], 900 << 10).expect("there is room");
    assert_eq!(all(&mut spool).len(), 1);
    assert!(append(&mut spool, &[2], 900 << 10).is_err());
}

#[test]
fn counts_are_replaced_as_a_whole_and_sent_by_the_next_process() {
    let folder = folder();
    let spool = open(folder.path(), 1 << 20);
    for number in [1, 2, 3] {
        spool
            .keep_tallies(&encoded(&[number], 10))
            .expect("writable");
    }
    drop(spool);
    let mut spool = open(folder.path(), 1 << 20);
    let found: Vec<u32> = rest(&mut spool)
        .into_iter()
        .map(|(_, number)| number)
        .collect();
    assert_eq!(found, [3]);
    spool.keep_tallies(&encoded(&[4], 10)).expect("writable");
    spool.keep_tallies(&[]).expect("removed");
    spool.keep_tallies(&[]).expect("nothing to remove");
    drop(spool);
    assert_eq!(all(&mut open(folder.path(), 1 << 20)).len(), 1);
}

#[test]
fn a_late_acknowledgement_never_meets_another_record() {
    let folder = folder();
    let mut spool = open(folder.path(), 1 << 20);
    let first = append(&mut spool, &[1], 10).expect("there is room");
    spool.acknowledge(first);
    append(&mut spool, &[2], 10).expect("there is room");
    spool.acknowledge(first);
    assert_eq!(all(&mut spool).len(), 1);
}

#[test]
fn a_folder_that_cannot_be_used_is_told() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("writable");
    let config = SpoolConfig {
        folder: file.join("deeper"),
        max_bytes: 1 << 20,
        succeeding: false,
    };
    let error = Spool::open(&config, TOPIC).map(drop).expect_err("refused");
    assert!(error.to_string().contains("deeper"), "{error}");
}

#[test]
fn a_successor_has_a_folder_of_its_own_until_the_next_start_takes_it_all() {
    let folder = folder();
    let open = |succeeding| {
        let config = SpoolConfig {
            folder: folder.path().to_owned(),
            max_bytes: 1 << 20,
            succeeding,
        };
        Spool::open(&config, TOPIC)
    };
    let mut before = open(true).expect("it opens");
    append(&mut before, &[1, 2], 10).expect("there is room");
    before.keep_tallies(&encoded(&[3], 10)).expect("written");
    let refused = open(false).map(drop).expect_err("held");
    assert!(refused.to_string().contains("another process"), "{refused}");

    let mut successor = open(true).expect("beside it");
    append(&mut successor, &[4, 5], 10).expect("there is room");
    successor.keep_tallies(&encoded(&[6], 10)).expect("written");
    assert_eq!(
        all(&mut successor).len(),
        2,
        "the predecessor's are its own to send"
    );
    assert!(open(true).is_err(), "one successor at a time");

    // The predecessor ends and leaves something; the third process takes that, and leaves the running one alone.
    drop(before);
    let mut third = open(true).expect("it opens");
    let numbers = |spool: &mut Spool| -> Vec<u32> {
        all(spool).into_iter().map(|(_, number)| number).collect()
    };
    assert_eq!(numbers(&mut third), [1, 2, 3]);
    drop(third);
    drop(successor);
    assert_eq!(
        numbers(&mut open(false).expect("it opens")),
        [1, 2, 3, 4, 5, 6]
    );
}
