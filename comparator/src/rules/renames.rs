//! What the rules of a route call by other names, along a path. A format whose conversion to JSON depends on names asks for them.

use super::Rules;
use super::action::{Action, Rename};
use super::scope::Scope;
use super::trie::START;
use crate::notation::string;

/// The rules of a route that say that the candidate has a member under another name.
#[derive(Clone, Copy)]
pub(crate) struct Renames<'r> {
    rules: &'r Rules,
    scope: &'r Scope,
}

/// What leads from a place in a body to such rules.
#[derive(Default)]
pub(crate) struct RenamesAt(Vec<u32>);

impl RenamesAt {
    /// Whether no rule is for this place or one in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'r> Renames<'r> {
    /// Those of a scope; `None` if it has none.
    pub(crate) fn of(rules: &'r Rules, scope: &'r Scope) -> Option<Self> {
        scope.members.renaming.then_some(Self { rules, scope })
    }

    /// The place of a whole body.
    pub(crate) fn body(&self) -> RenamesAt {
        let mut nodes = Vec::new();
        self.rules
            .trie()
            .enter(START, &self.scope.deciding, &mut nodes, 0);
        RenamesAt(nodes)
    }

    /// The place of a member that has one of these names.
    pub(crate) fn member<'n>(
        &self,
        of: &RenamesAt,
        names: impl IntoIterator<Item = &'n str>,
    ) -> RenamesAt {
        let (trie, mut below) = (self.rules.trie(), Vec::new());
        for name in names {
            let (hash, text) = (string::hash(name.as_bytes()), name.as_bytes());
            for node in &of.0 {
                trie.step_key(*node, hash, text, &self.scope.deciding, &mut below, 0);
            }
        }
        RenamesAt(below)
    }

    /// The place of any element of a list.
    pub(crate) fn element(&self, of: &RenamesAt) -> RenamesAt {
        let (trie, mut below) = (self.rules.trie(), Vec::new());
        for node in &of.0 {
            trie.step_any_index(*node, &self.scope.deciding, &mut below, 0);
        }
        RenamesAt(below)
    }

    /// The old and new names of the members of what is there, in the order of the configuration.
    pub(crate) fn at(&self, place: &RenamesAt) -> Vec<&'r Rename> {
        let trie = self.rules.trie();
        let met = place
            .0
            .iter()
            .flat_map(|node| trie.met(*node, &self.scope.deciding));
        let mut met: Vec<u16> = met.collect();
        met.sort_unstable();
        let renames = met
            .iter()
            .filter_map(|rule| match &self.rules.get(*rule).action {
                Action::Rename(rename) => Some(&**rename),
                _ => None,
            });
        renames.collect()
    }
}
