//! The strict parser behind the index.
//!
//! It keeps its own stack, so no nesting can exhaust ours, and the grammar is RFC 8259 to the letter: what some parser
//! accepts beyond it (`NaN`, a trailing comma) is exactly what the two services may disagree on.

use super::index::{IndexError, Node, NodeKind};
use super::{number, string};

pub(super) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
    open: &'a mut Vec<u32>,
    max_depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(
        text: &'a [u8],
        nodes: &'a mut Vec<Node>,
        open: &'a mut Vec<u32>,
        max_depth: usize,
    ) -> Self {
        Self {
            text,
            at: 0,
            nodes,
            open,
            max_depth,
        }
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, IndexError> {
        Err(IndexError::Syntax {
            offset: self.at,
            what,
        })
    }

    #[inline]
    fn peek(&mut self) -> u8 {
        // 0 stands for the end: a NUL byte is no JSON either, and every caller refuses both alike.
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return *byte,
                None => return 0,
            }
        }
    }

    pub(super) fn document(&mut self) -> Result<(), IndexError> {
        loop {
            // A value is due here.
            match self.peek() {
                b'"' => {
                    let (start, end, special) = self.quoted()?;
                    self.push(start, end, NodeKind::String, special);
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b'{' => {
                    self.open_container(NodeKind::Object)?;
                    if self.peek() != b'}' {
                        self.key()?;
                        continue;
                    }
                    self.close_container();
                }
                b'[' => {
                    self.open_container(NodeKind::Array)?;
                    if self.peek() != b']' {
                        continue;
                    }
                    self.close_container();
                }
                b't' => self.literal(b"true", NodeKind::True)?,
                b'f' => self.literal(b"false", NodeKind::False)?,
                b'n' => self.literal(b"null", NodeKind::Null)?,
                _ => return self.fail("expected a value"),
            }
            // A value has ended: what follows depends on the container around it.
            loop {
                let in_object = match self.open.last() {
                    None => {
                        return match self.peek() {
                            0 if self.at == self.text.len() => Ok(()),
                            _ => self.fail("text behind the end of the document"),
                        };
                    }
                    Some(container) => self.nodes[*container as usize].kind == NodeKind::Object,
                };
                match (self.peek(), in_object) {
                    (b',', true) => {
                        self.at += 1;
                        self.peek();
                        self.key()?;
                        break;
                    }
                    (b',', false) => {
                        self.at += 1;
                        break;
                    }
                    (b'}', true) | (b']', false) => self.close_container(),
                    (_, true) => return self.fail("expected `,` or `}`"),
                    (_, false) => return self.fail("expected `,` or `]`"),
                }
            }
        }
    }

    fn open_container(&mut self, kind: NodeKind) -> Result<(), IndexError> {
        if self.open.len() >= self.max_depth {
            return Err(IndexError::TooDeep {
                limit: self.max_depth,
            });
        }
        self.open.push(self.nodes.len() as u32);
        self.push(self.at, self.at, kind, false);
        self.at += 1;
        Ok(())
    }

    fn close_container(&mut self) {
        self.at += 1;
        let next = self.nodes.len() as u32;
        if let Some(container) = self.open.pop() {
            let node = &mut self.nodes[container as usize];
            node.end = self.at as u32;
            node.next = next;
        }
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

    #[inline]
    fn key(&mut self) -> Result<(), IndexError> {
        if self.text.get(self.at) != Some(&b'"') {
            return self.fail("expected a key in quotes");
        }
        let (start, end, special) = self.quoted()?;
        let content = &self.text[start..end];
        let hash = if special {
            let mut plain = Vec::new();
            string::unescape(content, &mut plain);
            string::hash(&plain)
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
        if self.peek() != b':' {
            return self.fail("expected `:`");
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a string; where its content begins and ends, and whether that has escapes.
    #[inline]
    fn quoted(&mut self) -> Result<(usize, usize, bool), IndexError> {
        let start = self.at + 1;
        let end = plain_end(self.text, start);
        if self.text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok((start, end, false));
        }
        let end = self.escaped_end(end)?;
        self.at = end + 1;
        Ok((start, end, true))
    }

    /// The end of a string whose first byte that is not plain, and no quote, is at `at`.
    fn escaped_end(&mut self, mut at: usize) -> Result<usize, IndexError> {
        loop {
            self.at = at;
            match self.text.get(at) {
                Some(b'"') => return Ok(at),
                Some(b'\\') => at = plain_end(self.text, at + self.escape_length()?),
                Some(_) => return self.fail("a control character in a string must be escaped"),
                None => return self.fail("the string has no end"),
            }
        }
    }

    fn escape_length(&self) -> Result<usize, IndexError> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
            Some(b'u')
                if self
                    .text
                    .get(self.at + 2..self.at + 6)
                    .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) =>
            {
                Ok(6)
            }
            _ => self.fail("no such escape"),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<(), IndexError> {
        let start = self.at;
        match number::scan(self.text, start) {
            Ok((end, plain)) => {
                self.at = end;
                self.push(start, end, NodeKind::Number, !plain);
                Ok(())
            }
            Err(at) => {
                self.at = at;
                self.fail("not a number of the JSON grammar")
            }
        }
    }

    fn literal(&mut self, word: &[u8], kind: NodeKind) -> Result<(), IndexError> {
        let end = self.at + word.len();
        if self.text.get(self.at..end) != Some(word) {
            return self.fail("expected a value");
        }
        self.push(self.at, end, kind, false);
        self.at = end;
        Ok(())
    }
}

/// The first position from `at` on that holds a quote, a backslash or a control character; the length without one.
/// Sixteen bytes at a step, which most keys and values fit, so the branch is foreseen: a subtraction borrows into the
/// high bit of each byte that is below the limit, and the lowest such bit is exact.
#[inline]
fn plain_end(text: &[u8], mut at: usize) -> usize {
    const ONES: u128 = u128::MAX / 0xff;
    const HIGH: u128 = ONES << 7;
    let below = |word: u128, limit: u128| word.wrapping_sub(ONES * limit) & !word;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let word = u128::from_le_bytes(*chunk);
        let quote = word ^ (ONES * u128::from(b'"'));
        let backslash = word ^ (ONES * u128::from(b'\\'));
        let found = (below(word, 0x20) | below(quote, 1) | below(backslash, 1)) & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 16;
    }
    while let Some(byte) = text.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}
