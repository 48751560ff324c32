//! JSON text, redacted token by token.
//!
//! The text may be cut at its end, as the values of findings are. Only the values that must go are replaced; the rest
//! stays as received, number text and escapes included. What turns out not to be JSON is refused as a whole, and is
//! then treated as plain text, so nothing passes because it was misunderstood.

use parity_schemas::verdict::Part;

use super::{Redactor, cards};
use crate::collect::CUT_MARK;
use crate::comparator::body::DIGEST_MARK;
use crate::json::{number, string};
use crate::multipart;
use crate::rules::Scope;
use crate::rules::trie::START;

/// Containers followed; deeper text is treated as plain text.
const MAX_DEPTH: usize = 1_000;

/// Keys whose strings are plain text of the service: the data of an event, and a part of a multipart body.
const TEXT_KEYS: [&str; 2] = ["data", multipart::TEXT];

/// What strings at a place are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Values of JSON.
    Values,
    /// Plain text, in which secrets stand behind their names.
    Text,
    /// Hashes without a key.
    Digest,
    /// The header fields of a part: the next key is the name of one.
    Headers,
}

/// A place in a body: where the `mask` rules are in their trie, and whether everything there is secret.
#[derive(Clone)]
pub(super) struct Position<'s> {
    pub(super) secret: bool,
    content: Content,
    nodes: Vec<u32>,
    scope: &'s Scope,
}

impl<'s> Position<'s> {
    /// The place that a JSON Pointer leads to.
    pub(super) fn at(pointer: &str, redactor: &Redactor, scope: &'s Scope) -> Self {
        let trie = redactor.rules.trie();
        let mut nodes = Vec::new();
        trie.enter(START, &scope.masking, &mut nodes, 0);
        let mut position = Self {
            // What was cut off are names, and any of them may be secret or masked.
            secret: pointer.ends_with(CUT_MARK) || masked(&nodes, redactor, scope),
            content: Content::Values,
            nodes,
            scope,
        };
        for segment in pointer.split('/').skip(1) {
            let key = segment.replace("~1", "/").replace("~0", "~");
            position = position.below(&key, key.parse().ok(), redactor);
        }
        position
    }

    /// The place of a member or element; an index also counts as the key that it is written as.
    fn below(&self, key: &str, index: Option<u32>, redactor: &Redactor) -> Self {
        let (trie, reach) = (redactor.rules.trie(), &self.scope.masking);
        let hash = string::hash(key.as_bytes());
        let mut nodes = Vec::new();
        for node in &self.nodes {
            trie.step_key(*node, hash, key.as_bytes(), reach, &mut nodes, 0);
            trie.step_index(*node, index, reach, &mut nodes, 0);
        }
        let content = match key {
            multipart::HEADERS => Content::Headers,
            multipart::DIGEST => Content::Digest,
            _ if TEXT_KEYS.contains(&key) => Content::Text,
            _ if self.content == Content::Headers => Content::Text,
            _ => self.content,
        };
        let hidden_header = self.content == Content::Headers
            && redactor.hides_header(Part::Header, key, self.scope);
        Self {
            content,
            secret: self.secret
                || hidden_header
                || redactor.secret_field(key)
                // A name of a form that is no UTF-8: what it is to its reader is unknown.
                || key.contains(char::REPLACEMENT_CHARACTER)
                || masked(&nodes, redactor, self.scope),
            nodes,
            scope: self.scope,
        }
    }
}

fn masked(nodes: &[u32], redactor: &Redactor, scope: &Scope) -> bool {
    let trie = redactor.rules.trie();
    nodes
        .iter()
        .any(|node| trie.met(*node, &scope.masking).next().is_some())
}

/// A container that has not ended.
struct Open<'a> {
    object: bool,
    index: u32,
    position: Position<'a>,
}

