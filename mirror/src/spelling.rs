//! Request targets with bytes that a URL must not contain: `"`, `<`, `>`, `` ` ``, `#`, and bytes that are not UTF-8.
//! Clients send them and servers accept them, but [`Uri`] does not.
//!
//! So before the head is parsed, each such byte is replaced by a one-byte placeholder and remembered. It is put back
//! into the bytes that are written to a service over HTTP/1; the length stays the same. Everything in between, routes
//! included, sees the placeholder. HTTP/2 and tunnels send such bytes percent-encoded. A byte that could end a line or
//! a target is never replaced, so the head is parsed into the same parts with and without replacements.

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;

/// The placeholder: a byte that a target may contain anywhere after its first slash.
const PLACEHOLDER: u8 = b'!';

/// The bytes of a target that were replaced, in order, each with its distance from the target's last byte. Counted from
/// the end, because a path rewrite changes the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelling(Box<[(usize, u8)]>);

impl Spelling {
    /// Replaces such bytes in the first line of a head, if that is a request for a path. `None` if there are none.
    pub(crate) fn take(line: &mut [u8]) -> Option<Self> {
        // Nearly every head has no such byte.
        if !line.iter().copied().any(may_need_a_placeholder) {
            return None;
        }
        let (start, end) = target(line)?;
        let target = line.get_mut(start..end)?;
        let is_text = std::str::from_utf8(target).is_ok();
        let mut replaced = Vec::new();
        let mut in_query = false;
        let last = target.len().checked_sub(1)?;
        for (at, byte) in target.iter_mut().enumerate() {
            in_query |= *byte == b'?';
            let refused = match *byte {
                b'<' | b'>' | b'#' => true,
                b'"' => in_query,
                b'`' => !in_query,
                0x80.. => !is_text,
                _ => false,
            };
            if refused {
                replaced.push((last - at, *byte));
                *byte = PLACEHOLDER;
            }
        }
        (!replaced.is_empty()).then(|| Self(replaced.into()))
    }

    /// Reads a target with such bytes; the bytes that [`Uri`] accepts come with their spelling.
    pub(crate) fn of_target(target: &[u8]) -> (Vec<u8>, Option<Self>) {
        const BEFORE: &[u8] = b"GET ";
        const BEHIND: &[u8] = b" HTTP/1.1";
        let mut line = [BEFORE, target, BEHIND].concat();
        let spelling = Self::take(&mut line);
        line.truncate(BEFORE.len() + target.len());
        (line.split_off(BEFORE.len()), spelling)
    }

    /// The bytes of a target as the client sent them.
    pub(crate) fn bytes(&self, target: &str) -> Vec<u8> {
        let mut bytes = target.as_bytes().to_vec();
        for (at, byte) in self.places(target.len()) {
            bytes[at] = byte;
        }
        bytes
    }

    /// Keeps only the bytes within the last `length` bytes of the target, which a path rewrite has not changed.
    pub(crate) fn within(mut self, length: usize) -> Self {
        self.0 = self.0.into_iter().filter(|(at, _)| *at < length).collect();
        self
    }

    /// The offsets of the bytes in a target of `length` bytes, in order.
    pub(crate) fn places(&self, length: usize) -> impl Iterator<Item = (usize, u8)> {
        let places = self.0.iter();
        places.filter_map(move |(at, byte)| Some((length.checked_sub(at + 1)?, *byte)))
    }

    /// The target as the client wrote it, as text: non-ASCII bytes are percent-encoded.
    pub(crate) fn text(&self, target: &str) -> String {
        self.spell(target, |byte| byte.is_ascii())
    }

