//! What a finding can show of one side.
//!
//! The kind of a text is a type and not a mark in the text, so no captured text can be mistaken for something else: a
//! value that reads `sha256:…` is a value, and one that ends in `…` was not cut. Like a
//! [`Finding`](crate::verdict::Finding) it holds captured values, and implements neither `Serialize` nor `Debug`.

use std::borrow::Cow;

/// What marks a text that was cut, where a person reads it.
pub const CUT_MARK: char = '…';

/// One side of a finding.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Side {
    /// It has nothing there.
    #[default]
    Absent,
    /// One value: JSON text as received, a header field, a status.
    Value(Excerpt),
    /// Of two texts, the first line that differs.
    Line(Excerpt),
    /// The begin of a whole body, as text.
    Body(Excerpt),
    /// Bytes that are no text.
    Bytes(Digest),
    /// A description of a body that was not kept. It contains nothing of the body.
    Described(Cow<'static, str>),
    /// A body that is not what it claims to be.
    Broken {
        /// What is wrong. It contains nothing of the body.
        problem: Cow<'static, str>,
        /// The message of a parser, which may contain parts of the body.
        detail: Option<String>,
        /// What stands there.
        at: Option<Excerpt>,
    },
}

/// A captured text, perhaps cut.
#[derive(Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// As much of it as is shown.
    pub text: String,
    /// The length of the whole text, if `text` is only its beginning.
    pub whole: Option<Digest>,
}

/// Length and unkeyed hash of bytes. Must not be stored: for short contents, a guess could be verified by the hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// How many.
    pub length: usize,
    /// SHA-256.
    pub sha256: [u8; 32],
}

impl Excerpt {
    /// A text that is shown whole.
    pub fn whole(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            whole: None,
        }
    }

    /// As a person reads it.
    pub fn shown(&self) -> Cow<'_, str> {
        match self.whole {
            None => Cow::Borrowed(&self.text),
            Some(_) => Cow::Owned(format!("{}{CUT_MARK}", self.text)),
        }
    }
}

impl Digest {
    /// `sha256:…` and the length.
    pub fn shown(&self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut out = String::from("sha256:");
        for byte in self.sha256 {
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
        format!("{out} ({} bytes)", self.length)
    }
}

impl Side {
    /// A value that is shown whole.
    pub fn value(text: impl Into<String>) -> Self {
        Self::Value(Excerpt::whole(text))
    }

    /// Whether there is nothing.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// As a person reads it; `None` where there is nothing.
    pub fn shown(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Absent => None,
            Self::Value(text) | Self::Line(text) | Self::Body(text) => Some(text.shown()),
            Self::Bytes(digest) => Some(Cow::Owned(digest.shown())),
            Self::Described(words) => Some(Cow::Borrowed(words)),
            Self::Broken {
                problem,
                detail,
                at,
            } => {
                let mut words = Cow::Borrowed(&**problem);
                if let Some(detail) = detail {
                    words = Cow::Owned(format!("{words}: {detail}"));
                }
                if let Some(at) = at {
                    words = Cow::Owned(format!("{words}, at `{}`", at.shown()));
                }
                Some(words)
            }
        }
    }

    /// How many bytes its text has as a whole, if it holds only the begin of it.
    pub fn whole_bytes(&self) -> Option<usize> {
        match self {
            Self::Value(text) | Self::Line(text) | Self::Body(text) => {
                text.whole.map(|whole| whole.length)
            }
            _ => None,
        }
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        match self {
            Self::Absent | Self::Bytes(_) => 0,
            Self::Described(words) => words.len(),
            Self::Value(text) | Self::Line(text) | Self::Body(text) => text.text.len(),
            Self::Broken {
                problem,
                detail,
                at,
            } => {
                let at = at.as_ref().map_or(0, |text| text.text.len());
                problem.len() + detail.as_ref().map_or(0, String::len) + at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_what_it_reads_like() {
        let digest = Digest {
            length: 2,
            sha256: [0xab; 32],
        };
        let shown = Side::Bytes(digest).shown().map(Cow::into_owned);
        let imitation = Side::value(shown.clone().expect("a digest"));
        assert_eq!(imitation.shown().as_deref(), shown.as_deref());
        assert!(imitation != Side::Bytes(digest));
        let cut = Excerpt {
            text: "ab".to_owned(),
            whole: Some(digest),
        };
        assert_eq!(cut.shown(), "ab…");
        assert!(Side::Value(cut) != Side::value("ab…"));
        assert!(Side::Absent.shown().is_none() && Side::Absent.is_absent());
    }
}
