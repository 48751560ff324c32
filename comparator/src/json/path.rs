//! The position of the walk. It becomes text only when a finding needs it.

use crate::limits::PATH_BYTES;
use crate::notation::index::Tree;
use crate::notation::pointer::push_escaped;
use parity_schemas::ident::is_value_as_key;
use parity_schemas::side::CUT_MARK;

/// Most bytes of a key that are read for a path: at six for each byte, as in `\u0041`, they fill it. Otherwise every
/// finding below a long key would read all of it.
const MAX_KEY_BYTES: usize = 6 * (PATH_BYTES + 1);

/// The service that a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Legacy,
    Candidate,
}

/// One step from a container to a value in it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Into an object. The key has the same content on both sides, unless the candidate has it `renamed`; `side` tells which
    /// tree `key` is in.
    Key {
        side: Origin,
        key: u32,
        renamed: Option<u32>,
        any: bool,
    },
    /// Into an array, by the index on each side that has the element.
    Index {
        legacy: Option<u32>,
        candidate: Option<u32>,
    },
}

/// A path, which can be written in three forms.
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

    /// JSON Pointer in the candidate's document, if both have the value but at different positions or under other names.
    pub(crate) fn candidate(&self) -> Option<String> {
        let mut moved = false;
        for step in self.steps {
            match step {
                Step::Index {
                    candidate: None, ..
                } => return None,
                Step::Index { legacy, candidate } => moved |= legacy != candidate,
                Step::Key { renamed, .. } => moved |= renamed.is_some(),
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
                        side: Origin::Candidate,
                        ..
                    }
            )
        )
    }

    fn in_candidate(&self) -> String {
        self.write(|step, out| match step {
            Step::Index { candidate, .. } => push_index(out, *candidate),
            Step::Key {
                renamed: Some(key), ..
            } => push_escaped(out, &self.candidate.text_begin(*key, MAX_KEY_BYTES)),
            Step::Key { .. } => self.push_key(step, out),
        })
    }

    /// The path with `*` in place of indices, keys that are data, and keys that a rule names by `*`.
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
            Origin::Legacy => self.legacy.text_begin(*key, MAX_KEY_BYTES),
            Origin::Candidate => self.candidate.text_begin(*key, MAX_KEY_BYTES),
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
