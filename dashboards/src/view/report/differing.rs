//! What differs: causes and groups without a common cause in one list, the gravest first; then what is only spelt in another
//! way; and groups that do not count.

mod cause;

use std::cmp::Reverse;

use parity_comparator::rules::factor_of;
use parity_schemas::known::KnownState;
use parity_schemas::report::GroupReport;
use parity_schemas::severity::Severity;
use parity_schemas::verdict::{Explanation, Part};

pub(crate) use self::cause::{Cause, CauseName, Member};
use crate::view::difference::Difference;
use crate::view::listing::{Folded, Listing};
use crate::view::noise::shapes;
use crate::view::words::{classes, grouped, plural, special};

/// Differences. Everything the gravest first, then the most frequent.
pub(crate) struct Differing<'a> {
    /// What may break a client, or is at least similar only.
    pub(crate) entries: Vec<Entry<'a>>,
    /// What is only spelt in another way.
    pub(crate) spelt: Vec<Entry<'a>>,
    /// Groups that do not count: all of their mismatches are transient.
    pub(crate) transient: Vec<Group<'a>>,
    /// How to accept what is meant to differ, for the list that it speaks of: one of `entries`, else one of `spelt`. Only where
    /// all mismatches at a place have the same explanation.
    pub(crate) hint: Option<String>,
    /// The same, if it is one of `spelt`.
    pub(crate) spelt_hint: Option<String>,
    /// How many entries are not there, because somebody wanted only the first.
    pub(crate) left_out: usize,
    /// How many causes and groups there are in all, in words.
    pub(crate) extent: String,
    /// The same of `spelt`.
    pub(crate) spelt_extent: String,
    /// Groups of both, whether a cause covers them or not.
    pub(crate) groups: u64,
}

/// What is told at once.
pub(crate) enum Entry<'a> {
    /// What several groups share.
    Cause(Cause<'a>),
    /// A group that belongs to no cause.
    Group(Box<Group<'a>>),
}

impl Entry<'_> {
    /// The name by which its history is asked for: of its most frequent group. Groups come together in one exchange, so the sum of
    /// several would count it more than once.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = match self {
            Self::Cause(cause) => {
                let members = cause.members.iter().map(|member| member.group);
                members
                    .max_by_key(|group| group.count)
                    .map(|group| &group.fingerprint)
            }
            Self::Group(group) => Some(&group.report.fingerprint),
        };
        name.cloned().into_iter().collect()
    }

    /// What its history counts.
    pub(crate) fn counted(&self) -> &'static str {
        match self {
            Self::Cause(cause) if cause.members.len() > 1 => {
                "mismatches of its most frequent group"
            }
            Self::Group(group) if group.shapes.len() > 1 => "mismatches of its most frequent shape",
            Self::Cause(_) | Self::Group(_) => "mismatches",
        }
    }

    /// How many groups it is.
    fn groups(&self) -> u64 {
        match self {
            Self::Cause(cause) => cause.members.len() as u64,
            Self::Group(_) => 1,
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Cause(cause) => cause.report.severity,
            Self::Group(group) => group.report.severity,
        }
    }

    /// An explanation of what is told here, not of what only follows from it, and one that a rule can excuse.
    fn hint(&self) -> Option<Explanation> {
        let hint = match self {
            Self::Cause(cause) => cause.report.explanation,
            Self::Group(group) if group.report.part == Part::Status => None,
            Self::Group(group) => group.report.members().find_map(|member| member.hint()),
        };
        hint.filter(|explanation| !explanation.may_be_chance())
    }

    /// Mismatches that are known.
    pub(crate) fn at_least(&self) -> u64 {
        match self {
            Self::Cause(cause) => cause.report.at_least,
            Self::Group(group) => group.report.count,
        }
    }
}

