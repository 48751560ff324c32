//! JSON, redacted in its text: values that must go are replaced where they stand, the rest stays as received, number
//! text, escapes and white space included.
//!
//! Replacements are kept beside the text, so the value that a finding points to is cut out of the same redaction that
//! the sample shows. A container under a secret name goes whole: its keys, its length and its shape may say as much as
//! its values.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::claim::Claim;
use super::hidden::Why;
use super::place::{Content, Place};
use super::{Redactor, cards};
use crate::json::index::{Index, Layout, NodeKind, ROOT, Tree};
use crate::json::string;
use crate::limits::MAX_DEPTH;
use crate::multipart;
use crate::rules::Scope;

/// Members that say the name of a value beside them: `{"name": "password", "value": …}`.
const NAMING: [&str; 12] = [
    "name",
    "key",
    "field",
    "id",
    "type",
    "label",
    "property",
    "attribute",
    "param",
    "parameter",
    "header",
    "k",
];
/// Members that hold the value that is named so.
const NAMED: [&str; 12] = [
    "value", "values", "val", "v", "content", "text", "data", "default", "string", "old", "new",
    "body",
];

/// What stands for a span of the text.
struct Replacement {
    span: Range<usize>,
    with: String,
}

/// JSON as it may be recorded.
pub(super) struct Document {
    original: Vec<u8>,
    index: Index,
    /// Apart from each other, in order.
    replacements: Vec<Replacement>,
    text: String,
}

/// A value of a document, as it may be recorded.
pub(super) enum Found<'a> {
    /// Its text.
    Shown(String),
    /// Something around it is hidden; its own bytes.
    Hidden(Cow<'a, [u8]>),
}

