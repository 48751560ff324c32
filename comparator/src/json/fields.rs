//! Counts the values of one document, and those of them that rules leave to compare.
//!
//! Rules are followed as in the comparison of two documents ([`super::walk`]); only nothing is compared. Below a place to
//! which no rule leads, and below one that is ignored, values are counted without a walk.

use super::walk::{Scratch, matched_rules};
use crate::notation::index::{IndexError, Layout, NodeKind, ROOT, Tree};
use crate::rules::trie::START;
use crate::rules::{Action, Rules, Scope};

/// Values of a document: scalars, and containers without anything in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    /// All of them.
    pub(crate) all: u64,
    /// Those that no rule ignores.
    pub(crate) left: u64,
    /// Those of `left` for which a rule takes another value as equal.
    pub(crate) roughly: u64,
}

/// Counts the values of a text by the rules for bodies in `scope`.
pub(crate) fn count(
    text: &[u8],
    layout: Layout,
    (rules, scope): (&Rules, &Scope),
    depth: usize,
    scratch: &mut Scratch,
) -> Result<Values, IndexError> {
    let (index, nodes, key) = scratch.for_one();
    let tree = index.read(text, layout, depth)?;
    nodes.clear();
    rules.trie().enter(START, &scope.deciding, nodes, 0);
    let to = nodes.len();
    let mut counting = Counting {
        tree,
        rules,
        scope,
        nodes,
        key,
        values: Values::default(),
    };
    counting.value(ROOT, 0, to);
    Ok(counting.values)
}

struct Counting<'w> {
    tree: Tree<'w>,
    rules: &'w Rules,
    scope: &'w Scope,
    nodes: &'w mut Vec<u32>,
    key: &'w mut Vec<u8>,
    values: Values,
}

impl Counting<'_> {
    /// Counts a value; the nodes of the rules that lead to it are those from `from` to `to`. Recursion follows nesting, which
    /// the index has limited.
    fn value(&mut self, at: u32, from: usize, to: usize) {
        if from == to {
            let all = self.tree.values(at);
            self.values.all += all;
            self.values.left += all;
            return;
        }
        let matched = matched_rules(self.rules, self.scope, &self.nodes[from..to]);
        if matched.ignore.is_some() {
            self.values.all += self.tree.values(at);
            return;
        }
        let is_leaf = match self.tree.kind(at) {
            NodeKind::Object => {
                self.members(at, from, to);
                self.tree.keys(at).next().is_none()
            }
            NodeKind::Array => {
                let ordered = matched.unordered.is_none() && matched.key.is_none();
                self.elements(at, from, to, ordered);
                self.tree.elements(at).next().is_none()
            }
            _ => true,
        };
        if is_leaf {
            self.values.all += 1;
            if self.is_left_out(at, &matched.scalar) {
                return;
            }
            let mut actions = matched
                .scalar
                .iter()
                .map(|rule| &self.rules.get(*rule).action);
            self.values.left += 1;
            self.values.roughly += u64::from(actions.any(Action::is_rough));
        }
    }

    /// Whether rules for the parts of a text leave nothing of it.
    fn is_left_out(&mut self, at: u32, rules: &[u16]) -> bool {
        let tree = self.tree;
        if rules.is_empty() || tree.kind(at) != NodeKind::String {
            return false;
        }
        let text = tree.unescaped(at, self.key);
        rules
            .iter()
            .any(|rule| match &self.rules.get(*rule).action {
                Action::Parts(parts) => parts.leave_nothing(text),
                _ => false,
            })
    }

    fn members(&mut self, object: u32, from: usize, to: usize) {
        let (tree, trie) = (self.tree, self.rules.trie());
        for key in tree.keys(object) {
            let child = self.nodes.len();
            let (hash, text) = (tree.key_hash(key), tree.unescaped(key, self.key));
            for position in from..to {
                let node = self.nodes[position];
                trie.step_key(node, hash, text, &self.scope.deciding, self.nodes, child);
            }
            self.value(key + 1, child, self.nodes.len());
            self.nodes.truncate(child);
        }
    }

    /// Where order does not count, no rule that names an index applies.
    fn elements(&mut self, array: u32, from: usize, to: usize, ordered: bool) {
        let (tree, trie) = (self.tree, self.rules.trie());
        for (index, element) in (0..).zip(tree.elements(array)) {
            let child = self.nodes.len();
            let index = ordered.then_some(index);
            for position in from..to {
                let node = self.nodes[position];
                trie.step_index(node, index, &self.scope.deciding, self.nodes, child);
            }
            self.value(element, child, self.nodes.len());
            self.nodes.truncate(child);
        }
    }
}
