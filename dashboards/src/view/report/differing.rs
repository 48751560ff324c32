//! What differs: causes, groups without a common cause, and groups that do not count.

use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::report::{CauseReport, GroupReport};
use parity_schemas::verdict::{Explanation, Kind};

use crate::view::difference::{Difference, Place, Values};
use crate::view::listing::{Folded, Listing};
use crate::view::noise::shapes;
use crate::view::words::{classes, grouped};

/// Differences: first the causes that several groups share; then the groups without a common cause.
pub(crate) struct Differing<'a> {
    /// The most frequent first.
    pub(crate) causes: Vec<Cause<'a>>,
    /// Groups that belong to no cause, the most frequent first.
    pub(crate) groups: Vec<Group<'a>>,
    /// How many groups count, with and without a cause.
    pub(crate) of: u64,
    /// Groups that do not count: all of their mismatches are transient.
    pub(crate) transient: Vec<Group<'a>>,
    /// How to accept what is meant to differ. Only where all mismatches at a place have the same explanation.
    pub(crate) hint: Option<String>,
}

impl<'a> Differing<'a> {
    /// Of the groups as they are listed.
    pub(super) fn of(listing: &'a Listing) -> Self {
        let (causes, rest) = listing.by_cause();
        let groups = listing.counting.iter().map(|folded| &folded.group);
        let mut members = groups.flat_map(GroupReport::members);
        Self {
            of: listing.counting.len() as u64,
            causes: causes
                .into_iter()
                .filter_map(|(cause, members)| {
                    let members = members.into_iter().map(|member| Member {
                        group: member.group,
                        classes: member.classes,
                        difference: member.into(),
                    });
                    Cause::of(cause, members.collect())
                })
                .collect(),
            groups: rest.into_iter().map(Group::from).collect(),
            transient: listing.transient.iter().map(Group::from).collect(),
            hint: members.find_map(|member| member.hint()).map(hint),
        }
    }
}

/// What several groups share. Its count is that of its findings. An answer may be in several of the groups, so the number of
/// answers is only known as a lower bound, which is shown, too.
pub(crate) struct Cause<'a> {
    /// What they share.
    pub(crate) name: CauseName<'a>,
    /// The numbers of findings, answers and routes, in words.
    pub(crate) report: &'a CauseReport,
    /// Its groups, the most frequent first.
    pub(crate) members: Vec<Member<'a>>,
}

/// What the groups of a cause share.
pub(crate) enum CauseName<'a> {
    /// One field that differs in one way.
    Field(Place<'a>, Kind),
    /// One explanation.
    Explanation(Explanation),
}

/// A group of a cause.
pub(crate) struct Member<'a> {
    /// The entry of the report that has its route and count.
    pub(crate) group: &'a GroupReport,
    /// What differs.
    pub(crate) difference: Difference<'a>,
    /// Its mismatches by class.
    classes: &'a ClassCounts,
}

impl<'a> Cause<'a> {
    /// `None` for a cause without a name, which no report of ours contains.
    fn of(report: &'a CauseReport, members: Vec<Member<'a>>) -> Option<Self> {
        let name = match (report.part, &report.pattern, report.kind) {
            (Some(part), Some(path), Some(kind)) => CauseName::Field(Place { part, path }, kind),
            _ => CauseName::Explanation(report.explanation?),
        };
        Some(Self {
            name,
            report,
            members,
        })
    }

    /// Its findings by class, in words; `None` if none was asked again.
    pub(crate) fn classes(&self) -> Option<String> {
        let mut sum = ClassCounts::new();
        for member in &self.members {
            add_counts(&mut sum, member.classes);
        }
        classes(&sum)
    }

    /// The values of the first group that has an example.
    pub(crate) fn example(&self) -> Option<&Values<'a>> {
        let mut members = self.members.iter();
        members.find_map(|member| member.difference.values.as_ref())
    }
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

    /// The shapes of its values, if there are several.
    pub(crate) fn shapes(&self) -> Option<String> {
        (self.shapes.len() > 1).then(|| shapes(self.shapes))
    }
}

/// A sentence with the rule that accepts differences of this explanation.
fn hint(explanation: Explanation) -> String {
    format!(
        "What is meant to differ like that: a [[rule]] with action = \"accept\" and explanations = [\"{explanation}\"], or a \
         profile (`parity rules`)"
    )
}
