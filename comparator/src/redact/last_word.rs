//! The last word of a name tells that its value is itself a name, or what kind of thing it holds. The same words serve
//! JSON members, elements and attributes.

use parity_schemas::secret::Words;

/// Last words of members whose value names another value next to it.
pub(super) const NAMING: [&[u8]; 30] = [
    b"arg",
    b"argument",
    b"attr",
    b"attribute",
    b"claim",
    b"col",
    b"column",
    b"cookie",
    b"field",
    b"flag",
    b"header",
    b"id",
    b"identifier",
    b"k",
    b"key",
    b"label",
    b"loc",
    b"location",
    b"n",
    b"name",
    b"option",
    b"param",
    b"parameter",
    b"path",
    b"pointer",
    b"property",
    b"setting",
    b"target",
    b"type",
    b"variable",
];

/// Whether the last word of a name is one of these.
pub(super) fn ends_in(name: &str, words: &[&[u8]]) -> bool {
    let parted = Words::of(name);
    let last = parted.iter().last().unwrap_or_default();
    words.contains(&last)
}

/// Whether the last word of a member, element or attribute tells that it names a value next to it.
pub(super) fn says_name(name: &str) -> bool {
    let local = name.rsplit(':').next().unwrap_or(name);
    ends_in(local, &NAMING)
}
