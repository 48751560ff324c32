//! Where a pattern applies, as far as the pattern of a group tells the place of its findings.
//!
//! A recorded pattern has `*` for an index, for a key that is data and for one that must not be shown, so it stands for
//! many places. Two questions are answered about it: whether a rule applies at *each* of them, and whether it can apply at
//! *any*. Where that is not known the answer is the careful one: not at each, and possibly at some.

use parity_schemas::ident::is_value_as_key;
use parity_schemas::secret::is_token;
use parity_schemas::side::CUT_MARK;

use super::pattern::Pattern;
use super::segment::Segment;

/// The place of findings in a body, as their pattern tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    steps: Vec<Step>,
    /// A star may be any key, because a rule named it so.
    named: bool,
    /// Any number of unknown steps may follow: the path was cut, or what is below a secret is not shown.
    open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// This key.
    Key(String),
    /// An index, or a key that is data or a secret.
    Star,
    /// Some key or index.
    Unknown,
}

impl Place {
    /// Reads the pattern of a group of a body. `named` if rules named keys by `*` when it was told.
    pub(super) fn of(pattern: &str, named: bool) -> Self {
        let mut place = Self {
            steps: Vec::new(),
            named,
            open: false,
        };
        for segment in pattern.split('/').skip(1) {
            if segment.contains(CUT_MARK) {
                place.open = true;
                return place;
            }
            let key = segment.replace("~1", "/").replace("~0", "~");
            // The replacement character may stand for a lone surrogate.
            place.steps.push(if key == "*" || key.contains('\u{fffd}') {
                Step::Star
            } else {
                Step::Key(key)
            });
        }
        // A secret and everything below it are one star.
        place.open = pattern.ends_with("/*");
        if let Some(last) = place.steps.last_mut().filter(|_| place.open) {
            *last = Step::Unknown;
        }
        place
    }

    /// Whether it is the whole body.
    pub(super) fn is_root(&self) -> bool {
        self.steps.is_empty() && !self.open
    }

    /// Whether it is a member of an object, and not possibly an element of an array.
    pub(super) fn is_member(&self) -> bool {
        !self.open && matches!(self.steps.last(), Some(Step::Key(_)))
    }

    /// Whether a pattern ends at each of these places, or somewhere above each of them.
    pub(super) fn is_within(&self, pattern: &Pattern) -> bool {
        let segments = pattern.segments();
        let mut states = States::start(segments);
        let mut met = states.is_met();
        for step in &self.steps {
            states = states.step(|segment| segment.surely_takes(step));
            met |= states.is_met();
        }
        met
    }

    /// Whether a pattern ends at each of these places.
    pub(super) fn is_surely(&self, pattern: &Pattern) -> bool {
        let segments = pattern.segments();
        let mut states = States::start(segments);
        for step in &self.steps {
            states = states.step(|segment| segment.surely_takes(step));
        }
        // Behind `**` it is met however many steps follow.
        states.is_met() && (!self.open || matches!(segments.last(), Some(Segment::Deep)))
    }

    /// Whether a pattern can end at one of these places, or above it.
    pub(super) fn may_be_within(&self, pattern: &Pattern) -> bool {
        let mut states = States::start(pattern.segments());
        let mut met = states.is_met();
        for step in &self.steps {
            states = states.step(|segment| segment.may_take(step, self.named));
            met |= states.is_met();
        }
        met || (self.open && states.is_alive())
    }

    /// Whether a pattern can end exactly at one of these places.
    pub(super) fn may_be(&self, pattern: &Pattern) -> bool {
        let states = self.possible(pattern);
        states.is_met() || (self.open && states.is_alive())
    }

    /// Whether a pattern can end at one of these places or below it.
    pub(super) fn may_hold(&self, pattern: &Pattern) -> bool {
        self.possible(pattern).is_alive()
    }

    fn possible<'p>(&self, pattern: &'p Pattern) -> States<'p> {
        let mut states = States::start(pattern.segments());
        for step in &self.steps {
            states = states.step(|segment| segment.may_take(step, self.named));
        }
        states
    }
}

