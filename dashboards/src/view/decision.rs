//! The decision: the outcome, why, what each route says, and what would settle it.

use parity_comparator::decision::{FieldsWanting, fields_wanting, hides_too_much, never_shadowed};
use parity_schemas::evidence::{Decision, Outcome, RouteDecision, Thresholds};

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

/// What would settle a route, or all together: a number of requests, or what no number of them replaces.
fn settled_by(route: &RouteDecision, thresholds: &Thresholds) -> String {
    let excused = route.excused;
    // No number of rechecks shows that nothing at all may hide.
    let hides = hides_too_much(excused, thresholds) && thresholds.max_hidden > 0.0;
    let own = route.counts.as_ref().filter(|_| !route.unserved);
    let wanting = own.and_then(|own| fields_wanting(&own.counts, thresholds));
    match route.needed {
        0 if route.outcome != Outcome::Undecided => "-".to_owned(),
        0 if wanting == Some(FieldsWanting::TooLittle) => "fewer rules".to_owned(),
        // A recheck never asks about these.
        0 if excused.open > 0 && excused.open <= excused.never_asked => "a rule".to_owned(),
        0 if excused.open > 0 || hides => "rechecks".to_owned(),
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
    pub(crate) fn failing_clients(self) -> Option<ClientsView<'a>> {
        let counts = &self.decision.clients;
        let failed = counts.keys().any(|outcome| outcome.is_failure());
        failed.then(|| ClientsView {
            received: counts.values().sum(),
            counts,
            open: "under way",
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
            needed: settled_by(route, &self.decision.thresholds),
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::OwnCounts;
    use parity_schemas::field_share::FieldCount;
    use parity_schemas::noise::Excused;
    use parity_schemas::tally::Counts;
    use parity_schemas::verdict::Reason;

    use super::*;

    fn route(outcome: Outcome, compared: u64, needed: u64, excused: Excused) -> RouteDecision {
        RouteDecision {
            route: "GET /a".to_owned(),
            received: 9,
            traffic: 1.0,
            required: false,
            compared,
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
            outcome,
            needed,
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
            let own = OwnCounts {
                counts: Counts {
                    matched: 9,
                    fields: fields.into(),
                    ..Counts::default()
                },
                ..OwnCounts::default()
            };
            let wanting = RouteDecision {
                counts: Some(own),
                ..route(Outcome::Undecided, 9, 0, Excused::default())
            };
            let demanded = Thresholds {
                min_fields: 0.5,
                ..Thresholds::default()
            };
            assert_eq!(settled_by(&wanting, &demanded), told);
            assert_eq!(settled_by(&wanting, &Thresholds::default()), "-");
        }
    }

    #[test]
    fn what_settles_a_route_is_told_where_no_number_of_requests_does() {
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
        assert_eq!(settled_by(&hidden, &strict), "-");
        // No number of requests proves a rate of 0, also where the candidate is asked.
        let mut uncompared = route(Outcome::Undecided, 0, 0, none);
        assert_eq!(settled_by(&uncompared, &strict), "-");
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
            assert_eq!(settled_by(&uncompared, &strict), told);
        }
    }
}
