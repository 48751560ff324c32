//! Causes: the shortest honest description of many groups.
//!
//! A rewrite changes one thing everywhere: `[]` where `null` was, in thirty fields of five routes, or one header on all of
//! them. Those are many groups and one cause. A cause is a generalization of groups over places and routes. Of all possible
//! ones those are chosen that make the description shortest: each cause costs a line, and so does each exception to it; each
//! group that it covers saves one. The choice is greedy, the greatest saving first. A group belongs to one cause at most.
//!
//! Only tallies are read, no values, so retention and sampling change nothing.
//!
//! No cause mixes groups of different [severity](Severity), so nothing grave hides behind something harmless. The one
//! exception is the gravest: what follows from another status code belongs to that code. An explanation that other mismatches
//! at the same place contradict is none here. Groups that always come together are one entry of the report. They need no cause
//! to be told once, so every cause is found in two entries at least, and at two places: else it generalizes nothing.

mod attributes;
mod exchanges;
mod places;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use parity_schemas::report::{GroupReport, Member};
use parity_schemas::severity::Severity;
use parity_schemas::verdict::{Explanation, Kind, Part};

pub use self::attributes::special;
pub use self::exchanges::{Bounds, Counted, Exchanges};
pub use self::places::Place;
use self::places::places;

/// Fewer entries, or places in them, have nothing to share.
const MIN_SHARED: usize = 2;

/// What groups share. The order is that of preference between causes that save equally much: the more specific one says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shared<'a> {
    /// The status codes of legacy and candidate differ in this way, and with them what follows from that.
    Status(u16, u16),
    /// What differs at one kind of place, on any route.
    Place {
        /// Which part of the answers.
        part: Part,
        /// Where in that part.
        place: Place<'a>,
        /// How the sides differ.
        kind: Kind,
        /// How near they are.
        explanation: Option<Explanation>,
        /// How grave it is.
        severity: Severity,
    },
    /// What has one explanation, at any place.
    Explanation(Explanation, Kind, Severity),
}

/// A cause, and the groups that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause<'a> {
    /// What they share.
    pub shared: Shared<'a>,
    /// How grave it is.
    pub severity: Severity,
    /// Which groups: the position of an entry, and that of the group among its members.
    pub members: Vec<(usize, usize)>,
    /// How many of them follow from the status codes.
    pub consequences: usize,
    /// How many other groups differ at such a place in another way, or have the explanation perhaps by chance.
    pub exceptions: usize,
}

/// The causes of the groups in `entries`, in the order in which they were chosen.
pub fn causes<'a>(entries: &[&'a GroupReport]) -> Vec<Cause<'a>> {
    let found = found(entries);
    let mut candidates = Candidates::of(&found);
    let mut causes = Vec::new();
    while let Some((shared, members, exceptions)) = candidates.next(&found) {
        let covered = || members.iter().map(|index| &found[*index]);
        causes.push(Cause {
            shared,
            severity: covered().map(|of| of.severity).min().unwrap_or_default(),
            members: covered().map(|of| of.position).collect(),
            consequences: covered()
                .filter(|of| of.follows && matches!(shared, Shared::Status(..)))
                .count(),
            exceptions,
        });
    }
    causes
}

/// One group, with what matters here.
struct Found<'a> {
    position: (usize, usize),
    member: Member<'a>,
    severity: Severity,
    /// Whether it follows from another status code.
    follows: bool,
}

fn found<'a>(entries: &[&'a GroupReport]) -> Vec<Found<'a>> {
    let members = || {
        let entries = entries.iter().enumerate();
        entries.flat_map(|(entry, group)| {
            let members = group.members().enumerate();
            members.map(move |(place, member)| ((entry, place), member))
        })
    };
    let statuses: HashSet<(&str, (u16, u16))> = members()
        .filter(|(_, member)| member.part == Part::Status)
        .map(|(_, member)| (member.group.route.as_str(), member.codes()))
        .collect();
    members()
        .map(|(position, member)| Found {
            position,
            severity: member.severity(),
            follows: member.part != Part::Status
                && is_of_another_class(member.codes())
                && statuses.contains(&(member.group.route.as_str(), member.codes())),
            member,
        })
        .collect()
}

/// Whether these codes mean different things, so that nobody expects the same answer with them. 200 and 201 both come with
/// what was asked for.
const fn is_of_another_class((legacy, candidate): (u16, u16)) -> bool {
    legacy / 100 != candidate / 100
}

/// What a group may share with others.
fn shared_of<'a>(found: &Found<'a>) -> impl Iterator<Item = Shared<'a>> {
    let member = found.member;
    let (legacy, candidate) = member.codes();
    let is_status = member.part == Part::Status;
    let status = (is_status || found.follows).then_some(Shared::Status(legacy, candidate));
    let explanation = member.hint();
    let severity = found.severity;
    let at = (!is_status).then(|| places(member.part, member.pattern));
    let at = at.into_iter().flatten();
    let at = at.filter(move |place| place.is_shared_by(member.kind));
    let places = at.map(move |place| Shared::Place {
        part: member.part,
        place,
        kind: member.kind,
        explanation,
        severity,
    });
    let explained =
        explanation.map(|explanation| Shared::Explanation(explanation, member.kind, severity));
    status.into_iter().chain(places).chain(explained)
}

