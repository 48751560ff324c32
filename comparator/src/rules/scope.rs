//! The rules that apply to one route at one time. A comparison asks for them once, and never looks at the others.

use std::sync::Arc;

use parity_schemas::route::{means, split_operation};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};

use super::Rules;
use super::action::Action;
use super::trie::{Reach, START};
use crate::notation::string;

impl Rules {
    /// The rules that apply to a route (`None` when there is none) at a time.
    pub(crate) fn scope(&self, route: Option<&str>, time: Timestamp) -> Scope {
        let mut scope = Scope {
            graphql: route.is_some_and(|label| split_operation(label).is_some()),
            ..Scope::default()
        };
        for (index, rule) in self.all.iter().enumerate() {
            if let Some(own) = rule.route.as_deref()
                && !route.is_some_and(|label| means(own, label))
            {
                continue;
            }
            if let Some(expires) = rule.expires {
                if expires <= time {
                    scope.valid_from = scope.valid_from.max(expires);
                    continue;
                }
                scope.valid_until = scope.valid_until.min(expires);
            }
            let list = match (&rule.action, rule.part) {
                (Action::Mask, _) => &mut scope.masks,
                (_, Part::Status) => &mut scope.status,
                (_, Part::Header) => &mut scope.header,
                (_, Part::Trailer) => &mut scope.trailer,
                (_, Part::Body) => &mut scope.body,
            };
            list.push(index as u16);
        }
        for index in scope.body.iter().copied() {
            let action = &self.get(index).action;
            scope.deciding.insert(index, &self.trie);
            if matches!(action, Action::Ignore) && self.get(index).pattern.covers_root() {
                scope.ignores_body.get_or_insert(index);
            }
            if let Action::Accept(explanations, _) = action {
                scope.members.renames |= explanations.contains(Explanation::Renamed);
                scope.members.absences |= explanations.of_absence();
            }
            if matches!(action, Action::Rename(_)) {
                scope.members.renaming = true;
                scope.hiding.insert(index, &self.trie);
            }
        }
        for index in scope.masks.iter().copied() {
            if self.get(index).part == Part::Body {
                scope.hiding.insert(index, &self.trie);
            }
        }
        scope
    }
}

/// What the rules of a route say of the members of objects, so that objects are looked at in another way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfMembers {
    /// A rule accepts a member under another name.
    pub(crate) renames: bool,
    /// A rule says that the candidate has a member under another name.
    pub(crate) renaming: bool,
    /// A rule accepts that one side lacks a member.
    pub(crate) absences: bool,
}

/// The rules that apply to one route for a span of time, by part, in the order of the configuration. Rules are named by
/// their position.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) status: Vec<u16>,
    pub(crate) header: Vec<u16>,
    pub(crate) trailer: Vec<u16>,
    pub(crate) body: Vec<u16>,
    /// Of every part: they decide nothing.
    pub(crate) masks: Vec<u16>,
    /// Where in the trie the rules of `body` are.
    pub(crate) deciding: Reach,
    /// Where in the trie those are that say what of a body is hidden: the ones of `masks` that are for bodies, and those by which
    /// one thing has two names.
    pub(crate) hiding: Reach,
    /// The first rule that ignores the whole body.
    pub(crate) ignores_body: Option<u16>,
    /// The route is an operation of GraphQL.
    pub(crate) graphql: bool,
    /// What rules say of the members of objects.
    pub(crate) members: OfMembers,
    /// In this span no rule begins or ceases to apply.
    valid_from: Timestamp,
    valid_until: Timestamp,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            status: Vec::new(),
            header: Vec::new(),
            trailer: Vec::new(),
            body: Vec::new(),
            masks: Vec::new(),
            deciding: Reach::default(),
            hiding: Reach::default(),
            ignores_body: None,
            graphql: false,
            members: OfMembers::default(),
            valid_from: Timestamp::from_micros(i64::MIN),
            valid_until: Timestamp::from_micros(i64::MAX),
        }
    }
}

