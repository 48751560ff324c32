//! What becomes of counts when rules change: per route untouched, decided again, or anew.
//!
//! Counts are verdicts without the answers that they were given on, so nothing can be compared again. What can be proven
//! from the rules, from how often each of them excused something, and from the groups of the mismatches is this:
//!
//! - A rule that was removed and had excused nothing on a route has changed no verdict there ([`Edit::removal`]).
//! - A rule that was added and only excuses leaves every match a match. A mismatch with a group that it cannot reach stays
//!   one; a mismatch all of whose groups are excused *as a whole* becomes a match ([`Edit::addition`]).
//! - Everything else is not known, and the count starts anew. Above all rules that pair elements anew (`unordered`, `key`,
//!   renamed fields), and rules that apply inside of what such rules pair: they change which values meet each other, and
//!   how much work that is.
//!
//! `tests` asks the comparator: whatever is said here of random edits must be what comparing again says.

use std::collections::{BTreeMap, BTreeSet};

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::evidence::carried::{Fate, Redecide, RouteCounted, RulesCounted};
use parity_schemas::record::MismatchClass;
use parity_schemas::route::{OTHER, means};
use parity_schemas::verdict::{Explanation, Part, Reason};

pub use self::excusing::{Excusing, excusing, excusing_each};
use self::known::{Known, read};
use super::action::Explanations;
use super::reach::can_be_below;
use super::{Action, Rule, Rules};

mod excusing;
mod expired;
mod known;
mod step;
mod touch;

/// All that a store must be told of rules.
pub const REDECIDE: Redecide = Redecide {
    fates: redecide,
    expired: expired::expired,
};

/// What becomes of the counts of routes under earlier rules; the error says why nothing is known of any of them.
pub(crate) fn redecide(
    earlier: &RulesCounted,
    now: &RulesCounted,
    routes: &[RouteCounted],
) -> Result<Vec<Fate>, String> {
    let (old, new) = (read(earlier)?, read(now)?);
    let fate = |counted| Edit::on(&old, &new.rules, counted).fate(counted);
    Ok(routes.iter().map(fate).collect())
}

/// What an edit changes for one route. Rules that hide values decide nothing and are left out.
struct Edit<'a> {
    /// Added rules.
    added: Vec<&'a Rule>,
    /// Removed ones, each with how often it may have excused something on the route.
    removed: Vec<(&'a Rule, u64)>,
    /// Those that are there before and after, in the order before.
    kept: Vec<&'a Rule>,
    /// The order of those that pair elements has changed.
    reordered: bool,
}

/// Why a count starts anew.
type Why = String;

impl<'a> Edit<'a> {
    fn on(old: &'a Known, new: &'a Rules, counted: &RouteCounted) -> Self {
        let applies = |rule: &&Rule| {
            // Behind this label are requests of many routes.
            counted.route == OTHER
                || rule.route.as_deref().is_none_or(|route| {
                    // Operations beyond a cap are counted as their endpoint.
                    means(route, &counted.route) || means(&counted.route, route)
                })
        };
        let before: Vec<(&Rule, &BTreeSet<String>)> = old
            .rules
            .all
            .iter()
            .zip(&old.names)
            .filter(|(rule, _)| applies(rule))
            .collect();
        let after: Vec<&Rule> = new
            .all
            .iter()
            .filter(|rule| !matches!(rule.action, Action::Mask))
            .filter(applies)
            .collect();
        let is_after = |rule: &Rule| after.iter().any(|other| other.says(rule));
        let is_before = |rule: &Rule| before.iter().any(|(other, _)| other.says(rule));
        let kept: Vec<&Rule> = before
            .iter()
            .map(|(rule, _)| *rule)
            .filter(|rule| is_after(rule))
            .collect();
        let known: BTreeSet<&str> = old.names.iter().flatten().map(String::as_str).collect();
        let strangers: u64 = counted
            .rule_hits
            .iter()
            .filter(|(id, _)| !known.contains(id.as_str()))
            .map(|(_, hits)| hits)
            .sum();
        let hits = |names: &BTreeSet<String>| -> u64 {
            let own = names.iter().filter_map(|name| counted.rule_hits.get(name));
            own.sum::<u64>() + strangers
        };
        let removed = before
            .iter()
            .filter(|(rule, _)| !is_after(rule))
            .map(|(rule, names)| (*rule, hits(names)))
            .collect();
        let still: Vec<&Rule> = after
            .iter()
            .copied()
            .filter(|rule| is_before(rule))
            .collect();
        Self {
            reordered: pairing(&kept) != pairing(&still),
            added: after
                .iter()
                .copied()
                .filter(|rule| !is_before(rule))
                .collect(),
            removed,
            kept,
        }
    }