/// What exceptions are counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope<'a> {
    /// Everything that differs at a place.
    Place(Part, Place<'a>),
    /// What has an explanation perhaps by chance.
    Contradicted(Explanation, Kind),
}

fn scopes_of<'a>(found: &Found<'a>) -> impl Iterator<Item = Scope<'a>> {
    let member = found.member;
    let at = (member.part != Part::Status).then(|| places(member.part, member.pattern));
    let places = at.into_iter().flatten();
    let contradicted = member.explanation.filter(|_| member.hint().is_none());
    places
        .map(move |place| Scope::Place(member.part, place))
        .chain(contradicted.map(move |explanation| Scope::Contradicted(explanation, member.kind)))
}

/// One possible cause.
struct Candidate<'a> {
    shared: Shared<'a>,
    /// All that share it.
    members: Vec<usize>,
    /// Those of them that are in no cause yet.
    left: usize,
    exceptions: usize,
}

impl Candidate<'_> {
    /// How many lines it saves.
    fn saving(&self) -> usize {
        self.left.saturating_sub(1 + self.exceptions)
    }
}

/// All possible causes, the one that saves most first. What one saves only becomes less when others are chosen, so an
/// old saving is an upper bound: a candidate is looked at again only when it comes to the top of the heap.
struct Candidates<'a> {
    /// In the order of preference.
    all: Vec<Candidate<'a>>,
    /// For each group, the candidates that it is in.
    of_group: Vec<Vec<usize>>,
    is_covered: Vec<bool>,
    /// Savings, perhaps old ones, with the position of the candidate.
    heap: BinaryHeap<(usize, Reverse<usize>)>,
}

impl<'a> Candidates<'a> {
    fn of(found: &[Found<'a>]) -> Self {
        let mut members: HashMap<Shared<'a>, Vec<usize>> = HashMap::new();
        let mut in_scope: HashMap<Scope<'a>, usize> = HashMap::new();
        for (index, of) in found.iter().enumerate() {
            for shared in shared_of(of) {
                members.entry(shared).or_default().push(index);
            }
            // What follows from another status says nothing against a cause.
            for scope in scopes_of(of).filter(|_| !of.follows) {
                *in_scope.entry(scope).or_default() += 1;
            }
        }
        let mut all: Vec<Candidate<'a>> = members
            .into_iter()
            .filter(|(_, members)| members.len() >= MIN_SHARED)
            .map(|(shared, members)| {
                let all_in = |scope| in_scope.get(&scope).copied().unwrap_or(0);
                let exceptions = match shared {
                    Shared::Status(..) => 0,
                    Shared::Place { part, place, .. } => {
                        let of_it = members.iter().filter(|index| !found[**index].follows);
                        all_in(Scope::Place(part, place)).saturating_sub(of_it.count())
                    }
                    Shared::Explanation(explanation, kind, _) => {
                        all_in(Scope::Contradicted(explanation, kind))
                    }
                };
                Candidate {
                    shared,
                    left: members.len(),
                    exceptions,
                    members,
                }
            })
            .collect();
        all.sort_unstable_by_key(|candidate| candidate.shared);
        let mut of_group = vec![Vec::new(); found.len()];
        let mut heap = BinaryHeap::with_capacity(all.len());
        for (position, candidate) in all.iter().enumerate() {
            for index in &candidate.members {
                of_group[*index].push(position);
            }
            heap.push((candidate.saving(), Reverse(position)));
        }
        Self {
            all,
            of_group,
            is_covered: vec![false; found.len()],
            heap,
        }
    }

    /// The next cause with the groups that it covers and the number of its exceptions; `None` if nothing is saved any more.
    fn next(&mut self, found: &[Found<'a>]) -> Option<(Shared<'a>, Vec<usize>, usize)> {
        while let Some((saving, Reverse(position))) = self.heap.pop() {
            let candidate = &self.all[position];
            let now = candidate.saving();
            if now == 0 {
                continue;
            }
            if now < saving {
                self.heap.push((now, Reverse(position)));
                continue;
            }
            let members = candidate.members.iter().copied();
            let left: Vec<usize> = members.filter(|index| !self.is_covered[*index]).collect();
            // There will not be more later.
            if !is_shared(left.iter().map(|index| &found[*index])) {
                continue;
            }
            let (shared, exceptions) = (candidate.shared, candidate.exceptions);
            for index in &left {
                self.is_covered[*index] = true;
                for other in &self.of_group[*index] {
                    self.all[*other].left -= 1;
                }
            }
            return Some((shared, left, exceptions));
        }
        None
    }
}

/// Whether these groups are in several entries, at several places.
fn is_shared<'f, 'a: 'f>(found: impl Iterator<Item = &'f Found<'a>>) -> bool {
    let (mut entries, mut places) = (HashSet::new(), HashSet::new());
    for Found {
        position, member, ..
    } in found
    {
        entries.insert(position.0);
        places.insert((member.group.route.as_str(), member.part, member.pattern));
        if entries.len().min(places.len()) >= MIN_SHARED {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
