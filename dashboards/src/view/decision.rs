//! The decision: the outcome, why, what each route says, and what would settle it.

use std::borrow::Cow;

use parity_comparator::decision::{
    FieldsWanting, HiddenSettledBy, fields_wanting, hidden_settled_by, hides_too_much,
    never_shadowed, paused,
};
use parity_schemas::evidence::{Decision, Outcome, RouteDecision, Thresholds};
use parity_schemas::tally::Counts;

use super::words::{grouped, percent, shown, targets, targets_line, version};
use super::{ClientsView, ExcusedColumns, KnownView, NoiseView};

/// A decision, to be shown.
#[derive(Clone, Copy)]
pub(crate) struct DecisionView<'a> {
    /// The document.
    pub(crate) decision: &'a Decision,
}

/// One route, or all together, in words.
pub(crate) struct RouteRow {
    /// The route as it is called; empty of all together.
    pub(crate) route: String,
    /// The route, or `total`.
    pub(crate) name: String,
    /// Requests that were compared.
    pub(crate) compared: String,
    /// How many distinct targets they had, about.
    pub(crate) targets: String,
    /// Those that differ.
    pub(crate) differing: String,
    /// Their share.
    pub(crate) rate: String,
    /// Mismatches that do not count, or may not, in the order of [`DecisionView::excused_columns`].
    pub(crate) excused: Vec<String>,
    /// The confidence interval of the share.
    pub(crate) between: String,
    /// The outcome for this route.
    pub(crate) outcome: &'static str,
    /// How many more requests, if all match, would make it pass, or what else would.
    pub(crate) needed: String,
}

/// What would settle a route of these counts, or all together: a number of requests, or what no number of them replaces.
fn settled_by(route: &RouteDecision, counts: &Counts, thresholds: &Thresholds) -> String {
    let excused = route.excused;
    let hides = hides_too_much(excused, thresholds);
    // No number of requests shows that nothing at all differs.
    let may_pass = thresholds.max_mismatch_rate > 0.0;
    // What was refused in a pause is never asked about, however long one waits.
    let rechecks = || {
        if paused(counts) > 0 {
            "traffic"
        } else {
            "rechecks"
        }
        .to_owned()
    };
    let own = route.counts.as_ref().filter(|_| !route.unserved);
    let wanting = own.and_then(|own| fields_wanting(&own.counts, thresholds));
    match route.needed {
        0 if route.outcome != Outcome::Undecided => "-".to_owned(),
        0 if wanting == Some(FieldsWanting::TooLittle) => "fewer rules".to_owned(),
        // A recheck never asks about these.
        0 if excused.partly > 0 => "a fix".to_owned(),
        0 if excused.open > 0 && excused.open <= excused.never_asked + excused.untold => {
            "a rule".to_owned()
        }
        0 if excused.open > 0 => rechecks(),
        0 if hides => match hidden_settled_by(route, counts, thresholds) {
            HiddenSettledBy::Rechecks => rechecks(),
            HiddenSettledBy::AnyLimit if !may_pass => "-".to_owned(),
            HiddenSettledBy::AnyLimit
            | HiddenSettledBy::LimitOfOneSided
            | HiddenSettledBy::LimitOfTransient => "--max-hidden".to_owned(),
        },
        0 if is_never_shadowed(route, thresholds) => "shadowing".to_owned(),
        0 if wanting == Some(FieldsWanting::TooFew) => "samples".to_owned(),
        0 => "-".to_owned(),
        needed => grouped(needed),
    }
}

/// Whether the candidate is asked about none of the requests, however many come.
fn is_never_shadowed(route: &RouteDecision, thresholds: &Thresholds) -> bool {
    match &route.counts {
        Some(own) => never_shadowed(&own.counts).is_some(),
        // The total has no counts. Where any number of equal answers would do, one would be told if some were compared.
        None => route.compared == 0 && route.received > 0 && thresholds.max_mismatch_rate > 0.0,
    }
}

impl<'a> DecisionView<'a> {
    /// What clients got, if some got no whole answer. It does not influence the decision, but a reader of a pass must see it.
    pub(crate) fn failing_clients(self) -> Option<ClientsView> {
        let counts = &self.decision.clients;
        let failed = counts.keys().any(|outcome| outcome.is_failure());
        failed.then(|| ClientsView {
            received: counts.values().sum(),
            counts: counts.clone(),
            goes_on: true,
            is_lost: false,
        })
    }

