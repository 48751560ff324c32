//! Requests on which the candidate failed, by route: they count against it and are in no group, because nothing of theirs was compared.
//!
//! A list of groups without them reads as if nothing differed, while every request of the route failed. So they stand beside each
//! list of what differs, with when that was.

use parity_schemas::history::History;
use parity_schemas::report::Report;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::visible::names;
use parity_sink::read::history::HistoryFilter;
use parity_sink::{Reader, Selection, StoreError};

use super::Decided;
use super::down::{Between, length};
use super::words::{grouped, plural, shown};
use crate::question::Question;

/// Routes that are told; the list of routes has all.
const MAX_ROUTES: usize = 10;
/// How often the first and the last bucket are read once more in shorter steps: from ten days to minutes.
const MAX_LEVELS: usize = 2;

/// A route on which the candidate failed.
pub(crate) struct Unanswered {
    /// `METHOD /template`.
    pub(crate) route: String,
    /// How, and how often; the most frequent first.
    pub(crate) reasons: Vec<(Reason, u64)>,
    /// When it first did, as far as that is known.
    first: Option<Between>,
    /// When it last did.
    last: Option<Between>,
}

/// The routes on which the candidate failed, those with the most first.
#[derive(Default)]
pub(crate) struct AllUnanswered {
    /// The first of them.
    pub(crate) routes: Vec<Unanswered>,
    /// How many more there are.
    pub(crate) more: usize,
}

impl Unanswered {
    fn total(&self) -> u64 {
        let counts = self.reasons.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// In one line, visible; `moment` writes a time.
    pub(crate) fn told(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let reasons = self.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, count)| format!("{reason} {}", plural(*count, "time", "times")))
            .collect();
        let when = |name: &str, when: Option<Between>| {
            let when = when.map(|when| format!(", {name} {}", when.told(&moment)));
            when.unwrap_or_default()
        };
        format!(
            "{} on {}{}{}",
            reasons.join(", "),
            shown(&self.route),
            when("first", self.first),
            when("last", self.last)
        )
    }
}

impl AllUnanswered {
    /// Of a report, without times.
    pub(crate) fn of(report: &Report) -> Self {
        Self::on(report, None)
    }

    fn on(report: &Report, only: Option<&str>) -> Self {
        let routes = report.routes.iter();
        let routes = routes.filter(|route| only.is_none_or(|only| names(only, &route.route)));
        let mut routes: Vec<Unanswered> = routes
            .filter_map(|route| {
                let counts = route.counts.not_compared.iter();
                let counts = counts.map(|(reason, count)| (*reason, *count));
                let mut reasons: Vec<(Reason, u64)> = counts
                    .filter(|(reason, count)| reason.is_candidate_failure() && *count > 0)
                    .collect();
                reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                (!reasons.is_empty()).then(|| Unanswered {
                    route: route.route.clone(),
                    reasons,
                    first: None,
                    last: None,
                })
            })
            .collect();
        routes.sort_by(|one, other| {
            let order = other.total().cmp(&one.total());
            order.then_with(|| one.route.cmp(&other.route))
        });
        let more = routes.len().saturating_sub(MAX_ROUTES);
        routes.truncate(MAX_ROUTES);
        Self { routes, more }
    }

    /// The same with times, of one route alone if one is named.
    pub(crate) fn read(
        reader: &Reader,
        question: &Question,
        decided: &Decided,
        only: Option<&str>,
    ) -> Result<Self, StoreError> {
        let report = &decided.report;
        let mut all = Self::on(report, only);
        if all.routes.is_empty() {
            return Ok(all);
        }
        // Their counts may be carried over from earlier rules.
        let begins = all.routes.iter();
        let begins = begins.filter_map(|route| report.counted_window_of(&route.route));
        let begin = begins.map(|window| window.from).min();
        let filter = |from: Option<Timestamp>, until: Option<Timestamp>| HistoryFilter {
            selection: Selection {
                migration: question.selection.migration.clone(),
                legacy_version: Some(report.legacy_version.clone()),
                candidate_version: Some(report.candidate_version.clone()),
                since: from,
                ..Selection::default()
            },
            until,
            without_latency: true,
            ..HistoryFilter::default()
        };
        let history = reader.history(&filter(question.selection.since.max(begin), None))?;
        all.take(&history);
        let ends: [fn(&Unanswered) -> Option<Between>; 2] = [|one| one.first, |one| one.last];
        for (end, is_last) in ends.into_iter().zip([false, true]) {
            for _ in 0..MAX_LEVELS {
                let times = all.routes.iter().filter_map(end);
                let widest = |when: &Between| (when.from, when.to);
                let found = if is_last {
                    times.max_by_key(widest)
                } else {
                    times.min_by_key(widest)
                };
                let length = |when: &Between| when.to.as_micros() - when.from.as_micros();
                let Some(when) = found.filter(|when| length(when) > INTERVAL_MICROS) else {
                    break;
                };
                let from = when.from.max(begin.unwrap_or(when.from));
                let closer = reader.history(&filter(Some(from), Some(when.to)))?;
                all.take(&closer);
            }
        }
        Ok(all)
    }