    /// The target with the bytes percent-encoded.
    pub(crate) fn encoded(&self, uri: &Uri) -> Option<Uri> {
        let text = self.spell(uri.path_and_query()?.as_str(), |_| false);
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_maybe_shared(Bytes::from(text)).ok()?);
        Uri::from_parts(parts).ok()
    }

    fn spell(&self, target: &str, as_it_is: impl Fn(u8) -> bool) -> String {
        let mut places = self.places(target.len()).peekable();
        let mut text = String::with_capacity(target.len() + 8);
        for (at, character) in target.char_indices() {
            match places.next_if(|(place, _)| *place == at) {
                Some((_, byte)) if as_it_is(byte) => text.push(char::from(byte)),
                Some((_, byte)) => {
                    let digit =
                        |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 15)]);
                    text.extend(['%', digit(byte >> 4), digit(byte)]);
                }
                None => text.push(character),
            }
        }
        text
    }
}

fn may_need_a_placeholder(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'#' | b'`' | 0x80..)
}

/// Where the target stands in `METHOD /target HTTP/1.x`.
fn target(line: &[u8]) -> Option<(usize, usize)> {
    let space = |from: usize| {
        let rest = line.get(from..)?;
        Some(from + rest.iter().position(|byte| *byte == b' ')?)
    };
    let start = space(0)? + 1;
    let end = space(start)?;
    let is_request =
        start > 1 && line.get(start) == Some(&b'/') && line.get(end + 1..)?.starts_with(b"HTTP/1.");
    is_request.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &[u8]) -> (Vec<u8>, Option<Spelling>) {
        let mut line = line.to_vec();
        let spelling = Spelling::take(&mut line);
        (line, spelling)
    }

    #[test]
    fn what_a_url_must_not_have_is_replaced_and_found_again() {
        let (line, spelling) = take(b"GET /a`b\"c?q=\"<x>\"&`#f HTTP/1.1\r\n");
        let spelling = spelling.expect("some are replaced");
        assert_eq!(line, b"GET /a!b\"c?q=!!x!!&`!f HTTP/1.1\r\n");
        let target = "/a!b\"c?q=!!x!!&`!f";
        assert!(target.parse::<Uri>().is_ok());
        assert_eq!(spelling.text(target), "/a`b\"c?q=\"<x>\"&`#f");
        let encoded = spelling.encoded(&target.parse().expect("a target"));
        assert_eq!(
            encoded.expect("a target"),
            "/a%60b\"c?q=%22%3Cx%3E%22&`%23f"
        );
        // Behind a rewrite of `/a`, and of `/a!`.
        let rewritten = target.replacen("/a", "/new", 1);
        assert_eq!(spelling.text(&rewritten), "/new`b\"c?q=\"<x>\"&`#f");
        let rewritten = target.replacen("/a!", "/!", 1);
        let spelling = spelling.within(15);
        assert_eq!(spelling.text(&rewritten), "/!b\"c?q=\"<x>\"&`#f");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_text_is_not() {
        assert_eq!(take("GET /é HTTP/1.1\r\n".as_bytes()).1, None);
        let (line, spelling) = take(b"GET /caf\xe9 HTTP/1.1\r\n");
        assert_eq!(line, b"GET /caf! HTTP/1.1\r\n");
        let spelling = spelling.expect("one is replaced");
        assert_eq!(spelling.places(5).collect::<Vec<_>>(), [(4, 0xe9)]);
        assert_eq!(spelling.text("/caf!"), "/caf%E9");
        let bytes = spelling.bytes("/caf!");
        assert_eq!(bytes, b"/caf\xe9");
        assert_eq!(
            Spelling::of_target(&bytes),
            (b"/caf!".to_vec(), Some(spelling))
        );
    }

    #[test]
    fn only_the_path_of_a_request_is_touched() {
        for line in [
            &b"GET /plain?x=1 HTTP/1.1\r\n"[..],
            b"GET http://a\"b/ HTTP/1.1\r\n",
            b"CONNECT a\"b:1 HTTP/1.1\r\n",
            b"G\"T / HTTP/1.1\r\n",
            b"GET /a\"b?\"\r\n",
            b"GET /a?\" \" HTTP/1.1\r\n",
            b" /\" HTTP/1.1\r\n",
            b"\"",
            b"",
        ] {
            assert_eq!(
                take(line),
                (line.to_vec(), None),
                "{:?}",
                line.escape_ascii().to_string()
            );
        }
    }
}
