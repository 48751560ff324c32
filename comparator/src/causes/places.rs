//! The kinds of places that groups of several routes may share.
//!
//! A field of a header or trailer has a name that means the same everywhere. A path in a body is shared as a whole, or by its
//! last segments: `updated_at` is the same thing under `/items/*` and under `/order`. A path without any name, such as `/*` or
//! the body as a whole, says nothing of what is there.

use std::fmt;

use parity_schemas::verdict::{Kind, Part};

/// Longest ending that is tried, in names. Longer ones seldom say more: they share as much as the whole path.
const MAX_NAMES: usize = 3;
/// Segments of a path that are looked at, from the end. Patterns may be long, and few people nest deeper.
const MAX_SEGMENTS: usize = 12;

/// Where in a part of the answers. The order is that of preference: the more exact, the more it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place<'a> {
    /// The name of a field, or the whole path.
    Exact(&'a str),
    /// Every path in a body that ends with these segments. The number is that of the names that are left out of
    /// [`MAX_NAMES`], so that longer endings come first.
    Ending(usize, &'a str),
}

impl fmt::Display for Place<'_> {
    /// As in the `path` of a rule.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(path) => f.write_str(path),
            Self::Ending(_, end) => write!(f, "/**{end}"),
        }
    }
}

/// All places that a group at this pattern is at.
pub(super) fn places(part: Part, pattern: &str, kind: Kind) -> impl Iterator<Item = Place<'_>> {
    let is_body = part == Part::Body;
    // Two texts or two lists that differ as a whole need not have anything in common; two that are missing do.
    let is_told = !is_body || has_name(pattern) || !matches!(kind, Kind::Value | Kind::Order);
    let exact = is_told.then_some(Place::Exact(pattern));
    exact
        .into_iter()
        .chain(endings(if is_body { pattern } else { "" }))
}

/// Endings that begin with a name, the shortest first.
fn endings(pattern: &str) -> impl Iterator<Item = Place<'_>> {
    let begins = pattern.rmatch_indices('/').take(MAX_SEGMENTS);
    begins
        .filter_map(|(begin, _)| pattern.get(begin..))
        .filter(|end| !is_general(first_segment(end)))
        .take(MAX_NAMES)
        .enumerate()
        .map(|(names, end)| Place::Ending(MAX_NAMES - names, end))
}

fn has_name(pattern: &str) -> bool {
    pattern.split('/').any(|segment| !is_general(segment))
}

/// Whether a segment stands for many, or for nothing.
fn is_general(segment: &str) -> bool {
    matches!(segment, "" | "*")
}

/// The segment after the first slash.
fn first_segment(end: &str) -> &str {
    end.split('/').nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(part: Part, pattern: &str, kind: Kind) -> String {
        let told: Vec<String> = places(part, pattern, kind)
            .map(|place| place.to_string())
            .collect();
        told.join(" ")
    }

    #[test]
    fn places_are_a_field_a_path_and_its_ends_with_a_name() {
        let body = |pattern| of(Part::Body, pattern, Kind::Value);
        assert_eq!(body("/updated_at"), "/updated_at /**/updated_at");
        assert_eq!(
            body("/items/*/headers/*"),
            "/items/*/headers/* /**/headers/* /**/items/*/headers/*"
        );
        assert_eq!(body("/a/b/c/d"), "/a/b/c/d /**/d /**/c/d /**/b/c/d");
        assert_eq!(of(Part::Header, "x-a/b", Kind::Value), "x-a/b");
        // Nothing is named here.
        for nameless in ["", "/", "/*", "/*/*", "//"] {
            assert_eq!(body(nameless), "", "{nameless:?}");
            let missing = of(Part::Body, nameless, Kind::Missing);
            assert_eq!(missing, nameless, "{nameless:?}");
        }
        assert_eq!(body("no pointer"), "no pointer");
    }

    #[test]
    fn a_long_pattern_costs_little_and_none_is_cut_within_a_character() {
        let deep = "/*".repeat(100_000);
        assert_eq!(endings(&deep).count(), 0);
        let wide = "/é\u{202e}".repeat(1_000);
        assert_eq!(endings(&wide).count(), MAX_NAMES);
    }
}
