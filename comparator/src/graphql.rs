//! Answers of GraphQL: their errors, apart from their data.
//!
//! A GraphQL service answers 200 also when it fails; what tells is the list `errors`. Resolvers run side by side, so the
//! order of that list is chance, and it is compared as if the candidate's stood in the order of the legacy's. What an error
//! says of the text of the request (`locations`) and of the program (`stacktrace`) is left out. Everything else counts: how
//! many errors there are, their messages, paths and codes, `null` against nothing. Errors where the legacy has none are
//! findings of a kind of their own, because they are the candidate's failure and no added field.
//!
//! Both texts are rewritten for that and then compared as JSON; the paths of the findings are those of the answers as they
//! came. What is no answer of GraphQL is left to the comparison of JSON as it is.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use parity_schemas::verdict::{EqualByDefault, Finding, Kind};

use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};

/// What an error says of the program that failed, in its extensions.
const STACK: &[u8] = b"stacktrace";

/// Most errors of a response that are paired. No client shows more, and pairing takes memory for each; longer lists are
/// compared in their order.
const MAX_PAIRED: usize = 1_000;
/// Most responses of a batch whose errors are looked at, for the same reason.
const MAX_BATCH: usize = 1_000;

/// Two answers, rewritten so that only what counts differs.
pub(crate) struct Answers {
    /// The legacy's and the candidate's.
    pub(crate) texts: [Vec<u8>; 2],
    /// What was left out, and where the legacy's answer has it.
    pub(crate) tolerated: Vec<(String, EqualByDefault)>,
    responses: Vec<Response>,
}

/// One response; a batch has several.
struct Response {
    /// The path of its errors.
    errors: String,
    /// Only the candidate has errors.
    fails: bool,
    /// Where in the candidate's answer the errors stand that are compared, in the order in which they are.
    order: Vec<usize>,
}

/// A part of a text, and what takes its place.
type Change = (Range<usize>, Vec<u8>);

/// Rewrites two answers; `None` if nothing speaks of errors, or they are not answers of GraphQL.
pub(crate) fn answers(bodies: [&[u8]; 2], depth: usize) -> Option<Answers> {
    // Nearly all answers end here. A key may be written with escapes.
    let may_have = |body: &&[u8]| {
        [&b"\"errors\""[..], b"\\u"]
            .iter()
            .any(|word| memchr::memmem::find(body, word).is_some())
    };
    if !bodies.iter().any(may_have) {
        return None;
    }
    let mut indices = [Index::default(), Index::default()];
    let [first, second] = &mut indices;
    let trees = [
        first.read(bodies[0], Layout::Document, depth).ok()?,
        second.read(bodies[1], Layout::Document, depth).ok()?,
    ];
    let pairs: Vec<(String, [u32; 2])> = match trees.map(|tree| tree.kind(ROOT)) {
        [NodeKind::Object, NodeKind::Object] => vec![(String::new(), [ROOT; 2])],
        [NodeKind::Array, NodeKind::Array] => {
            let [one, two] = trees.map(|tree| tree.elements(ROOT));
            let pairs = one.zip(two).take(MAX_BATCH).enumerate();
            pairs
                .map(|(at, (one, two))| (format!("/{at}"), [one, two]))
                .collect()
        }
        _ => return None,
    };
    let mut answers = Answers {
        texts: bodies.map(<[u8]>::to_vec),
        tolerated: Vec::new(),
        responses: Vec::new(),
    };
    let mut changes = [Vec::new(), Vec::new()];
    for (prefix, roots) in pairs {
        answers.response(&format!("{prefix}/errors"), trees, roots, &mut changes);
    }
    for ((text, body), changes) in answers.texts.iter_mut().zip(bodies).zip(changes) {
        *text = changed(body, &changes);
    }
    Some(answers)
}

