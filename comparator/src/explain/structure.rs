//! Objects and arrays into which serializers take times and durations apart.

use smallvec::SmallVec;

use crate::instant::Instant;
use crate::json::index::{NodeKind, Tree};

/// Most parts that a time is written in: year to nanosecond.
const MAX_PARTS: usize = 7;

/// `{"secs":1,"nanos":500000000}` and its relatives.
pub(super) struct SecondsAndNanos {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// The names say that it is a moment.
    pub(super) since_epoch: bool,
}

/// Reads an object of seconds and nanoseconds, by the names that serde (`Duration`, `SystemTime`), protobuf and
/// Firestore give them.
pub(super) fn seconds_and_nanos(tree: Tree<'_>, object: u32) -> Option<SecondsAndNanos> {
    if tree.kind(object) != NodeKind::Object {
        return None;
    }
    let (mut seconds, mut nanos, mut since_epoch) = (None, None, false);
    for key in tree.keys(object).take(3) {
        let (slot, epoch) = match tree.content(key) {
            b"secs" | b"seconds" => (&mut seconds, false),
            b"secs_since_epoch" | b"_seconds" => (&mut seconds, true),
            b"nanos" => (&mut nanos, false),
            b"nanos_since_epoch" | b"_nanoseconds" => (&mut nanos, true),
            _ => return None,
        };
        since_epoch |= epoch;
        let part = integer(tree, key + 1)?;
        if slot.replace(part).is_some() {
            return None;
        }
    }
    Some(SecondsAndNanos {
        seconds: seconds?,
        nanos: u32::try_from(nanos?)
            .ok()
            .filter(|nanos| *nanos < 1_000_000_000)?,
        since_epoch,
    })
}

/// Whether an array is the date, or the naive time, that a text shows: `[2020,1,2,3,4,5,120000000]`, which Jackson makes
/// of `2020-01-02T03:04:05.12`.
pub(super) fn is_calendar(tree: Tree<'_>, array: u32, text: &[u8]) -> bool {
    if tree.kind(array) != NodeKind::Array {
        return false;
    }
    let parts: Option<SmallVec<[i64; MAX_PARTS + 1]>> = tree
        .elements(array)
        .take(MAX_PARTS + 1)
        .map(|element| integer(tree, element))
        .collect();
    let written = match parts.as_deref() {
        Some([year, month, day]) => {
            return format!("{year:04}-{month:02}-{day:02}").as_bytes() == text;
        }
        Some([year, month, day, hour, minute, rest @ ..]) if rest.len() <= 2 => {
            let second = rest.first().unwrap_or(&0);
            let nanos = rest.get(1).unwrap_or(&0);
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}")
        }
        _ => return false,
    };
    let time = Instant::parse(text);
    time.is_some() && time == Instant::parse(written.as_bytes())
}

fn integer(tree: Tree<'_>, at: u32) -> Option<i64> {
    match tree.kind(at) {
        NodeKind::Number => std::str::from_utf8(tree.content(at)).ok()?.parse().ok(),
        _ => None,
    }
}
