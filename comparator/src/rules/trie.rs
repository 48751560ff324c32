//! The patterns of all rules for bodies, as one trie that is walked with the documents.
//!
//! Patterns that begin alike share their nodes, so at a value of the documents there are at most as many nodes to look
//! at as there are different ways to have come there, not as many as there are rules: a thousand rules on a thousand
//! fields cost one search by hash for each differing field. The trie is made once for all routes; which of its nodes
//! lead to a rule that applies is a set of bits in the [`Scope`](super::Scope) of a route.

use super::pattern::Pattern;
use super::segment::Segment;

/// The node that the walk begins with.
pub(crate) const START: u32 = 0;

/// The patterns of all rules for bodies.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
    /// For each rule the nodes from the start to the end of its pattern.
    ways: Vec<Vec<u32>>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Sorted by hash.
    literals: Vec<Literal>,
    /// Indices of arrays, and the literals that can be an index, sorted.
    indices: Vec<Index>,
    /// The node behind `*`.
    any: Option<u32>,
    /// The node behind `**`. As `**` may stand for no segment, whoever enters this node enters that one too.
    deep: Option<u32>,
    /// It stands behind `**`, so every child of a value enters it again.
    repeats: bool,
    /// Rules whose pattern ends here.
    met: Vec<u16>,
}

#[derive(Clone, Debug)]
struct Literal {
    hash: u32,
    text: Box<str>,
    /// Whether it can be an index of an array, too.
    indexed: bool,
    node: u32,
}

#[derive(Clone, Debug)]
struct Index {
    at: u32,
    node: u32,
    /// Whether it is an index and never a key.
    only: bool,
}

/// Some of the rules, and the nodes that lead to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    rules: Bits,
    nodes: Bits,
}

impl Reach {
    pub(super) fn insert(&mut self, rule: u16, trie: &Trie) {
        self.rules.insert(usize::from(rule));
        for node in trie.ways.get(usize::from(rule)).into_iter().flatten() {
            self.nodes.insert(*node as usize);
        }
    }

