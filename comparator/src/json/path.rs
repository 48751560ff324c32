//! Where the walk is, as text only when a finding needs it.

use crate::limits::PATH_BYTES;
use crate::notation::index::Tree;
use crate::notation::pointer::push_escaped;
use parity_schemas::ident::is_value_as_key;
use parity_schemas::side::CUT_MARK;

/// Bytes of a key that are read for a path: with six for each byte, as in `\u0041`, they fill it. Every finding behind
/// a long key would read it whole otherwise.
const MAX_KEY_BYTES: usize = 6 * (PATH_BYTES + 1);

/// Which of the two documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Legacy,
    Candidate,
}

/// One step from a container to a value in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Into an object. The key has the same content on both sides; `side` says in which tree `key` is.
    Key { side: Side, key: u32, any: bool },
    /// Into an array, by the index on each side that has the element.
    Index {
        legacy: Option<u32>,
        candidate: Option<u32>,
    },
}

/// A path in its three forms.
pub(crate) struct Path<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) legacy: Tree<'a>,
    pub(crate) candidate: Tree<'a>,
}

impl Path<'_> {
    /// JSON Pointer in the legacy's document; in the candidate's for what only that has.
    pub(crate) fn primary(&self) -> String {
        if self.is_extra() {
            return self.in_candidate();
        }
        self.write(|step, out| match step {
            Step::Index { legacy, candidate } => push_index(out, legacy.or(*candidate)),
            Step::Key { .. } => self.push_key(step, out),
        })
    }

    /// JSON Pointer in the candidate's document, where both have the value and there it is at another place.
    pub(crate) fn candidate(&self) -> Option<String> {
        let mut moved = false;
        for step in self.steps {
            if let Step::Index { legacy, candidate } = step {
                if candidate.is_none() {
                    return None;
                }
                moved |= legacy != candidate;
            }
        }
        (moved && !self.is_extra()).then(|| self.in_candidate())
    }

    /// Whether only the candidate has the value.
    fn is_extra(&self) -> bool {
        matches!(
            self.steps.last(),
            Some(
                Step::Index { legacy: None, .. }
                    | Step::Key {
                        side: Side::Candidate,
                        ..
                    }
            )
        )
    }

    fn in_candidate(&self) -> String {
        self.write(|step, out| match step {
            Step::Index { candidate, .. } => push_index(out, *candidate),
            Step::Key { .. } => self.push_key(step, out),
        })
    }

    /// The path with indices, keys that are values, and keys that a rule names by `*`, as `*`.
    pub(crate) fn pattern(&self) -> String {
        self.write(|step, out| match step {
            Step::Index { .. } | Step::Key { any: true, .. } => out.push('*'),
            Step::Key { .. } if is_value_as_key(&self.key(step)) => out.push('*'),
            Step::Key { .. } => self.push_key(step, out),
        })
    }

    fn write(&self, mut push: impl FnMut(&Step, &mut String)) -> String {
        let mut out = String::new();
        for step in self.steps {
            out.push('/');
            push(step, &mut out);
            if out.len() > PATH_BYTES {
                return cut(out);
            }
        }
        out
    }

    fn push_key(&self, step: &Step, out: &mut String) {
        push_escaped(out, &self.key(step));
    }

    /// The text of a key; empty for an index.
    fn key(&self, step: &Step) -> String {
        let Step::Key { side, key, .. } = step else {
            return String::new();
        };
        match side {
            Side::Legacy => self.legacy.text_begin(*key, MAX_KEY_BYTES),
            Side::Candidate => self.candidate.text_begin(*key, MAX_KEY_BYTES),
        }
    }
}

fn push_index(out: &mut String, index: Option<u32>) {
    if let Some(index) = index {
        out.push_str(&index.to_string());
    }
}

fn cut(mut path: String) -> String {
    let end = path.floor_char_boundary(PATH_BYTES);
    path.truncate(end);
    path.push(CUT_MARK);
    path
}
