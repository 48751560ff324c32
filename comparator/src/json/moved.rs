//! Finds what one side lacks elsewhere in its answer: under another name beside it, or in another place.
//!
//! It is still missing there, and a client that reads it does not find it; that it is not lost is its explanation. Only
//! what the other side has in excess is searched, and a value counts only if nothing else could be meant: there is one
//! of it on each side, and it is not as short as a flag or a small number unless its name is the same, too.

use std::collections::{BTreeSet, HashMap};

use parity_schemas::verdict::{Explanation, Finding};

use super::names::plain_name;
use super::path::Origin;
use crate::explain::content::{self, content, is_telling};
use crate::notation::index::{NodeKind, Tree};

/// Most values in all that one side has in excess, and most bytes of their content; more would cost more than it tells.
const MAX_VALUES: usize = 2_048;
const MAX_BYTES: usize = 4 * content::MAX_BYTES;

/// A value that only one side has, and the finding that says so.
pub(super) struct Lone {
    pub(super) finding: usize,
    pub(super) side: Origin,
    pub(super) at: u32,
}

/// A value in what one side has in excess.
struct Home {
    /// The lone value that it is in, by its position in the list of them.
    lone: usize,
    at: u32,
    name: Option<String>,
    content: Vec<u8>,
    /// Whether what the other side lacks was found here.
    taken: bool,
}

/// Explains findings of values that only one side has.
pub(super) fn explain(trees: [Tree<'_>; 2], lone: &[Lone], findings: &mut [Finding]) {
    let of = |side: Origin| lone.iter().any(|lone| lone.side == side);
    if !(of(Origin::Legacy) && of(Origin::Candidate)) {
        return;
    }
    let (Some(legacy), Some(candidate)) = (
        homes(trees[0], lone, Origin::Legacy),
        homes(trees[1], lone, Origin::Candidate),
    ) else {
        return;
    };
    let mut homes = [legacy, candidate];
    let parents: Vec<&str> = lone
        .iter()
        .map(|lone| parent(&findings[lone.finding].path))
        .collect();
    // Beside each other first: the elements of a list often have the same values.
    for near in [true, false] {
        pair(trees, &mut homes, lone, &parents, near);
    }
    let taken = homes.map(|homes| {
        let taken = homes.iter().filter(|home| home.taken).map(|home| home.at);
        taken.collect::<BTreeSet<u32>>()
    });
    let explained: Vec<usize> = lone
        .iter()
        .filter(|lone| {
            let side = usize::from(lone.side == Origin::Candidate);
            is_found(trees[side], lone.at, &taken[side])
        })
        .map(|lone| lone.finding)
        .collect();
    for finding in explained {
        findings[finding]
            .explanation
            .get_or_insert(Explanation::Moved);
    }
}

/// What two values have in common that may be one value at two places.
#[derive(PartialEq, Eq, Hash)]
struct Likeness<'a> {
    /// The object or list that lacks one of them, where only what is beside each other is paired.
    parent: &'a str,
    /// Where the name tells them apart.
    name: Option<&'a str>,
    content: &'a [u8],
}

/// Marks the values of both sides that are each the only one of their kind, and the whole of a lone value on one side at
/// least.
fn pair(
    trees: [Tree<'_>; 2],
    homes: &mut [Vec<Home>; 2],
    lone: &[Lone],
    parents: &[&str],
    near: bool,
) {
    // With the name first: it tells apart what has the same content.
    for named in [true, false] {
        let mut found: HashMap<Likeness<'_>, [Vec<usize>; 2]> = HashMap::new();
        for (side, homes) in homes.iter().enumerate() {
            for (index, home) in homes.iter().enumerate().filter(|(_, home)| !home.taken) {
                let usable = if named {
                    home.name.is_some()
                } else {
                    is_telling(trees[side], home.at)
                };
                if usable {
                    let likeness = Likeness {
                        parent: if near { parents[home.lone] } else { "" },
                        name: home.name.as_deref().filter(|_| named),
                        content: &home.content,
                    };
                    found.entry(likeness).or_default()[side].push(index);
                }
            }
        }
        let is_whole = |side: usize, index: usize| {
            let home: &Home = &homes[side][index];
            lone[home.lone].at == home.at
        };
        let pairs: Vec<[usize; 2]> = found
            .into_values()
            .filter_map(|[one, two]| match (&*one, &*two) {
                ([one], [two]) if is_whole(0, *one) || is_whole(1, *two) => Some([*one, *two]),
                _ => None,
            })
            .collect();
        for pair in pairs {
            for (side, index) in pair.into_iter().enumerate() {
                homes[side][index].taken = true;
            }
        }
    }
}

/// Whether a value, or each part of it, was found on the other side.
fn is_found(tree: Tree<'_>, at: u32, taken: &BTreeSet<u32>) -> bool {
    taken.contains(&at)
        || tree.next(at) > at + 1
            && match tree.kind(at) {
                NodeKind::Array => tree
                    .elements(at)
                    .all(|element| is_found(tree, element, taken)),
                NodeKind::Object => tree.keys(at).all(|key| is_found(tree, key + 1, taken)),
                _ => false,
            }
}

/// All values in what one side has in excess; `None` if they are too many.
fn homes(tree: Tree<'_>, lone: &[Lone], side: Origin) -> Option<Vec<Home>> {
    let mut homes = Vec::new();
    let mut bytes = 0;
    for (index, lone) in lone
        .iter()
        .enumerate()
        .filter(|(_, lone)| lone.side == side)
    {
        let mut name = lone
            .at
            .checked_sub(1)
            .filter(|key| tree.kind(*key) == NodeKind::Key)
            .and_then(|key| plain_name(tree, key));
        for at in lone.at..tree.next(lone.at) {
            if tree.kind(at) == NodeKind::Key {
                name = plain_name(tree, at);
                continue;
            }
            let content = content(tree, at)?;
            bytes += content.len();
            if homes.len() >= MAX_VALUES || bytes > MAX_BYTES {
                return None;
            }
            homes.push(Home {
                lone: index,
                at,
                name: name.take(),
                content,
                taken: false,
            });
        }
    }
    Some(homes)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
