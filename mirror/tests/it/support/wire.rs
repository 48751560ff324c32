//! Reads HTTP/1.1 requests and bodies from raw bytes.

use std::io::Read;

/// A request as a service read it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Up to and without the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The lines between the last chunk and the end.
    pub(crate) trailers: String,
}

impl Request {
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).expect("a request line")
    }

    /// All values of a field.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }
}

/// Reads one request; `None` when the peer is done.
pub(crate) fn read_request(conn: &mut impl Read, buffer: &mut Vec<u8>) -> Option<Request> {
    let end = fill_until(conn, buffer, |bytes| find(bytes, b"\r\n\r\n"))?;
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let request = Request {
        head,
        body: Vec::new(),
        trailers: String::new(),
    };
    let mut trailers = String::new();
    let body = if let Some(length) = request.header("content-length").first() {
        let length: usize = length.parse().expect("a length");
        fill_until(conn, buffer, |bytes| {
            (bytes.len() >= length).then_some(length)
        })?;
        buffer.drain(..length).collect()
    } else if request.header("transfer-encoding") == ["chunked"] {
        let (raw, body) = fill_until(conn, buffer, unchunk)?;
        let bytes: Vec<u8> = buffer.drain(..raw).collect();
        String::from_utf8_lossy(&bytes)
            .rsplit("0\r\n")
            .next()
            .expect("the last chunk")
            .trim_end()
            .clone_into(&mut trailers);
        body
    } else {
        Vec::new()
    };
    Some(Request {
        body,
        trailers,
        ..request
    })
}

/// Reads until `done` finds what it looks for in the bytes so far.
pub(crate) fn fill_until<T>(
    conn: &mut impl Read,
    buffer: &mut Vec<u8>,
    done: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(found) = done(buffer) {
            return Some(found);
        }
        match conn.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

/// The raw length and the content of a complete chunked body, trailers included in the raw length.
pub(crate) fn unchunk(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let (mut at, mut body) = (0, Vec::new());
    loop {
        let line = find(bytes.get(at..)?, b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?, 16).ok()?;
        at += line + 2;
        if size == 0 {
            let end = if bytes.get(at..)?.starts_with(b"\r\n") {
                2
            } else {
                find(bytes.get(at..)?, b"\r\n\r\n")? + 4
            };
            return Some((at + end, body));
        }
        body.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
    }
}
