//! The report. It answers, in this order: Did the clients get their answers? Are the services equal? Where are they not?
//! What differs? What was not compared, and why?

use std::cmp::Reverse;

use parity_comparator::decision::not_counted;
use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::evidence::Decision;
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::report::{CauseReport, GroupReport, Report};
use parity_schemas::tally::Counts;
use parity_schemas::verdict::{Explanation, Kind, Reason};

use super::completeness::Completeness;
use super::difference::{Difference, Place, Values};
use super::listing::{Folded, Listing};
use super::noise::{ExcusedColumns, NoiseView, shapes};
use super::words::{classes, grouped, plural, rate};
use super::{Decided, Tone};

/// A report with the decision on it.
#[derive(Clone, Copy)]
pub(crate) struct ReportView<'a> {
    /// What was counted.
    pub(crate) report: &'a Report,
    /// What the gate makes of it.
    pub(crate) decision: &'a Decision,
    /// Which groups are listed where.
    listing: &'a Listing,
}

/// How it stands, in a few words.
pub(crate) struct Headline {
    /// The outcome, or why there is none.
    pub(crate) word: &'static str,
    /// How good that is.
    pub(crate) tone: Tone,
    /// What was found; to be made visible.
    pub(crate) rest: String,
    /// Whether anything was compared, so that the terms of the decision matter.
    pub(crate) is_compared: bool,
}

impl<'a> From<&'a Decided> for ReportView<'a> {
    fn from(decided: &'a Decided) -> Self {
        Self {
            report: &decided.report,
            decision: &decided.decision,
            listing: &decided.listing,
        }
    }
}

impl<'a> ReportView<'a> {
    /// How it stands.
    pub(crate) fn headline(&self) -> Headline {
        let counts = &self.report.counts;
        let (compared, differing) = (self.report.compared, self.report.differing);
        let excused = self.report.excused.total();
        let nothing = |word, rest| Headline {
            word,
            tone: Tone::Open,
            rest,
            is_compared: false,
        };
        if self.report.window.is_none() {
            let rest = format!("for migration {}", self.report.migration);
            return nothing("nothing recorded", rest);
        }
        let Some(rate) = rate(differing, compared) else {
            let rest = format!("of {} requests received", grouped(counts.received));
            return nothing("nothing compared", rest);
        };
        let rest = if differing == 0 && excused > 0 {
            format!(
                "no difference counts in {} compared requests",
                grouped(compared)
            )
        } else if differing == 0 {
            format!("all {} compared requests are equal", grouped(compared))
        } else {
            let routes = self.report.routes.iter();
            let bad = routes.filter(|route| route.differing > 0).count();
            format!(
                "{} of {} compared requests differ ({rate}), on {bad} of {} routes",
                grouped(differing),
                grouped(compared),
                self.report.routes.len(),
            )
        };
        Headline {
            word: self.decision.outcome.as_str(),
            tone: self.decision.outcome.into(),
            rest,
            is_compared: true,
        }
    }

    /// Which mismatches do not count, one sentence for each reason; those are left out that the decision gives as reasons.
    pub(crate) fn not_counted(&self) -> Vec<String> {
        let mut sentences = not_counted(&self.decision.total);
        sentences.retain(|sentence| !self.decision.reasons.contains(sentence));
        sentences
    }

    /// All mismatches by class, in one sentence; `None` if none was asked again.
    pub(crate) fn classes(&self) -> Option<String> {
        let counts = &self.report.counts;
        let told = classes(&counts.classes)?;
        let all = plural(counts.mismatch, "mismatch", "mismatches");
        Some(format!("{all}: {told}"))
    }

    /// The columns for mismatches that do not count, or may not.
    pub(crate) fn excused_columns(&self) -> ExcusedColumns {
        ExcusedColumns::of(&self.report.excused)
    }

    /// What is taken for noise, and what looks like it.
    pub(crate) fn noise(&self) -> NoiseView<'a> {
        NoiseView::of(
            &self.report.noise,
            Some(self.report),
            &self.report.excused,
            self.decision.thresholds.noise,
        )
    }

    /// What clients got.
    pub(crate) fn clients(&self) -> ClientsView<'a> {
        ClientsView {
            received: self.report.counts.received,
            counts: &self.report.counts.clients,
            open: if self.completeness().goes_on() {
                "under way"
            } else {
                "not known"
            },
        }
    }

    /// Routes on which clients got no whole answer, most failures first.
    pub(crate) fn failing_routes(&self) -> Vec<(u64, &'a str)> {
        let mut failing: Vec<(u64, &str)> = self
            .report
            .routes
            .iter()
            .map(|route| (route.counts.clients_failed(), route.route.as_str()))
            .filter(|(failed, _)| *failed > 0)
            .collect();
        failing.sort_by_key(|(failed, route)| (Reverse(*failed), *route));
        failing
    }

    /// Up to when the record is complete.
    pub(crate) fn completeness(&self) -> Completeness<'a> {
        Completeness::from(self.report)
    }

    /// What differs.
    pub(crate) fn differing(&self) -> Differing<'a> {
        let (causes, rest) = self.listing.by_cause();
        let groups = self.listing.counting.iter().map(|folded| &folded.group);
        let mut members = groups.flat_map(GroupReport::members);
        Differing {
            of: self.listing.counting.len() as u64,
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
            transient: self.listing.transient.iter().map(Group::from).collect(),
            hint: members.find_map(|member| member.hint()).map(hint),
        }
    }

    /// Requests without a verdict: first those on which the candidate failed, which count as differing although they have no
    /// group, then the rest. Empty categories are left out.
    pub(crate) fn without_verdict(&self) -> Vec<WithoutVerdict> {
        [("The candidate failed", true), ("Not compared", false)]
            .map(|(title, failed)| WithoutVerdict::of(&self.report.counts, title, failed))
            .into_iter()
            .flatten()
            .collect()
    }

    /// Requests that were received and have no outcome; `None` if there are none, as when no request is in progress.
    pub(crate) fn unsettled(&self) -> Option<Unsettled> {
        let (received, settled) = (self.report.counts.received, self.report.counts.settled());
        if received > settled {
            Some(Unsettled::Open {
                what: if self.completeness().goes_on() {
                    "under way"
                } else {
                    "without an outcome, which was lost with its process"
                },
                received,
                settled,
            })
        } else {
            (settled > received).then_some(Unsettled::Wrong { received, settled })
        }
    }
}