    fn fate(&self, counted: &RouteCounted) -> Fate {
        if self.added.is_empty() && self.removed.is_empty() && !self.reordered {
            return Fate::Untouched;
        }
        let checked = self
            .pairs_alike(counted)
            .and_then(|()| {
                self.removed
                    .iter()
                    .try_for_each(|(rule, hits)| self.removal(rule, *hits, counted))
            })
            .and_then(|()| {
                self.added
                    .iter()
                    .try_for_each(|rule| self.addition(rule, counted))
            });
        match checked.and_then(|()| self.mismatches(counted)) {
            Err(why) => Fate::Anew(why),
            Ok(excused) if excused.is_empty() => Fate::Untouched,
            Ok(excused) => Fate::Excused(excused),
        }
    }

    /// Added and removed ones, of bodies.
    fn changed(&self) -> impl Iterator<Item = &'a Rule> + '_ {
        let removed = self.removed.iter().map(|(rule, _)| *rule);
        let changed = self.added.iter().copied().chain(removed);
        changed.filter(|rule| rule.part == Part::Body)
    }

    /// All rules before or after, of bodies.
    fn all(&self) -> impl Iterator<Item = &'a Rule> + '_ {
        let kept = self.kept.iter().copied();
        kept.filter(|rule| rule.part == Part::Body)
            .chain(self.changed())
    }

    /// Whether the same values meet each other as before, with no more work.
    fn pairs_alike(&self, counted: &RouteCounted) -> Result<(), Why> {
        if self.reordered {
            return Err("rules that pair the elements of arrays have another order".to_owned());
        }
        let Some(changed) = self.changed().next() else {
            return Ok(());
        };
        let matching: Vec<&Rule> = self.all().filter(|rule| rule.is_unordered()).collect();
        if let Some(rule) = self.all().find(|rule| rule.accepts_renamed()) {
            let (changed, rule) = (&changed.id, &rule.id);
            return Err(format!(
                "`{changed}` changed, and `{rule}` accepts fields under other names, which are looked for by their values"
            ));
        }
        for rule in self.changed() {
            let outer = matching.iter().find(|outer| {
                !std::ptr::eq(**outer, rule) && can_be_below(&rule.pattern, &outer.pattern)
            });
            if let Some(outer) = outer {
                return Err(format!(
                    "`{}` may apply inside of the elements that `{}` matches in any order",
                    rule.id, outer.id
                ));
            }
        }
        let before = self.before().any(Rule::accepts_absence);
        let after = self.after().any(Rule::accepts_absence);
        if before != after && !matching.is_empty() {
            return Err(
                "whether absent fields are accepted changed, and elements are matched in any order"
                    .to_owned(),
            );
        }
        let spent = [Reason::WorkBudget, Reason::CandidateWorkBudget];
        if let Some(count) = counts_of(counted, &spent) {
            return Err(format!(
                "`{}` changed, and {count} bodies took too much work to compare",
                changed.id
            ));
        }
        Ok(())
    }

    fn before(&self) -> impl Iterator<Item = &'a Rule> + '_ {
        let removed = self.removed.iter().map(|(rule, _)| *rule);
        self.kept.iter().copied().chain(removed)
    }

    fn after(&self) -> impl Iterator<Item = &'a Rule> + '_ {
        self.kept.iter().chain(&self.added).copied()
    }

