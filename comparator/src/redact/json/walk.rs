//! Walks a document and finds what must be replaced.

use std::borrow::Cow;
use std::collections::HashSet;

use smallvec::SmallVec;

use super::declared::answers_within;
use super::naming::{NamedByMembers, is_named, is_query, is_variables};
use super::reading::NamedTree;
use super::replacement::{Replacement, applied};
use crate::limits::MAX_DEPTH;
use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};
use crate::notation::string;
use crate::part_keys;
use crate::redact::claim::Claim;
use crate::redact::context::{Context, Operation};
use crate::redact::hidden::HideReason;
use crate::redact::place::{Content, Place};
use crate::redact::{Redactor, cards};
use crate::rules::Scope;

impl Redactor {
    /// Redacts a string that holds JSON; `None` if it does not. The places of rules do not lead into
    /// strings, but the names that they make secret are so there.
    pub(in crate::redact) fn nested_json(&self, text: &str, depth: usize) -> Option<String> {
        self.nested_in_context(text, depth, Context::default())
    }

    /// The same for a text that is a value: the hash of a number is that text, and no JSON in it.
    pub(in crate::redact) fn nested_value(&self, text: &str, depth: usize) -> Option<String> {
        let shown = self.nested_json(text, depth)?;
        Some(without_quotes(text, shown))
    }

    /// The same for JSON that was made from YAML. If `aliased`, a secret may also occur under other names.
    pub(in crate::redact) fn nested_yaml(
        &self,
        json: &[u8],
        aliased: bool,
        depth: usize,
    ) -> Option<String> {
        let scope = Scope::default();
        let mut index = Index::default();
        index.read(json, Layout::Document, MAX_DEPTH).ok()?;
        let tree = index.tree(json);
        let root = Place::root(Content::Values, self, &scope);
        let walker = Walker::of(self, &scope, tree, depth, &root, aliased);
        Some(applied(json, &(0..json.len()), &walker.replacements))
    }

    /// The secret strings and numbers of JSON that was made from another format.
    pub(in crate::redact) fn hidden_in(
        &self,
        json: &[u8],
        aliased: bool,
        depth: usize,
    ) -> Option<Vec<String>> {
        let scope = Scope::default();
        let mut index = Index::default();
        index.read(json, Layout::Document, MAX_DEPTH).ok()?;
        let tree = index.tree(json);
        let root = Place::root(Content::Values, self, &scope);
        let mut walker = Walker::of(self, &scope, tree, depth, &root, aliased);
        let mut hidden = Vec::new();
        let mut spans = walker
            .replacements
            .iter()
            .map(|hidden| hidden.span.clone())
            .peekable();
        for node in ROOT..tree.next(ROOT) {
            let own = tree.span(node);
            while spans.next_if(|span| span.end <= own.start).is_some() {}
            let within = spans
                .peek()
                .is_some_and(|span| span.start <= own.start && own.end <= span.end);
            match tree.kind(node) {
                NodeKind::String if within => {
                    let content = tree.unescaped(node, &mut walker.reading.scratch);
                    hidden.push(String::from_utf8_lossy(content).into_owned());
                }
                NodeKind::Number if within => {
                    hidden.push(String::from_utf8_lossy(tree.raw(node)).into_owned());
                }
                _ => {}
            }
        }
        Some(hidden)
    }

    /// Redacts a string that holds JSON, in the context of what the values around it tell.
    fn nested_in_context(&self, text: &str, depth: usize, context: Context) -> Option<String> {
        /// Nesting of JSON in a string. People write only a few levels, and each of a thousand strings may hold some.
        const MAX_NESTED_DEPTH: usize = 64;
        let mut index = Index::default();
        let layout = Layout::Document;
        index.read(text.as_bytes(), layout, MAX_NESTED_DEPTH).ok()?;
        let tree = index.tree(text.as_bytes());
        let scope = Scope::default();
        let mut walker = Walker::new(self, &scope, tree, depth);
        let mut root = Place::root(Content::Values, self, &scope);
        root.context = context;
        walker.value(ROOT, &root);
        Some(applied(
            text.as_bytes(),
            &(0..text.len()),
            &walker.replacements,
        ))
    }
}

pub(super) struct Walker<'a> {
    reading: NamedTree<'a>,
    scope: &'a Scope,
    /// How many texts this one is nested in.
    depth: usize,
    pub(super) replacements: Vec<Replacement>,
    /// Scalars found under secret names.
    pub(super) secrets: HashSet<Vec<u8>>,
    /// The secrets that the first walk found.
    pub(super) known: HashSet<Vec<u8>>,
}

/// Shortest value that is taken for the same secret elsewhere; shorter values are equal by chance.
const MIN_REPEATED_BYTES: usize = 6;