impl Segment {
    fn surely_takes(&self, step: &Step) -> bool {
        match (self, step) {
            (Self::Any | Self::Deep, _) => true,
            (Self::Literal { text, .. }, Step::Key(key)) => **text == **key,
            (Self::Literal { .. } | Self::Index(_), _) => false,
        }
    }

    fn may_take(&self, step: &Step, named: bool) -> bool {
        match (self, step) {
            (Self::Index(_), Step::Key(_)) => false,
            (Self::Literal { text, .. }, Step::Key(key)) => **text == **key,
            (Self::Literal { text, .. }, Step::Star) => named || !is_always_shown(text),
            _ => true,
        }
    }

    /// Whether some key or index is taken by both.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Deep, _) | (_, Self::Any | Self::Deep) => true,
            (Self::Index(one), Self::Index(two)) => one == two,
            (Self::Literal { text: one, .. }, Self::Literal { text: two, .. }) => one == two,
            (Self::Literal { index, .. }, Self::Index(at))
            | (Self::Index(at), Self::Literal { index, .. }) => *index == Some(*at),
        }
    }
}

/// Whether a key is one that patterns show, as no redaction takes it for a secret. Other keys may be shown, too.
fn is_always_shown(key: &str) -> bool {
    /// Longer ones may be encoded, and are looked into.
    const MAX_BYTES: usize = 15;
    /// More may be a part of a number that must not be shown.
    const MAX_DIGITS: usize = 4;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    key.len() <= MAX_BYTES
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| is_word(&byte))
        && digits <= MAX_DIGITS
        && !key.contains("--")
        && !is_value_as_key(key)
        && !is_token(key)
}

/// How far a pattern may have been followed: for each number of its segments whether it may be that many.
#[derive(Clone)]
struct States<'p> {
    segments: &'p [Segment],
    at: Vec<bool>,
}

impl<'p> States<'p> {
    fn start(segments: &'p [Segment]) -> Self {
        let mut at = vec![false; segments.len() + 1];
        at[0] = true;
        let mut states = Self { segments, at };
        states.skip();
        states
    }

    /// `**` may stand for nothing.
    fn skip(&mut self) {
        for (index, segment) in self.segments.iter().enumerate() {
            if self.at[index] && *segment == Segment::Deep {
                self.at[index + 1] = true;
            }
        }
    }

    /// One step further, by the segments that `takes` accepts.
    fn step(&self, takes: impl Fn(&Segment) -> bool) -> Self {
        let mut next = vec![false; self.at.len()];
        for (index, segment) in self.segments.iter().enumerate() {
            if self.at[index] && takes(segment) {
                let to = if *segment == Segment::Deep {
                    index
                } else {
                    index + 1
                };
                next[to] = true;
            }
        }
        let mut states = Self {
            segments: self.segments,
            at: next,
        };
        states.skip();
        states
    }

    fn is_met(&self) -> bool {
        self.at.last() == Some(&true)
    }

    fn is_alive(&self) -> bool {
        self.at.contains(&true)
    }
}

/// Whether two patterns can end at the same place.
pub(super) fn can_meet(one: &Pattern, two: &Pattern) -> bool {
    meet(one.segments(), two.segments(), false)
}

/// Whether `inner` can end where `outer` does, or below.
pub(super) fn can_be_below(inner: &Pattern, outer: &Pattern) -> bool {
    meet(inner.segments(), outer.segments(), true)
}

