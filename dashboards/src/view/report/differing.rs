//! What differs: causes and groups without a common cause in one list, the gravest first; then what is only spelt in another
//! way; and groups that do not count.

use std::cmp::Reverse;

use parity_comparator::rules::factor_of;
use parity_schemas::attributes::SpecialAttribute;
use parity_schemas::known::KnownState;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::report::{CauseReport, GroupReport};
use parity_schemas::severity::Severity;
use parity_schemas::verdict::{Explanation, Kind, Part};

use crate::view::difference::{Difference, Place, Values, explained};
use crate::view::listing::{Folded, Listing};
use crate::view::noise::shapes;
use crate::view::words::{classes, grouped, plural, shown, special};

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
    fn at_least(&self) -> u64 {
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

/// What several groups share.
pub(crate) struct Cause<'a> {
    /// What they share.
    pub(crate) name: CauseName<'a>,
    /// Its numbers.
    report: &'a CauseReport,
    /// Its groups, the most frequent first.
    pub(crate) members: Vec<Member<'a>>,
    /// What is special about the requests of all of them.
    shared: Vec<&'a SpecialAttribute>,
    /// How many of its groups are listed with it.
    listed: usize,
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
    classes: &'a ClassCounts,
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
    fn of(report: &'a CauseReport, members: Vec<Member<'a>>) -> Option<Self> {
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
