//! The walk over two indexed documents.
//!
//! One walk serves three purposes: the first pass (is there any finding, and how often did rules excuse a difference?),
//! the second pass over a pair that differs (details), and *probes*, which ask whether two elements are equal during
//! alignment and record nothing. Recursion follows nesting, which the index has already limited.

use std::ops::ControlFlow;

use parity_schemas::verdict::{EqualByDefault, Explanation, Kind, Why};
use smallvec::SmallVec;

use super::keys::KeyGroup;
use super::moved::{self, Lone};
use super::path::{Origin, Step};
use super::scalar::Scalar;
use crate::collect::{Collector, Flow};
use crate::explain;
use crate::notation::index::{Index, IndexError, Layout, NodeKind, ROOT, Tree};
use crate::notation::number;
use crate::notation::string;
use crate::rules::trie::START;
use crate::rules::{Action, Rules, Scope};
use crate::yaml;

/// Largest containers that are compared as bytes before they are walked. Larger ones are not, so that a difference at
/// the end of a deep document is not searched for again at every level.
const MAX_COMPARED_BYTES: usize = 4_096;

/// Steps of the work budget that the search for an explanation costs, besides one for each byte.
const EXPLAINING: u64 = 16;

/// Memory that is kept from one comparison to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    legacy: Index,
    candidate: Index,
    nodes: Vec<u32>,
    steps: Vec<Step>,
    pub(super) indices: Vec<u32>,
    groups: Vec<KeyGroup>,
    texts: [Vec<u8>; 2],
    key: Vec<u8>,
}

impl Scratch {
    /// Whether a text is valid JSON within the limits.
    pub(crate) fn is_json(&mut self, text: &[u8], depth: usize) -> bool {
        self.legacy.read(text, Layout::Document, depth).is_ok()
    }

    /// What the walk of a single document needs: an index, the nodes of the rules, and a buffer for a key.
    pub(super) fn for_one(&mut self) -> (&mut Index, &mut Vec<u32>, &mut Vec<u8>) {
        (&mut self.legacy, &mut self.nodes, &mut self.key)
    }
}

/// The result for two texts that claim to be JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Both are JSON and were compared.
    Compared(Flow),
    /// At least one is not JSON; these are the errors.
    Invalid {
        legacy: Option<IndexError>,
        candidate: Option<IndexError>,
    },
}

/// Compares two texts by the rules for bodies in `scope`.
pub(crate) fn compare(
    legacy: &[u8],
    candidate: &[u8],
    layout: Layout,
    scope: &Scope,
    out: &mut Collector<'_>,
    scratch: &mut Scratch,
) -> Outcome {
    let depth = out.limits.honoured_depth();
    let (legacy, candidate) = match (
        scratch.legacy.read(legacy, layout, depth),
        scratch.candidate.read(candidate, layout, depth),
    ) {
        (Ok(legacy), Ok(candidate)) => (legacy, candidate),
        (legacy, candidate) => {
            return Outcome::Invalid {
                legacy: legacy.err(),
                candidate: candidate.err(),
            };
        }
    };
    scratch.nodes.clear();
    scratch.steps.clear();
    scratch.indices.clear();
    scratch.groups.clear();
    let trie = out.rules.trie();
    trie.enter(START, &scope.deciding, &mut scratch.nodes, 0);
    let frame = Frame {
        from: 0,
        to: scratch.nodes.len(),
    };
    let mut walk = Walk {
        legacy,
        candidate,
        budgets: [out.limits.work; 2],
        reading: false,
        exact: false,
        out,
        scope,
        nodes: &mut scratch.nodes,
        steps: &mut scratch.steps,
        indices: &mut scratch.indices,
        groups: &mut scratch.groups,
        texts: &mut scratch.texts,
        key: &mut scratch.key,
        probes: 0,
        lone: Vec::new(),
    };
    if walk.same_text(ROOT, ROOT) {
        return Outcome::Compared(Flow::Continue(()));
    }
    let flow = walk.values(ROOT, ROOT, frame);
    let lone = std::mem::take(&mut walk.lone);
    moved::explain([legacy, candidate], &lone, &mut out.findings);
    Outcome::Compared(flow)
}

/// The nodes of the rules' trie that the walk has reached at one value: a range of [`Walk::nodes`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    from: usize,
    to: usize,
}

impl Frame {
    pub(super) fn is_empty(self) -> bool {
        self.from == self.to
    }
}

/// The rules whose patterns match one value, by what they do there.
#[derive(Default)]
pub(super) struct MatchedRules {
    pub(super) ignore: Option<u16>,
    pub(super) unordered: Option<u16>,
    pub(super) key: Option<u16>,
    /// Those that say which members of it have another name.
    pub(super) renames: SmallVec<[u16; 2]>,
    /// Tolerances, types and accepted explanations, in the order of the configuration.
    pub(super) scalar: SmallVec<[u16; 16]>,
}

