//! `name=value&…`, of a query or a form: one value is replaced, and all else stays as it is written.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a value may have as it is: the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Whether there is a pair of this name.
pub(super) fn has(pairs: &str, name: &str) -> bool {
    pairs.split('&').any(|pair| name_of(pair) == name)
}

/// The pairs with another value of one name. With `adds`, one is added if there is none.
pub(super) fn with(pairs: &str, name: &str, value: &str, adds: bool) -> Option<String> {
    let new = |name: &str| format!("{name}={}", utf8_percent_encode(value, RESERVED));
    if has(pairs, name) {
        let with = |pair| {
            if name_of(pair) == name {
                Cow::Owned(new(pair.split('=').next().unwrap_or_default()))
            } else {
                Cow::Borrowed(pair)
            }
        };
        let pairs: Vec<_> = pairs.split('&').map(with).collect();
        return Some(pairs.join("&"));
    }
    if !adds {
        return None;
    }
    let pair = new(&utf8_percent_encode(name, RESERVED).to_string());
    Some(if pairs.is_empty() {
        pair
    } else {
        format!("{pairs}&{pair}")
    })
}

fn name_of(pair: &str) -> Cow<'_, str> {
    let name = pair.split('=').next().unwrap_or_default();
    if !name.contains(['%', '+']) {
        return name.into();
    }
    let name = name.replace('+', " ");
    percent_decode_str(&name)
        .decode_utf8_lossy()
        .into_owned()
        .into()
}