    /// Takes over when the candidate failed on each route, where a history knows it better.
    fn take(&mut self, history: &History) {
        let Some(window) = history.window else {
            return;
        };
        let micros = length(history);
        let bucket = |place: usize| {
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            let from = window
                .from
                .saturating_add_micros(micros.saturating_mul(place));
            Between {
                from,
                to: from.saturating_add_micros(micros),
            }
        };
        for route in &mut self.routes {
            let mut known = history.routes.iter();
            let Some(known) = known.find(|known| known.route == route.route) else {
                continue;
            };
            let failed = |count: &u64| *count > 0;
            let counts = &known.candidate_failures_by_bucket;
            let first = counts.iter().position(failed).map(bucket);
            let last = counts.iter().rposition(failed).map(bucket);
            let is_within = |of: Option<Between>, now: Between| {
                of.is_none_or(|of| of.from <= now.from && now.to <= of.to)
            };
            // What is read once more is a part of what was read before.
            route.first = first
                .filter(|now| is_within(route.first, *now))
                .or(route.first);
            route.last = last
                .filter(|now| is_within(route.last, *now))
                .or(route.last);
        }
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// How many more routes there are, in words.
    pub(crate) fn others(&self) -> Option<String> {
        (self.more > 0).then(|| {
            format!(
                "and on {} more {}",
                grouped(self.more as u64),
                if self.more == 1 { "route" } else { "routes" }
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_micros(minute * INTERVAL_MICROS)
    }

    fn history(from: i64, step: i64, failures: &[u64]) -> History {
        let count = i64::try_from(failures.len()).expect("few");
        let zeros = vec![0; failures.len()];
        serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
            "window": {"from": minute(from).to_string(), "to": minute(from + step * count).to_string()},
            "bucket_seconds": step * 60, "buckets": [], "without_excused": true, "with_latency": false, "identities": [],
            "marks": [], "routes_left_out": 0, "groups": [],
            "routes": [{"route": "GET /x", "received": 9, "compared": 9, "differing": 9, "compared_by_bucket": zeros,
                        "differing_by_bucket": zeros, "candidate_failures_by_bucket": failures}]
        }))
        .expect("a history")
    }

    #[test]
    fn when_it_first_and_last_failed_becomes_exacter_and_never_another_time() {
        let mut all = AllUnanswered {
            routes: vec![Unanswered {
                route: "GET /x".to_owned(),
                reasons: vec![
                    (Reason::CandidateRefused, 64),
                    (Reason::CandidateTimeout, 1),
                ],
                first: None,
                last: None,
            }],
            more: 0,
        };
        let clock = |time: Timestamp| (time.as_micros() / INTERVAL_MICROS).to_string();
        let told = |all: &AllUnanswered| all.routes[0].told(clock);
        assert_eq!(
            told(&all),
            "candidate_refused 64 times, candidate_timeout 1 time on GET /x"
        );
        all.take(&history(0, 60, &[0, 5, 0, 60]));
        assert!(
            told(&all).ends_with("first between 60 and 120, last between 180 and 240"),
            "{}",
            told(&all)
        );
        all.take(&history(60, 1, &[0, 0, 5, 0]));
        all.take(&history(236, 1, &[60, 0, 0, 0]));
        assert!(
            told(&all).ends_with("first between 62 and 63, last between 236 and 237"),
            "{}",
            told(&all)
        );
    }
}
