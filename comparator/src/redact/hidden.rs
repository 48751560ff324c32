//! What is recorded in place of a hidden value: its keyed hash and, for a whole body or text, its length and why it is
//! hidden.

use std::fmt::Write;

pub(super) use parity_schemas::hidden::HASH;
use parity_schemas::verdict::{Digest, Excerpt};

use super::Redactor;

/// Bytes of the hash that are recorded: with 128 bits, no two values of a service share a hash.
const HASH_BYTES: usize = 16;

/// Why a body, or a text in it, is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HideReason {
    /// It is not text, by its type or by its content.
    Binary,
    /// It claims to be of this kind but cannot be parsed as such.
    Invalid(&'static str),
    /// There is no parser here for its kind.
    Unsupported,
    /// It exceeds one of our limits.
    Limit,
    /// A rule, a name or a setting asks for it.
    Requested,
}

impl Redactor {
    /// The placeholder for a body, or for a text in it, that is not recorded.
    pub(super) fn hide(&self, bytes: &[u8], reason: HideReason) -> String {
        let mut out = self.hash(bytes);
        let length = bytes.len();
        let written = match reason {
            HideReason::Binary | HideReason::Requested => write!(out, " ({length} bytes)"),
            HideReason::Invalid(kind) => write!(out, " ({length} bytes, invalid {kind})"),
            HideReason::Unsupported => write!(out, " ({length} bytes, a kind that is not parsed)"),
            HideReason::Limit => write!(out, " ({length} bytes, more than is parsed)"),
        };
        debug_assert!(written.is_ok(), "a String takes all");
        out
    }

    /// The same for bytes of which only a digest is kept. The digest is hashed with the key, because that of a few
    /// bytes could be guessed.
    pub(super) fn hide_digest(&self, digest: &Digest) -> String {
        format!("{} ({} bytes)", self.hash(&digest.sha256), digest.length)
    }

    /// The same for a captured text. If it was cut, the digest of the whole text is hashed.
    pub(super) fn hide_excerpt(&self, excerpt: &Excerpt) -> String {
        match &excerpt.whole {
            Some(whole) => self.hide_digest(whole),
            None => self.hash(excerpt.text.as_bytes()),
        }
    }
}

/// A digest in the form that is recorded.
pub(super) fn written(digest: &[u8]) -> String {
    let kept = digest.get(..HASH_BYTES).unwrap_or(digest);
    format!("{HASH}{}", crate::hex::encode(kept))
}
