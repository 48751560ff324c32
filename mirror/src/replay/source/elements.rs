//! The elements of one array in a large JSON document, one by one: the document is never kept, and need not be whole.
//!
//! Only as much is understood as is needed to find where an element begins and ends: strings, brackets, and the names that lead
//! to the array. Whoever gets an element parses it.

use std::io::{self, BufRead};

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// The line that it begins on, from 1.
    pub(super) line: u64,
    /// Its end was seen.
    pub(super) is_whole: bool,
    /// It did not fit, and nothing of it was kept.
    pub(super) is_too_long: bool,
}

/// Brackets within each other above the elements of the array, and at most in all.
const MAX_DEPTH: usize = 1_000;

/// Reads the elements of the array that `names` lead to.
pub(super) struct Elements<R> {
    reader: R,
    names: &'static [&'static str],
    line: u64,
    /// How deep in brackets it reads.
    depth: usize,
    /// How many of the names lead to here.
    on_way: usize,
    is_in_array: bool,
    has_ended: bool,
}

impl<R: BufRead> Elements<R> {
    pub(super) fn new(reader: R, names: &'static [&'static str]) -> Self {
        Self {
            reader,
            names,
            line: 1,
            depth: 0,
            on_way: 0,
            is_in_array: false,
            has_ended: false,
        }
    }

    /// The line that is read.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whether the array was found.
    pub(super) fn found(&self) -> bool {
        self.is_in_array || self.has_ended
    }

    /// Puts the next element into `text`, unless it is longer than `limit`. `None` at the end of the array, or of the document.
    pub(super) fn next(&mut self, text: &mut Vec<u8>, limit: usize) -> io::Result<Option<Element>> {
        text.clear();
        if self.has_ended || (!self.is_in_array && !self.find()?) {
            return Ok(None);
        }
        let mut element = loop {
            match self.byte()? {
                None => return Ok(None),
                Some(b']') => {
                    self.has_ended = true;
                    return Ok(None);
                }
                Some(byte) if byte == b',' || byte.is_ascii_whitespace() => {}
                Some(byte) => {
                    text.push(byte);
                    break Element {
                        line: self.line,
                        is_whole: false,
                        is_too_long: false,
                    };
                }
            }
        };
        let first = text.first().copied();
        let mut depth = usize::from(matches!(first, Some(b'{' | b'[')));
        let mut is_in_text = first == Some(b'"');
        let mut is_escaped = false;
        loop {
            let Some(byte) = self.peek()? else {
                return Ok(Some(element));
            };
            if depth == 0 && !is_in_text && matches!(byte, b',' | b']') {
                break;
            }
            self.take(byte);
            if text.len() == limit {
                element.is_too_long = true;
                text.clear();
            }
            if !element.is_too_long {
                text.push(byte);
            }
            if is_in_text {
                (is_in_text, is_escaped) = after_in_text(byte, is_escaped);
            } else {
                match byte {
                    b'"' => is_in_text = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
        element.is_whole = true;
        Ok(Some(element))
    }

    /// Goes on to the first element; `false` if there is no such array.
    fn find(&mut self) -> io::Result<bool> {
        let mut name = None;
        while let Some(byte) = self.byte()? {
            match byte {
                b'"' => name = Some(self.text()?),
                b'{' | b'[' => {
                    let is_wanted = match (self.on_way.checked_sub(1), &name) {
                        // The document itself.
                        (None, None) => self.depth == 0 && byte == b'{',
                        (Some(index), Some(name)) => {
                            self.depth == self.on_way
                                && self.names.get(index) == Some(&name.as_str())
                        }
                        _ => false,
                    };
                    self.depth += 1;
                    if is_wanted {
                        self.on_way += 1;
                        let is_last = self.on_way > self.names.len();
                        if is_last && byte == b'[' {
                            self.is_in_array = true;
                            return Ok(true);
                        }
                        if is_last || byte == b'[' {
                            break;
                        }
                    }
                    if self.depth > MAX_DEPTH {
                        break;
                    }
                    name = None;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth < self.on_way {
                        break;
                    }
                    name = None;
                }
                b',' => name = None,
                _ => {}
            }
        }
        Ok(false)
    }

    /// The rest of a text, if it may be a name that is looked for.
    fn text(&mut self) -> io::Result<String> {
        /// Longest name that is kept.
        const MAX_NAME: usize = 64;
        let mut text = Vec::new();
        let mut is_escaped = false;
        while let Some(byte) = self.byte()? {
            let is_in_text;
            (is_in_text, is_escaped) = after_in_text(byte, is_escaped);
            if !is_in_text {
                break;
            }
            if text.len() < MAX_NAME {
                text.push(byte);
            }
        }
        Ok(String::from_utf8(text).unwrap_or_default())
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Ok(read) => return Ok(read.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.reader.consume(1);
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.take(byte);
        }
        Ok(byte)
    }
}

/// Whether a text goes on after a byte of it, and whether the next byte is escaped.
fn after_in_text(byte: u8, is_escaped: bool) -> (bool, bool) {
    match byte {
        _ if is_escaped => (true, false),
        b'\\' => (true, true),
        b'"' => (false, false),
        _ => (true, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str, limit: usize) -> (Vec<(String, u64, bool, bool)>, bool) {
        let mut elements = Elements::new(text.as_bytes(), &["log", "entries"]);
        let (mut found, mut element) = (Vec::new(), Vec::new());
        while let Some(read) = elements.next(&mut element, limit).expect("memory") {
            let text = String::from_utf8(element.clone()).expect("text");
            found.push((text, read.line, read.is_whole, read.is_too_long));
        }
        (found, elements.found())
    }

    #[test]
    fn elements_come_one_by_one_wherever_the_array_stands() {
        let text = "{\"x\":{\"entries\":[0]},\n\"log\":{\"a\\\"b\":\"entries\",\"entries\" : [\n{\"a\":\"}\\\"]\"},\n[1,[2]] , 3,\"4,\"],\"entries\":[5]}}";
        let element = |text: &str, line| (text.to_owned(), line, true, false);
        let all = [
            element("{\"a\":\"}\\\"]\"}", 3),
            element("[1,[2]] ", 4),
            element("3", 4),
            element("\"4,\"", 4),
        ];
        assert_eq!(elements(text, 100), (all.to_vec(), true));
        // One that is too long is passed over.
        let (found, _) = elements(text, 8);
        assert_eq!(found[0], (String::new(), 3, true, true));
        assert_eq!(found[1..], all[1..]);
        // Of one that is cut off, the line is known.
        let (cut, _) = text.split_once("2]]").expect("it is there");
        let (found, _) = elements(cut, 100);
        assert_eq!(found[1], ("[1,[".to_owned(), 4, false, false));
    }

    #[test]
    fn a_document_without_the_array_has_no_elements() {
        for text in [
            "",
            "[]",
            "{}",
            "\u{feff}",
            "{\"log\":[]}",
            "{\"log\":{\"entries\":{}}}",
            "{\"entries\":[1]}",
            "{\"log\":{\"x\":{\"entries\":[1]}}}",
            "{\"log\":{\"x\":[{\"entries\":[1]}]}}",
            "{\"log",
            "{\"a\":{\"log\":{\"entries\":[1]}}}",
        ] {
            assert_eq!(elements(text, 100), (Vec::new(), false), "{text}");
        }
    }
}