/// The rules whose patterns end at one of these nodes.
pub(super) fn matched_rules(rules: &Rules, scope: &Scope, nodes: &[u32]) -> MatchedRules {
    let mut matched = MatchedRules::default();
    let trie = rules.trie();
    for node in nodes {
        for rule in trie.met(*node, &scope.deciding) {
            let slot = match rules.get(rule).action {
                Action::Ignore => &mut matched.ignore,
                Action::Unordered => &mut matched.unordered,
                Action::Key(_) => &mut matched.key,
                Action::Mask | Action::InText(_) => continue,
                Action::Rename(_) => {
                    matched.renames.push(rule);
                    continue;
                }
                _ => {
                    matched.scalar.push(rule);
                    continue;
                }
            };
            // Of several rules, the first in the configuration applies.
            *slot = Some(slot.map_or(rule, |known| known.min(rule)));
        }
    }
    matched.scalar.sort_unstable();
    matched.renames.sort_unstable();
    matched
}

pub(super) struct Walk<'w, 'c> {
    pub(super) legacy: Tree<'w>,
    pub(super) candidate: Tree<'w>,
    pub(super) out: &'w mut Collector<'c>,
    pub(super) scope: &'w Scope,
    nodes: &'w mut Vec<u32>,
    pub(super) steps: &'w mut Vec<Step>,
    pub(super) indices: &'w mut Vec<u32>,
    pub(super) groups: &'w mut Vec<KeyGroup>,
    texts: &'w mut [Vec<u8>; 2],
    /// Buffer for a key with escapes.
    key: &'w mut Vec<u8>,
    /// Number of nested probes; nothing is recorded while there are any.
    pub(super) probes: usize,
    /// Steps left for the verdict, and for what only makes it readable. They are separate, because a verdict must not
    /// depend on whether somebody wants the details.
    budgets: [u64; 2],
    /// Whether elements are being aligned for a reader.
    pub(super) reading: bool,
    /// Whether values are hashed as if no rule made different values equal.
    pub(super) exact: bool,
    /// The values that only one side has, of those that are findings with details.
    pub(super) lone: Vec<Lone>,
}

