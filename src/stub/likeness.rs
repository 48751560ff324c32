//! How near two calls are to each other, known without comparing them: parts of body and head as hashes.
//!
//! It only says in which order possible partners are looked at. Whether two calls are equal is decided by the comparator alone.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::call::Call;

/// Parts of a call that are remembered: with ten thousand calls that wait, 5 MB.
const PARTS: usize = 64;
/// Larger bodies are known by their bytes alone: reading them would take longer than comparing them.
const READ: usize = 64 * 1024;
/// The same body is nearer than any number of the same parts.
const SAME_BODY: u32 = 1 << 16;

/// What a call is known by.
pub(super) struct Likeness {
    /// Of the body: the same for the same values, in whichever order and spelling.
    body: u64,
    /// In order, each once.
    parts: Box<[u64]>,
}

impl Likeness {
    pub(super) fn of(call: &Call) -> Self {
        let mut parts = Vec::new();
        for (name, value) in call.content.headers.iter() {
            // What describes the body is told by the body.
            if !name.as_str().starts_with("content-") {
                parts.push(hash(&[name.as_str().as_bytes(), value.as_bytes()]));
            }
        }
        let raw = call.content.body.contiguous();
        let read = (raw.len() <= READ).then(|| serde_json::from_slice(&raw));
        let body = if let Some(Ok(value)) = read {
            let mut sum = 0;
            leaves(&value, hash(&[]), &mut |leaf| {
                // A sum does not know an order.
                sum = leaf.wrapping_add(sum);
                parts.push(leaf);
            });
            sum
        } else {
            let pieces = raw.split(|byte| b"&\n".contains(byte));
            parts.extend(pieces.take(PARTS).map(|piece| hash(&[piece])));
            hash(&[&raw])
        };
        parts.truncate(PARTS);
        parts.sort_unstable();
        parts.dedup();
        Self {
            body,
            parts: parts.into(),
        }
    }

    /// Whether the bodies have the same values.
    pub(super) fn has_body_of(&self, other: &Self) -> bool {
        self.body == other.body
    }

    /// How much two calls have in common; more is nearer.
    pub(super) fn to(&self, other: &Self) -> u32 {
        let mut shared = if self.has_body_of(other) {
            SAME_BODY
        } else {
            0
        };
        let mut others = other.parts.iter().peekable();
        for part in &self.parts {
            while others.next_if(|other| *other < part).is_some() {}
            shared += u32::from(others.next_if_eq(&part).is_some());
        }
        shared
    }
}

/// Each value of a document with its place; elements of a list have the same one.
fn leaves(value: &Value, place: u64, take: &mut impl FnMut(u64)) {
    let place_bytes = place.to_be_bytes();
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                leaves(value, hash(&[&place_bytes, key.as_bytes()]), take);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                leaves(element, hash(&[&place_bytes, b"", b"*"]), take);
            }
        }
        Value::Number(number) => {
            // 1 and 1.0 are one number; that others may be, too, costs a comparison.
            let bits = number.as_f64().map_or(0, |number| (number + 0.0).to_bits());
            take(hash(&[&place_bytes, b"n", &bits.to_be_bytes()]));
        }
        Value::String(text) => take(hash(&[&place_bytes, b"s", text.as_bytes()])),
        Value::Bool(is_true) => take(hash(&[&place_bytes, b"b", &[u8::from(*is_true)]])),
        Value::Null => take(hash(&[&place_bytes, b"0"])),
    }
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parity_schemas::exchange::ByteHold;

    use super::*;

    fn likeness(body: &'static str) -> Likeness {
        let request = http::Request::post("/a").header("x-of", "all").body(());
        let (head, ()) = request.expect("a request").into_parts();
        let body = (Bytes::from_static(body.as_bytes()), None);
        Likeness::of(&Call::new(&head, body, &[], ByteHold::default()))
    }

    #[test]
    fn the_same_values_are_the_nearest_however_they_are_written() {
        let one = likeness("{\"a\":1,\"b\":[true,\"x\"]}");
        let same = one.to(&likeness("{ \"b\": [true, \"\\u0078\"], \"a\": 1.0 }"));
        let near = one.to(&likeness("{\"a\":2,\"b\":[true,\"x\"]}"));
        let far = one.to(&likeness("{\"a\":2,\"b\":[\"y\"]}"));
        assert!(same > near && near > far, "{same} {near} {far}");
        assert_eq!(far, 1, "the field of the head");
    }

    #[test]
    fn what_is_no_json_is_known_by_its_pieces() {
        let one = likeness("user=a&amount=5&order=3");
        assert!(one.to(&likeness("user=a&amount=6&order=3")) > one.to(&likeness("user=b")));
        assert!(one.to(&likeness("user=a&amount=5&order=3")) >= SAME_BODY);
    }
}
