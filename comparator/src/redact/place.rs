//! A place in a body: where the `mask` rules are in their trie, and whether what stands there is secret.
//!
//! The same steps lead to the place of a value that is redacted and to that of a path in a finding or group, so what is
//! hidden in the one is hidden in the other.

use parity_schemas::verdict::Part;
use smallvec::SmallVec;

use super::beside::Beside;
use super::claim::Claim;
use super::{Redactor, cards};
use crate::multipart;
use crate::notation::string;
use crate::rules::Scope;
use crate::rules::trie::START;

/// What stands at a place, where the place decides it. Only bodies that we have turned into JSON have other places than
/// [`Content::Values`], so no key of a service can pass for one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Values of the service.
    Values,
    /// The list of the parts of a multipart body; in one of a form, every part has a name.
    Parts { form: bool },
    /// One of them, and what its body claims to be.
    Part { form: bool, claim: Option<Claim> },
    /// Its header fields: the next key is the name of one.
    Headers,
    /// Its body as text, of this kind.
    Text(Claim),
    /// The hash of its body, in our words.
    Digest,
    /// The list of events.
    Events,
    /// One of them.
    Event,
}

/// See the module.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) secret: bool,
    pub(super) content: Content,
    /// What is known from members and elements beside it, or around it.
    pub(super) beside: Beside,
    nodes: SmallVec<[u32; 4]>,
}

impl Place {
    /// The whole body.
    pub(super) fn root(content: Content, redactor: &Redactor, scope: &Scope) -> Self {
        let mut nodes = Vec::new();
        redactor
            .rules
            .trie()
            .enter(START, &scope.masking, &mut nodes, 0);
        Self {
            secret: masked(&nodes, redactor, scope),
            content,
            beside: Beside::default(),
            nodes: nodes.into(),
        }
    }

    /// The same place, with what is known to stand there.
    pub(super) fn with(&self, content: Content) -> Self {
        Self {
            content,
            ..self.clone()
        }
    }

    /// The place of a member.
    pub(super) fn member(&self, key: &str, redactor: &Redactor, scope: &Scope) -> Self {
        let content = self.content_of(Some(key));
        let ours = matches!(
            self.content,
            Content::Part { .. } | Content::Event | Content::Events | Content::Parts { .. }
        );
        let hidden_header =
            self.content == Content::Headers && redactor.hides_header(Part::Header, key, scope);
        let mut place = self.step(key, key.parse().ok(), content, redactor, scope);
        place.secret |= hidden_header
            || (!ours && redactor.names.contain(key))
            // A name of a form that is no UTF-8: what it is to its reader is unknown.
            || key.contains(char::REPLACEMENT_CHARACTER);
        place
    }

    /// The place of an element.
    pub(super) fn element(&self, index: u32, redactor: &Redactor, scope: &Scope) -> Self {
        if self.nodes.is_empty() {
            return Self {
                content: self.content_of(None),
                beside: self.beside.below(),
                nodes: SmallVec::new(),
                secret: self.secret,
            };
        }
        let key = index.to_string();
        self.step(&key, Some(index), self.content_of(None), redactor, scope)
    }

    fn step(
        &self,
        key: &str,
        index: Option<u32>,
        content: Content,
        redactor: &Redactor,
        scope: &Scope,
    ) -> Self {
        let mut nodes = Vec::new();
        if !self.nodes.is_empty() {
            let (trie, reach) = (redactor.rules.trie(), &scope.masking);
            let hash = string::hash(key.as_bytes());
            for node in &self.nodes {
                trie.step_key(*node, hash, key.as_bytes(), reach, &mut nodes, 0);
                trie.step_index(*node, index, reach, &mut nodes, 0);
            }
        }
        Self {
            secret: self.secret || masked(&nodes, redactor, scope),
            content,
            beside: self.beside.below(),
            nodes: nodes.into(),
        }
    }

    fn content_of(&self, key: Option<&str>) -> Content {
        match (&self.content, key) {
            (Content::Parts { form }, None) => Content::Part {
                form: *form,
                claim: None,
            },
            (Content::Part { .. }, Some(multipart::HEADERS)) => Content::Headers,
            (Content::Part { .. }, Some(multipart::DIGEST)) => Content::Digest,
            (Content::Part { claim, .. }, Some(multipart::TEXT)) => {
                Content::Text(claim.clone().unwrap_or(Claim::Silent))
            }
            (Content::Events, None) => Content::Event,
            (Content::Event, Some("data")) => Content::Text(Claim::Silent),
            // The body of a field stands below its names.
            (content @ (Content::Text(_) | Content::Digest), Some(_)) => content.clone(),
            _ => Content::Values,
        }
    }
}

fn masked(nodes: &[u32], redactor: &Redactor, scope: &Scope) -> bool {
    let trie = redactor.rules.trie();
    nodes
        .iter()
        .any(|node| trie.met(*node, &scope.masking).next().is_some())
}

impl Redactor {
    /// A path of a body as it may be recorded: keys below a secret name, and what is secret in a key, are hashed.
    /// Where the names of a body are in doubt, all of its path is.
    pub(super) fn pointer(&self, part: Part, path: &str, doubtful: bool, scope: &Scope) -> String {
        self.rewritten(part, path, doubtful, scope, |hidden| {
            self.hash(hidden.as_bytes())
        })
    }

    /// The same of the pattern of a group: what must not leave is `*`, and so is all that stands below.
    pub(super) fn pattern(
        &self,
        part: Part,
        pattern: &str,
        doubtful: bool,
        scope: &Scope,
    ) -> String {
        self.rewritten(part, pattern, doubtful, scope, |_| "*".to_owned())
    }

    fn rewritten(
        &self,
        part: Part,
        path: &str,
        doubtful: bool,
        scope: &Scope,
        replacement: impl Fn(&str) -> String,
    ) -> String {
        if part != Part::Body {
            return cards::replace(path, &replacement).into_owned();
        }
        let mut place = Place::root(Content::Values, self, scope);
        let mut out = String::with_capacity(path.len());
        let mut segments = path.split('/');
        // Before the first slash stands nothing.
        out.push_str(segments.next().unwrap_or_default());
        let mut at = out.len();
        for segment in segments {
            out.push('/');
            at += 1;
            if place.secret || doubtful {
                out.push_str(&replacement(path.get(at..).unwrap_or(segment)));
                return out;
            }
            let key = segment.replace("~1", "/").replace("~0", "~");
            match self.key(&key) {
                Some(_) => out.push_str(&replacement(segment)),
                None => out.push_str(segment),
            }
            at += segment.len();
            place = place.member(&key, self, scope);
        }
        out
    }

    /// A key without what is secret in it; `None` when all of it may be recorded.
    pub(super) fn key(&self, key: &str) -> Option<String> {
        let clean = self.string(key);
        (clean != key).then(|| clean.into_owned())
    }
}
