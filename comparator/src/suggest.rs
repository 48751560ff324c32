//! Rules that a person may take over: for what differs in a known way, the fewest rules that excuse just that.
//!
//! A suggestion is derived from groups, not from values: place, kind and explanation. So it names an explanation, and never
//! ignores a place: a value that nothing explains stays a difference at each place of each suggestion. What has no explanation
//! gets no rule at all, nor has a field that is lost or new, another status code, or an explanation that other mismatches at the
//! same place contradict. `tests` ask the comparator: each suggestion excuses what it covers, and not what is planted beside it.
//!
//! The rules are the [causes](crate::causes) of what is explained, so that few say much. A cause becomes a rule for more places
//! than were seen only where [`Nature::may_be_anywhere`] says so, and where no group is in reach that must stay. Where it does
//! not, there is a rule for each place of each route that was seen, as long as a person can read them.

mod draft;
mod nature;
mod renames;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::report::GroupReport;
use parity_schemas::route::OTHER;
use parity_schemas::suggested::{SuggestedRule, Unruled};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Kind, Part};
use parity_schemas::visible::visible;

use self::draft::Draft;
pub use self::nature::is_rename;
pub use self::renames::Naming;
use crate::causes::{Bounds, Counted, Exchanges, Place, Shared, causes};
use crate::rules::{RuleConfig, Rules};

/// Fewer groups do not justify a rule that holds at any place.
const MIN_ANYWHERE: usize = 3;
/// Rules for single routes that say the same but for the route. Nobody decides on more of them one by one, and one for any route
/// would pass what is wrong on another: then there is none, and the reason says so.
const MAX_RULES_BY_ROUTE: usize = 20;
/// Said of what is on more routes.
const TOO_MANY: &str = "it differs on so many routes that nobody would read a rule for each, and one for any route could excuse what \
    is wrong on another: write it where it is meant";
/// Said of what may be the same other name, of which too little is known: a wider rule for it would be one too many.
const LOOK_AGAIN: &str = "a `rename` is suggested for its place, which may leave nothing of it: look again under that rule";
/// Said of numbers that may differ by the same factor, of which too little is known.
const LOOK_AGAIN_SCALED: &str = "a `scale` is suggested for its place, which leaves of it what is not exactly that factor: look again under that rule";

/// Groups that differ only in their shape, which count.
#[derive(Clone, Debug)]
pub struct Seen {
    /// All of them as one; what it coincides with is a `Seen` of its own.
    pub group: GroupReport,
    /// Their names.
    pub fingerprints: Vec<String>,
    /// Mismatches, at most: one may have several of them.
    pub at_most: u64,
    /// Under which name the candidate has what the legacy has here, by the stored answers.
    pub name: Naming,
}

/// What is suggested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggested {
    /// Without owner and expiry, which are up to the user. What is harmless first, then what covers most.
    pub rules: Vec<SuggestedRule>,
    /// What gets none: the gravest first, then the most frequent.
    pub unruled: Vec<Unruled>,
}

