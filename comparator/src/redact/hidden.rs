//! How that looks which is not recorded: a keyed hash, and the length and kind of what is more than one value.

use std::fmt::Write;

use parity_schemas::verdict::{Digest, Excerpt};

use super::Redactor;

/// Bytes of a hash that are kept: 128 bits, so no two values of a service share one.
const HASH_BYTES: usize = 16;

/// Why a body, or a text within one, is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is no text, by its type or by what it is.
    Bytes,
    /// It says that it is something that it cannot be read as.
    Invalid(&'static str),
    /// Of a kind whose structure is not read here.
    Unread,
    /// Over a limit of ours.
    Limit,
    /// A rule, a name or a setting.
    Asked,
}

impl Redactor {
    /// What stands for a body, or for a text within one, that is not recorded.
    pub(super) fn hide(&self, bytes: &[u8], why: Why) -> String {
        let mut out = self.hash(bytes);
        let length = bytes.len();
        let written = match why {
            Why::Bytes | Why::Asked => write!(out, " ({length} bytes)"),
            Why::Invalid(kind) => write!(out, " ({length} bytes, invalid {kind})"),
            Why::Unread => write!(out, " ({length} bytes, a kind that is not parsed)"),
            Why::Limit => write!(out, " ({length} bytes, more than is parsed)"),
        };
        debug_assert!(written.is_ok(), "a String takes all");
        out
    }

    /// The same of bytes of which only a digest is left. Without the key, a digest of a few bytes can be guessed.
    pub(super) fn hide_digest(&self, digest: &Digest) -> String {
        format!("{} ({} bytes)", self.hash(&digest.sha256), digest.length)
    }

    /// The same of a captured text: by all of it, where it was cut.
    pub(super) fn hide_excerpt(&self, excerpt: &Excerpt) -> String {
        match &excerpt.whole {
            Some(whole) => self.hide_digest(whole),
            None => self.hash(excerpt.text.as_bytes()),
        }
    }
}

/// A digest as it is written.
pub(super) fn written(digest: &[u8]) -> String {
    let kept = digest.get(..HASH_BYTES).unwrap_or(digest);
    format!("hmac:{}", crate::hex::encode(kept))
}