/// Whether a path leads through all of `one` and all of `two`, or, if `below`, through all of `two` and further.
fn meet(one: &[Segment], two: &[Segment], below: bool) -> bool {
    let width = two.len() + 1;
    let mut seen = vec![false; (one.len() + 1) * width];
    let mut open = vec![(0, 0)];
    while let Some((first, second)) = open.pop() {
        if std::mem::replace(&mut seen[first * width + second], true) {
            continue;
        }
        if second == two.len() && (below || first == one.len()) {
            return true;
        }
        let deep = |segments: &[Segment], at: usize| segments.get(at) == Some(&Segment::Deep);
        if deep(one, first) {
            open.push((first + 1, second));
        }
        if deep(two, second) {
            open.push((first, second + 1));
        }
        if let (Some(left), Some(right)) = (one.get(first), two.get(second))
            && left.meets(right)
        {
            let after = |segments: &[Segment], at: usize| at + usize::from(!deep(segments, at));
            open.push((after(one, first), after(two, second)));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(path: &str) -> Pattern {
        Pattern::body(path).expect("a pattern")
    }

    #[test]
    fn a_rule_is_at_each_place_of_a_pattern_only_if_no_index_or_key_is_left_open() {
        for (rule, place, within, exactly) in [
            ("/items/*/price", "/items/*/price", true, true),
            ("/**/price", "/items/*/price", true, true),
            ("/items", "/items/*/price", true, false),
            ("/**", "/items/*/price", true, true),
            ("", "/items/*/price", true, false),
            ("", "", true, true),
            ("/items/0/price", "/items/*/price", false, false),
            ("$.items[0].price", "/items/*/price", false, false),
            ("/items/*/price/x", "/items/*/price", false, false),
            ("/a/*", "/a/*", true, false),
            ("/a/**", "/a/*", true, true),
            ("/**/b/**/c", "/b/c", true, true),
            ("/a~1b", "/a~1b", true, true),
            ("/a", "/a/lo\u{2026}", true, false),
            ("/a/*/x", "/a/lo\u{2026}", false, false),
            ("/\u{fffd}", "/\u{fffd}", false, false),
        ] {
            let (rule, at) = (pattern(rule), Place::of(place, false));
            assert_eq!(at.is_within(&rule), within, "{rule:?} {place}");
            assert_eq!(at.is_surely(&rule), exactly, "{rule:?} {place}");
        }
    }

    #[test]
    fn a_rule_may_be_at_a_place_unless_a_key_is_another() {
        for (rule, place, within, exactly, below) in [
            ("/items/0/price", "/items/*/price", true, true, true),
            ("$.items[0].price", "/items/*/price", true, true, true),
            ("/items/0", "/items/*/price", true, false, false),
            ("/items/0/name", "/items/*/price", false, false, false),
            ("/**/price", "/items/*/name", false, false, true),
            ("/items/17", "/items/*/name", true, false, false),
            ("/items/alice@example", "/items/*/name", true, false, false),
            ("/items/x", "/items/*", true, true, true),
            ("/items/*/price/x", "/items/*/price", false, false, true),
            ("/other", "/items/*/price", false, false, false),
            ("$[0]", "/a", false, false, false),
            ("/**/x", "/a", false, false, true),
            // Below a secret nothing is shown.
            ("/a/b/c", "/a/*", true, true, true),
            ("/a/b/c", "/a/lo\u{2026}", true, true, true),
        ] {
            let (rule, at) = (pattern(rule), Place::of(place, false));
            assert_eq!(at.may_be_within(&rule), within, "{rule:?} {place}");
            assert_eq!(at.may_be(&rule), exactly, "{rule:?} {place}");
            assert_eq!(at.may_hold(&rule), below, "{rule:?} {place}");
        }
    }

    #[test]
    fn a_star_may_be_any_key_if_a_rule_named_it_so() {
        let rule = pattern("/**/price");
        assert!(Place::of("/items/*/name", true).may_be_within(&rule));
        assert!(!Place::of("/items/all/name", true).may_be_within(&rule));
    }

    #[test]
    fn patterns_meet_where_a_path_is_of_both() {
        for (one, two, same, below) in [
            ("/a/0", "/a/*", true, true),
            ("/a", "/a/b", false, false),
            ("/a/b", "/a", false, true),
            ("/**/b", "/a/**", true, true),
            ("/**/b", "/a", false, true),
            ("/a/0", "$.a[0]", true, true),
            ("/a/1", "$.a[0]", false, false),
            ("/a/x", "$.a[0]", false, false),
            ("/**", "", true, true),
            ("/**/a/**/b", "/a/*/b", true, true),
            ("/b/c", "/**/a", false, false),
            ("/b", "/**/a", false, false),
        ] {
            let (inner, outer) = (pattern(one), pattern(two));
            assert_eq!(can_meet(&inner, &outer), same, "{one} {two}");
            assert_eq!(can_be_below(&inner, &outer), below, "{one} below {two}");
        }
    }
}
