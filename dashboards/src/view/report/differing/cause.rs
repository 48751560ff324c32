//! A cause: what several groups share, the groups, and what is special about their requests. Which cause a group belongs to is decided
//! where causes are found; here it is only told.

use std::cmp::Reverse;

use parity_schemas::attributes::SpecialAttribute;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::report::{CauseReport, GroupReport};
use parity_schemas::verdict::{Explanation, Kind, Part};

use crate::view::difference::{Difference, Place, Values, explained};
use crate::view::words::{classes, grouped, plural, shown, special};

/// What several groups share.
pub(crate) struct Cause<'a> {
    /// What they share.
    pub(crate) name: CauseName<'a>,
    /// Its numbers.
    pub(super) report: &'a CauseReport,
    /// Its groups, the most frequent first.
    pub(crate) members: Vec<Member<'a>>,
    /// What is special about the requests of all of them.
    shared: Vec<&'a SpecialAttribute>,
    /// How many of its groups are listed with it.
    pub(super) listed: usize,
}

/// What the groups of a cause share.
pub(crate) enum CauseName<'a> {
    /// The two status codes.
    Status(u16, u16),
    /// A kind of places where something differs in one way.
    Place(Place<'a>, Kind),
    /// One explanation.
    Explanation(Explanation, Kind),
}

/// A group of a cause.
pub(crate) struct Member<'a> {
    /// The entry of the report that has its route and count.
    pub(crate) group: &'a GroupReport,
    /// What differs.
    pub(crate) difference: Difference<'a>,
    /// Its mismatches by class.
    pub(super) classes: &'a ClassCounts,
}

/// What is special about the requests of all of some groups, as the first one has it. Asked once for a cause: to ask it for each of
/// its groups would take as long as the square of their number.
fn shared<'a>(members: &[Member<'a>]) -> Vec<&'a SpecialAttribute> {
    let Some(first) = members.first() else {
        return Vec::new();
    };
    let first = first.group.special.iter();
    let is_of_all = |one: &&SpecialAttribute| {
        let mut members = members.iter();
        members.all(|member| member.group.special.iter().any(|other| is_same(other, one)))
    };
    first.filter(is_of_all).collect()
}

fn is_same(one: &SpecialAttribute, other: &SpecialAttribute) -> bool {
    one.attribute == other.attribute && one.value == other.value && one.is_absent == other.is_absent
}

/// Groups of a cause that are told for what is special about them although they are not listed, or a whole report would be.
const MAX_SPECIAL: usize = 5;

/// Groups of a cause about whose requests something is special that is not of all of them.
pub(crate) struct SpecialMembers<'c, 'a> {
    /// Some of them, the most special first, each with what it is.
    pub(crate) members: Vec<(&'c Member<'a>, String)>,
    /// How many others there are.
    pub(crate) more: usize,
}

impl<'a> Cause<'a> {
    /// `None` for a cause without a name, which no report of ours contains.
    pub(super) fn of(report: &'a CauseReport, members: Vec<Member<'a>>) -> Option<Self> {
        let name = match (
            report.legacy_status.zip(report.candidate_status),
            report.part.zip(report.pattern.as_deref()),
        ) {
            (Some((legacy, candidate)), _) => CauseName::Status(legacy, candidate),
            (None, Some((part, path))) => CauseName::Place(Place { part, path }, report.kind?),
            (None, None) => CauseName::Explanation(report.explanation?, report.kind?),
        };
        let shared = shared(&members);
        Some(Self {
            name,
            report,
            members,
            shared,
            listed: usize::MAX,
        })
    }

    /// Its groups that are listed with it.
    pub(crate) fn listed(&self) -> &[Member<'a>] {
        self.members.get(..self.listed).unwrap_or(&self.members)
    }

