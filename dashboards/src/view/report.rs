//! The report. It answers, in this order: Did the clients get their answers? Are the services equal? Where are they not?
//! What differs? What was not compared, and why?

mod clients;
mod differing;
mod scope;

use std::cmp::Reverse;

use parity_comparator::decision::{
    fields_left, left_out, never_asked_again, not_asked, not_counted, of_the_legacy, only_left_out,
    operations_not_sent, paused,
};
use parity_schemas::clients::Clients;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::field_share::FieldShare;
use parity_schemas::history::{History, MarkKind};
use parity_schemas::report::{Report, RouteReport};
use parity_schemas::tally::Counts;
use parity_schemas::verdict::Reason;

use super::completeness::Completeness;
use super::known::KnownView;
use super::listing::Listing;
use super::noise::{ExcusedColumns, NoiseView};
use super::words::{classes, grouped, of_received, plural, rate};
use super::{Decided, Tone};
pub(crate) use clients::ClientsView;
pub(crate) use differing::{Cause, CauseName, Differing, Entry, Group, Member, extent};

/// Routes whose share of compared fields is told in a sentence.
const MAX_FIELDS_LEFT: usize = 10;
/// Less than this share of the fields, of answers or of bodies, that is compared exactly is told whatever else is.
const LITTLE_EXACT: f64 = 0.5;
/// As large a share of fields that are compared roughly is told, although all are compared.
const WORTH_TELLING_ROUGHLY: f64 = 0.5;

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
            let version = match self.report.candidate_version.as_str() {
                "" => String::new(),
                version => format!("of candidate {version} "),
            };
            let rest = format!("{version}for migration {}", self.report.migration);
            return nothing("nothing recorded", rest);
        }
        let Some(rate) = rate(differing, compared) else {
            let requests = plural(counts.received, "request", "requests");
            let rest = format!("of {requests} received");
            return nothing("nothing compared", rest);
        };
        let rest = if differing == 0 && excused > 0 {
            format!(
                "no difference counts in {}",
                plural(compared, "compared request", "compared requests")
            )
        } else if compared == 1 && differing == 0 {
            "the only compared request is equal".to_owned()
        } else if differing == 0 {
            format!("all {} compared requests are equal", grouped(compared))
        } else {
            let routes = self.report.routes.iter();
            let bad = routes.filter(|route| route.differing > 0).count();
            let open = match self.report.excused.open {
                0 => String::new(),
                open => format!(
                    "; {} of them look like noise, not proven yet",
                    grouped(open)
                ),
            };
            let what = counts
                .lacking(differing)
                .map(|what| format!("got no {what}"));
            let differ = if differing == 1 { "differs" } else { "differ" };
            let what = what.unwrap_or_else(|| differ.to_owned());
            format!(
                "{} of {} {what} ({rate}), on {bad} of {}{open}",
                grouped(differing),
                plural(compared, "compared request", "compared requests"),
                plural(self.report.routes.len() as u64, "route", "routes"),
            )
        };
        Headline {
            word: self.decision.outcome.as_str(),
            tone: self.decision.outcome.into(),
            rest,
            is_compared: true,
        }
    }

    /// What was left out, and which mismatches do not count or cannot be told from noise, one sentence for each reason, without those that were `told`
    /// already.
    pub(crate) fn not_counted(&self, told: &[String]) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.decision.outcome == Outcome::Fail {
            sentences.extend(of_the_legacy(self.decision));
        }
        sentences.extend(not_counted(&self.decision.total));
        if self.decision.outcome == Outcome::Fail {
            sentences.extend(never_asked_again(self.decision.routes.iter()));
        }
        // That only so many are asked about is ordinary; that none is, for a time, is not.
        if paused(&self.report.counts) > 0 {
            sentences.extend(not_asked(&self.report.counts));
        }
        sentences.extend(self.decision.evidence.iter().flat_map(left_out));
        sentences.extend(self.decision.evidence.as_ref().and_then(only_left_out));
        sentences.extend(self.later());
        sentences.retain(|sentence| !told.contains(sentence));
        sentences
    }

    /// What is counted here and not in the decision, which was made before; `None` if both are of the same moment.
    pub(crate) fn later(&self) -> Option<String> {
        let evidence = self.decision.evidence.as_ref()?;
        if evidence.rules_hash != self.report.rules_hash {
            return Some(format!(
                "the rules changed after the decision, from `{}` to `{}`: what differs is told by the new ones",
                evidence.rules_hash, self.report.rules_hash
            ));
        }
        let decided = self.decision.total.received;
        let more = self.report.counts.received.checked_sub(decided)?;
        (decided > 0 && more > 0).then(|| {
            format!(
                "traffic went on: {} more than the decision knows",
                plural(more, "request is counted here", "requests are counted here")
            )
        })
    }

    /// All mismatches by class, in one sentence; `None` if none was asked again.
    pub(crate) fn classes(&self) -> Option<String> {
        let counts = &self.report.counts;
        let told = classes(&counts.classes)?;
        let all = plural(counts.mismatch, "mismatch", "mismatches");
        Some(format!("{all}: {told}"))
    }

    /// Routes of which rules leave out something, the least that is left first, one sentence each; and in the last one that of some
    /// it is not known.
    pub(crate) fn fields_left(&self) -> Vec<String> {
        let compared = |counts: &Counts| counts.matched + counts.mismatch > 0;
        let routes = self.report.routes.iter();
        let routes: Vec<_> = routes.filter(|route| compared(&route.counts)).collect();
        let mut shares: Vec<(FieldShare, &str)> = routes
            .iter()
            .filter_map(|route| Some((FieldShare::of(&route.counts.fields)?, route.route.as_str())))
            .collect();
        let unknown = routes.len() - shares.len();
        shares.retain(|(share, _)| {
            share.left < 1.0 || share.roughly >= WORTH_TELLING_ROUGHLY || share.exact < LITTLE_EXACT
        });
        shares.sort_by(|(one, _), (two, _)| one.exact.total_cmp(&two.exact));
        let named = shares.iter().take(MAX_FIELDS_LEFT);
        let mut told: Vec<String> = named
            .map(|(share, route)| fields_left(route, share))
            .collect();
        if shares.len() > MAX_FIELDS_LEFT {
            let more = shares.len() - MAX_FIELDS_LEFT;
            let routes = plural(more as u64, "more route", "more routes");
            told.push(format!(
                "rules leave out something of {routes}; the JSON has all"
            ));
        }
        if unknown > 0 {
            told.push(format!(
                "which share of the fields rules leave to compare is not known of {}: an older parity counted",
                plural(unknown as u64, "route", "routes")
            ));
        }
        told
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

    /// Mismatches that the present rules excuse although they were counted under earlier ones: how many, and what they are. No
    /// rule has a hit of them, because nothing was compared again.
    pub(crate) fn excused_since(&self) -> Option<(u64, &'static str)> {
        let matches = self.report.carried.iter().map(|rules| rules.matches).sum();
        (matches > 0).then_some((
            matches,
            "mismatches by earlier rules, which the present ones excuse; by which of them is not counted",
        ))
    }

    /// Entries of the register of known differences that mean something here.
    pub(crate) fn known(&self) -> KnownView<'a> {
        KnownView::of(
            &self.report.known,
            self.report.excused.known,
            self.decision.time,
        )
    }

    /// What clients got.
    pub(crate) fn clients(&self) -> ClientsView {
        ClientsView {
            received: self.report.counts.received,
            counts: self.report.counts.clients.clone(),
            goes_on: self.completeness().goes_on(),
            is_lost: self.completeness().has_lost(),
        }
    }

    /// What clients got in a history, which has those of all versions and rules.
    pub(crate) fn clients_of(&self, history: &History) -> ClientsView {
        let mut counts = Clients::new();
        let each = history.buckets.iter().flat_map(|bucket| &bucket.clients);
        for (outcome, count) in each {
            *counts.entry(*outcome).or_default() += count;
        }
        ClientsView {
            received: history.buckets.iter().map(|bucket| bucket.received).sum(),
            counts,
            goes_on: self.completeness().goes_on(),
            is_lost: history
                .marks
                .iter()
                .any(|mark| mark.kind == MarkKind::Killed),
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
        Differing::of(self.listing)
    }

    /// Requests without a verdict: first those on which the candidate failed, which count as differing although they have no
    /// group, then the rest. Empty categories are left out.
    pub(crate) fn without_verdict(&self) -> Vec<WithoutVerdict> {
        WithoutVerdict::all(&self.report.counts, &self.report.routes)
    }

    /// How much was compared: what the gate counts, with the requests on which the candidate failed.
    pub(crate) fn compared(&self) -> String {
        let told = of_received(self.report.compared, self.report.counts.received);
        match self.report.counts.candidate_failures() {
            0 => told,
            failed => format!(
                "{told}; on {} of them the candidate failed, which counts as differing",
                grouped(failed)
            ),
        }
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
            // At the begin of a range, requests end that were received before it.
            let from = self.report.window.map(|window| window.from);
            let mut runs = self.report.watermarks.iter();
            let is_cut = runs.any(|run| run.started.is_none_or(|started| Some(started) < from));
            (settled > received && !is_cut).then_some(Unsettled::Wrong { received, settled })
        }
    }
}

