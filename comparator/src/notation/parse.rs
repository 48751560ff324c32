//! The strict parser behind the index.
//!
//! It keeps its own stack, so no nesting can exhaust the thread's stack. The grammar is exactly RFC 8259: extensions
//! that some parsers accept (`NaN`, a trailing comma) are what the two services may disagree on.

use wide::u8x16;

use super::node::{IndexError, Node, NodeKind};
use super::{number, string};

pub(super) struct Parser<'a> {
    text: &'a [u8],
    nodes: &'a mut Vec<Node>,
    open: &'a mut Vec<u32>,
    /// Buffer for a key with its escapes undone.
    plain: &'a mut Vec<u8>,
    max_depth: usize,
    /// Open containers outside of the document: the list that [`Parser::lines`] puts around all documents.
    outside: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(
        text: &'a [u8],
        nodes: &'a mut Vec<Node>,
        open: &'a mut Vec<u32>,
        plain: &'a mut Vec<u8>,
        max_depth: usize,
    ) -> Self {
        Self {
            text,
            nodes,
            open,
            plain,
            max_depth,
            outside: 0,
        }
    }

    /// Documents one after another, with a line end between two of them, as the elements of an array.
    pub(super) fn lines(mut self) -> Result<(), IndexError> {
        self.open_container(0, NodeKind::Array)?;
        self.outside = 1;
        let (start, _) = token(self.text, 0);
        if start < self.text.len() {
            self.documents(start)?;
        }
        self.close_container(self.text.len());
        Ok(())
    }

    /// One document.
    pub(super) fn document(mut self) -> Result<(), IndexError> {
        self.documents(0)
    }

    // The position is a local variable that helpers take and return by value: in a field it would be written to memory
    // for every token.
    fn documents(&mut self, start: usize) -> Result<(), IndexError> {
        let text = self.text;
        let mut at = start;
        // State of the innermost open container.
        let mut in_object = false;
        'value: loop {
            let first;
            (at, first) = token(text, at);
            match first {
                b'"' => {
                    let (end, special) = string_end(text, at + 1)?;
                    self.push(at + 1, end, NodeKind::String, special);
                    at = end + 1;
                }
                b'-' | b'0'..=b'9' => match number::scan(text, at) {
                    Ok((end, plain)) => {
                        self.push(at, end, NodeKind::Number, !plain);
                        at = end;
                    }
                    Err(offset) => {
                        return Err(syntax(offset, "not a number of the JSON grammar"));
                    }
                },
                b'{' => {
                    self.open_container(at, NodeKind::Object)?;
                    in_object = true;
                    let (next, first) = token(text, at + 1);
                    if first != b'}' {
                        at = self.key(next, first)?;
                        continue 'value;
                    }
                    at = next + 1;
                    in_object = self.close_container(at);
                }
                b'[' => {
                    self.open_container(at, NodeKind::Array)?;
                    in_object = false;
                    let first;
                    (at, first) = token(text, at + 1);
                    if first != b']' {
                        continue 'value;
                    }
                    at += 1;
                    in_object = self.close_container(at);
                }
                b't' => at = self.literal(at, b"true", NodeKind::True)?,
                b'f' => at = self.literal(at, b"false", NodeKind::False)?,
                b'n' => at = self.literal(at, b"null", NodeKind::Null)?,
                _ => return Err(syntax(at, "expected a value")),
            }
            // A value has ended: what follows depends on the container around it.
            loop {
                let end = at;
                let first;
                (at, first) = token(text, at);
                if self.open.len() == self.outside {
                    if at == text.len() {
                        return Ok(());
                    }
                    if self.outside == 0 {
                        return Err(syntax(at, "text behind the end of the document"));
                    }
                    if !text[end..at].contains(&b'\n') {
                        return Err(syntax(at, "expected the end of the line"));
                    }
                    continue 'value;
                }
                match (first, in_object) {
                    (b',', true) => {
                        let (key, first) = token(text, at + 1);
                        at = self.key(key, first)?;
                        continue 'value;
                    }
                    (b',', false) => {
                        at += 1;
                        continue 'value;
                    }
                    (b'}', true) | (b']', false) => {
                        at += 1;
                        in_object = self.close_container(at);
                    }
                    (_, true) => return Err(syntax(at, "expected `,` or `}`")),
                    (_, false) => return Err(syntax(at, "expected `,` or `]`")),
                }
            }
        }
    }

    fn open_container(&mut self, at: usize, kind: NodeKind) -> Result<(), IndexError> {
        if self.open.len() >= self.max_depth {
            return Err(IndexError::TooDeep {
                limit: self.max_depth,
            });
        }
        self.open.push(self.nodes.len() as u32);
        self.push(at, at, kind, false);
        Ok(())
    }

    /// Closes the innermost container before `end`; returns whether the one around it is an object.
    fn close_container(&mut self, end: usize) -> bool {
        let next = self.nodes.len() as u32;
        if let Some(container) = self.open.pop() {
            let node = &mut self.nodes[container as usize];
            node.end = end as u32;
            node.next = next;
        }
        self.open
            .last()
            .is_some_and(|around| self.nodes[*around as usize].kind == NodeKind::Object)
    }

    #[inline]
    fn push(&mut self, start: usize, end: usize, kind: NodeKind, special: bool) {
        let next = self.nodes.len() as u32 + 1;
        self.nodes.push(Node {
            start: start as u32,
            end: end as u32,
            next,
            kind,
            special,
        });
    }

    /// Reads a key, which begins with `first`, and its colon; returns the position after them.
    #[expect(
        clippy::inline_always,
        reason = "measured: an eighth of the time of a comparison"
    )]
    #[inline(always)]
    fn key(&mut self, at: usize, first: u8) -> Result<usize, IndexError> {
        let text = self.text;
        if first != b'"' {
            return Err(syntax(at, "expected a key in quotes"));
        }
        let start = at + 1;
        let (end, special) = string_end(text, start)?;
        let content = &text[start..end];
        let hash = if special {
            string::unescape(content, self.plain);
            string::hash(self.plain)
        } else {
            string::hash(content)
        };
        self.nodes.push(Node {
            start: start as u32,
            end: end as u32,
            next: hash,
            kind: NodeKind::Key,
            special,
        });
        let (at, first) = token(text, end + 1);
        if first != b':' {
            return Err(syntax(at, "expected `:`"));
        }
        Ok(at + 1)
    }

    fn literal(&mut self, at: usize, word: &[u8], kind: NodeKind) -> Result<usize, IndexError> {
        let end = at + word.len();
        if self.text.get(at..end) != Some(word) {
            return Err(syntax(at, "expected a value"));
        }
        self.push(at, end, kind, false);
        Ok(end)
    }
}