    /// The headline behind its first word, which is the outcome.
    pub(crate) fn claim(self) -> &'a str {
        let word = self.decision.outcome.as_str().to_uppercase();
        let headline = self.decision.headline.as_str();
        headline.strip_prefix(&word).unwrap_or(headline)
    }

    /// The routes, the worst first.
    pub(crate) fn routes(self) -> Vec<RouteRow> {
        let routes = self.decision.routes.iter();
        routes.map(|route| self.row(route)).collect()
    }

    /// The columns for mismatches that do not count, or may not.
    pub(crate) fn excused_columns(self) -> ExcusedColumns {
        ExcusedColumns::of(&self.decision.total.excused)
    }

    /// What is taken for noise, and what looks like it; without examples, which only a report has.
    pub(crate) fn noise(self) -> NoiseView<'a> {
        let Decision {
            noise,
            total,
            thresholds,
            ..
        } = self.decision;
        NoiseView::of(noise, None, &total.excused, thresholds.noise)
    }

    /// Entries of the register of known differences that mean something here.
    pub(crate) fn known(self) -> KnownView<'a> {
        let decision = self.decision;
        KnownView::of(&decision.known, decision.total.excused.known, decision.time)
    }

    /// All routes together.
    pub(crate) fn total(self) -> RouteRow {
        self.row(&self.decision.total)
    }

    /// How many targets it rests on, in one line; `None` where that is not known.
    pub(crate) fn targets(self) -> Option<String> {
        let total = &self.decision.total;
        targets_line(total.distinct_targets, total.most_frequent_share)
    }

    /// What it was decided from, in one line; `None` when nothing was recorded.
    pub(crate) fn bound_to(self) -> Option<String> {
        let decision = self.decision;
        let evidence = decision.evidence.as_ref()?;
        Some(format!(
            "decision {} · migration {} · candidate {} · rules {} · {} to {}",
            decision.decision_id,
            shown(&decision.migration),
            version(&evidence.candidate_version),
            shown(&evidence.rules_hash),
            evidence.from,
            evidence.to,
        ))
    }

    fn row(self, route: &RouteDecision) -> RouteRow {
        RouteRow {
            route: route.route.clone(),
            name: if route.route.is_empty() {
                "total".to_owned()
            } else {
                shown(&route.route)
            },
            compared: grouped(route.compared),
            targets: targets(route.distinct_targets),
            differing: grouped(route.differing),
            rate: percent(route.rate),
            excused: self.excused_columns().cells(&route.excused),
            between: format!("{} .. {}", percent(route.lower), percent(route.upper)),
            outcome: route.outcome.as_str(),
            needed: self.needed(route),
        }
    }

    /// What would settle a route: a number of requests, if all match, or what no number of them replaces; `-` if nothing is needed.
    pub(crate) fn needed(self, route: &RouteDecision) -> String {
        settled_by(route, &self.counts(route), &self.decision.thresholds)
    }

    /// What was counted of a route; of all together, the sum of all. Empty in documents of older programs.
    pub(crate) fn counts(self, route: &RouteDecision) -> Cow<'_, Counts> {
        if let Some(own) = &route.counts {
            return Cow::Borrowed(&own.counts);
        }
        let mut all = Counts::default();
        if route.route.is_empty() {
            let routes = self.decision.routes.iter();
            for own in routes.filter_map(|route| route.counts.as_ref()) {
                all.merge(&own.counts);
            }
        }
        Cow::Owned(all)
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::OwnCounts;
    use parity_schemas::field_share::FieldCount;
    use parity_schemas::noise::Excused;
    use parity_schemas::recheck::RecheckEvent;
    use parity_schemas::verdict::Reason;

    use super::*;

    /// A route on which 100 requests were compared, and no number of further ones settles it.
    fn undecided(excused: Excused) -> RouteDecision {
        RouteDecision {
            route: "GET /a".to_owned(),
            received: 100,
            traffic: 1.0,
            required: false,
            compared: 100,
            differing: 0,
            excused,
            uncomparable: 0,
            unserved: false,
            distinct_targets: 0,
            most_frequent_share: None,
            rate: 0.0,
            lower: 0.0,
            alpha: None,
            upper: 1.0,
            legacy_errors: None,
            outcome: Outcome::Undecided,
            needed: 0,
            counts: None,
        }
    }

    #[test]
    fn no_number_of_requests_replaces_fields_that_rules_leave_out_or_that_were_never_counted() {
        for (sampled, left, told) in [(9, 1, "fewer rules"), (0, 0, "samples"), (9, 8, "-")] {
            let fields = [
                (FieldCount::Sampled, sampled),
                (FieldCount::Left, left),
                (FieldCount::All, 10),
            ];
            let counts = Counts {
                matched: 9,
                fields: fields.into(),
                ..Counts::default()
            };
            let wanting = RouteDecision {
                counts: Some(OwnCounts {
                    counts: counts.clone(),
                    ..OwnCounts::default()
                }),
                ..undecided(Excused::default())
            };
            let demanded = Thresholds {
                min_fields: 0.5,
                ..Thresholds::default()
            };
            assert_eq!(settled_by(&wanting, &counts, &demanded), told);
            assert_eq!(settled_by(&wanting, &counts, &Thresholds::default()), "-");
        }
    }

    #[test]
    fn what_settles_a_route_is_told_where_no_number_of_requests_does() {
        let route = |outcome, compared, needed, excused| RouteDecision {
            compared,
            outcome,
            needed,
            ..undecided(excused)
        };
        let open = Excused {
            open: 3,
            ..Excused::default()
        };
        let hides = Excused {
            noise: 3,
            hidden: 0.02,
            ..Excused::default()
        };
        let never = Excused {
            never_asked: 3,
            ..open
        };
        let some = Excused {
            never_asked: 2,
            ..open
        };
        let none = Excused::default();
        for (outcome, compared, needed, excused, told) in [
            (Outcome::Undecided, 9, 1_200, none, "1,200"),
            (Outcome::Undecided, 9, 0, open, "rechecks"),
            (Outcome::Undecided, 9, 0, never, "a rule"),
            (Outcome::Undecided, 9, 0, some, "rechecks"),
            (Outcome::Undecided, 9, 7, some, "7"),
            (Outcome::Undecided, 9, 0, hides, "rechecks"),
            (Outcome::Undecided, 0, 0, none, "shadowing"),
            (Outcome::Undecided, 9, 0, none, "-"),
            (Outcome::Fail, 9, 0, open, "-"),
            (Outcome::Pass, 9, 0, hides, "-"),
        ] {
            assert_eq!(
                settled_by(
                    &route(outcome, compared, needed, excused),
                    &Counts::default(),
                    &Thresholds::default()
                ),
                told
            );
        }
        let hidden = route(Outcome::Undecided, 9, 0, hides);
        let strict = Thresholds {
            max_hidden: 0.0,
            max_mismatch_rate: 0.0,
            ..Thresholds::default()
        };
        assert_eq!(settled_by(&hidden, &Counts::default(), &strict), "-");
        // No number of requests proves a rate of 0, also where the candidate is asked.
        let mut uncompared = route(Outcome::Undecided, 0, 0, none);
        assert_eq!(settled_by(&uncompared, &Counts::default(), &strict), "-");
        for (reason, told) in [
            (Reason::SampledOut, "-"),
            (Reason::UnsafeMethod, "shadowing"),
        ] {
            let counts = Counts {
                received: 9,
                not_compared: [(reason, 9)].into(),
                ..Counts::default()
            };
            uncompared.counts = Some(OwnCounts {
                counts,
                excused: none,
            });
            assert_eq!(settled_by(&uncompared, &Counts::default(), &strict), told);
        }
    }

    #[test]
    fn rechecks_are_not_named_where_only_a_limit_or_further_traffic_helps() {
        use RecheckEvent::{Asked, CandidateAlone, LegacyAlone, RefusedPaused};
        let hidden = |transient, noise, open| Excused {
            transient,
            noise,
            open,
            hidden: 0.02,
            ..Excused::default()
        };
        let told = |excused, rechecks: &[(RecheckEvent, u64)], max_hidden| {
            let counts = Counts {
                rechecks: rechecks.iter().copied().collect(),
                ..Counts::default()
            };
            let thresholds = Thresholds {
                max_hidden,
                ..Thresholds::default()
            };
            settled_by(&undecided(excused), &counts, &thresholds)
        };
        let usual = [(Asked, 300), (LegacyAlone, 5), (CandidateAlone, 5)];
        assert_eq!(told(hidden(0, 90, 0), &usual, 0.01), "rechecks");
        assert_eq!(told(hidden(90, 0, 0), &usual, 0.01), "--max-hidden");
        assert_eq!(told(hidden(0, 90, 0), &usual, 0.0), "--max-hidden");
        let one_sided = [(Asked, 300), (LegacyAlone, 200)];
        assert_eq!(told(hidden(0, 90, 0), &one_sided, 0.01), "--max-hidden");
        let paused = [(Asked, 300), (RefusedPaused, 40)];
        assert_eq!(told(hidden(0, 90, 0), &paused, 0.01), "traffic");
        assert_eq!(told(hidden(0, 0, 9), &paused, 0.01), "traffic");
        assert_eq!(told(hidden(90, 0, 0), &paused, 0.01), "--max-hidden");
    }
}