impl<'a> Walker<'a> {
    fn new(redactor: &'a Redactor, scope: &'a Scope, tree: Tree<'a>, depth: usize) -> Self {
        Self {
            reading: NamedTree::new(redactor, tree),
            scope,
            depth,
            replacements: Vec::new(),
            secrets: HashSet::new(),
            known: HashSet::new(),
        }
    }

    /// A finished walk. It walks twice if values are `aliased`, so that a value under a secret name is also hidden
    /// elsewhere.
    pub(super) fn of(
        redactor: &'a Redactor,
        scope: &'a Scope,
        tree: Tree<'a>,
        depth: usize,
        root: &Place,
        aliased: bool,
    ) -> Self {
        let mut walker = Self::new(redactor, scope, tree, depth);
        walker.value(ROOT, root);
        if aliased && !walker.secrets.is_empty() {
            let known = std::mem::take(&mut walker.secrets);
            walker = Self::new(redactor, scope, tree, depth);
            walker.known = known;
            walker.value(ROOT, root);
        }
        walker
    }

    fn replace(&mut self, at: u32, with: &str) {
        let mut quoted = Vec::with_capacity(with.len() + 2);
        string::quote(with, &mut quoted);
        self.replacements.push(Replacement {
            span: self.reading.tree.span(at),
            with: String::from_utf8_lossy(&quoted).into_owned(),
        });
    }

    pub(super) fn value(&mut self, at: u32, place: &Place) {
        let kind = self.reading.tree.kind(at);
        // `null` tells only that there is no secret, which the kind of a finding tells, too.
        let scalar = matches!(kind, NodeKind::String | NodeKind::Number);
        if (place.secret && kind != NodeKind::Null) || (place.context.hides_scalars && scalar) {
            self.keep_secrets(at);
            let hash = match kind {
                NodeKind::String => {
                    let content = self.reading.tree.unescaped(at, &mut self.reading.scratch);
                    self.reading.redactor.hash(content)
                }
                NodeKind::Object | NodeKind::Array => {
                    let compact = compact(self.reading.tree.raw(at));
                    self.reading.redactor.hide(&compact, HideReason::Requested)
                }
                _ => self.reading.redactor.hash(self.reading.tree.raw(at)),
            };
            return self.replace(at, &hash);
        }
        match kind {
            NodeKind::Object => self.object(at, place),
            NodeKind::Array => self.array(at, place),
            NodeKind::String => self.string(at, place),
            NodeKind::Number => {
                let raw = String::from_utf8_lossy(self.reading.tree.raw(at));
                if cards::any(&raw) {
                    let hash = self
                        .reading
                        .redactor
                        .hash(cards::digits_of(&raw).as_bytes());
                    self.replace(at, &hash);
                } else if self.is_known(raw.as_bytes()) {
                    let hash = self.reading.redactor.hash(raw.as_bytes());
                    self.replace(at, &hash);
                }
            }
            _ => {}
        }
    }

    fn array(&mut self, at: u32, place: &Place) {
        let elements: Vec<u32> = self.reading.tree.elements(at).collect();
        let rows = self.reading.rows_below(at, &elements, &place.context);
        // What the first row says is for the rows, not for the list of them.
        let hidden = place.context.hides(at, elements.len());
        let header = place.context.is_header(at);
        let named = match place.content {
            Content::Parts { form } => self.reading.named_by_parts(&elements, form),
            _ => NamedByMembers::default(),
        };
        let after = match (&hidden, elements.as_slice()) {
            (None, _) if !header => self.reading.after_names(&elements),
            // Two names, or a name and a value that reads like one.
            (None, [_, second]) if !self.is_a_name(*second) => self.reading.after_names(&elements),
            _ => SmallVec::new(),
        };
        let given = self.reading.passwords_in_command(&elements);
        for (index, element) in (0_u32..).zip(elements) {
            let position = index as usize;
            let mut place = place.element(index, self.reading.redactor, self.scope);
            if let Some(rows) = &rows {
                place.context = rows.clone();
            }
            // If two lists are both names, either may hold the values; a name itself is no value.
            let below = hidden
                .as_ref()
                .is_some_and(|hidden| hidden.contains(&position));
            place.secret |=
                (below && !(header && self.is_a_name(element))) || after.contains(&position);
            place.secret |= given.binary_search(&position).is_ok();
            place.secret |= self.reading.is_named_part(element, named);
            self.value(element, &place);
        }
    }

