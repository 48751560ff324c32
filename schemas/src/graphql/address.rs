//! Reads what the query string of an address asks for.
//!
//! Servers disagree about names of parameters: some ignore case, cut at a NUL, take brackets off, or decode twice. What one of them may take for
//! a member that tells a document, and another one may not, makes the address unreadable; so does what nobody can say how it is
//! read. Then it is not told to only read, whatever else it says.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::names::{NAMES, is_read_by_some};
use super::{Asked, OPERATION_BYTES, body};

impl<'t> Asked<'t> {
    /// `None` if it cannot be read in one way only.
    pub(super) fn of_query(query: &'t str) -> Option<Self> {
        // Some servers also part names at a semicolon.
        if query.len() > OPERATION_BYTES || query.contains(';') {
            return None;
        }
        let mut asked = Self::default();
        let mut has_extensions = false;
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name)?;
            if is_read_by_some(&name, &NAMES) {
                return None;
            }
            let slot = match &*name {
                "query" => &mut asked.query,
                "operationName" => &mut asked.operation_name,
                "documentId" => &mut asked.hash,
                "extensions" => {
                    let text = decoded(value)?;
                    let hash = body::hash_in_extensions(&text)?;
                    if std::mem::replace(&mut has_extensions, true) {
                        return None;
                    }
                    if let Some(hash) = hash
                        && asked.hash.replace(hash.into()).is_some()
                    {
                        return None;
                    }
                    continue;
                }
                // As in a body: they may name a stored document. What else is there is for a cache or a gateway.
                "id" | "doc_id" | "docId" | "queryId" | "query_id" | "hash" => {
                    asked.says_more = true;
                    continue;
                }
                _ => continue,
            };
            if slot.replace(decoded(value)?).is_some() {
                return None;
            }
        }
        Some(asked)
    }
}

/// A part of a query string, decoded as a form. `None` if it is not UTF-8, which servers repair in different ways, if it has a NUL, at which
/// some end, or if it still has escapes, which some decode, too.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(text.into());
    }
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8().ok()?;
    let is_open = decoded.contains('\0') || has_escapes(&decoded);
    (!is_open).then(|| decoded.into_owned().into())
}

/// Whether a text has what may be an escape.
fn has_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(3).any(|three| {
        three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit)
            // The one of old scripts.
            || three[0] == b'%' && three[1].eq_ignore_ascii_case(&b'u') && three[2].is_ascii_hexdigit()
    })
}
