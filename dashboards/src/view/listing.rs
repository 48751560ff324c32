//! Which groups of a report are listed where: those that count, with their causes, and those whose mismatches are all
//! transient.
//!
//! Whether a group is noise depends on the shape of its values, so a field whose texts have several lengths is several
//! groups. Whoever reads the report wants to see that field once. So groups that differ in nothing but their shape are one
//! entry here, with their shapes and counts. What is proven to be noise, or may be, is listed on its own
//! ([`noise`](super::noise)) and never added to what is not.
//!
//! The causes are found after that: what is noise has no cause, and two shapes of one field have not something in common. An
//! entry is listed with what no cause covers of it.

mod causes;
mod folded;
pub(super) mod special;

use std::collections::{HashMap, HashSet};

use parity_comparator::causes::Exchanges;
use parity_schemas::noise::{NoiseState, NoiseUse};
use parity_schemas::recheck::ClassCounts;
use parity_schemas::record::MismatchClass;
use parity_schemas::report::{CauseReport, Member, Report};

use self::causes::{Cause, causes, rest};
use self::folded::{entry, fold, members};
use self::special::Routes;

pub(super) use self::folded::split;
pub(crate) use self::folded::{Folded, Place};

/// The groups of a report as they are listed: everything the gravest first, then the most frequent.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// What several of the groups that count share.
    causes: Vec<Cause>,
    /// Those that count.
    pub(super) counting: Vec<Folded>,
    /// What no cause covers of them.
    pub(super) rest: Vec<Folded>,
    /// Those whose mismatches are all transient, so that none counts.
    pub(super) transient: Vec<Folded>,
}

/// The groups that a list of what counts leaves out, for whoever looks through all. They are as many as there are groups, so nobody
/// else holds them.
pub(crate) struct LeftOut {
    /// Those that are known and do not count.
    known: Vec<Folded>,
    /// Those that are noise, or may be.
    noise: Vec<Folded>,
}

/// Where a group is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shelf {
    Counting,
    Transient,
    /// With what is noise, or may be.
    Noise,
    /// It is known and does not count: listed with its entry.
    Known,
}

/// Whether all mismatches of a group are transient.
pub(super) fn is_transient(classes: &ClassCounts, count: u64) -> bool {
    count > 0 && classes.get(&MismatchClass::Transient) == Some(&count)
}

/// Puts the groups of a report where they are listed.
struct Sorting<'a> {
    report: &'a Report,
    usage: NoiseUse,
    noise: HashMap<(&'a str, &'a str), NoiseState>,
    excused: HashSet<(&'a str, &'a str)>,
    exchanges: Exchanges<'a>,
    routes: Routes<'a>,
}

impl<'a> Sorting<'a> {
    /// Of a report that knows what is noise.
    fn of(report: &'a Report, usage: NoiseUse) -> Self {
        let noise = report.noise.iter().map(|noise| {
            let name = (noise.route.as_str(), noise.group.fingerprint.as_str());
            (name, noise.state)
        });
        let excused = report
            .known
            .iter()
            .flat_map(|one| one.groups.iter().filter(|group| one.excuses(group)))
            .map(|group| (group.route.as_str(), group.group.fingerprint.as_str()));
        let mismatches = report.routes.iter();
        let mismatches = mismatches.map(|route| (route.route.as_str(), route.counts.mismatch));
        Self {
            report,
            usage,
            noise: noise.collect(),
            excused: excused.collect(),
            exchanges: Exchanges::of(&report.sets, mismatches),
            routes: Routes::of(&report.routes),
        }
    }

    fn shelf(&self, member: &Member<'_>) -> Shelf {
        let name = (member.group.route.as_str(), member.fingerprint);
        let state = self
            .noise
            .get(&name)
            .filter(|_| self.usage == NoiseUse::Use);
        match state {
            Some(NoiseState::Proven) => Shelf::Noise,
            _ if is_transient(member.classes, member.group.count) => Shelf::Transient,
            _ if self.excused.contains(&name) => Shelf::Known,
            Some(NoiseState::Open) => Shelf::Noise,
            None => Shelf::Counting,
        }
    }

    fn folded(&self, wanted: Shelf) -> Vec<Folded> {
        let groups = self.report.groups.iter();
        let entries = groups.filter_map(|group| {
            let members = group.members();
            let members = members.filter(|member| self.shelf(member) == wanted);
            entry(&members.collect::<Vec<_>>())
        });
        let mut folded = fold(&entries.collect::<Vec<_>>(), &self.exchanges);
        for folded in &mut folded {
            self.routes.tell(&mut folded.group);
        }
        folded
    }
}

impl LeftOut {
    /// Of the same report as a listing.
    pub(crate) fn of(report: &Report, usage: NoiseUse) -> Self {
        let sorting = Sorting::of(report, usage);
        Self {
            known: sorting.folded(Shelf::Known),
            noise: sorting.folded(Shelf::Noise),
        }
    }
}

impl Listing {
    /// Of a report that knows what is noise.
    pub(crate) fn of(report: &Report, usage: NoiseUse) -> Self {
        let sorting = Sorting::of(report, usage);
        let counting = sorting.folded(Shelf::Counting);
        let causes = causes(&counting, &sorting.exchanges);
        Self {
            rest: rest(&counting, &causes),
            transient: sorting.folded(Shelf::Transient),
            causes,
            counting,
        }
    }

    /// All groups, whatever they count.
    pub(super) fn all<'a>(
        &'a self,
        left_out: &'a LeftOut,
    ) -> impl Iterator<Item = (Shelf, &'a Folded)> {
        let lists = [
            (Shelf::Counting, &self.counting),
            (Shelf::Known, &left_out.known),
            (Shelf::Transient, &self.transient),
            (Shelf::Noise, &left_out.noise),
        ];
        let each = lists.into_iter();
        each.flat_map(|(shelf, list)| list.iter().map(move |folded| (shelf, folded)))
    }

    /// The causes as they are reported.
    pub(super) fn causes(&self) -> Vec<CauseReport> {
        let reports = self.causes.iter().map(|cause| &cause.report);
        reports.cloned().collect()
    }

    /// The causes with their groups. Those groups and the rest are all that count, and nothing twice.
    pub(super) fn by_cause(&self) -> Vec<(&CauseReport, Vec<Member<'_>>)> {
        let all = members(&self.counting);
        let causes = self.causes.iter();
        causes
            .map(|cause| {
                let members = cause.members.iter();
                let members = members.map(|(entry, place)| all[*entry][*place]);
                (&cause.report, members.collect())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