#[cold]
fn syntax(offset: usize, what: &'static str) -> IndexError {
    IndexError::Syntax { offset, what }
}

/// The byte at a position; 0 stands for the end. A NUL byte is not JSON either, so every caller refuses both alike.
#[inline]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The first position from `at` on that is not white space, and the byte there.
#[expect(
    clippy::inline_always,
    reason = "measured: it stands in front of every token"
)]
#[inline(always)]
fn token(text: &[u8], mut at: usize) -> (usize, u8) {
    loop {
        let byte = byte(text, at);
        // Most texts have no white space at all: one look at the byte tells.
        if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return (at, byte);
        }
        at += 1;
    }
}

/// The position of the quote that ends the string whose content begins at `start`, and whether it has escapes.
#[expect(
    clippy::inline_always,
    reason = "measured: a result in memory costs a fifth of the parser's time"
)]
#[inline(always)]
fn string_end(text: &[u8], start: usize) -> Result<(usize, bool), IndexError> {
    let (end, byte) = plain_end(text, start);
    if byte == b'"' {
        return Ok((end, false));
    }
    Ok((escaped_end(text, end)?, true))
}

/// The end of a string whose first byte that is neither an ordinary character nor a quote is at `at`.
fn escaped_end(text: &[u8], mut at: usize) -> Result<usize, IndexError> {
    loop {
        at = match text.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => plain_end(text, at + escape_length(text, at)?).0,
            Some(_) => {
                return Err(syntax(
                    at,
                    "a control character in a string must be escaped",
                ));
            }
            None => return Err(syntax(at, "the string has no end")),
        };
    }
}

fn escape_length(text: &[u8], at: usize) -> Result<usize, IndexError> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u')
            if text
                .get(at + 2..at + 6)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) =>
        {
            Ok(6)
        }
        _ => Err(syntax(at, "no such escape")),
    }
}

/// The first position from `at` on with a quote, a backslash or a control character, and that byte; the length and 0 if
/// there is none. It checks sixteen bytes at a time, which most keys and values fit, so the branch is predictable.
#[inline]
fn plain_end(text: &[u8], mut at: usize) -> (usize, u8) {
    const LAST_CONTROL: u8 = 0x1f;
    while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let chunk = u8x16::new(*bytes);
        let control = chunk.min(u8x16::splat(LAST_CONTROL)).simd_eq(chunk);
        let quote = chunk.simd_eq(u8x16::splat(b'"'));
        let backslash = chunk.simd_eq(u8x16::splat(b'\\'));
        let found = (control | quote | backslash).to_bitmask();
        if found != 0 {
            let within = found.trailing_zeros() as usize;
            return (at + within, bytes[within & 15]);
        }
        at += 16;
    }
    while let Some(byte) = text.get(at) {
        if *byte <= LAST_CONTROL || *byte == b'"' || *byte == b'\\' {
            return (at, *byte);
        }
        at += 1;
    }
    (at, 0)
}