impl Document {
    /// `text` back when it is not JSON, or nested too deep. In an `aliased` one a secret may stand under other names,
    /// too.
    pub(super) fn read(
        redactor: &Redactor,
        text: Vec<u8>,
        layout: Layout,
        content: Content,
        aliased: bool,
        scope: &Scope,
    ) -> Result<Self, Vec<u8>> {
        let mut index = Index::default();
        if index.read(&text, layout, MAX_DEPTH).is_err() {
            return Err(text);
        }
        let tree = index.tree(&text);
        let mut walker = Walker::new(redactor, scope, tree, 0);
        let root = Place::root(content, redactor, scope);
        walker.value(ROOT, &root);
        if aliased && !walker.secrets.is_empty() {
            let known = std::mem::take(&mut walker.secrets);
            walker = Walker::new(redactor, scope, tree, 0);
            walker.known = known;
            walker.value(ROOT, &root);
        }
        let replacements = walker.replacements;
        let whole = 0..text.len();
        let shown = applied(&text, &whole, &replacements);
        Ok(Self {
            original: text,
            index,
            replacements,
            text: shown,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value, or the values of a repeated key, that a JSON Pointer leads to; `None` where it leads nowhere, or to
    /// more than one place.
    pub(super) fn find(&self, pointer: &str) -> Option<Found<'_>> {
        let tree = self.index.tree(&self.original);
        let mut at = vec![ROOT];
        for segment in pointer.split('/').skip(1) {
            let [only] = at.as_slice() else {
                return None;
            };
            at = children(tree, *only, segment);
        }
        let spans: Vec<Range<usize>> = at.iter().map(|at| tree.span(*at)).collect();
        let (first, last) = (spans.first()?, spans.last()?);
        let around = |span: &Range<usize>| {
            self.replacements.iter().any(|replacement| {
                let over = &replacement.span;
                over.start <= span.start && span.end <= over.end && over != span
            })
        };
        if spans.iter().any(around) {
            let bytes = match at.as_slice() {
                [only] => Cow::Borrowed(tree.raw(*only)),
                _ => Cow::Owned(self.original.get(first.start..last.end)?.to_vec()),
            };
            return Some(Found::Hidden(bytes));
        }
        let texts: Vec<String> = spans
            .iter()
            .map(|span| applied(&self.original, span, &self.replacements))
            .collect();
        Some(Found::Shown(texts.join(", ")))
    }
}

/// The values that a segment of a path leads to.
fn children(tree: Tree<'_>, at: u32, segment: &str) -> Vec<u32> {
    match tree.kind(at) {
        NodeKind::Array => {
            let index = segment.parse().ok();
            let element = index.and_then(|index| tree.elements(at).nth(index));
            element.into_iter().collect()
        }
        NodeKind::Object => {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let mut scratch = Vec::new();
            tree.keys(at)
                .filter(|key| {
                    let content = tree.unescaped(*key, &mut scratch);
                    content == name.as_bytes() || String::from_utf8_lossy(content) == name
                })
                .map(|key| key + 1)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The text of a span with what stands for parts of it.
fn applied(text: &[u8], span: &Range<usize>, replacements: &[Replacement]) -> String {
    let mut out = String::with_capacity(span.len());
    let mut at = span.start;
    let copy = |out: &mut String, range: Range<usize>| {
        out.push_str(&String::from_utf8_lossy(
            text.get(range).unwrap_or_default(),
        ));
    };
    let first = replacements.partition_point(|replacement| replacement.span.end <= span.start);
    for replacement in replacements.get(first..).unwrap_or_default() {
        if replacement.span.start >= span.end {
            break;
        }
        copy(&mut out, at..replacement.span.start);
        out.push_str(&replacement.with);
        at = replacement.span.end;
    }
    copy(&mut out, at..span.end.max(at));
    out
}

impl Redactor {
    /// A JSON text within a string; `None` when it is none. A `mask` rule does not lead into a string.
    pub(super) fn nested_json(&self, text: &str, depth: usize) -> Option<String> {
        /// Levels of such a text: what is written by hand has a few, and each of a thousand strings may be one.
        const MAX_NESTED_DEPTH: usize = 64;
        let mut index = Index::default();
        let layout = Layout::Document;
        index.read(text.as_bytes(), layout, MAX_NESTED_DEPTH).ok()?;
        let tree = index.tree(text.as_bytes());
        let scope = Scope::default();
        let mut walker = Walker::new(self, &scope, tree, depth);
        walker.value(ROOT, &Place::root(Content::Values, self, &scope));
        Some(applied(
            text.as_bytes(),
            &(0..text.len()),
            &walker.replacements,
        ))
    }
}

struct Walker<'a> {
    redactor: &'a Redactor,
    scope: &'a Scope,
    tree: Tree<'a>,
    /// Texts within texts that lead here.
    depth: usize,
    replacements: Vec<Replacement>,
    /// Scalars that stand under secret names.
    secrets: HashSet<Vec<u8>>,
    /// Those of the first walk.
    known: HashSet<Vec<u8>>,
    scratch: Vec<u8>,
}

/// Shortest value that is taken for the same secret in another place: shorter ones are equal by chance.
const MIN_REPEATED_BYTES: usize = 6;

impl<'a> Walker<'a> {
    fn new(redactor: &'a Redactor, scope: &'a Scope, tree: Tree<'a>, depth: usize) -> Self {
        Self {
            redactor,
            scope,
            tree,
            depth,
            replacements: Vec::new(),
            secrets: HashSet::new(),
            known: HashSet::new(),
            scratch: Vec::new(),
        }
    }

    fn replace(&mut self, at: u32, with: &str) {
        let mut quoted = Vec::with_capacity(with.len() + 2);
        string::quote(with, &mut quoted);
        self.replacements.push(Replacement {
            span: self.tree.span(at),
            with: String::from_utf8_lossy(&quoted).into_owned(),
        });
    }

    fn value(&mut self, at: u32, place: &Place) {
        let kind = self.tree.kind(at);
        // `null` says only that there is no secret, which the kind of a finding says too.
        if place.secret && kind != NodeKind::Null {
            self.keep_secrets(at);
            let hash = match kind {
                NodeKind::String => {
                    let content = self.tree.unescaped(at, &mut self.scratch);
                    self.redactor.hash(content)
                }
                NodeKind::Object | NodeKind::Array => {
                    let compact = compact(self.tree.raw(at));
                    self.redactor.hide(&compact, Why::Asked)
                }
                _ => self.redactor.hash(self.tree.raw(at)),
            };
            return self.replace(at, &hash);
        }
        match kind {
            NodeKind::Object => self.object(at, place),
            NodeKind::Array => {
                for (index, element) in (0_u32..).zip(self.tree.elements(at)) {
                    let place = place.element(index, self.redactor, self.scope);
                    self.value(element, &place);
                }
            }
            NodeKind::String => self.string(at, place),
            NodeKind::Number => {
                let raw = String::from_utf8_lossy(self.tree.raw(at));
                if cards::any(&raw) {
                    let hash = self.redactor.hash(cards::digits_of(&raw).as_bytes());
                    self.replace(at, &hash);
                } else if self.is_known(raw.as_bytes()) {
                    let hash = self.redactor.hash(raw.as_bytes());
                    self.replace(at, &hash);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, at: u32, place: &Place) {
        let named = self.names_a_secret(at);
        let part = match place.content {
            Content::Part(_) => {
                let content = Content::Part(Some(self.claim_of_part(at)));
                Some(place.with(content))
            }
            _ => None,
        };
        let place = part.as_ref().unwrap_or(place);
        for key in self.tree.keys(at) {
            let name = self.key_text(key);
            if let Some(clean) = self.redactor.key(&name) {
                self.replace(key, &clean);
            }
            let mut member = place.member(&name, self.redactor, self.scope);
            if named && NAMED.iter().any(|word| name.eq_ignore_ascii_case(word)) {
                member.secret = true;
            }
            self.value(key + 1, &member);
        }
    }

    fn key_text(&mut self, key: u32) -> String {
        let content = self.tree.unescaped(key, &mut self.scratch);
        String::from_utf8_lossy(content).into_owned()
    }

    /// Whether a member of an object says that the value beside it is secret.
    fn names_a_secret(&mut self, object: u32) -> bool {
        for key in self.tree.keys(object) {
            if self.tree.kind(key + 1) != NodeKind::String {
                continue;
            }
            let name = self.tree.content(key);
            let naming = NAMING
                .iter()
                .any(|word| name.eq_ignore_ascii_case(word.as_bytes()));
            if naming && self.redactor.names.contain(&self.key_text(key + 1)) {
                return true;
            }
        }
        false
    }

    /// What the body of a part of a multipart body claims to be, by its header fields.
    fn claim_of_part(&mut self, part: u32) -> Claim {
        let headers = self
            .tree
            .keys(part)
            .find(|key| self.tree.content(*key) == multipart::HEADERS.as_bytes());
        let Some(headers) = headers.filter(|key| self.tree.kind(key + 1) == NodeKind::Object)
        else {
            return Claim::Silent;
        };
        let media = self
            .tree
            .keys(headers + 1)
            .find(|key| self.tree.content(*key) == b"content-type");
        match media {
            None => Claim::Silent,
            Some(key) if self.tree.kind(key + 1) == NodeKind::String => {
                Claim::of_type(&self.key_text(key + 1), None)
            }
            Some(_) => Claim::Bytes,
        }
    }

    fn string(&mut self, at: u32, place: &Place) {
        let text = self.key_text(at);
        let redactor = self.redactor;
        let clean = match &place.content {
            Content::Digest => {
                // In our words: the digest, and the length in parentheses.
                let (digest, length) = text.split_once(' ').unwrap_or((&text, ""));
                Cow::Owned(format!("{} {length}", redactor.hash(digest.as_bytes())))
            }
            Content::Text(claim) => redactor.claimed_text(claim, &text, self.depth),
            Content::Headers => redactor.string(&text),
            _ if self.is_known(text.as_bytes()) => Cow::Owned(redactor.hash(text.as_bytes())),
            _ => redactor.string_at(&text, self.depth),
        };
        if clean != text {
            let clean = clean.into_owned();
            self.replace(at, &clean);
        }
    }

    fn is_known(&self, content: &[u8]) -> bool {
        !self.known.is_empty() && self.known.contains(content)
    }

    /// Takes down the scalars of a value that is secret.
    fn keep_secrets(&mut self, at: u32) {
        let end = self.tree.next(at);
        let mut node = at;
        while node < end {
            let content = match self.tree.kind(node) {
                NodeKind::String => self.tree.unescaped(node, &mut self.scratch).to_vec(),
                NodeKind::Number => self.tree.raw(node).to_vec(),
                _ => Vec::new(),
            };
            if content.len() >= MIN_REPEATED_BYTES {
                self.secrets.insert(content);
            }
            node += 1;
        }
    }
}

/// JSON without the white space between its tokens.
fn compact(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let (mut quoted, mut escaped) = (false, false);
    for byte in raw {
        if quoted || !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            out.push(*byte);
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
    }
    out
}