impl Answers {
    fn response(
        &mut self,
        path: &str,
        trees: [Tree<'_>; 2],
        roots: [u32; 2],
        changes: &mut [Vec<Change>; 2],
    ) {
        let lists = [0, 1].map(|side| errors(trees[side], roots[side]));
        let [Some(one), Some(two)] = lists else {
            return;
        };
        let mut response = Response {
            errors: path.to_owned(),
            fails: one.is_empty() && !two.is_empty(),
            order: Vec::new(),
        };
        let lengths = [one.elements.len(), two.elements.len()];
        if lengths
            .iter()
            .any(|length| *length == 0 || *length > MAX_PAIRED)
        {
            if response.fails {
                self.responses.push(response);
            }
            return;
        }
        let (order, paired) = aligned([(trees[0], &one.elements), (trees[1], &two.elements)]);
        if order.iter().enumerate().any(|(at, from)| at != *from) {
            self.tolerated
                .push((path.to_owned(), EqualByDefault::ErrorOrder));
        }
        let written = |tree, elements: &mut dyn Iterator<Item = u32>| {
            let each = elements.map(|error| Shortened::of(tree, error));
            each.collect::<Vec<Shortened>>()
        };
        let legacy = written(trees[0], &mut one.elements.iter().copied());
        let candidate = written(trees[1], &mut order.iter().map(|at| two.elements[*at]));
        for (at, place) in paired.into_iter().enumerate() {
            if place.is_some_and(|place| legacy[at].left_out != candidate[place].left_out) {
                self.tolerated
                    .push((format!("{path}/{at}"), EqualByDefault::ErrorPlace));
            }
        }
        for ((list, written), changes) in [(one, legacy), (two, candidate)].into_iter().zip(changes)
        {
            let texts: Vec<Vec<u8>> = written.into_iter().map(|error| error.text).collect();
            let text = [&b"["[..], &texts.join(&b','), b"]"].concat();
            changes.push((list.span, text));
        }
        response.order = order;
        self.responses.push(response);
    }

    /// Says of a finding in the rewritten texts where it is in the answers as they came, and of errors that only the
    /// candidate has what they are.
    pub(crate) fn restore(&self, finding: &mut Finding) {
        let beneath = |path: &str, errors: &str| {
            let rest = path.strip_prefix(errors);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut responses = self.responses.iter();
        let Some(response) = responses.find(|one| beneath(&finding.path, &one.errors)) else {
            return;
        };
        if response.fails {
            finding.kind = Kind::Errors;
            finding.explanation = None;
        }
        match finding.kind {
            Kind::Missing => {}
            Kind::Extra => {
                if let Some(path) = response.as_received(&finding.path) {
                    finding.path = path;
                }
            }
            _ => {
                let other = finding.candidate_path.as_ref().unwrap_or(&finding.path);
                if let Some(path) = response.as_received(other) {
                    finding.candidate_path = (path != finding.path).then_some(path);
                }
            }
        }
    }
}

impl Response {
    /// A path into the candidate's rewritten answer, as a path into the one that came.
    fn as_received(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.errors)?.strip_prefix('/')?;
        let (index, below) = rest
            .split_once('/')
            .map_or((rest, None), |(index, below)| (index, Some(below)));
        let at = self.order.get(index.parse::<usize>().ok()?)?;
        let below = below.map(|below| format!("/{below}")).unwrap_or_default();
        Some(format!("{}/{at}{below}", self.errors))
    }
}

/// The errors of one response.
struct List {
    span: Range<usize>,
    elements: Vec<u32>,
}

impl List {
    fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }
}

/// The errors of a response, none if it has no list or `null`; `None` if it is no response of GraphQL.
fn errors(tree: Tree<'_>, response: u32) -> Option<List> {
    if tree.kind(response) != NodeKind::Object {
        return None;
    }
    let mut scratch = Vec::new();
    let mut keys = tree
        .keys(response)
        .filter(|key| tree.unescaped(*key, &mut scratch) == b"errors");
    let list = keys.next();
    if keys.next().is_some() {
        return None;
    }
    let nothing = List {
        span: 0..0,
        elements: Vec::new(),
    };
    let Some(list) = list.map(|key| key + 1) else {
        return Some(nothing);
    };
    match tree.kind(list) {
        NodeKind::Null => Some(nothing),
        NodeKind::Array => Some(List {
            span: tree.span(list),
            elements: tree.elements(list).collect(),
        }),
        _ => None,
    }
}

