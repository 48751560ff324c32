//! Copies request heads out of the buffers that they were read into.
//!
//! hyper's header values and request target are slices of the read buffer. A single slice keeps the whole buffer alive,
//! up to 64 KiB, as long as the request waits for the candidate, and the byte budget would not count it. So if the
//! buffer is large, the values are copied into one allocation. A buffer of the usual size is part of what each shadow
//! is charged in addition to its bodies. Exchanges that wait to be compared hold copies in any case
//! ([`FieldLines`](parity_schemas::fields::FieldLines)).

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Uri};

/// Copies all values of a head into one allocation of exactly their size.
pub(crate) fn fields(headers: &mut HeaderMap) {
    let length = headers.values().map(HeaderValue::len).sum();
    let mut all = BytesMut::with_capacity(length);
    for value in headers.values() {
        all.extend_from_slice(value.as_bytes());
    }
    let all = all.freeze();
    let mut from = 0;
    for value in headers.values_mut() {
        let until = from + value.len();
        // The bytes are those of a valid value, so this does not fail.
        if let Ok(mut own) = HeaderValue::from_maybe_shared(all.slice(from..until)) {
            own.set_sensitive(value.is_sensitive());
            *value = own;
        }
        from = until;
    }
}

/// Copies the target of a request into its own allocation.
pub(crate) fn target(uri: &mut Uri) {
    let text = uri.to_string();
    if let Ok(own) = Uri::from_maybe_shared(Bytes::from(text)) {
        *uri = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_what_it_was() {
        let buffer = Bytes::from(vec![b'x'; 128 * 1024]);
        let mut headers = HeaderMap::new();
        for (name, value) in [("a", 0..3), ("a", 3..3), ("b", 5..900)] {
            let value = HeaderValue::from_maybe_shared(buffer.slice(value)).expect("a value");
            headers.append(name, value);
        }
        headers.get_mut("b").expect("set").set_sensitive(true);
        let before = headers.clone();
        fields(&mut headers);
        assert_eq!(headers, before);
        assert!(headers["b"].is_sensitive() && !headers["a"].is_sensitive());
        drop(before);
        assert!(buffer.is_unique(), "a head keeps the buffer");
        for text in ["/a/b?c=%20", "/", "*", "http://host:1/x?y", "host:443"] {
            let buffer = Bytes::from(text.to_owned());
            let mut uri = Uri::from_maybe_shared(buffer.clone()).expect("a target");
            target(&mut uri);
            assert_eq!(
                uri.to_string(),
                text.parse::<Uri>().expect("a target").to_string()
            );
            assert!(buffer.is_unique(), "{text} keeps the buffer");
        }
    }
}