    /// The groups that added rules excuse as a whole, if all other groups are out of their reach, and what is left of each
    /// mismatch is known.
    fn mismatches(&self, counted: &RouteCounted) -> Result<BTreeSet<String>, Why> {
        if self.added.is_empty() || counted.counts.mismatch == 0 {
            return Ok(BTreeSet::new());
        }
        let in_sets: u64 = counted
            .sets
            .iter()
            .flat_map(|set| set.classes.values())
            .sum();
        let all_told = in_sets == counted.counts.mismatch;
        let named = self
            .before()
            .any(|rule| rule.part == Part::Body && rule.pattern.names_any());
        let mut excused = BTreeSet::new();
        let mut left = BTreeMap::new();
        for group in &counted.groups {
            let fingerprint = &group.group.fingerprint;
            // On a label of many routes it is not known whether a rule for one of them applies.
            let covers = |rule: &&&Rule| {
                (rule.route.is_none() || counted.route != OTHER) && rule.excuses(group, named)
            };
            if self.added.iter().any(|rule| covers(&rule)) {
                excused.insert(fingerprint.clone());
            } else if let Some(rule) = self
                .added
                .iter()
                .find(|rule| rule.may_touch(group, named, all_told))
            {
                return Err(format!(
                    "`{}` was added, which may excuse a part of what differs at {}",
                    rule.id,
                    shown(group)
                ));
            } else {
                left.insert(fingerprint.as_str(), group);
            }
        }
        if excused.is_empty() {
            // Without any group it is not known what the mismatches are.
            return if left.is_empty() {
                Err("what differs is not known".to_owned())
            } else {
                Ok(excused)
            };
        }
        let is_known = |name: &String| excused.contains(name) || left.contains_key(name.as_str());
        if !all_told
            || !counted
                .sets
                .iter()
                .all(|set| set.fingerprints.iter().all(is_known))
        {
            let unknown = counted.counts.mismatch.saturating_sub(in_sets);
            return Err(format!(
                "of {unknown} mismatches it is not known what else differs"
            ));
        }
        // A group that was transient is not in the set of its exchange.
        match left
            .values()
            .find(|group| of_class(group, MismatchClass::Transient) > 0)
        {
            Some(group) => Err(format!(
                "some mismatches at {} agreed when asked again (transient), and of those it is not counted what else differed in the same answers",
                shown(group)
            )),
            None => Ok(excused),
        }
    }
}

/// The rules that pair elements, in their order.
fn pairing<'a>(rules: &[&'a Rule]) -> Vec<(Option<&'a str>, String, String)> {
    let pairing = rules
        .iter()
        .filter(|rule| matches!(rule.action, Action::Unordered | Action::Key(_)));
    pairing.map(|rule| rule.content()).collect()
}

/// How many requests ended for one of these reasons; `None` if none did.
fn counts_of(counted: &RouteCounted, reasons: &[Reason]) -> Option<u64> {
    let counts = reasons
        .iter()
        .filter_map(|reason| counted.counts.not_compared.get(reason));
    let sum: u64 = counts.sum();
    (sum > 0).then_some(sum)
}

fn of_class(group: &GroupEvidence, class: MismatchClass) -> u64 {
    group.classes.get(&class).copied().unwrap_or(0)
}

fn shown(group: &GroupEvidence) -> String {
    let (part, pattern) = (group.group.part, &group.group.pattern);
    match part {
        Part::Status => part.to_string(),
        Part::Body if pattern.is_empty() => "the whole body".to_owned(),
        _ => format!("{part} {pattern}"),
    }
}

impl Rule {
    /// All of it that decides: what the hash covers.
    fn content(&self) -> (Option<&str>, String, String) {
        let action = format!("{} {:?} {:?}", self.part, self.action, self.expires);
        (self.route.as_deref(), self.pattern.canonical(), action)
    }

    fn says(&self, other: &Self) -> bool {
        self.content() == other.content()
    }

    fn is_unordered(&self) -> bool {
        matches!(self.action, Action::Unordered)
    }

    fn is_tolerance(&self) -> bool {
        matches!(self.action, Action::Absolute(_) | Action::Relative(_))
    }

    fn accepted(&self) -> Option<Explanations> {
        match self.action {
            Action::Accept(explanations, _) if self.part == Part::Body => Some(explanations),
            _ => None,
        }
    }

    fn accepts_renamed(&self) -> bool {
        self.accepted()
            .is_some_and(|accepted| accepted.contains(Explanation::Renamed))
    }

    fn accepts_absence(&self) -> bool {
        self.accepted().is_some_and(Explanations::of_absence)
    }
}

#[cfg(test)]
mod tests;
