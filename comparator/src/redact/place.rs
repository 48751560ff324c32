//! A position in a body: which nodes of the rules' trie match it for `mask` and `rename`, and whether its value is secret.
//!
//! Values and the paths of findings and groups are followed by the same steps, so what is hidden in one is hidden in
//! the other.

use parity_schemas::verdict::{Finding, Part};
use smallvec::SmallVec;

use super::Redactor;
use super::claim::Claim;
use super::context::Context;
use super::renamed::{self, Names};
use super::sessions;
use crate::notation::string;
use crate::part_keys;
use crate::rules::trie::START;
use crate::rules::{Action, Rename, Scope};

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
    /// Whether its members are named by the ids of sessions, or those of its elements.
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
            .enter(START, &scope.hiding, &mut nodes, 0);
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

    /// The names by which rules know a member that is called `key` here.
    pub(super) fn names<'a>(
        &self,
        key: &'a str,
        redactor: &'a Redactor,
        scope: &Scope,
    ) -> Names<'a> {
        let trie = redactor.rules.trie();
        let met = self
            .nodes
            .iter()
            .flat_map(|node| trie.met(*node, &scope.hiding));
        let renames: SmallVec<[&Rename; 4]> = met
            .filter_map(|rule| match &redactor.rules.get(rule).action {
                Action::Rename(rename) => Some(&**rename),
                _ => None,
            })
            .collect();
        renamed::names(key, &renames)
    }

    /// The position of an object's member.
    pub(super) fn member(&self, key: &str, redactor: &Redactor, scope: &Scope) -> Self {
        self.member_called(&self.names(key, redactor, scope), redactor, scope)
    }

    /// The position of a member that has these names, of which the first one is its own.
    pub(super) fn member_called(
        &self,
        names: &Names<'_>,
        redactor: &Redactor,
        scope: &Scope,
    ) -> Self {
        let key = names.first().copied().unwrap_or_default();
        let content = self.content_of(Some(key));
        let ours = matches!(
            self.content,
            Content::Part { .. } | Content::Event | Content::Events | Content::Parts { .. }
        );
        let hidden_header = self.content == Content::Headers
            && names
                .iter()
                .any(|name| redactor.hides_header(Part::Header, name, scope));
        let mut place = self.step(names, key.parse().ok(), content, redactor, scope);
        // In a path an element of a list is a member, too, and in a pattern without its number.
        let is_element = key == "*" || key.parse::<u32>().is_ok();
        place.of_sessions =
            (self.of_sessions && is_element) || names.iter().any(|name| sessions::are_named(name));
        place.secret |= hidden_header
            || (!ours && names.iter().any(|name| redactor.is_secret_at_its_place(name, scope)))
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
                of_sessions: self.of_sessions,
            };
        }
        let key = index.to_string();
        let content = self.content_of(None);
        let place = self.step(&[key.as_str()], Some(index), content, redactor, scope);
        Self {
            of_sessions: self.of_sessions,
            ..place
        }
    }

    fn step(
        &self,
        names: &[&str],
        index: Option<u32>,
        content: Content,
        redactor: &Redactor,
        scope: &Scope,
    ) -> Self {
        let mut nodes = Vec::new();
        if !self.nodes.is_empty() {
            let (trie, reach) = (redactor.rules.trie(), &scope.hiding);
            for key in names {
                let hash = string::hash(key.as_bytes());
                for node in &self.nodes {
                    trie.step_key(*node, hash, key.as_bytes(), reach, &mut nodes, 0);
                }
            }
            for node in &self.nodes {
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
            (Content::Part { .. }, Some(part_keys::HEADERS)) => Content::Headers,
            (Content::Part { .. }, Some(part_keys::DIGEST)) => Content::Digest,
            (Content::Part { claim, .. }, Some(part_keys::TEXT)) => {
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

/// The key that a step of a path names.
fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

fn masked(nodes: &[u32], redactor: &Redactor, scope: &Scope) -> bool {
    let trie = redactor.rules.trie();
    let mut met = nodes.iter().flat_map(|node| trie.met(*node, &scope.hiding));
    met.any(|rule| matches!(redactor.rules.get(rule).action, Action::Mask))
}

impl Redactor {
    /// The path of a body as it may be recorded: secrets in keys, and everything below a secret name, are hashed. If
    /// `doubtful`, the whole path is.
    pub(super) fn pointer(&self, part: Part, path: &str, doubtful: bool, scope: &Scope) -> String {
        self.rewritten(part, [path, path], doubtful, scope, |hidden| {
            self.hash(hidden.as_bytes())
        })
    }

    /// The same for the pattern of a group, where a secret and everything below it becomes `*`. A pattern may have `*` in place
    /// of the name that is secret, so the path of a finding tells, too.
    pub(super) fn pattern(&self, finding: &Finding, doubtful: bool, scope: &Scope) -> String {
        let both = [&*finding.pattern, &*finding.path];
        self.rewritten(finding.part, both, doubtful, scope, |_| "*".to_owned())
    }

    /// The path with its secrets replaced. Its steps are those of `followed`, which may have other names for them.
    fn rewritten(
        &self,
        part: Part,
        [path, followed]: [&str; 2],
        doubtful: bool,
        scope: &Scope,
        replacement: impl Fn(&str) -> String,
    ) -> String {
        if part != Part::Body {
            return self.field_path(path, &replacement);
        }
        let root = || Place::root(Content::Values, self, scope);
        let mut place = root();
        let mut other = (path != followed).then(|| (root(), followed.split('/').skip(1)));
        let mut out = String::with_capacity(path.len());
        let mut segments = path.split('/');
        // Nothing comes before the first slash.
        out.push_str(segments.next().unwrap_or_default());
        let mut at = out.len();
        for segment in segments {
            out.push('/');
            at += 1;
            if place.secret || doubtful || other.as_ref().is_some_and(|(other, _)| other.secret) {
                out.push_str(&replacement(path.get(at..).unwrap_or(segment)));
                return out;
            }
            let key = unescaped(segment);
            let of_other = other
                .as_ref()
                .and_then(|(other, _)| self.member_key(other, &key));
            match self.member_key(&place, &key).or(of_other) {
                Some(_) => out.push_str(&replacement(segment)),
                None => out.push_str(segment),
            }
            at += segment.len();
            place = place.member(&key, self, scope);
            if let Some((other, steps)) = &mut other {
                // What was cut has fewer steps.
                let step = steps.next().map_or(key, unescaped);
                *other = other.member(&step, self, scope);
            }
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
