//! What the counts of a report are of, in words: which time, by which rules, and how much of it does not count because a rule or an
//! entry of the register excuses it.
//!
//! A share without that misleads: beside it stands a chart of another time, and an hour ago, by other rules, it was another one.

use parity_schemas::history::History;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;

use super::ReportView;
use crate::view::words::{plural, rate, sentence};

/// What is counted of earlier rules by a history and not by a report.
struct Beside {
    /// Up to when.
    to: Timestamp,
    /// Why, if that is known. It is not made visible.
    why: Option<String>,
}

impl ReportView<'_> {
    /// How much does not count because it is excused; `None` if nothing is.
    pub(crate) fn excused(&self) -> Option<String> {
        let report = self.report;
        let share = |count: u64| {
            let share = rate(count, report.compared);
            share.map_or_else(String::new, |share| format!(" ({share})"))
        };
        let mut told = Vec::new();
        let again: u64 = report.carried.iter().map(|rules| rules.matches).sum();
        if again > 0 {
            told.push(format!(
                "{}{} by rules that came after they were compared",
                plural(again, "request", "requests"),
                share(again)
            ));
        }
        if report.excused.known > 0 {
            let entries = report.known.iter();
            let entries = entries.filter(|one| one.groups.iter().any(|group| one.excuses(group)));
            told.push(format!(
                "{}{} by {}",
                plural(report.excused.known, "request", "requests"),
                share(report.excused.known),
                plural(
                    entries.count() as u64,
                    "known difference",
                    "known differences"
                )
            ));
        }
        let hits = report.rules.iter().map(|rule| rule.hits);
        let hits = hits.fold(0, u64::saturating_add);
        if hits > 0 {
            told.push(format!(
                "{} by {} as they were compared",
                plural(hits, "single difference", "single differences"),
                plural(report.rules.len() as u64, "rule", "rules")
            ));
        }
        (!told.is_empty()).then(|| format!("Excused: {}.", told.join(", ")))
    }

    /// From when on is counted, by which rules, and of which time and rules the chart is that stands beside it. `span` names the
    /// time of the chart, and `moment` writes a time.
    pub(crate) fn counted_beside(
        &self,
        history: &History,
        span: &str,
        moment: impl Fn(Timestamp) -> String,
    ) -> Option<String> {
        let since = self.counted_since(&moment)?;
        let present = self.report.window?.from;
        let begun = self.report.counted_window()?.from;
        // Reports and decisions name the time of the rules in force.
        let by = if begun < present && self.late() == 0 {
            format!(
                ", since {} by the rules in force now; what earlier ones counted holds under these, too.",
                moment(present)
            )
        } else {
            ", by the rules in force now.".to_owned()
        };
        let chart = match (history.window, beside(self.report, history)) {
            (None, _) => String::new(),
            (Some(_), None) => format!(" The chart ({span}) is by the same rules."),
            (Some(_), Some(Beside { to, why })) => format!(
                " The chart ({span}) also has what was compared by earlier rules until {} and is not counted here{}.",
                moment(to),
                why.map_or_else(String::new, |why| format!(": {}", sentence(&why)))
            ),
        };
        Some(format!("Counted since {since}{by}{chart}"))
    }

    /// From when to when is counted.
    pub(crate) fn counted(&self, moment: impl Fn(Timestamp) -> String) -> Option<String> {
        let window = self.report.window?;
        let since = self.counted_since(&moment)?;
        Some(format!("{since} to {}", moment(window.to)))
    }

    /// How many routes are counted only since the present rules.
    fn late(&self) -> u64 {
        let Some(all) = self.report.counted_window() else {
            return 0;
        };
        let routes = self.report.routes.iter();
        let late = routes.filter(|route| {
            let own = self.report.counted_window_of(&route.route);
            own.is_some_and(|own| own.from > all.from)
        });
        late.count() as u64
    }

    /// From when on is counted; of routes whose count began anew with the present rules, that is later.
    fn counted_since(&self, moment: impl Fn(Timestamp) -> String) -> Option<String> {
        let present = self.report.window?;
        let all = self.report.counted_window()?;
        let late = self.late();
        Some(if late == 0 {
            moment(all.from)
        } else {
            format!(
                "{} ({} only since {}, when the rules changed)",
                moment(all.from),
                plural(late, "route", "routes"),
                moment(present.from)
            )
        })
    }
}

/// What a history has of earlier rules that a report does not count: what began anew, or is not known to be whole.
fn beside(report: &Report, history: &History) -> Option<Beside> {
    let from = history.window?.from;
    let carried = report.carried.iter();
    let carried = carried.filter(|rules| rules.requests_anew > 0);
    let carried = carried.map(|rules| {
        let first = rules.anew.first();
        let why = first.map(|first| format!("{}: {}", first.route, first.why));
        (rules.to, why)
    });
    let is_carried = |hash: &str| {
        let mut carried = report.carried.iter();
        carried.any(|rules| rules.rules_hash == hash)
    };
    let others = report.other_rules.iter();
    let others = others.filter(|rules| !is_carried(&rules.rules_hash));
    let others = others.map(|rules| (rules.to, rules.why.clone()));
    let in_range = carried.chain(others).filter(|(to, _)| *to > from);
    let (to, why) = in_range.max_by_key(|(to, _)| *to)?;
    Some(Beside { to, why })
}