impl Scope {
    /// The first rule for the whole body that accepts how two bodies differ. `explain` is only asked if there is a rule
    /// that accepts anything.
    pub(crate) fn accepting(
        &self,
        rules: &Rules,
        explain: impl FnOnce() -> Option<Explanation>,
    ) -> Option<u16> {
        let accepted = |index: u16| match rules.get(index) {
            rule if !rule.pattern.covers_root() => None,
            rule => match rule.action {
                Action::Accept(set, None | Some(Kind::Value)) => Some((index, set)),
                _ => None,
            },
        };
        let mut accepting = self.body.iter().copied().filter_map(accepted).peekable();
        accepting.peek()?;
        let explanation = explain()?;
        accepting
            .find(|(_, set)| set.contains(explanation))
            .map(|(index, _)| index)
    }

    /// The rules for parts of a whole body that is a text.
    pub(crate) fn in_text<'r>(
        &'r self,
        rules: &'r Rules,
    ) -> impl Iterator<Item = (u16, &'r Action)> {
        let of = |index: u16| Some((index, rules.get(index))).filter(|(_, rule)| rule.is_in_text());
        let indices = self.body.iter().copied();
        indices
            .filter_map(of)
            .map(|(index, rule)| (index, &rule.action))
    }

    /// The rules that rename columns, which are the members of each element of a list, with the old and the new names.
    pub(crate) fn renamed_in_rows<'r>(&self, rules: &'r Rules) -> Vec<(u16, [&'r str; 2])> {
        self.renamed_in_element(None, &[], rules)
    }

    /// The rules that rename members of an element of the list that a body is, or of what has one of these keys there.
    pub(crate) fn renamed_in_element<'r>(
        &self,
        index: Option<u32>,
        keys: &[&str],
        rules: &'r Rules,
    ) -> Vec<(u16, [&'r str; 2])> {
        if !self.members.renaming {
            return Vec::new();
        }
        let trie = rules.trie();
        let (mut body, mut holders) = (Vec::new(), Vec::new());
        trie.enter(START, &self.deciding, &mut body, 0);
        for node in body {
            trie.step_index(node, index, &self.deciding, &mut holders, 0);
        }
        if !keys.is_empty() {
            let mut below = Vec::new();
            for node in holders {
                for key in keys {
                    let hash = string::hash(key.as_bytes());
                    trie.step_key(node, hash, key.as_bytes(), &self.deciding, &mut below, 0);
                }
            }
            holders = below;
        }
        let met = holders
            .iter()
            .flat_map(|node| trie.met(*node, &self.deciding));
        let renames = met.filter_map(|rule| match &rules.get(rule).action {
            Action::Rename(rename) => Some((rule, [&*rename.from, &*rename.to])),
            _ => None,
        });
        let mut renames: Vec<_> = renames.collect();
        renames.sort_unstable();
        renames
    }

    /// Whether the same rules apply at `time` as at the time that it was made for.
    fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from <= time && time < self.valid_until
    }
}

/// Scopes kept ready by route. Each comparing thread has its own.
#[derive(Default)]
pub(crate) struct ScopeCache {
    scopes: hashbrown::HashMap<Box<str>, Arc<Scope>, foldhash::fast::RandomState>,
}

/// Routes with a scope kept ready: more than a service has. With one more, all of them are made anew, so that random
/// paths cannot fill the memory.
const MAX_CACHED_ROUTES: usize = 4_096;

impl ScopeCache {
    pub(crate) fn get(&mut self, rules: &Rules, route: &str, time: Timestamp) -> Arc<Scope> {
        if let Some(scope) = self.scopes.get(route)
            && scope.holds_at(time)
        {
            return Arc::clone(scope);
        }
        let scope = Arc::new(rules.scope(Some(route), time));
        if self.scopes.len() >= MAX_CACHED_ROUTES {
            self.scopes.clear();
        }
        self.scopes.insert(route.into(), Arc::clone(&scope));
        scope
    }
}
