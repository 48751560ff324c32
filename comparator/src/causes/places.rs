//! The kinds of places that groups of several routes may share.
//!
//! A field of a header or trailer has a name that means the same everywhere. A path in a body is shared as a whole, or by its
//! last segments: `updated_at` is the same thing under `/items/*` and under `/order`. A whole object may differ in one way, such as
//! `headers` of which every value became a list. A path without any name, such as `/*` or the body as a whole, says nothing of
//! what is there.

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
    /// Everything in an object or a list in bodies whose path ends with these segments.
    Under(&'a str),
}

impl fmt::Display for Place<'_> {
    /// As in the `path` of a rule.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(path) => f.write_str(path),
            Self::Ending(_, end) => write!(f, "/**{end}"),
            Self::Under(end) => write!(f, "/**{end}/*"),
        }
    }
}

impl Place<'_> {
    /// Whether groups of this kind have something in common if they are at this place. Two texts or two lists that differ as a
    /// whole need not, nor two values with one name above them; but what is missing or has another type there does.
    pub(super) fn is_shared_by(self, kind: Kind) -> bool {
        match (self, kind) {
            (Self::Under(_), Kind::Value | Kind::Order) => false,
            (Self::Exact(path), Kind::Value | Kind::Order) => has_name(path),
            _ => true,
        }
    }
}

/// All places that a group at this pattern is at.
pub(super) fn places(part: Part, pattern: &str) -> impl Iterator<Item = Place<'_>> {
    let body = if part == Part::Body { pattern } else { "" };
    let parent = body.rsplit_once('/').map(|(parent, _)| parent);
    let under = parent.and_then(|parent| named_ends(parent).next());
    let endings = named_ends(body).take(MAX_NAMES).enumerate();
    std::iter::once(Place::Exact(pattern))
        .chain(endings.map(|(names, end)| Place::Ending(MAX_NAMES - names, end)))
        .chain(under.map(Place::Under))
}

/// The ends of a path that begin with a name, the shortest first.
fn named_ends(path: &str) -> impl Iterator<Item = &str> {
    let begins = path.rmatch_indices('/').take(MAX_SEGMENTS);
    begins
        .filter_map(|(begin, _)| path.get(begin..))
        .filter(|end| !is_general(first_segment(end)))
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
        let told: Vec<String> = places(part, pattern)
            .filter(|place| place.is_shared_by(kind))
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
    fn a_whole_object_is_a_place_for_what_is_lost_or_has_another_type() {
        let of = |pattern| of(Part::Body, pattern, Kind::Type);
        let under = "/request/headers/Accept /**/Accept /**/headers/Accept";
        let all = format!("{under} /**/request/headers/Accept /**/headers/*");
        assert_eq!(of("/request/headers/Accept"), all);
        assert_eq!(of("/list/*/x"), "/list/*/x /**/x /**/list/*/x /**/list/*/*");
        // The fields of a document have nothing in common but that.
        assert_eq!(of("/x"), "/x /**/x");
    }

    #[test]
    fn a_long_pattern_costs_little_and_none_is_cut_within_a_character() {
        let deep = "/*".repeat(100_000);
        assert_eq!(places(Part::Body, &deep).count(), 1);
        let wide = "/é\u{202e}".repeat(1_000);
        assert_eq!(places(Part::Body, &wide).count(), 2 + MAX_NAMES);
    }
}
