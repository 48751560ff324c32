//! One strict pass over a JSON text into a flat index of spans.
//!
//! Nothing is converted: strings and numbers stay where they are in the bytes, so number text, escapes and duplicate
//! keys are all still there for the comparison. The parser keeps its own stack, so no nesting can exhaust ours, and
//! the grammar is RFC 8259 to the letter: what some parser accepts beyond it (`NaN`, a trailing comma) is exactly what
//! the two services may disagree on.

use super::{number, string};

/// What a node is. A key is always followed by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NodeKind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
    Key,
}

/// 16 bytes for each value and key, in the order of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// First byte; behind the quote for strings and keys.
    start: u32,
    /// Behind the last byte; at the quote for strings and keys.
    end: u32,
    /// Index of the node behind this value and all that is in it; for keys, the hash of the content.
    next: u32,
    kind: NodeKind,
    /// Strings and keys: has escapes. Numbers: is more than a plain integer.
    special: bool,
}

/// Why a text could not be indexed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    /// Not JSON.
    #[error("invalid JSON at byte {offset}: {what}")]
    Syntax {
        /// Where the text stops being JSON.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// More nested containers than the limit.
    #[error("nested deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More bytes than an offset can hold.
    #[error("{length} bytes are more than 4 GiB")]
    TooLong {
        /// Bytes of the text.
        length: usize,
    },
}

/// The reusable memory of an index.
#[derive(Default)]
pub(crate) struct Index {
    nodes: Vec<Node>,
    open: Vec<u32>,
}

/// Capacity that is kept for the next body: 16 MiB of nodes; a larger body's memory is given back.
const KEPT_NODES: usize = 1 << 20;

impl Index {
    /// Indexes `text`, which must not begin with a byte order mark.
    pub(crate) fn read<'a>(
        &'a mut self,
        text: &'a [u8],
        max_depth: usize,
    ) -> Result<Tree<'a>, IndexError> {
        if self.nodes.capacity() > KEPT_NODES {
            self.nodes = Vec::new();
        }
        self.nodes.clear();
        self.open.clear();
        if u32::try_from(text.len()).is_err() {
            return Err(IndexError::TooLong { length: text.len() });
        }
        if simdutf8::basic::from_utf8(text).is_err() {
            let offset = simdutf8::compat::from_utf8(text)
                .map_or_else(|error| error.valid_up_to(), str::len);
            return Err(IndexError::Syntax {
                offset,
                what: "not UTF-8",
            });
        }
        let mut parser = Parser {
            text,
            at: 0,
            nodes: &mut self.nodes,
            open: &mut self.open,
            max_depth,
        };
        parser.document()?;
        Ok(Tree {
            text,
            nodes: &self.nodes,
        })
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    nodes: &'a mut Vec<Node>,
    open: &'a mut Vec<u32>,
    max_depth: usize,
}

