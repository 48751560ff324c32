//! One strict pass over a JSON text into a flat index of spans.
//!
//! Nothing is converted: strings and numbers stay where they are in the bytes, so number text, escapes and duplicate
//! keys are all still there for the comparison.

use std::borrow::Cow;

use super::node::Node;
pub(crate) use super::node::{IndexError, NodeKind};
use super::parse::Parser;
use super::string;

/// What a text consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One document.
    Document,
    /// A document on each line, to be compared as the elements of a list.
    Lines,
}

/// The reusable memory of an index.
#[derive(Default)]
pub(crate) struct Index {
    nodes: Vec<Node>,
    open: Vec<u32>,
    plain: Vec<u8>,
}

/// Capacity that is kept for the next body: 16 MiB of nodes; a larger body's memory is given back.
const KEPT_NODES: usize = 1 << 20;

impl Index {
    /// Indexes `text`, which must not begin with a byte order mark.
    pub(crate) fn read<'a>(
        &'a mut self,
        text: &'a [u8],
        layout: Layout,
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
        let Self { nodes, open, plain } = self;
        let parser = Parser::new(text, nodes, open, plain, max_depth);
        match layout {
            Layout::Document => parser.document()?,
            Layout::Lines => parser.lines()?,
        }
        Ok(self.tree(text))
    }

    /// The index of the text that was read last.
    pub(crate) fn tree<'a>(&'a self, text: &'a [u8]) -> Tree<'a> {
        Tree {
            text,
            nodes: &self.nodes,
        }
    }
}

/// The lines without the separator that `application/json-seq` (RFC 7464) puts before each. Only there is it removed:
/// elsewhere in a text it is not JSON, and stays an error.
pub(crate) fn without_separators(body: &[u8]) -> Cow<'_, [u8]> {
    const SEPARATOR: u8 = 0x1e;
    if memchr::memchr(SEPARATOR, body).is_none() {
        return Cow::Borrowed(body);
    }
    let mut plain = body.to_vec();
    for at in 0..plain.len() {
        if plain[at] == SEPARATOR && (at == 0 || plain[at - 1] == b'\n') {
            plain[at] = b' ';
        }
    }
    Cow::Owned(plain)
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
        &self.text[self.span(at)]
    }

    /// The span of a value, with the quotes of a string or key.
    pub(crate) fn span(&self, at: u32) -> std::ops::Range<usize> {
        let node = self.node(at);
        let (start, end) = (node.start as usize, node.end as usize);
        match node.kind {
            NodeKind::String | NodeKind::Key => start - 1..end + 1,
            _ => start..end,
        }
    }

    /// The node after the value `at` and everything in it.
    #[inline]
    pub(crate) fn next(&self, at: u32) -> u32 {
        let node = self.node(at);
        match node.kind {
            NodeKind::Key => at + 1,
            _ => node.next,
        }
    }

    /// Steps of the work budget that visiting a value costs: its nodes, and its bytes if they are many.
    pub(crate) fn cost(&self, at: u32) -> u64 {
        /// Bytes that are compared in about the time of one node.
        const BYTES_PER_STEP: u64 = 64;
        let node = self.node(at);
        u64::from(node.next - at) + u64::from(node.end - node.start) / BYTES_PER_STEP
    }

    /// How many scalars and empty containers the value `at` consists of.
    pub(crate) fn values(&self, at: u32) -> u64 {
        let nodes = (at..self.next(at)).filter(|inner| match self.kind(*inner) {
            NodeKind::Key => false,
            NodeKind::Array | NodeKind::Object => self.next(*inner) == inner + 1,
            _ => true,
        });
        nodes.count() as u64
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

    /// The content of a string or key with escapes undone, as WTF-8; borrowed if it has none.
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

    /// The text of the first `limit` bytes of the content of a string or key, with escapes undone. A lone surrogate,
    /// and a character or escape cut at the end, becomes U+FFFD.
    pub(crate) fn text_begin(&self, at: u32, limit: usize) -> String {
        let content = self.content(at);
        let content = &content[..limit.min(content.len())];
        let mut scratch = Vec::new();
        if self.special(at) {
            string::unescape(content, &mut scratch);
            return String::from_utf8_lossy(&scratch).into_owned();
        }
        String::from_utf8_lossy(content).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Result<usize, IndexError> {
        let mut index = Index::default();
        let tree = index.read(text.as_bytes(), Layout::Document, 128)?;
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
    fn lines_are_the_elements_of_a_list() {
        let count = |text: &str| {
            let mut index = Index::default();
            let tree = index.read(text.as_bytes(), Layout::Lines, 128);
            tree.map(|tree| tree.elements(ROOT).count())
        };
        for (text, lines) in [
            ("", 0),
            (" \n\n", 0),
            ("1", 1),
            ("{\"a\":1}\n{\"a\":2}\n", 2),
            ("[1]\r\n\r\n\"x\"\nnull", 3),
            ("{\n\"a\":1}\n2", 2),
        ] {
            assert_eq!(count(text), Ok(lines), "{text:?}");
        }
        for text in ["1 2", "{}{}", "1,2", "[1\n", "1\nx", "]"] {
            assert!(count(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn invalid_utf8_is_told_with_its_place() {
        let mut index = Index::default();
        let error = index.read(b"[\"ab\xff\"]", Layout::Document, 128).err();
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