impl<'a> Differing<'a> {
    /// Of the groups as they are listed.
    pub(super) fn of(listing: &'a Listing) -> Self {
        let causes = listing
            .by_cause()
            .into_iter()
            .filter_map(|(cause, members)| {
                let members = members.into_iter().map(|member| Member {
                    group: member.group,
                    classes: member.classes,
                    difference: member.into(),
                });
                Cause::of(cause, members.collect()).map(Entry::Cause)
            });
        let rest = listing.rest.iter().map(Group::from);
        let rest = rest.map(|group| Entry::Group(Box::new(group)));
        let mut entries: Vec<Entry<'a>> = causes.chain(rest).collect();
        // Stable: of two that are alike, a cause comes before a group.
        entries.sort_by_key(|entry| (entry.severity(), Reverse(entry.at_least())));
        let format = entries.partition_point(|entry| entry.severity() < Severity::Format);
        let spelt = entries.split_off(format);
        let of = |list: &[Entry<'a>]| list.iter().find_map(Entry::hint).map(hint);
        let hint = of(&entries);
        Self {
            left_out: 0,
            groups: entries.iter().chain(&spelt).map(Entry::groups).sum(),
            extent: extent(&entries),
            spelt_extent: extent(&spelt),
            spelt_hint: if hint.is_none() { of(&spelt) } else { None },
            hint,
            spelt,
            entries,
            transient: listing.transient.iter().map(Group::from).collect(),
        }
    }
}

impl Differing<'_> {
    /// Only so many of each list, and of the groups of each cause.
    pub(crate) fn first(mut self, entries: usize, members: usize) -> Self {
        for list in [&mut self.entries, &mut self.spelt] {
            self.left_out += list.len().saturating_sub(entries);
            list.truncate(entries);
            for entry in list {
                if let Entry::Cause(cause) = entry {
                    cause.listed = members;
                }
            }
        }
        self
    }
}

/// How many causes and groups these are, in words.
pub(crate) fn extent(entries: &[Entry<'_>]) -> String {
    let (mut causes, mut covered, mut groups) = (0, 0, 0);
    for entry in entries {
        match entry {
            Entry::Cause(cause) => {
                causes += 1;
                covered += cause.members.len() as u64;
            }
            Entry::Group(_) => groups += 1,
        }
    }
    if causes == 0 {
        return plural(groups, "group", "groups");
    }
    let mut text = plural(causes, "cause", "causes");
    text.extend([" of ", &plural(covered, "group", "groups")]);
    if groups > 0 {
        text.extend([", ", &plural(groups, "other group", "other groups")]);
    }
    text
}

/// One group, with those that were found in exactly the same answers.
pub(crate) struct Group<'a> {
    /// Route, count, times.
    pub(crate) report: &'a GroupReport,
    /// Whether there may be more mismatches than its count.
    is_least: bool,
    /// What its values are, and how many of each.
    shapes: &'a [(String, u64)],
    /// What differs.
    pub(crate) difference: Difference<'a>,
    /// The other differences of these answers.
    pub(crate) also: Vec<Difference<'a>>,
}

impl<'a> From<&'a Folded> for Group<'a> {
    fn from(folded: &'a Folded) -> Self {
        let mut members = folded.group.members();
        let itself = members
            .next()
            .expect("the first of its members is the group itself");
        Self {
            report: &folded.group,
            is_least: folded.is_least,
            shapes: folded.folds.first().map_or(&[], |fold| &fold.shapes),
            difference: itself.into(),
            also: members.map(Difference::from).collect(),
        }
    }
}

impl Group<'_> {
    /// How many mismatches, with a sign if there may be more.
    pub(crate) fn count(&self) -> String {
        let least = if self.is_least { "≥" } else { "" };
        format!("{least}{}", grouped(self.report.count))
    }

    /// The mismatches by class; `None` if none was asked again.
    pub(crate) fn classes(&self) -> Option<String> {
        classes(&self.report.classes)
    }

    /// How it stands to the register of known differences; `None` where there is nothing to say, because nothing is known.
    pub(crate) fn state(&self, any_known: bool) -> Option<KnownState> {
        let state = self.report.state;
        (any_known || state != KnownState::New).then_some(state)
    }

    /// What is special about these requests, in words.
    pub(crate) fn special(&self) -> Option<String> {
        special(&self.report.special)
    }

    /// The shapes of its values, if there are several.
    pub(crate) fn shapes(&self) -> Option<String> {
        (self.shapes.len() > 1).then(|| shapes(self.shapes))
    }
}

/// A sentence with the rule that excuses differences of this explanation.
fn hint(explanation: Explanation) -> String {
    if matches!(explanation, Explanation::Renamed | Explanation::OtherName) {
        return "What is meant to have another name: a [[rule]] with action = \"rename\" and the new name in `to` (`parity rules suggest`)"
            .to_owned();
    }
    if let Some(factor) = factor_of(explanation) {
        return format!(
            "What is meant to be in another unit: a [[rule]] with action = \"scale\" and factor = \"{factor}\" (`parity rules suggest`)"
        );
    }
    format!(
        "What is meant to differ like that: a [[rule]] with action = \"accept\" and explanations = [\"{explanation}\"], or a \
         profile (`parity rules`)"
    )
}
