//! The header or trailer fields of a message, as they are stored until they are compared.
//!
//! The proxy's header map has a hash table, and values that are slices of the read buffer: each keeps the whole buffer
//! of up to 64 KiB alive, which no budget would count. Fields for a comparison wait in a queue and are read once, so
//! they are copied into exactly the memory they need: the names in order, and all values in one piece.
//!
//! Looking a field up walks the list. Whoever needs every field sorts them once instead.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use smallvec::SmallVec;

/// The field lines of a message (RFC 9110 §5.2), in the order in which they came; those of one name stand together.
#[derive(Clone, Default)]
pub struct FieldLines {
    /// Each name with where its value ends.
    lines: Vec<(HeaderName, usize)>,
    /// All values, concatenated.
    values: Vec<u8>,
}

/// A line: its name and its value.
pub type FieldLine<'a> = (&'a HeaderName, FieldValue<'a>);

/// Lines in an order of their own. Nearly every message has fewer, and then this costs no allocation.
pub type SortedLines<'a> = SmallVec<[FieldLine<'a>; 24]>;

/// The value of a line: visible ASCII, as a rule, but any byte from 0x80 on is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldValue<'a>(&'a [u8]);

impl<'a> FieldValue<'a> {
    /// As it was received.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The same, if it is UTF-8.
    pub fn as_str(self) -> Option<&'a str> {
        std::str::from_utf8(self.0).ok()
    }

    /// The same with U+FFFD for bytes that are not UTF-8.
    pub fn lossy(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl PartialEq<&str> for FieldValue<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl FieldLines {
    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of memory that they take.
    pub fn held(&self) -> usize {
        // A non-standard name has its own allocation. Standard names are counted the same, because distinguishing them
        // would cost more.
        let names: usize = self.lines.iter().map(|(name, _)| name.as_str().len()).sum();
        self.lines.capacity() * size_of::<(HeaderName, usize)>() + names + self.values.capacity()
    }

    /// Appends a line.
    pub fn push(&mut self, name: HeaderName, value: &[u8]) {
        self.values.extend_from_slice(value);
        self.lines.push((name, self.values.len()));
    }

    /// All lines in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FieldLine<'_>> {
        let mut from = 0;
        self.lines.iter().map(move |(name, until)| {
            let value = self.values.get(from..*until).unwrap_or_default();
            from = *until;
            (name, FieldValue(value))
        })
    }

    /// The values of all lines of a name, in their order.
    pub fn get_all<'a>(
        &'a self,
        name: &'a (impl PartialEq<HeaderName> + ?Sized),
    ) -> impl Iterator<Item = FieldValue<'a>> {
        let lines = self.iter().filter(move |(other, _)| *name == **other);
        lines.map(|(_, value)| value)
    }

    /// The value of the first line of a name.
    pub fn get(&self, name: &(impl PartialEq<HeaderName> + ?Sized)) -> Option<FieldValue<'_>> {
        let mut lines = self.iter();
        lines
            .find(|(other, _)| *name == **other)
            .map(|(_, value)| value)
    }

    /// Whether there is a line of this name.
    pub fn contains(&self, name: &(impl PartialEq<HeaderName> + ?Sized)) -> bool {
        self.lines.iter().any(|(other, _)| *name == *other)
    }

    /// The lines of one name, in their order.
    pub fn lines_of(&self, name: &HeaderName) -> SortedLines<'_> {
        self.iter().filter(|(other, _)| *other == name).collect()
    }

    /// All lines in the order of their names; those of one name in the order in which they came.
    pub fn sorted(&self) -> SortedLines<'_> {
        let mut lines: SortedLines<'_> = self.iter().collect();
        lines.sort_by_key(|(name, _)| name.as_str());
        lines
    }

    /// The lines whose name is `wanted`, and all others.
    pub fn partition(&self, wanted: impl Fn(&HeaderName) -> bool) -> (Self, Self) {
        let (mut those, mut others) = (Self::default(), Self::default());
        for (name, value) in self.iter() {
            let part = if wanted(name) {
                &mut those
            } else {
                &mut others
            };
            part.push(name.clone(), value.as_bytes());
        }
        (those, others)
    }
}

impl From<&HeaderMap> for FieldLines {
    fn from(map: &HeaderMap) -> Self {
        let mut all = Self {
            lines: Vec::with_capacity(map.len()),
            values: Vec::with_capacity(map.values().map(http::HeaderValue::len).sum()),
        };
        for (name, value) in map {
            all.push(name.clone(), value.as_bytes());
        }
        all
    }
}

impl<V: AsRef<[u8]>> FromIterator<(HeaderName, V)> for FieldLines {
    fn from_iter<I: IntoIterator<Item = (HeaderName, V)>>(lines: I) -> Self {
        let mut all = Self::default();
        for (name, value) in lines {
            all.push(name, value.as_ref());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderValue;
    use http::header::{ACCEPT, COOKIE, VIA};

    use super::*;

    #[test]
    fn what_is_kept_is_what_came_and_nothing_else() {
        let buffer = Bytes::from(vec![b'x'; 128 * 1024]);
        let mut map = HeaderMap::new();
        let long = HeaderName::try_from("x-".repeat(300)).expect("a name");
        for (name, value) in [(VIA, 0..3), (COOKIE, 5..900), (VIA, 3..3), (long, 3..4)] {
            let value = HeaderValue::from_maybe_shared(buffer.slice(value)).expect("a value");
            map.append(name, value);
        }
        let lines = FieldLines::from(&map);
        drop(map);
        assert!(buffer.is_unique(), "the lines keep the buffer");
        assert_eq!(lines.held(), 4 * 40 + 2 * 3 + 6 + 600 + 3 + 895 + 1);
        let lengths: Vec<_> = lines
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes().len()))
            .collect();
        assert_eq!(lengths[..3], [("via", 3), ("via", 0), ("cookie", 895)]);
        let of_via: Vec<_> = lines.get_all(&VIA).filter_map(FieldValue::as_str).collect();
        assert_eq!(of_via, ["xxx", ""]);
        assert_eq!(lines.get(&VIA).and_then(FieldValue::as_str), Some("xxx"));
        assert!(lines.contains(&COOKIE) && !lines.contains(&ACCEPT));
        assert!(lines.get(&ACCEPT).is_none());
        let sorted: Vec<_> = lines
            .sorted()
            .into_iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes().len()))
            .collect();
        assert_eq!(sorted[..3], [("cookie", 895), ("via", 3), ("via", 0)]);
        let (via, others) = lines.partition(|name| name == VIA);
        assert_eq!((via.len(), others.len()), (2, 2));
        assert_eq!(others.get(&COOKIE), lines.get(&COOKIE));
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let lines = FieldLines::from_iter([(VIA, b"a\xff")]);
        let value = lines.get(&VIA).expect("a line");
        assert_eq!((value.as_bytes(), value.as_str()), (&b"a\xff"[..], None));
        assert!(FieldLines::default().is_empty() && !lines.is_empty());
    }
}