#[cfg(test)]
mod tests {
    use parity_comparator::decision::{Asked, decide_knowing};
    use parity_schemas::evidence::Thresholds;
    use parity_schemas::evidence::carried::{CarriedRules, StartedAnew};
    use parity_schemas::report::RuleHits;
    use parity_schemas::watermark::Standing;
    use serde_json::json;

    use super::*;
    use crate::view::Decided;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_micros(minute * 60_000_000)
    }

    fn clock(time: Timestamp) -> String {
        (time.as_micros() / 60_000_000).to_string()
    }

    /// Of two routes, counted from minute 45 on by the present rules.
    fn decided(change: impl FnOnce(&mut Report)) -> Decided {
        let counts = json!({"received": 1_000, "clients": {"2xx": 1_000}, "match": 1_000, "mismatch": 0, "not_compared": {}});
        let routes = ["GET /a", "GET /b"].map(|name| {
            let mut route = counts.clone();
            route["route"] = json!(name);
            route["legacy_us"] = json!({});
            route["candidate_us"] = json!({});
            route
        });
        let mut document = counts.clone();
        for (name, value) in [
            ("schema", json!("")),
            ("migration", json!("m")),
            ("legacy_version", json!("")),
            ("candidate_version", json!("")),
            ("rules_hash", json!("now")),
            (
                "window",
                json!({"from": at(45).to_string(), "to": at(60).to_string()}),
            ),
            ("instances", json!([])),
            ("complete_until", json!(null)),
            ("compared", json!(2_000)),
            ("routes", json!(routes)),
            ("groups", json!([])),
            ("rules", json!([])),
        ] {
            document[name] = value;
        }
        let mut report: Report = serde_json::from_value(document).expect("a report");
        change(&mut report);
        let standing = Standing::default();
        let evidence = report.evidence();
        let asked = Asked {
            migration: "m",
            evidence: evidence.as_ref(),
            standing: &standing,
            thresholds: &Thresholds::default(),
        };
        let decision = decide_knowing(&asked, &[], parity_schemas::id::new_id(), at(60));
        Decided::of(report, decision, None)
    }

    fn carried(matches: u64, anew: &[&str]) -> CarriedRules {
        CarriedRules {
            rules_hash: "before".to_owned(),
            from: at(30),
            to: at(46),
            routes: 1,
            requests: 500,
            matches,
            routes_anew: anew.len() as u64,
            requests_anew: anew.len() as u64,
            anew: anew
                .iter()
                .map(|route| StartedAnew {
                    route: (*route).to_owned(),
                    why: "x was removed".to_owned(),
                    ..StartedAnew::default()
                })
                .collect(),
            ..CarriedRules::default()
        }
    }

    fn history() -> History {
        serde_json::from_value(json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
            "window": {"from": at(30).to_string(), "to": at(60).to_string()}, "bucket_seconds": 60, "buckets": [],
            "without_excused": true, "with_latency": false, "identities": [], "marks": [], "routes": [],
            "routes_left_out": 0, "groups": []
        }))
        .expect("a history")
    }

    #[test]
    fn how_much_is_excused_is_told_as_a_share_of_what_was_compared() {
        let told = |decided: &Decided| ReportView::from(decided).excused();
        assert_eq!(told(&decided(|_| {})), None);
        let decided = decided(|report| {
            report.carried = vec![carried(240, &[])];
            report.rules = ["a", "b"]
                .map(|id| RuleHits {
                    id: id.to_owned(),
                    hits: 1_500,
                })
                .into();
        });
        assert_eq!(
            told(&decided).as_deref(),
            Some(
                "Excused: 240 requests (12 %) by rules that came after they were compared, 3,000 single differences by 2 rules as they \
                 were compared."
            )
        );
    }

    #[test]
    fn what_is_counted_begins_with_what_was_carried_over() {
        let told = |decided: &Decided| ReportView::from(decided).counted(clock);
        assert_eq!(told(&decided(|_| {})).as_deref(), Some("45 to 60"));
        let all = decided(|report| report.carried = vec![carried(0, &[])]);
        assert_eq!(told(&all).as_deref(), Some("30 to 60"));
        let some = decided(|report| report.carried = vec![carried(0, &["GET /b"])]);
        assert_eq!(
            told(&some).as_deref(),
            Some("30 (1 route only since 45, when the rules changed) to 60")
        );
    }

    #[test]
    fn a_chart_of_more_than_is_counted_says_so() {
        let told = |decided: &Decided| {
            let view = ReportView::from(decided);
            view.counted_beside(&history(), "last day", clock)
        };
        let alike = decided(|report| report.carried = vec![carried(240, &[])]);
        assert_eq!(
            told(&alike).as_deref(),
            Some(
                "Counted since 30, since 45 by the rules in force now; what earlier ones counted holds under these, too. The chart \
                 (last day) is by the same rules."
            )
        );
        let more = told(&decided(|report| {
            report.carried = vec![carried(0, &["GET /b"])];
        }));
        let more = more.expect("something is counted");
        assert!(
            more.ends_with(
                "The chart (last day) also has what was compared by earlier rules until 46 and is not counted here: GET /b: \
                 x was removed."
            ),
            "{more}"
        );
    }
}