    /// Whether no rule is among them.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.0.is_empty()
    }

    fn leads(&self, node: u32) -> bool {
        self.nodes.contains(node as usize)
    }
}

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn contains(&self, at: usize) -> bool {
        self.0
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

impl Trie {
    /// The trie of these rules, each with its position.
    pub(super) fn new<'a>(rules: impl IntoIterator<Item = (u16, &'a Pattern)>) -> Self {
        let mut trie = Self {
            nodes: vec![Node::default()],
            ways: Vec::new(),
        };
        for (rule, pattern) in rules {
            let mut way = vec![START];
            for segment in pattern.segments() {
                let next = trie.child(way[way.len() - 1], segment);
                way.push(next);
            }
            let end = way[way.len() - 1];
            trie.nodes[end as usize].met.push(rule);
            let rule = usize::from(rule);
            if trie.ways.len() <= rule {
                trie.ways.resize(rule + 1, Vec::new());
            }
            trie.ways[rule] = way;
        }
        trie
    }

    /// The node that `segment` leads to from `node`; it is made if it is not there.
    fn child(&mut self, node: u32, segment: &Segment) -> u32 {
        let next = self.nodes.len() as u32;
        let here = &mut self.nodes[node as usize];
        let child = match segment {
            Segment::Any => *here.any.get_or_insert(next),
            Segment::Deep => *here.deep.get_or_insert(next),
            Segment::Index(index) => {
                let from = here.indices.partition_point(|known| known.at < *index);
                let same = here.indices[from..]
                    .iter()
                    .take_while(|known| known.at == *index)
                    .find(|known| known.only);
                if let Some(known) = same {
                    known.node
                } else {
                    let only = Index {
                        at: *index,
                        node: next,
                        only: true,
                    };
                    here.indices.insert(from, only);
                    next
                }
            }
            Segment::Literal { text, hash, index } => {
                let from = here.literals.partition_point(|known| known.hash < *hash);
                // A key that JSONPath names is no index, and so another literal.
                let same = here.literals[from..]
                    .iter()
                    .take_while(|known| known.hash == *hash)
                    .find(|known| known.text == *text && known.indexed == index.is_some());
                if let Some(known) = same {
                    known.node
                } else {
                    let (text, hash) = (text.clone(), *hash);
                    let literal = Literal {
                        hash,
                        text,
                        indexed: index.is_some(),
                        node: next,
                    };
                    here.literals.insert(from, literal);
                    if let Some(index) = *index {
                        let at = here.indices.partition_point(|known| known.at < index);
                        let also = Index {
                            at: index,
                            node: next,
                            only: false,
                        };
                        here.indices.insert(at, also);
                    }
                    next
                }
            }
        };
        if child == next {
            self.nodes.push(Node {
                repeats: *segment == Segment::Deep,
                ..Node::default()
            });
        }
        child
    }

    /// The rules of `reach` whose pattern ends at a node.
    pub(crate) fn met<'a>(&'a self, node: u32, reach: &'a Reach) -> impl Iterator<Item = u16> + 'a {
        let met = self.nodes[node as usize].met.iter().copied();
        met.filter(|rule| reach.rules.contains(usize::from(*rule)))
    }

    /// Adds `node` to `nodes`, unless it is there from the position `from` on, and the node behind its `**`.
    pub(crate) fn enter(&self, node: u32, reach: &Reach, nodes: &mut Vec<u32>, from: usize) {
        if !reach.leads(node) || nodes[from..].contains(&node) {
            return;
        }
        nodes.push(node);
        if let Some(deep) = self.nodes[node as usize].deep {
            self.enter(deep, reach, nodes, from);
        }
    }

    /// Adds the nodes that a key leads to from `node`. Returns whether a rule names the key by `*`.
    pub(crate) fn step_key(
        &self,
        node: u32,
        hash: u32,
        text: &[u8],
        reach: &Reach,
        nodes: &mut Vec<u32>,
        from: usize,
    ) -> bool {
        let here = &self.nodes[node as usize];
        if here.repeats {
            self.enter(node, reach, nodes, from);
        }
        let first = here.literals.partition_point(|known| known.hash < hash);
        let same = here.literals[first..]
            .iter()
            .take_while(|known| known.hash == hash)
            .filter(|known| known.text.as_bytes() == text);
        for literal in same {
            self.enter(literal.node, reach, nodes, from);
        }
        let Some(any) = here.any.filter(|any| reach.leads(*any)) else {
            return false;
        };
        self.enter(any, reach, nodes, from);
        true
    }

    /// Adds the nodes that an element of an array leads to from `node`. Without an index, no rule that names one applies.
    pub(crate) fn step_index(
        &self,
        node: u32,
        index: Option<u32>,
        reach: &Reach,
        nodes: &mut Vec<u32>,
        from: usize,
    ) {
        let here = &self.nodes[node as usize];
        if here.repeats {
            self.enter(node, reach, nodes, from);
        }
        if let Some(index) = index {
            let first = here.indices.partition_point(|known| known.at < index);
            for known in &here.indices[first..] {
                if known.at != index {
                    break;
                }
                self.enter(known.node, reach, nodes, from);
            }
        }
        if let Some(any) = here.any {
            self.enter(any, reach, nodes, from);
        }
    }

    /// Adds the nodes that any element of an array leads to from `node`, whatever its index.
    pub(crate) fn step_any_index(
        &self,
        node: u32,
        reach: &Reach,
        nodes: &mut Vec<u32>,
        from: usize,
    ) {
        self.step_index(node, None, reach, nodes, from);
        for known in &self.nodes[node as usize].indices {
            self.enter(known.node, reach, nodes, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules that are met at a path of keys, of those that are live.
    fn met(paths: &[&str], live: &[u16], keys: &[&str]) -> Vec<u16> {
        let patterns: Vec<Pattern> = paths
            .iter()
            .map(|path| Pattern::body(path).expect("a pattern"))
            .collect();
        let trie = Trie::new(
            patterns
                .iter()
                .zip(0..)
                .map(|(pattern, rule)| (rule, pattern)),
        );
        let mut reach = Reach::default();
        for rule in live {
            reach.insert(*rule, &trie);
        }
        let mut nodes = Vec::new();
        trie.enter(START, &reach, &mut nodes, 0);
        for key in keys {
            let before = std::mem::take(&mut nodes);
            for node in before {
                let hash = crate::notation::string::hash(key.as_bytes());
                trie.step_key(node, hash, key.as_bytes(), &reach, &mut nodes, 0);
            }
        }
        let met = nodes.iter().flat_map(|node| trie.met(*node, &reach));
        let mut met: Vec<u16> = met.collect();
        met.sort_unstable();
        met
    }

    #[test]
    fn a_rule_is_met_where_its_pattern_ends() {
        let paths = [
            "",
            "/a",
            "/a/*",
            "/**/b",
            "/a/**",
            "/**/a/**/b",
            "/*/b",
            "/a/0",
        ];
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        for (keys, expected) in [
            (&[][..], &[0][..]),
            (&["a"], &[1, 4]),
            (&["a", "b"], &[2, 3, 4, 5, 6]),
            (&["a", "0"], &[2, 4, 7]),
            (&["b"], &[3]),
            (&["c", "b"], &[3, 6]),
            (&["c", "a", "x", "b"], &[3, 5]),
            (&["c", "a", "b", "b"], &[3, 5]),
            (&["c"], &[]),
        ] {
            assert_eq!(met(&paths, &all, keys), expected, "{keys:?}");
        }
        // Only the ones that apply.
        assert_eq!(met(&paths, &[3], &["a", "b"]), [3]);
        assert!(met(&paths, &[], &["a", "b"]).is_empty());
    }

    #[test]
    fn patterns_share_what_they_begin_with() {
        let patterns: Vec<Pattern> = (0..1_000)
            .map(|index| Pattern::body(&format!("/items/*/field{index}")).expect("a pattern"))
            .collect();
        let trie = Trie::new(
            patterns
                .iter()
                .zip(0..)
                .map(|(pattern, rule)| (rule, pattern)),
        );
        assert_eq!(trie.nodes.len(), 1_003);
    }
}