impl<'w> Walk<'w, '_> {
    pub(super) fn tree(&self, side: Origin) -> Tree<'w> {
        match side {
            Origin::Legacy => self.legacy,
            Origin::Candidate => self.candidate,
        }
    }

    /// Whether paths, values and alignment are wanted here.
    pub(super) fn detailed(&self) -> bool {
        self.out.detail && self.probes == 0
    }

    /// Takes `steps` from the current budget; false once it is spent.
    pub(super) fn spend(&mut self, steps: u64) -> bool {
        let budget = &mut self.budgets[usize::from(self.reading)];
        *budget = budget.saturating_sub(steps);
        *budget > 0
    }

    pub(super) fn is_spent(&self) -> bool {
        self.budgets[usize::from(self.reading)] == 0
    }

    /// Whether elements can still be aligned for a reader.
    pub(super) fn can_read(&self) -> bool {
        self.budgets[1] > 0
    }

    /// Marks the budget of the verdict as spent, because the next step cannot fit. The budget for a reader stays: the
    /// next array may fit it.
    pub(super) fn cannot_decide(&mut self) {
        if !self.reading {
            self.spend(u64::MAX);
        }
    }

    /// Whether two values are the same text and so equal whatever the rules say.
    #[inline]
    pub(super) fn same_text(&self, legacy: u32, candidate: u32) -> bool {
        let kind = self.legacy.kind(legacy);
        if kind != self.candidate.kind(candidate) {
            return false;
        }
        let (one, two) = (
            self.legacy.content(legacy),
            self.candidate.content(candidate),
        );
        let cheap =
            one.len() <= MAX_COMPARED_BYTES || !matches!(kind, NodeKind::Array | NodeKind::Object);
        one.len() == two.len() && cheap && one == two
    }

    /// Compares two values that are not the same text, under the rules of `frame`.
    pub(super) fn values(&mut self, legacy: u32, candidate: u32, frame: Frame) -> Flow {
        let matched = if frame.is_empty() {
            MatchedRules::default()
        } else {
            self.matched_rules(frame)
        };
        if let Some(rule) = matched.ignore {
            self.excused(rule);
            return Flow::Continue(());
        }
        match (self.legacy.kind(legacy), self.candidate.kind(candidate)) {
            (NodeKind::Object, NodeKind::Object) => self.objects(legacy, candidate, frame),
            (NodeKind::Array, NodeKind::Array) => self.arrays(legacy, candidate, frame, &matched),
            (NodeKind::Number, NodeKind::Number) => self.numbers(legacy, candidate, &matched),
            (NodeKind::String, NodeKind::String) => self.strings(legacy, candidate, &matched),
            _ if self.by_rule(legacy, candidate, &matched) => Flow::Continue(()),
            (one, two) if one == two => Flow::Continue(()),
            (NodeKind::True | NodeKind::False, NodeKind::True | NodeKind::False) => {
                self.differ(Kind::Value, legacy, candidate)
            }
            _ => self.differ(Kind::Type, legacy, candidate),
        }
    }

    fn numbers(&mut self, legacy: u32, candidate: u32, matched: &MatchedRules) -> Flow {
        let plain = !self.legacy.special(legacy) && !self.candidate.special(candidate);
        let (one, two) = (
            self.legacy.content(legacy),
            self.candidate.content(candidate),
        );
        if !plain && number::same_decimal(one, two) {
            if one != two {
                self.tolerated(Why::Default(EqualByDefault::EqualDecimal));
            }
            return Flow::Continue(());
        }
        if self.by_rule(legacy, candidate, matched) {
            return Flow::Continue(());
        }
        self.differ(Kind::Value, legacy, candidate)
    }

    fn strings(&mut self, legacy: u32, candidate: u32, matched: &MatchedRules) -> Flow {
        let special = self.legacy.special(legacy) || self.candidate.special(candidate);
        if special && self.same_unescaped(legacy, candidate) {
            self.tolerated(Why::Default(EqualByDefault::EqualString));
            return Flow::Continue(());
        }
        if self.by_rule(legacy, candidate, matched) {
            return Flow::Continue(());
        }
        self.differ(Kind::Value, legacy, candidate)
    }

    /// Whether two strings or keys are the same without their escapes.
    pub(super) fn same_unescaped(&mut self, legacy: u32, candidate: u32) -> bool {
        let [one, two] = &mut *self.texts;
        self.legacy.unescaped(legacy, one) == self.candidate.unescaped(candidate, two)
    }

    /// Whether a tolerance, a type or an accepted explanation makes two values equal. If so, the hit is counted for the
    /// first such rule.
    fn by_rule(&mut self, legacy: u32, candidate: u32, matched: &MatchedRules) -> bool {
        if matched.scalar.is_empty() {
            return false;
        }
        let rules = self.out.rules;
        // A string of JSON is a number by a rule only; what has texts alone has no other numbers.
        let mut actions = matched.scalar.iter().map(|rule| &rules.get(*rule).action);
        let as_numbers =
            self.out.has_texts_alone || actions.any(|action| matches!(action, Action::Number));
        // The kind with which it would be reported.
        let kind = match (self.legacy.kind(legacy), self.candidate.kind(candidate)) {
            (one, two) if one == two => Kind::Value,
            (NodeKind::True | NodeKind::False, NodeKind::True | NodeKind::False) => Kind::Value,
            _ => Kind::Type,
        };
        // Computed only if a rule needs it, and only once. It reads every byte several times, which is cheap for a
        // document that is walked once, but not for elements that are each compared with each.
        let asks = |rule: &u16| {
            let action = &rules.get(*rule).action;
            matches!(action, Action::Accept(..) | Action::Parts(_) | Action::Json)
        };
        if self.probes > 0 && matched.scalar.iter().any(asks) {
            let bytes = self.legacy.content(legacy).len() + self.candidate.content(candidate).len();
            if !self.spend(EXPLAINING + bytes as u64) {
                return false;
            }
        }
        let [one, two] = &mut *self.texts;
        let one = Scalar::new(self.legacy, legacy, one);
        let two = Scalar::new(self.candidate, candidate, two);
        let mut near = None;
        let apart = self.out.apart;
        let equal = |rule: &u16| match &rules.get(*rule).action {
            action @ Action::Accept(..) => near
                .get_or_insert_with(|| {
                    explain::values(self.legacy, legacy, self.candidate, candidate)
                })
                .is_some_and(|near| action.accepts(kind, near)),
            Action::Json => explain::same_json(self.legacy, legacy, self.candidate, candidate),
            action => one.equal(&two, action, as_numbers, apart),
        };
        let Some(rule) = matched.scalar.iter().copied().find(equal) else {
            return false;
        };
        self.excused(rule);
        true
    }

    /// The rule that accepts that one side lacks a value that is equivalent to an absent one in this way.
    pub(super) fn accepts(
        &self,
        frame: Frame,
        kind: Kind,
        near: Option<Explanation>,
    ) -> Option<u16> {
        let near = near?;
        let mut rules = self.matched_rules(frame).scalar.into_iter();
        rules.find(|rule| self.out.rules.get(*rule).action.accepts(kind, near))
    }

    /// The rules whose patterns match exactly the value of `frame`.
    pub(super) fn matched_rules(&self, frame: Frame) -> MatchedRules {
        matched_rules(
            self.out.rules,
            self.scope,
            &self.nodes[frame.from..frame.to],
        )
    }

    /// The rules that say which members of an object at `frame` have another name.
    pub(super) fn renames(&self, frame: Frame) -> SmallVec<[u16; 2]> {
        if frame.is_empty() || !self.scope.members.renaming {
            return SmallVec::new();
        }
        self.matched_rules(frame).renames
    }

    /// Whether the same rules apply to a member whatever of two names it has.
    pub(super) fn is_ruled_alike(&mut self, frame: Frame, names: [&str; 2]) -> bool {
        let [one, two] = names.map(|name| {
            let from = self.nodes.len();
            let hash = string::hash(name.as_bytes());
            let trie = self.out.rules.trie();
            for position in frame.from..frame.to {
                let node = self.nodes[position];
                let text = name.as_bytes();
                trie.step_key(node, hash, text, &self.scope.deciding, self.nodes, from);
            }
            self.nodes.split_off(from)
        });
        one == two
    }

    /// Whether a member is the type of the key behind it. Where the other side lacks that key, or has it under another name, its type says
    /// nothing.
    pub(super) fn is_key_type(&mut self, side: Origin, key: u32) -> bool {
        if !self.out.has_key_types {
            return false;
        }
        let tree = self.tree(side);
        yaml::key_of(tree.unescaped(key, self.key)).is_some()
    }

    /// The frame of the member `key` of an object at `frame`, and whether a rule names that key by `*`.
    pub(super) fn enter_key(&mut self, frame: Frame, side: Origin, key: u32) -> (Frame, bool) {
        if frame.is_empty() {
            return (frame, false);
        }
        let (tree, trie) = (self.tree(side), self.out.rules.trie());
        let (mut hash, mut text) = (tree.key_hash(key), tree.unescaped(key, self.key));
        if self.out.has_key_types
            && let Some(typed) = yaml::key_of(text)
        {
            (hash, text) = (string::hash(typed), typed);
        }
        let (from, mut any) = (self.nodes.len(), false);
        for position in frame.from..frame.to {
            let node = self.nodes[position];
            any |= trie.step_key(node, hash, text, &self.scope.deciding, self.nodes, from);
        }
        let to = self.nodes.len();
        (Frame { from, to }, any)
    }

    /// The frame of an element of an array at `frame`; without an index no rule that names one applies.
    pub(super) fn enter_index(&mut self, frame: Frame, index: Option<u32>) -> Frame {
        if frame.is_empty() {
            return frame;
        }
        let trie = self.out.rules.trie();
        let from = self.nodes.len();
        for position in frame.from..frame.to {
            let node = self.nodes[position];
            trie.step_index(node, index, &self.scope.deciding, self.nodes, from);
        }
        let to = self.nodes.len();
        Frame { from, to }
    }

    /// Removes what entering a child has added.
    pub(super) fn leave(&mut self, child: Frame) {
        // A frame without nodes adds none and is inherited unchanged, so no node of an ancestor is removed here.
        self.nodes.truncate(child.from);
    }

    /// Whether two values are equal, without recording anything. Counts against the budget, for values that may be
    /// compared many times. False once the budget is spent.
    pub(super) fn equal(&mut self, legacy: u32, candidate: u32, frame: Frame) -> bool {
        let cost = 1 + self.legacy.cost(legacy) + self.candidate.cost(candidate);
        self.spend(cost) && self.probe(legacy, candidate, frame)
    }

    /// The same for values that are compared only once, which costs no more than walking them. Matchings inside of them
    /// still count against the budget: the caller must check whether it is spent before it takes the values for
    /// different.
    pub(super) fn probe(&mut self, legacy: u32, candidate: u32, frame: Frame) -> bool {
        if self.same_text(legacy, candidate) {
            return true;
        }
        let (nodes, steps) = (self.nodes.len(), self.steps.len());
        let (indices, groups) = (self.indices.len(), self.groups.len());
        self.probes += 1;
        let flow = self.values(legacy, candidate, frame);
        self.probes -= 1;
        // A probe that stops early leaves the walk inside of the values.
        self.nodes.truncate(nodes);
        self.steps.truncate(steps);
        self.indices.truncate(indices);
        self.groups.truncate(groups);
        flow == ControlFlow::Continue(()) && !self.is_spent()
    }
}