/// What clients got. It comes before everything else, because nothing is worse than users without an answer.
pub(crate) struct ClientsView<'a> {
    /// How many requests.
    pub(crate) received: u64,
    /// What became of them.
    pub(crate) counts: &'a Clients,
    /// Why some clients have no outcome.
    pub(crate) open: &'static str,
}

impl ClientsView<'_> {
    /// How good that is.
    pub(crate) fn tone(&self) -> Tone {
        let failed = self.counts.keys().any(|outcome| outcome.is_failure());
        let answered = self.counts.keys().all(|outcome| outcome.is_answered());
        match (failed, answered && self.without_outcome() == 0) {
            (true, _) => Tone::Bad,
            (false, true) => Tone::Good,
            (false, false) => Tone::Open,
        }
    }

    /// In one sentence.
    pub(crate) fn told(&self) -> String {
        parity_schemas::clients::told(self.received, self.counts, grouped)
    }

    /// Requests that have no outcome.
    pub(crate) fn without_outcome(&self) -> u64 {
        self.received.saturating_sub(self.counts.values().sum())
    }

    /// Those that the legacy answered whole, by the class of the answer.
    pub(crate) fn answered(&self) -> Vec<(ClientOutcome, u64)> {
        self.of(ClientOutcome::is_answered)
    }

    /// All others, by outcome.
    pub(crate) fn not_answered(&self) -> Vec<(ClientOutcome, u64)> {
        self.of(|outcome| !outcome.is_answered())
    }

    fn of(&self, wanted: impl Fn(ClientOutcome) -> bool) -> Vec<(ClientOutcome, u64)> {
        let counts = self.counts.iter();
        counts
            .map(|(outcome, count)| (*outcome, *count))
            .filter(|(outcome, _)| wanted(*outcome))
            .collect()
    }
}

/// A sentence with the rule that accepts differences of this explanation.
fn hint(explanation: Explanation) -> String {
    format!(
        "What is meant to differ like that: a [[rule]] with action = \"accept\" and explanations = [\"{explanation}\"], or a \
         profile (`parity rules`)"
    )
}

/// Requests that nothing was compared of and that do not count against the candidate.
pub(crate) fn not_compared(counts: &Counts) -> u64 {
    counts.not_compared.values().sum::<u64>() - counts.candidate_failures()
}

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

/// Requests without a verdict.
pub(crate) struct WithoutVerdict {
    /// What they have in common.
    pub(crate) title: &'static str,
    /// How many.
    pub(crate) total: u64,
    /// The most frequent first.
    pub(crate) reasons: Vec<(Reason, u64)>,
}

impl WithoutVerdict {
    fn of(counts: &Counts, title: &'static str, failed: bool) -> Option<Self> {
        let mut reasons: Vec<(Reason, u64)> = counts
            .not_compared
            .iter()
            .map(|(reason, count)| (*reason, *count))
            .filter(|(reason, _)| reason.is_candidate_failure() == failed)
            .collect();
        reasons.sort_by_key(|(reason, count)| (Reverse(*count), *reason));
        (!reasons.is_empty()).then(|| Self {
            title,
            total: reasons.iter().map(|(_, count)| count).sum(),
            reasons,
        })
    }
}

/// Received requests and outcomes that do not add up.
pub(crate) enum Unsettled {
    /// Some requests have no outcome yet, or never will.
    Open {
        /// Why they have none, in words.
        what: &'static str,
        /// How many came in.
        received: u64,
        /// How many have an outcome.
        settled: u64,
    },
    /// There are more outcomes than requests, which is a bug of parity.
    Wrong {
        /// How many came in.
        received: u64,
        /// How many have an outcome.
        settled: u64,
    },
}

impl Unsettled {
    /// In one sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Open {
                what,
                received,
                settled,
            } => format!(
                "{} {what}: received {}, settled {}",
                grouped(received - settled),
                grouped(*received),
                grouped(*settled)
            ),
            Self::Wrong { received, settled } => {
                format!(
                    "ACCOUNTING ERROR: received {received}, settled {settled}; please report this"
                )
            }
        }
    }

    /// How good that is.
    pub(crate) fn tone(&self) -> Tone {
        match self {
            Self::Open { .. } => Tone::Plain,
            Self::Wrong { .. } => Tone::Bad,
        }
    }
}