/// Suggests rules for the groups that count.
pub fn suggest(seen: &[Seen], exchanges: &Exchanges<'_>) -> Suggested {
    let counted: Vec<GroupEvidence> = seen.iter().map(counted).collect();
    let mut refused: BTreeMap<usize, &'static str> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, of) in seen.iter().enumerate() {
        match nature::why_none(&of.group) {
            Some(why) => {
                refused.insert(index, why);
            }
            None => open.push(index),
        }
    }
    let work = Work {
        seen,
        counted: &counted,
        refused: refused.keys().copied().collect(),
        exchanges,
    };
    let mut rules = Vec::new();
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    // What has another name is compared under both: no other rule is as narrow.
    let renames = work.renames(&open);
    for (draft, members) in renames.drafts {
        let members: Vec<usize> = members
            .into_iter()
            .filter(|index| !covered.contains(index))
            .collect();
        if members.is_empty() {
            continue;
        }
        for (rule, members) in work.rules(&draft, members) {
            covered.extend(members);
            rules.push(rule);
        }
    }
    refused.extend(renames.refused);
    for index in 0..seen.len() {
        if work.is_beside_a_rename(index, &covered) {
            refused.insert(index, LOOK_AGAIN);
        }
    }
    let open: Vec<usize> = open
        .into_iter()
        .filter(|index| !refused.contains_key(index))
        .collect();
    let general: Vec<usize> = open
        .iter()
        .copied()
        .filter(|index| !is_rename(&seen[*index].group))
        .collect();
    for (draft, members) in work.drafts(&general) {
        let members: Vec<usize> = members
            .into_iter()
            .filter(|index| !covered.contains(index))
            .collect();
        for (rule, members) in work.rules(&draft, members) {
            covered.extend(members);
            rules.push(rule);
        }
    }
    // What a general rule cannot say is said at its own place, and else not at all.
    let left = general.iter().filter(|index| !covered.contains(index));
    let alone = work.alone(left.copied());
    covered.extend(alone.rules.iter().flat_map(|(_, members)| members));
    rules.extend(alone.rules.into_iter().map(|(rule, _)| rule));
    for index in open {
        if !covered.contains(&index) {
            let why = if alone.too_many.contains(&index) {
                TOO_MANY
            } else if seen[index].group.against > 0 {
                nature::CONTRADICTED
            } else {
                "no rule can name its place and nothing else that must stay a difference"
            };
            refused.insert(index, why);
        }
    }
    for (index, why) in &mut refused {
        if work.is_beside_a_scale(*index, &covered) {
            *why = LOOK_AGAIN_SCALED;
        }
    }
    rules.sort_by_key(|rule| {
        let order = (rule.effect, Reverse(rule.at_least));
        (order, rule.rule.path.clone(), rule.rule.id.clone())
    });
    let mut unruled: Vec<(&GroupReport, Unruled)> = refused
        .into_iter()
        .map(|(index, why)| (&seen[index].group, unruled(&seen[index], why)))
        .collect();
    unruled.sort_by(|(one, _), (other, _)| one.order(other));
    Suggested {
        rules,
        unruled: unruled.into_iter().map(|(_, unruled)| unruled).collect(),
    }
}

fn counted(of: &Seen) -> GroupEvidence {
    let mut members = of.group.members();
    let itself = members.next().map(|member| member.counted());
    itself.expect("the first member is the group itself")
}

fn unruled(of: &Seen, why: &str) -> Unruled {
    let group = &of.group;
    Unruled {
        route: group.route.clone(),
        part: group.part,
        pattern: group.pattern.clone(),
        kind: group.kind,
        severity: group.severity,
        explanation: group.explanation,
        count: group.count,
        fingerprints: of.fingerprints.clone(),
        why: why.to_owned(),
    }
}

struct Work<'a> {
    seen: &'a [Seen],
    counted: &'a [GroupEvidence],
    /// What must stay a difference.
    refused: HashSet<usize>,
    exchanges: &'a Exchanges<'a>,
}

/// What single places get.
#[derive(Default)]
struct Alone {
    rules: Vec<(SuggestedRule, Vec<usize>)>,
    /// Groups of places that differ on more routes than [`MAX_RULES_BY_ROUTE`].
    too_many: BTreeSet<usize>,
}