    /// Its numbers.
    pub(crate) fn report(&self) -> &'a CauseReport {
        self.report
    }

    /// How many others it has, in words.
    pub(crate) fn unlisted(&self) -> Option<String> {
        let others = self.members.len().saturating_sub(self.listed) as u64;
        (others > 0).then(|| plural(others, "more group", "more groups"))
    }

    /// How many mismatches, with a sign if there may be more.
    pub(crate) fn count(&self) -> String {
        let least = if self.is_exact() { "" } else { "≥" };
        format!("{least}{}", grouped(self.report.at_least))
    }

    fn is_exact(&self) -> bool {
        self.report.at_least >= self.report.at_most
    }

    /// The explanation that holds at a place.
    pub(crate) fn explanation(&self) -> Option<Explanation> {
        let is_place = matches!(self.name, CauseName::Place(..));
        self.report.explanation.filter(|_| is_place)
    }

    /// The same with its meaning.
    pub(crate) fn near(&self) -> Option<String> {
        self.explanation().map(explained)
    }

    /// What is special about the requests of all of its groups, in words. The shares are those of the most frequent one.
    pub(crate) fn special(&self) -> Option<String> {
        let shared = self.shared.iter().copied();
        special(&shared.cloned().collect::<Vec<_>>())
    }

    fn own<'m>(&self, member: &'m Member<'_>) -> Vec<&'m SpecialAttribute> {
        let all = member.group.special.iter();
        let is_shared = |one: &SpecialAttribute| self.shared.iter().any(|of| is_same(of, one));
        all.filter(|one| !is_shared(one)).collect()
    }

    /// What is special about the requests of one of its groups besides that, in words.
    pub(crate) fn special_of(&self, member: &Member<'_>) -> Option<String> {
        let own = self.own(member).into_iter().cloned();
        special(&own.collect::<Vec<_>>())
    }

    /// The same of those groups that are not among the first `listed`: what a reader looks for may be in any of them.
    pub(crate) fn special_beyond(&self, listed: usize) -> SpecialMembers<'_, 'a> {
        // By the gap between the shares, in percents.
        let gap = |member: &Member<'_>| {
            let percents = self.own(member).into_iter().map(SpecialAttribute::percents);
            percents.map(|(these, others)| these.abs_diff(others)).max()
        };
        let beyond = self.members.iter().skip(listed);
        let mut found: Vec<_> = beyond
            .filter_map(|member| Some((gap(member)?, member)))
            .collect();
        found.sort_by_key(|(gap, _)| Reverse(*gap));
        let members = found.iter().take(MAX_SPECIAL);
        SpecialMembers {
            members: members
                .filter_map(|(_, member)| Some((*member, self.special_of(member)?)))
                .collect(),
            more: found.len().saturating_sub(MAX_SPECIAL),
        }
    }

    /// Where it is found: `3 routes`, or the name of the only one.
    pub(crate) fn routes(&self) -> String {
        match (self.report.routes, self.members.first()) {
            (1, Some(member)) => shown(&member.group.route),
            (routes, _) => format!("{} routes", grouped(routes)),
        }
    }

    /// The only route where it is found; `None` if there are several.
    pub(crate) fn only_route(&self) -> Option<&'a str> {
        let first = self.members.first()?;
        (self.report.routes == 1).then_some(first.group.route.as_str())
    }

    /// What it covers and what not, in words.
    pub(crate) fn scope(&self) -> String {
        let report = self.report;
        let mut scope = plural(self.members.len() as u64, "group", "groups");
        let on = if report.routes == 1 { " of " } else { " on " };
        scope.extend([on, &self.routes()]);
        if !self.is_exact() {
            let answers = plural(report.at_most, "answer", "answers");
            scope.extend([", in up to ", &answers]);
        }
        if report.consequences > 0 {
            let follow = if report.consequences == 1 {
                "follows"
            } else {
                "follow"
            };
            let number = grouped(report.consequences);
            scope.extend([", of which ", &number, " ", follow, " from the status"]);
        }
        if report.exceptions > 0 {
            let others = plural(report.exceptions, "other group", "other groups");
            scope.extend([", but for ", &others, " "]);
            scope.push_str(match self.name {
                CauseName::Explanation(..) => "where it may be chance",
                _ => "that differ there in another way",
            });
        }
        if let Some(classes) = self.classes() {
            scope.push_str(", ");
            if report.findings != report.at_least {
                let findings = plural(report.findings, "finding", "findings");
                scope.extend([&findings, ": "]);
            }
            scope.push_str(&classes);
        }
        scope
    }

    /// Its findings by class, in words; `None` if none was asked again.
    fn classes(&self) -> Option<String> {
        let mut sum = ClassCounts::new();
        for member in &self.members {
            add_counts(&mut sum, member.classes);
        }
        classes(&sum)
    }

    /// The values, if all of its groups have the same as far as they have an example.
    pub(crate) fn only_values(&self) -> Option<&Values<'a>> {
        let mut values = self.examples();
        let first = values.next()?;
        let both =
            |values: &Values<'a>| (values.sides.legacy.clone(), values.sides.candidate.clone());
        let is_only = values.all(|other| both(other) == both(first));
        is_only.then_some(first)
    }

    /// The values of each group that has an example.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &Values<'a>> {
        let members = self.members.iter();
        members.filter_map(|member| member.difference.values.as_ref())
    }

    /// Whether its groups differ in nothing but their route, which is then all that is to be said of each.
    pub(crate) fn is_of_routes(&self) -> bool {
        let is_field = match self.name {
            CauseName::Place(place, _) => place.part != Part::Body,
            CauseName::Status(..) => self.report.consequences == 0,
            CauseName::Explanation(..) => false,
        };
        is_field && (self.only_values().is_some() || self.examples().next().is_none())
    }
}
