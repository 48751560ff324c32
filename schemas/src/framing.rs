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

fn number(digits: &[u8]) -> Option<u64> {
    // `parse` would accept a sign.
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
