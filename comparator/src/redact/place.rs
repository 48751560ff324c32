//! A position in a body: which nodes of the rules' trie match it for `mask`, and whether its value is secret.
//!
//! Values and the paths of findings and groups are followed by the same steps, so what is hidden in one is hidden in
//! the other.

use parity_schemas::verdict::Part;
use smallvec::SmallVec;

use super::claim::Claim;
use super::context::Context;
use super::sessions;
use super::{Redactor, cards};
use crate::multipart;
use crate::notation::string;
use crate::rules::Scope;
use crate::rules::trie::START;

/// What a position holds, if that follows from the position. Only bodies that we turned into JSON have anything but
/// [`Content::Values`], so a service's key can never pass for one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Values that the service sent.
    Values,
    /// The list of the parts of a multipart body. In a form, every part has a name.
    Parts { form: bool },
    /// One part, and what its body claims to be.
    Part { form: bool, claim: Option<Claim> },
    /// The header fields of a part: the next key is a field name.
    Headers,
    /// The body of a part as text of this kind.
    Text(Claim),
    /// The hash of the body of a part, as we write it.
    Digest,
    /// The list of events.
    Events,
    /// One event.
    Event,
}

/// A position in a body.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) secret: bool,
    /// Whether its members are named by the ids of sessions.
    pub(super) of_sessions: bool,
    pub(super) content: Content,
    /// What the members and elements around it tell about it.
    pub(super) context: Context,
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
            of_sessions: false,
            content,
            context: Context::default(),
            nodes: nodes.into(),
        }
    }

    /// The same position with other content.
    pub(super) fn with(&self, content: Content) -> Self {
        Self {
            content,
            ..self.clone()
        }
    }

    /// The position of an object's member.
    pub(super) fn member(&self, key: &str, redactor: &Redactor, scope: &Scope) -> Self {
        let content = self.content_of(Some(key));
        let ours = matches!(
            self.content,
            Content::Part { .. } | Content::Event | Content::Events | Content::Parts { .. }
        );
        let hidden_header =
            self.content == Content::Headers && redactor.hides_header(Part::Header, key, scope);
        let mut place = self.step(key, key.parse().ok(), content, redactor, scope);
        place.of_sessions = sessions::are_named(key);
        place.secret |= hidden_header
            || (!ours && redactor.secret_names.contains(key))
            // A form field's name that is not UTF-8: its reader may see a secret name.
            || key.contains(char::REPLACEMENT_CHARACTER);
        place
    }

    /// The position of an array's element.
    pub(super) fn element(&self, index: u32, redactor: &Redactor, scope: &Scope) -> Self {
        if self.nodes.is_empty() {
            return Self {
                content: self.content_of(None),
                context: self.context.below(),
                nodes: SmallVec::new(),
                secret: self.secret,
                of_sessions: false,
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
            of_sessions: false,
            content,
            context: self.context.below(),
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
                Content::Text(claim.clone().unwrap_or(Claim::Undeclared))
            }
            (Content::Events, None) => Content::Event,
            (Content::Event, Some("data")) => Content::Text(Claim::Undeclared),
            // The body of a form field is nested in its names.
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
    /// The path of a body as it may be recorded: secrets in keys, and everything below a secret name, are hashed. If
    /// `doubtful`, the whole path is.
    pub(super) fn pointer(&self, part: Part, path: &str, doubtful: bool, scope: &Scope) -> String {
        self.rewritten(part, path, doubtful, scope, |hidden| {
            self.hash(hidden.as_bytes())
        })
    }

    /// The same for the pattern of a group, where a secret and everything below it becomes `*`.
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
        // Nothing comes before the first slash.
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
            match self.member_key(&place, &key) {
                Some(_) => out.push_str(&replacement(segment)),
                None => out.push_str(segment),
            }
            at += segment.len();
            place = place.member(&key, self, scope);
        }
        out
    }

    /// The name of a member of a place with its secrets replaced; `None` if it may be recorded as it is.
    pub(super) fn member_key(&self, place: &Place, key: &str) -> Option<String> {
        if place.of_sessions && sessions::is_id(key) {
            return Some(self.hash(key.as_bytes()));
        }
        self.key(key)
    }

    /// The key with its secrets replaced; `None` if it may be recorded as it is.
    pub(super) fn key(&self, key: &str) -> Option<String> {
        let clean = self.string(key);
        (clean != key).then(|| clean.into_owned())
    }
}
