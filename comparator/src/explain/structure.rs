//! Recognizes the objects and arrays that serializers write for times and durations.

use smallvec::SmallVec;

use crate::instant::Instant;
use crate::notation::index::{NodeKind, Tree};

/// Most parts of a time: year to nanosecond, and an offset.
const MAX_PARTS: usize = 9;

/// `{"secs":1,"nanos":500000000}` and its relatives.
pub(super) struct SecondsAndNanos {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// Whether the names say that it is a point in time.
    pub(super) since_epoch: bool,
}

/// Parses an object of seconds and nanoseconds, with the names that serde (durations and system times), protobuf and
/// Firestore use, or the pair that the `time` crate writes for a duration.
pub(super) fn seconds_and_nanos(tree: Tree<'_>, at: u32) -> Option<SecondsAndNanos> {
    if let Some([seconds, nanos]) = integers(tree, at).as_deref() {
        // Any two numbers may end in a zero; nine digits do not match by chance.
        return SecondsAndNanos::new(*seconds, *nanos, false).filter(|parts| parts.nanos > 0);
    }
    if tree.kind(at) != NodeKind::Object {
        return None;
    }
    let (mut seconds, mut nanos, mut since_epoch) = (None, None, false);
    for key in tree.keys(at).take(3) {
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
    SecondsAndNanos::new(seconds?, nanos?, since_epoch)
}

impl SecondsAndNanos {
    fn new(seconds: i64, nanos: i64, since_epoch: bool) -> Option<Self> {
        let nanos = u32::try_from(nanos).ok()?;
        (nanos < 1_000_000_000).then_some(Self {
            seconds,
            nanos,
            since_epoch,
        })
    }
}

/// Whether an array is the date or the time in a text: `[2020,1,2,3,4,5,120000000]`, which Jackson writes for
/// `2020-01-02T03:04:05.12`, or `[2020,2,3,4,5,120000000,0,0,0]`, which the `time` crate writes for it in UTC.
pub(super) fn is_calendar(tree: Tree<'_>, array: u32, text: &[u8]) -> bool {
    let parts = integers(tree, array);
    let Some(parts) = parts.as_deref() else {
        return false;
    };
    let time = match parts {
        [year, month, day] => {
            return format!("{year:04}-{month:02}-{day:02}").as_bytes() == text;
        }
        [year, month, day, hour, minute, rest @ ..] if rest.len() <= 2 => {
            let second = rest.first().unwrap_or(&0);
            let nanos = rest.get(1).unwrap_or(&0);
            let written = format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}"
            );
            Instant::parse(written.as_bytes())
        }
        _ => <[i64; 9]>::try_from(parts)
            .ok()
            .and_then(Instant::from_ordinal),
    };
    time.is_some() && time == Instant::parse(text)
}

fn integers(tree: Tree<'_>, array: u32) -> Option<SmallVec<[i64; MAX_PARTS + 1]>> {
    if tree.kind(array) != NodeKind::Array {
        return None;
    }
    let parts = tree.elements(array).take(MAX_PARTS + 1);
    parts.map(|element| integer(tree, element)).collect()
}

fn integer(tree: Tree<'_>, at: u32) -> Option<i64> {
    match tree.kind(at) {
        NodeKind::Number => std::str::from_utf8(tree.content(at)).ok()?.parse().ok(),
        _ => None,
    }
}
