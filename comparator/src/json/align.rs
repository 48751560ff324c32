//! Pairs the elements of two arrays; the walk that compares them is elsewhere.

use std::ops::Range;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::hash::number_text;
use super::script::Run;
use crate::notation::index::{NodeKind, Tree};

/// How the elements of two arrays are paired, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairing {
    /// Proven to be equal, not only by a hash.
    Equal(usize, usize),
    Both(usize, usize),
    LegacyOnly(usize),
    CandidateOnly(usize),
}

/// The part of two arrays between their equal ends.
pub(super) struct Middle {
    pub(super) one: Range<usize>,
    pub(super) two: Range<usize>,
    pub(super) pairs: Vec<Pairing>,
    pub(super) reordered: bool,
}

impl Middle {
    pub(super) fn by_position(&mut self) {
        let (one, two) = (self.one.clone(), self.two.clone());
        self.push_gap(one, two);
    }

    /// Pairs the elements of both gaps by position; the rest of the longer one stays unpaired.
    fn push_gap(&mut self, one: Range<usize>, two: Range<usize>) {
        let common = one.len().min(two.len());
        let (first, second) = (one.start, two.start);
        self.pairs
            .extend((0..common).map(|index| Pairing::Both(first + index, second + index)));
        self.pairs
            .extend((first + common..one.end).map(Pairing::LegacyOnly));
        self.pairs
            .extend((second + common..two.end).map(Pairing::CandidateOnly));
    }

    /// Pairs the equal runs, and the elements between them by position.
    pub(super) fn by_runs(&mut self, runs: &[Run]) {
        let (mut one, mut two) = (self.one.start, self.two.start);
        for run in runs {
            let (first, second) = (self.one.start + run.one, self.two.start + run.two);
            self.push_gap(one..first, two..second);
            self.pairs
                .extend((0..run.length).map(|step| Pairing::Both(first + step, second + step)));
            (one, two) = (first + run.length, second + run.length);
        }
        let (one, two) = (one..self.one.end, two..self.two.end);
        self.push_gap(one, two);
    }
}

/// For each legacy element the index of the candidate's with the same values of `fields`. `None` if an element of either
/// side is not an object, lacks a field, has it twice or as a container, or shares the values of all.
pub(super) fn match_by_key(
    legacy: Tree<'_>,
    one: &[u32],
    candidate: Tree<'_>,
    two: &[u32],
    fields: [&[Field<'_>]; 2],
) -> Option<Vec<Option<usize>>> {
    let [fields, theirs] = fields;
    let by_key = |tree: Tree<'_>, elements: &[u32], fields: &[Field<'_>]| {
        let mut found: HashMap<_, _, foldhash::fast::FixedState> = HashMap::default();
        for (index, element) in elements.iter().enumerate() {
            if found
                .insert(keys_of(tree, *element, fields)?, index)
                .is_some()
            {
                return None;
            }
        }
        Some(found)
    };
    by_key(legacy, one, fields)?;
    let theirs = by_key(candidate, two, theirs)?;
    one.iter()
        .map(|element| Some(theirs.get(&keys_of(legacy, *element, fields)?).copied()))
        .collect()
}

/// The names of a field, the second one if it has not the first.
pub(super) type Field<'a> = [Option<&'a str>; 2];

/// Whether it is a text, and the canonical text of one field.
type Key = (bool, Vec<u8>);

/// What tells an element apart: mostly one field.
fn keys_of(tree: Tree<'_>, element: u32, fields: &[Field<'_>]) -> Option<SmallVec<[Key; 1]>> {
    fields
        .iter()
        .map(|names| {
            names
                .iter()
                .flatten()
                .find_map(|name| key_of(tree, element, name))
        })
        .collect()
}

/// The kind and the canonical text of an element's key.
fn key_of(tree: Tree<'_>, element: u32, field: &str) -> Option<Key> {
    if tree.kind(element) != NodeKind::Object {
        return None;
    }
    let mut scratch = Vec::new();
    let mut value = None;
    for key in tree.keys(element) {
        if tree.unescaped(key, &mut scratch) == field.as_bytes() && value.replace(key + 1).is_some()
        {
            return None;
        }
    }
    let value = value?;
    match tree.kind(value) {
        NodeKind::String => Some((true, tree.unescaped(value, &mut scratch).to_vec())),
        NodeKind::Number => Some((false, number_text(tree.content(value)))),
        _ => None,
    }
}
