//! What `Content-Length` and `Transfer-Encoding` of an answer say, and whether a client can believe it.
//!
//! The proxy and the comparison of saved answers must refuse the same answers. Each takes the values of all lines of a
//! field, because the two keep fields in different types.

/// All list elements of all lines of a field, empty ones included.
fn elements<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    lines.flat_map(|line| line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii))
}

/// The length that `Content-Length` says, if all lines and list elements agree.
pub fn agreed_length<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<u64> {
    let mut lengths = elements(lines).map(number);
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// Whether `Transfer-Encoding` names another coding than `chunked`. A repeated `chunked` is accepted here: some services
/// send it, and clients accept it.
pub fn has_unknown_coding<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    elements(lines).any(|coding| {
        let kept: [&[u8]; 3] = [b"", b"chunked", b"identity"];
        !kept.iter().any(|kept| coding.eq_ignore_ascii_case(kept))
    })
}

/// Joins a chunked body that was recorded with its framing, and returns what follows the last chunk: the trailers. `None` if it
/// is not chunked, or not to its end.
pub fn unchunk(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, after) = line(rest);
        // A body that is only a number is not chunked: a chunk size ends its line.
        if body.is_empty() && size.len() == rest.len() {
            return None;
        }
        let digits = size.split(|byte| *byte == b';').next();
        let digits = std::str::from_utf8(digits.unwrap_or_default().trim_ascii()).ok()?;
        // The conversion would take a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let size = usize::from_str_radix(digits, 16).ok()?;
        if size == 0 {
            return Some((body, after));
        }
        let (chunk, after) = after.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        let (end, after) = line(after);
        if !end.is_empty() {
            return None;
        }
        rest = after;
    }
}

/// The first line without its end, and what follows.
pub fn line(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', text) {
        Some(end) => (
            text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]),
            &text[end + 1..],
        ),
        None => (text, &[]),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    // `parse` would accept a sign.
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_of_a_chunk_has_digits_alone() {
        let joined = |text: &[u8]| unchunk(text).map(|(body, rest)| (body, rest.to_vec()));
        let whole = joined(b"3\r\nabc\r\n0\r\n\r\n").expect("chunked");
        assert_eq!(whole.0, b"abc");
        for text in [
            &b"+3\r\nabc\r\n0\r\n\r\n"[..],
            b"-0\r\n\r\n",
            b"\r\n\r\n",
            b"3",
        ] {
            assert_eq!(joined(text), None, "{text:?}");
        }
    }
}