/// The order in which the candidate's errors are compared, and for each of the legacy's which place in that order it is
/// compared with. Errors meet by message, path and code, then by path, then as they come.
fn aligned([one, two]: [(Tree<'_>, &Vec<u32>); 2]) -> (Vec<usize>, Vec<Option<usize>>) {
    let mut partners: Vec<Option<usize>> = vec![None; one.1.len()];
    let mut taken = vec![false; two.1.len()];
    let names: [fn(Tree<'_>, u32) -> Vec<u8>; 3] = [
        |tree, error| match member(tree, error, b"message") {
            Some(_) => [
                named(tree, error, b"message"),
                named(tree, error, b"path"),
                code(tree, error),
            ]
            .join(&0),
            // No error as it should be.
            None => tree.raw(error).to_vec(),
        },
        |tree, error| named(tree, error, b"path"),
        |_, _| Vec::new(),
    ];
    for name in names {
        let mut waiting: BTreeMap<Vec<u8>, VecDeque<usize>> = BTreeMap::new();
        for (at, error) in two.1.iter().enumerate().filter(|(at, _)| !taken[*at]) {
            waiting
                .entry(name(two.0, *error))
                .or_default()
                .push_back(at);
        }
        for (partner, error) in partners
            .iter_mut()
            .zip(one.1)
            .filter(|(partner, _)| partner.is_none())
        {
            *partner = waiting
                .get_mut(&name(one.0, *error))
                .and_then(VecDeque::pop_front);
            if let Some(at) = *partner {
                taken[at] = true;
            }
        }
    }
    let mut order = Vec::with_capacity(two.1.len());
    let places = partners.into_iter().map(|partner| {
        order.push(partner?);
        Some(order.len() - 1)
    });
    let places = places.collect();
    order.extend((0..two.1.len()).filter(|at| !taken[*at]));
    (order, places)
}

/// A member of an error, with escapes undone: a string, or the steps of a path.
fn named(tree: Tree<'_>, error: u32, name: &[u8]) -> Vec<u8> {
    let Some(value) = member(tree, error, name) else {
        return Vec::new();
    };
    let mut scratch = Vec::new();
    match tree.kind(value) {
        NodeKind::Array => {
            let steps = tree.elements(value).map(|step| {
                let mut scratch = Vec::new();
                tree.unescaped(step, &mut scratch).to_vec()
            });
            steps.collect::<Vec<_>>().join(&0)
        }
        _ => tree.unescaped(value, &mut scratch).to_vec(),
    }
}

fn code(tree: Tree<'_>, error: u32) -> Vec<u8> {
    let extensions = member(tree, error, b"extensions");
    extensions.map_or_else(Vec::new, |extensions| named(tree, extensions, b"code"))
}

fn member(tree: Tree<'_>, object: u32, name: &[u8]) -> Option<u32> {
    if tree.kind(object) != NodeKind::Object {
        return None;
    }
    let mut scratch = Vec::new();
    let mut keys = tree.keys(object);
    keys.find(|key| tree.unescaped(*key, &mut scratch) == name)
        .map(|key| key + 1)
}

/// An error without what does not count.
#[derive(Default)]
struct Shortened {
    text: Vec<u8>,
    left_out: Vec<u8>,
}

/// Which object of an error is written.
#[derive(Clone, Copy)]
enum Level {
    Error,
    Extensions,
    Exception,
}

impl Level {
    fn leaves_out(self, key: &[u8]) -> bool {
        match self {
            Self::Error => key == b"locations",
            Self::Extensions | Self::Exception => key == STACK,
        }
    }

    fn below(self, key: &[u8]) -> Option<Self> {
        match self {
            Self::Error if key == b"extensions" => Some(Self::Extensions),
            Self::Extensions if key == b"exception" => Some(Self::Exception),
            _ => None,
        }
    }
}

impl Shortened {
    fn of(tree: Tree<'_>, error: u32) -> Self {
        let mut shortened = Self::default();
        shortened.write(tree, error, Level::Error);
        shortened
    }

    /// Writes a value; returns whether nothing is left of it, although there was something.
    fn write(&mut self, tree: Tree<'_>, at: u32, level: Level) -> bool {
        if tree.kind(at) != NodeKind::Object {
            self.text.extend_from_slice(tree.raw(at));
            return false;
        }
        let (mut some_left, mut some_out) = (false, false);
        let mut scratch = Vec::new();
        self.text.push(b'{');
        for key in tree.keys(at) {
            let name = tree.unescaped(key, &mut scratch);
            if level.leaves_out(name) {
                some_out = true;
                self.left_out.extend_from_slice(tree.raw(key + 1));
                self.left_out.push(0);
                continue;
            }
            let before = self.text.len();
            if some_left {
                self.text.push(b',');
            }
            self.text.extend_from_slice(tree.raw(key));
            self.text.push(b':');
            let is_gone = if let Some(below) = level.below(name) {
                self.write(tree, key + 1, below)
            } else {
                self.text.extend_from_slice(tree.raw(key + 1));
                false
            };
            if is_gone {
                some_out = true;
                self.text.truncate(before);
            } else {
                some_left = true;
            }
        }
        self.text.push(b'}');
        some_out && !some_left
    }
}

/// `text` with changes, which are in its order.
fn changed(text: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in changes {
        out.extend_from_slice(&text[at..span.start]);
        out.extend_from_slice(new);
        at = span.end;
    }
    out.extend_from_slice(&text[at..]);
    out
}

#[cfg(test)]
mod tests;