impl Work<'_> {
    /// General rules and the groups that each of them is for, the one that covers most first.
    fn drafts(&self, open: &[usize]) -> Vec<(Draft, Vec<usize>)> {
        let groups: Vec<&GroupReport> = open.iter().map(|index| &self.seen[*index].group).collect();
        let mut drafts = Vec::new();
        for cause in causes(&groups) {
            let members = cause.members.iter().map(|(entry, _)| open[*entry]);
            let members: Vec<usize> = members.collect();
            match cause.shared {
                Shared::Place {
                    part,
                    place,
                    kind,
                    explanation,
                    ..
                } => {
                    let (path, is_exact) = match place {
                        Place::Exact(path) => (path.to_owned(), true),
                        Place::Ending(..) | Place::Under(_) => (place.to_string(), false),
                    };
                    let draft = Draft {
                        part,
                        path,
                        kind,
                        explanation,
                        to: None,
                    };
                    if is_exact || draft.nature().may_be_anywhere {
                        drafts.push((draft, members));
                    }
                }
                Shared::Explanation(explanation, kind, _) => {
                    let bodies = members.into_iter();
                    let bodies: Vec<usize> = bodies
                        .filter(|index| self.seen[*index].group.part == Part::Body)
                        .collect();
                    let draft = Draft {
                        part: Part::Body,
                        path: "/**".to_owned(),
                        kind,
                        explanation: Some(explanation),
                        to: None,
                    };
                    if draft.nature().may_be_anywhere && bodies.len() >= MIN_ANYWHERE {
                        drafts.push((draft, bodies));
                    }
                }
                Shared::Status(..) => {}
            }
        }
        drafts
    }

    /// Rules for single places, each with the groups that it excuses.
    fn alone(&self, left: impl Iterator<Item = usize>) -> Alone {
        let mut by_place: BTreeMap<Draft, Vec<usize>> = BTreeMap::new();
        for index in left {
            let draft = Draft::at(&self.seen[index].group);
            by_place.entry(draft).or_default().push(index);
        }
        let mut alone = Alone::default();
        for (draft, members) in by_place {
            let routes = members.iter().map(|index| &self.seen[*index].group.route);
            if routes.collect::<BTreeSet<_>>().len() > MAX_RULES_BY_ROUTE {
                alone.too_many.extend(&members);
            }
            alone.rules.extend(self.rules(&draft, members));
        }
        alone
    }

    /// The rules of a draft, each with the groups that it excuses.
    fn rules(&self, draft: &Draft, members: Vec<usize>) -> Vec<(SuggestedRule, Vec<usize>)> {
        let mut by_route: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for index in &members {
            let route = self.seen[*index].group.route.as_str();
            by_route.entry(route).or_default().push(*index);
        }
        let by_values = draft.to.is_some();
        if draft.nature().may_be_anywhere || by_values {
            let general = self.rule(draft, members);
            // What is wrong on one route leaves the others their rules.
            if general.is_some() || by_route.len() == 1 {
                return general.into_iter().collect();
            }
        }
        if by_route.len() > MAX_RULES_BY_ROUTE {
            return Vec::new();
        }
        let of_each = by_route.into_values();
        of_each
            .filter_map(|members| self.rule(draft, members))
            .collect()
    }

    /// The rule of a draft with the groups that it excuses for sure; `None` if there are none, or if it could excuse what must
    /// stay.
    fn rule(&self, draft: &Draft, members: Vec<usize>) -> Option<(SuggestedRule, Vec<usize>)> {
        let routes = |members: &[usize]| -> BTreeSet<&str> {
            let routes = members.iter();
            routes
                .map(|index| self.seen[*index].group.route.as_str())
                .collect()
        };
        let factor = draft.factor().filter(|_| !self.has_texts_with(draft));
        let config = |members: &[usize]| {
            let routes = routes(members);
            let only = routes.first().filter(|_| routes.len() == 1);
            draft.config(only.copied(), factor.as_deref())
        };
        let compiled = |config: &RuleConfig| {
            let rules = Rules::compile(std::slice::from_ref(config), Timestamp::default());
            rules.ok()
        };
        let rules = compiled(&config(&members))?;
        let is_met = |rules: &Rules, index: usize| rules.surely_excuse(&self.counted[index]);
        // Those of a rename were paired by their values.
        // What contradicts the explanation must be found by the rule.
        let finds_others = draft.to.is_some() || factor.is_some();
        let members: Vec<usize> = members
            .into_iter()
            .filter(|index| finds_others || self.seen[*index].group.against == 0)
            .filter(|index| draft.to.is_some() || is_met(&rules, *index))
            .collect();
        if members.is_empty() {
            return None;
        }
        let mut config = config(&members);
        let rules = compiled(&config)?;
        let nature = draft.nature();
        // What has the same explanation by chance, or follows from another status code, must not be in reach.
        let is_reached = |index: &usize| {
            let group = &self.seen[*index].group;
            let by_name = group.explanation.is_some() && group.explanation == draft.explanation;
            by_name && rules.may_reach(&Rules::default(), &self.counted[*index])
        };
        if self.refused.iter().any(is_reached) {
            return None;
        }
        let routes: Vec<String> = routes(&members).into_iter().map(str::to_owned).collect();
        config.reason = Some(format!("suggested: {}", nature.meaning));
        let covered: HashSet<usize> = members.iter().copied().collect();
        let ignored = compiled(&RuleConfig {
            action: "ignore".to_owned(),
            explanations: Vec::new(),
            kind: None,
            factor: None,
            to: None,
            ..config.clone()
        });
        let exceptions = ignored.map_or(0, |ignored| {
            let others = (0..self.seen.len()).filter(|index| !covered.contains(index));
            // One that a rule excuses is one of another suggestion.
            let others = others.filter(|index| !is_met(&rules, *index));
            // A rename may excuse some of what is missing there, too.
            let others = others.filter(|index| {
                draft.to.is_none() || self.seen[*index].group.kind != Kind::Missing
            });
            others.filter(|index| is_met(&ignored, *index)).count() as u64
        });
        let others = self.seen.iter().enumerate();
        let others = others.filter(|(index, _)| !covered.contains(index));
        let others: HashSet<&str> = others.map(|(_, of)| of.group.route.as_str()).collect();
        let alone_on = routes
            .iter()
            .filter(|route| !others.contains(route.as_str()));
        let alone_on = alone_on.cloned().collect();
        let Bounds { at_least, at_most } = self.bounds(&members);
        let first = members
            .iter()
            .rev()
            .max_by_key(|index| self.seen[**index].group.count);
        let example = first.and_then(|index| self.seen[*index].group.example.clone());
        let names = members.iter();
        let rule = SuggestedRule {
            effect: nature.effect,
            reach: draft.reach(config.route.as_deref(), factor.as_deref()),
            rule: config.text(),
            at_least,
            at_most,
            routes,
            alone_on,
            fingerprints: names
                .flat_map(|index| self.seen[*index].fingerprints.clone())
                .collect(),
            exceptions,
            noise_like: 0,
            example,
        };
        Some((rule, members))
    }

    /// Whether the factor of a draft also holds between a number and a text at its place. `scale` reads both, so it would excuse a
    /// change of the type that was seen, and is a decision of its own.
    fn has_texts_with(&self, draft: &Draft) -> bool {
        self.seen.iter().any(|of| {
            let group = &of.group;
            group.kind == Kind::Type
                && group.part == draft.part
                && group.pattern == draft.path
                && group.explanation == draft.explanation
        })
    }

    /// Whether two numbers without an explanation are where a `scale` is suggested.
    fn is_beside_a_scale(&self, index: usize, covered: &BTreeSet<usize>) -> bool {
        let group = &self.seen[index].group;
        group.kind == Kind::Value
            && group.explanation.is_none()
            && covered.iter().any(|other| {
                let other = &self.seen[*other].group;
                nature::is_scaled(other) && is_same_place(group, other)
            })
    }

    fn bounds(&self, members: &[usize]) -> Bounds {
        self.exchanges.bounds(members.iter().map(|index| {
            let of = &self.seen[*index];
            Counted {
                route: &of.group.route,
                codes: (of.group.legacy_status, of.group.candidate_status),
                fingerprints: &of.fingerprints,
                bounds: Bounds {
                    at_least: of.group.count,
                    at_most: of.at_most,
                },
            }
        }))
    }
}

/// Whether two groups differ in the same way at one place of the same answers.
fn is_same_place(one: &GroupReport, other: &GroupReport) -> bool {
    let of = |group: &GroupReport| {
        let codes = (group.legacy_status, group.candidate_status);
        (group.part, group.kind, codes)
    };
    of(one) == of(other) && one.pattern == other.pattern && one.route == other.route
}

/// Whether a rule can name it as a reader sees it.
fn can_be_named(group: &GroupReport) -> bool {
    group.route != OTHER
        && visible(&group.pattern) == group.pattern
        && visible(&group.route) == group.route
}

#[cfg(test)]
mod tests;
