//! JSON Pointers (RFC 6901), which name a position in a document.

/// Writes one segment of a JSON Pointer (RFC 6901).
pub(crate) fn push_escaped(out: &mut String, key: &str) {
    for character in key.chars() {
        match character {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            other => out.push(other),
        }
    }
}