/// Requests that nothing was compared of and that do not count against the candidate.
pub(crate) fn not_compared(counts: &Counts) -> u64 {
    counts.not_compared.values().sum::<u64>() - counts.candidate_failures()
}

/// Requests without a verdict.
pub(crate) struct WithoutVerdict {
    /// What they have in common.
    pub(crate) title: &'static str,
    /// How many.
    pub(crate) total: u64,
    /// The most frequent first.
    pub(crate) reasons: Vec<(Reason, u64)>,
    /// Which GraphQL operations are not sent, and what changes that, in sentences.
    pub(crate) not_sent: Vec<String>,
}

/// Routes of which some requests were not sent because of what they may do, and whether others were.
fn not_sent(routes: &[RouteReport]) -> impl Iterator<Item = (&str, bool)> {
    let is_one = |route: &&RouteReport| {
        let count = route.counts.not_compared.get(&Reason::UnsafeMethod);
        count.is_some_and(|count| *count > 0)
    };
    let routes = routes.iter().filter(is_one);
    routes.map(|route| (route.route.as_str(), route.counts.compared() > 0))
}

impl WithoutVerdict {
    /// Of these counts, which are those of the routes.
    pub(crate) fn all(counts: &Counts, routes: &[RouteReport]) -> Vec<Self> {
        [("The candidate failed", true), ("Not compared", false)]
            .map(|(title, failed)| Self::of((counts, routes), title, failed))
            .into_iter()
            .flatten()
            .collect()
    }

    fn of(
        (counts, routes): (&Counts, &[RouteReport]),
        title: &'static str,
        failed: bool,
    ) -> Option<Self> {
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
            not_sent: if failed {
                Vec::new()
            } else {
                operations_not_sent(not_sent(routes))
            },
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