impl Parser<'_> {
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

    fn document(&mut self) -> Result<(), IndexError> {
        loop {
            // A value is due here.
            match self.peek() {
                b'"' => self.string(NodeKind::String)?,
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
        self.string(NodeKind::Key)?;
        let key = self.nodes.len() - 1;
        let Node {
            start,
            end,
            special,
            ..
        } = self.nodes[key];
        let content = &self.text[start as usize..end as usize];
        self.nodes[key].next = if special {
            let mut plain = Vec::new();
            string::unescape(content, &mut plain);
            string::hash(&plain)
        } else {
            string::hash(content)
        };
        if self.peek() != b':' {
            return self.fail("expected `:`");
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn string(&mut self, kind: NodeKind) -> Result<(), IndexError> {
        let start = self.at + 1;
        let mut at = start;
        let mut special = false;
        loop {
            at = plain_end(self.text, at);
            match self.text.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    special = true;
                    self.at = at;
                    at += self.escape_length()?;
                }
                Some(_) => {
                    self.at = at;
                    return self.fail("a control character in a string must be escaped");
                }
                None => {
                    self.at = at;
                    return self.fail("the string has no end");
                }
            }
        }
        self.at = at + 1;
        self.push(start, at, kind, special);
        Ok(())
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
/// Eight bytes at a step: a subtraction borrows into the high bit of each byte that is below the limit, and
/// the lowest such bit is exact.
#[inline]
fn plain_end(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let found = (below(word, 0x20) | below(quote, 1) | below(backslash, 1)) & HIGH;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = text.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

/// An indexed text.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'a> {
    text: &'a [u8],
    nodes: &'a [Node],
}

/// The root's index.
pub(crate) const ROOT: u32 = 0;

impl<'a> Tree<'a> {
    #[inline]
    fn node(&self, at: u32) -> &'a Node {
        &self.nodes[at as usize]
    }

    #[inline]
    pub(crate) fn kind(&self, at: u32) -> NodeKind {
        self.node(at).kind
    }

    /// Whether a string has escapes, or a number is more than a plain integer.
    #[inline]
    pub(crate) fn special(&self, at: u32) -> bool {
        self.node(at).special
    }

    /// The text of a value; of a string or key, what is between the quotes.
    #[inline]
    pub(crate) fn content(&self, at: u32) -> &'a [u8] {
        let node = self.node(at);
        &self.text[node.start as usize..node.end as usize]
    }

    /// The text of a value, with the quotes of a string or key.
    pub(crate) fn raw(&self, at: u32) -> &'a [u8] {
        let node = self.node(at);
        let (start, end) = (node.start as usize, node.end as usize);
        match node.kind {
            NodeKind::String | NodeKind::Key => &self.text[start - 1..=end],
            _ => &self.text[start..end],
        }
    }

    /// The node behind the value `at` and all that is in it.
    #[inline]
    pub(crate) fn next(&self, at: u32) -> u32 {
        let node = self.node(at);
        match node.kind {
            NodeKind::Key => at + 1,
            _ => node.next,
        }
    }

    /// The hash of a key's content.
    #[inline]
    pub(crate) fn key_hash(&self, key: u32) -> u32 {
        self.node(key).next
    }

    /// The indices of an array's elements.
    pub(crate) fn elements(self, array: u32) -> impl Iterator<Item = u32> {
        let end = self.next(array);
        let first = (array + 1 < end).then_some(array + 1);
        std::iter::successors(first, move |at| {
            let next = self.next(*at);
            (next < end).then_some(next)
        })
    }

    /// The indices of an object's keys; each value is one further.
    pub(crate) fn keys(self, object: u32) -> impl Iterator<Item = u32> {
        let end = self.next(object);
        let first = (object + 1 < end).then_some(object + 1);
        std::iter::successors(first, move |at| {
            let next = self.next(*at + 1);
            (next < end).then_some(next)
        })
    }

    /// The content of a string or key without escapes, as WTF-8; borrowed unless there are any.
    pub(crate) fn unescaped<'b>(&self, at: u32, scratch: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        let content = self.content(at);
        if self.special(at) {
            string::unescape(content, scratch);
            scratch
        } else {
            content
        }
    }

    /// The content of a string or key as text; a lone surrogate becomes U+FFFD.
    pub(crate) fn text(&self, at: u32) -> String {
        let mut scratch = Vec::new();
        String::from_utf8_lossy(self.unescaped(at, &mut scratch)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Result<usize, IndexError> {
        let mut index = Index::default();
        let tree = index.read(text.as_bytes(), 128)?;
        Ok(tree.nodes.len())
    }

    #[test]
    fn the_grammar_is_rfc_8259() {
        for good in [
            "0",
            " {} ",
            "[]",
            "\"\"",
            "null",
            "[1,[2],{\"a\":{}}]",
            "{\"a\":1,\"a\":2}",
            "[\"\\ud800\"]",
            "\"\u{7f}\"",
            "[-0.0e-0]",
            "\t\n\r 1",
        ] {
            assert!(outcome(good).is_ok(), "{good}: {:?}", outcome(good));
        }
        for bad in [
            "",
            " ",
            "nul",
            "nulll",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "[1 2]",
            "NaN",
            "[Infinity]",
            "01",
            "1.",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"",
            "[",
            "{",
            "[1}",
            "{]",
            "1 1",
            "'a'",
            "// c\n1",
            "\u{feff}1",
            "[\"a\0b\"]",
            "\0",
            "1\0",
        ] {
            assert!(outcome(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn invalid_utf8_is_told_with_its_place() {
        let mut index = Index::default();
        let error = index.read(b"[\"ab\xff\"]", 128).err();
        assert_eq!(
            error,
            Some(IndexError::Syntax {
                offset: 4,
                what: "not UTF-8"
            })
        );
    }

    #[test]
    fn nesting_is_limited_without_using_the_stack() {
        assert!(outcome(&("[".repeat(128) + &"]".repeat(128))).is_ok());
        for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            assert_eq!(outcome(&text), Err(IndexError::TooDeep { limit: 128 }));
        }
    }

    #[test]
    fn long_strings_end_at_the_right_byte() {
        for length in 0..40 {
            let text = format!(
                "[\"{}\",\"{}\\\"\"]",
                "é".repeat(length),
                "x".repeat(length)
            );
            assert_eq!(outcome(&text), Ok(3), "{length}");
        }
    }
}