    fn object(&mut self, at: u32, place: &Place) {
        let part = match place.content {
            Content::Part { form, .. } => {
                let claim = Some(self.claim_of_part(at));
                Some(place.with(Content::Part { form, claim }))
            }
            _ => None,
        };
        let nameless = match place.content {
            Content::Part { form, .. } => !self.reading.is_part_readable(at, form),
            _ => false,
        };
        let place = part.as_ref().unwrap_or(place);
        let mut named = self.reading.named_by_members(at, Some((place, self.scope)));
        let declared = self.reading.declared(at);
        named.values |= declared.values;
        let columns = self.reading.columns_of(at, &place.context);
        let operation = self.reading.operation_of(at);
        let hides_scalars = named.all || place.context.hides_scalars;
        for key in self.reading.tree.keys(at) {
            let name = self.reading.key_text(key);
            if let Some(clean) = self.reading.redactor.member_key(place, &name) {
                self.replace(key, &clean);
            }
            let names = place.names(&name, self.reading.redactor, self.scope);
            let mut member = place.member_called(&names, self.reading.redactor, self.scope);
            member.secret |= nameless && name != part_keys::HEADERS;
            for name in &names {
                member.secret |= place.context.names(name) || (named.values && is_named(name));
                member.secret |= declared.hides(name) || self.reading.is_secret_text(name, key + 1);
            }
            if let Some(columns) = &columns {
                member.context = columns.clone();
            }
            member.context.hides_scalars = (hides_scalars || member.context.hides_scalars)
                && !names
                    .iter()
                    .all(|name| self.reading.says_what_it_is(name, key + 1));
            for name in &names {
                if let Some(names) = declared.names_within(name) {
                    member.context.add_names(names);
                }
                if let Some(names) = answers_within(name) {
                    member.context = member.context.with_keys(names);
                }
                if let Some(operation) = operation.as_ref().filter(|_| is_variables(name)) {
                    member.context.add(operation);
                }
                member.secret |= matches!(operation, Some(Operation::Unreadable)) && is_query(name);
            }
            self.value(key + 1, &member);
        }
    }

    fn is_a_name(&mut self, at: u32) -> bool {
        self.reading.tree.kind(at) == NodeKind::String && {
            let text = self.reading.key_text(at);
            self.reading.redactor.secret_names.contains_exactly(&text)
        }
    }

    /// What the body of a part claims to be, according to its header fields.
    fn claim_of_part(&mut self, part: u32) -> Claim {
        let media = self
            .reading
            .fields_of_part(part)
            .find(|key| self.reading.tree.content(*key) == b"content-type");
        match media {
            None => Claim::Undeclared,
            Some(key) if self.reading.tree.kind(key + 1) == NodeKind::String => {
                Claim::of_type(&self.reading.key_text(key + 1), None)
            }
            Some(_) => Claim::Bytes,
        }
    }

    fn string(&mut self, at: u32, place: &Place) {
        let text = self.reading.key_text(at);
        let redactor = self.reading.redactor;
        let clean = match &place.content {
            Content::Digest => {
                // Written by us: the digest, and the length in parentheses.
                let (digest, length) = text.split_once(' ').unwrap_or((&text, ""));
                Cow::Owned(format!("{} {length}", redactor.hash(digest.as_bytes())))
            }
            // The boundary before another part was lost.
            Content::Text(_) if text.to_ascii_lowercase().contains("content-disposition:") => {
                Cow::Owned(redactor.hide(text.as_bytes(), HideReason::Invalid("multipart")))
            }
            Content::Text(claim) => redactor.claimed_text(claim, &text, self.depth),
            Content::Headers => redactor.string(&text),
            _ if place.context.applies_within(&text) => {
                match redactor.nested_in_context(&text, self.depth + 1, place.context.clone()) {
                    Some(shown) => Cow::Owned(without_quotes(&text, shown)),
                    None => redactor.string_at(&text, self.depth),
                }
            }
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

    /// Collects the scalars of a secret value.
    fn keep_secrets(&mut self, at: u32) {
        let end = self.reading.tree.next(at);
        let mut node = at;
        while node < end {
            let content = match self.reading.tree.kind(node) {
                NodeKind::String => self
                    .reading
                    .tree
                    .unescaped(node, &mut self.reading.scratch)
                    .to_vec(),
                NodeKind::Number => self.reading.tree.raw(node).to_vec(),
                _ => Vec::new(),
            };
            if content.len() >= MIN_REPEATED_BYTES {
                self.secrets.insert(content);
            }
            node += 1;
        }
    }
}

/// What is shown of JSON in a text, where that is a number or a word and not the text of something larger: quotes around its hash
/// would be a part of the text.
fn without_quotes(json: &str, shown: String) -> String {
    if json.trim_start().starts_with(['"', '[', '{']) {
        shown
    } else {
        shown.replace('"', "")
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