impl Redactor {
    /// `text` without what must not leave; `None` when it is not JSON, as far as it goes.
    pub(super) fn json<'a>(&'a self, text: &'a str, root: Position<'a>) -> Option<String> {
        let mut scanner = Scanner {
            redactor: self,
            text,
            at: 0,
            out: String::with_capacity(text.len()),
            open: Vec::new(),
        };
        scanner.run(root)?;
        Some(scanner.out)
    }
}

struct Scanner<'a> {
    redactor: &'a Redactor,
    text: &'a str,
    at: usize,
    out: String,
    open: Vec<Open<'a>>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Copies white space; the next byte, or `None` at the end or where the text was cut.
    fn next(&mut self) -> Option<u8> {
        let space = self.rest().len()
            - self
                .rest()
                .trim_start_matches([' ', '\t', '\r', '\n'])
                .len();
        self.copy(space);
        let rest = self.rest();
        match rest.as_bytes().first() {
            Some(_) if rest.chars().eq([CUT_MARK]) => {
                self.copy(rest.len());
                None
            }
            byte => byte.copied(),
        }
    }

    fn copy(&mut self, bytes: usize) {
        let end = self.at + bytes;
        self.out
            .push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// `None` when this is no JSON.
    fn run(&mut self, root: Position<'a>) -> Option<()> {
        let mut position = root;
        // The text must begin as JSON, else it says nothing that it ends early.
        self.next()?;
        loop {
            // A value is due.
            let Some(byte) = self.next() else {
                return Some(());
            };
            match byte {
                b'{' | b'[' => {
                    if self.open.len() >= MAX_DEPTH {
                        return None;
                    }
                    let object = byte == b'{';
                    self.copy(1);
                    self.open.push(Open {
                        object,
                        index: 0,
                        position,
                    });
                    match self.next() {
                        Some(b'}') if object => {}
                        Some(b']') if !object => {}
                        Some(_) => {
                            match self.enter_next()? {
                                Some(next) => position = next,
                                None => return Some(()),
                            }
                            continue;
                        }
                        None => return Some(()),
                    }
                }
                b'"' => {
                    let (content, raw) = self.string()?;
                    self.string_value(&content, &raw, &position);
                }
                _ => self.bare(&position)?,
            }
            // A value has ended.
            loop {
                let object = self.open.last().map(|open| open.object);
                match (object, self.next()) {
                    (_, None) => return Some(()),
                    (None, Some(_)) => return None,
                    (Some(_), Some(b',')) => {
                        self.copy(1);
                        match self.enter_next()? {
                            Some(next) => position = next,
                            None => return Some(()),
                        }
                        break;
                    }
                    (Some(object), Some(end)) => {
                        if end != if object { b'}' } else { b']' } {
                            return None;
                        }
                        self.open.pop();
                        self.copy(1);
                    }
                }
            }
        }
    }

    /// Copies the key that is due, if any, and gives the position of the next value; `Some(None)` at the end.
    #[expect(
        clippy::option_option,
        reason = "not JSON, the end of the text, and a position are three answers"
    )]
    fn enter_next(&mut self) -> Option<Option<Position<'a>>> {
        let object = self.open.last()?.object;
        if !object {
            let redactor = self.redactor;
            let open = self.open.last_mut()?;
            let index = open.index;
            open.index += 1;
            // An index is no name, so it is only looked at by rules.
            return Some(Some(open.position.below(
                &index.to_string(),
                Some(index),
                redactor,
            )));
        }
        if self.next().is_none() {
            return Some(None);
        }
        let (key, raw) = self.string()?;
        let text = String::from_utf8_lossy(&key).into_owned();
        if cards::any(&key) {
            let clean =
                cards::replace(&text, |card| self.redactor.hash(card.as_bytes())).into_owned();
            self.push_quoted(&clean);
        } else {
            self.out.push_str(&raw);
        }
        let position = self.open.last()?.position.below(&text, None, self.redactor);
        match self.next() {
            None => return Some(None),
            Some(b':') => self.copy(1),
            Some(_) => return None,
        }
        Some(Some(position))
    }

    /// The string that begins here: its content without escapes, and its text. A string that the text ends in is
    /// taken as far as it goes.
    fn string(&mut self) -> Option<(Vec<u8>, String)> {
        let rest = self.rest();
        let inner = rest.strip_prefix('"')?;
        let mut end = None;
        let mut escaped = false;
        for (index, byte) in inner.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    end = Some(index);
                    break;
                }
                0..0x20 => return None,
                _ => {}
            }
        }
        // Only a cut ends a text inside of a string.
        if end.is_none() && !rest.ends_with(CUT_MARK) {
            return None;
        }
        let length = end.unwrap_or(inner.len());
        let raw = rest
            .get(..length + 1 + usize::from(end.is_some()))?
            .to_owned();
        let mut content = Vec::new();
        string::unescape(inner.get(..length)?.as_bytes(), &mut content);
        self.at += raw.len();
        Some((content, raw))
    }

    fn string_value(&mut self, content: &[u8], raw: &str, position: &Position<'_>) {
        if position.secret {
            let hash = self.redactor.hash(content);
            self.push_quoted(&hash);
        } else if position.content == Content::Digest && content.starts_with(DIGEST_MARK.as_bytes())
        {
            let text = String::from_utf8_lossy(content);
            let shown = self.redactor.digest(&text);
            self.push_quoted(&shown);
        } else if position.content != Content::Values {
            let text = String::from_utf8_lossy(content);
            let clean = self.redactor.text(&text);
            if clean == text {
                self.out.push_str(raw);
            } else {
                self.push_quoted(&clean);
            }
        } else if cards::any(content) || ends_in_digits(raw) {
            let text = String::from_utf8_lossy(content);
            let clean = self.redactor.without_cards(&text);
            self.push_quoted(&clean);
        } else {
            self.out.push_str(raw);
        }
    }

    /// A number or a literal.
    fn bare(&mut self, position: &Position<'_>) -> Option<()> {
        let rest = self.rest();
        let length = rest
            .find(|character: char| {
                !(character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.'))
            })
            .unwrap_or(rest.len());
        let token = rest.get(..length)?.to_owned();
        let cut = rest.get(length..)?.chars().eq([CUT_MARK]);
        let word = matches!(token.as_str(), "true" | "false" | "null");
        if token.is_empty() || !(word || number::is_number(token.as_bytes()) || cut) {
            return None;
        }
        self.at += length;
        let partial_card =
            cut && token.bytes().filter(u8::is_ascii_digit).count() >= PARTIAL_CARD_DIGITS;
        // `null` says only that there is no secret, which the kind of a finding says too.
        if (position.secret && token != "null") || partial_card || cards::any(token.as_bytes()) {
            let hash = self.redactor.hash(token.as_bytes());
            self.push_quoted(&hash);
        } else {
            self.out.push_str(&token);
        }
        Some(())
    }

    fn push_quoted(&mut self, text: &str) {
        let mut quoted = Vec::with_capacity(text.len() + 2);
        string::quote(text, &mut quoted);
        self.out.push_str(&String::from_utf8_lossy(&quoted));
    }
}

/// Digits at the place where a text was cut that may be the beginning of a card number.
const PARTIAL_CARD_DIGITS: usize = 8;

/// Whether a cut text ends in what may be the beginning of a card number.
pub(super) fn ends_in_digits(text: &str) -> bool {
    text.strip_suffix(CUT_MARK)
        .is_some_and(|kept| partial_card(kept).is_some())
}

/// Where the digits begin that the text ends in, if they may be the beginning of a card number.
pub(super) fn partial_card(text: &str) -> Option<usize> {
    let tail = text
        .bytes()
        .rev()
        .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-'))
        .count();
    let digits = text
        .bytes()
        .rev()
        .take(tail)
        .filter(u8::is_ascii_digit)
        .count();
    (digits >= PARTIAL_CARD_DIGITS).then_some(text.len() - tail)
}
