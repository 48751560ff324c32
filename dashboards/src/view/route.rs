//! One route: what is proven of it and why, how fast it is, what was not compared of it, who asks for it, and which rules apply to it.
//!
//! All of it is in the report and the decision that the lists are made of, so that no number differs between the two.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use parity_comparator::decision::of_route;
use parity_schemas::attributes::{self, COUNTED};
use parity_schemas::evidence::RouteDecision;
use parity_schemas::lists::RouteRule;
use parity_schemas::report::{CauseReport, GroupReport, RouteReport, RuleHits};
use parity_schemas::route::{OTHER, means};
use parity_schemas::terms::RulesText;
use parity_schemas::visible::names;

use super::report::{Entry, WithoutVerdict};
use super::words::{elapsed, percent, rate};
use super::{Cause, Decided, DecisionView, ReportView};

/// Values of an attribute that are told, the most frequent first; a person looks for what most requests have.
const MAX_VALUES: usize = 6;

/// A route of a report, or one that a decision demands.
pub(crate) struct RouteView<'a> {
    decided: &'a Decided,
    /// As it is counted.
    pub(crate) name: &'a str,
    /// What is counted of it; `None` of one that is demanded and was never received.
    pub(crate) counted: Option<&'a RouteReport>,
    /// What the gate says of it; `None` where it says nothing.
    pub(crate) decision: Option<&'a RouteDecision>,
}

/// A quantile of the times of both services, in words.
pub(crate) struct QuantileRow {
    /// Which: `p99`.
    pub(crate) name: String,
    /// To the head of the answer: legacy and candidate.
    pub(crate) head: [String; 2],
    /// To its end.
    pub(crate) whole: [String; 2],
}

/// How many of the compared requests have which values of an attribute.
pub(crate) struct AttributeRow<'a> {
    /// Which attribute.
    pub(crate) name: &'a str,
    /// Its most frequent values, each with the share of the requests, in words.
    pub(crate) values: Vec<(&'a str, String)>,
    /// How many more there are.
    pub(crate) more: usize,
}

/// A cause with groups of the route.
pub(crate) struct CauseHere<'a> {
    /// What they share, on all routes.
    pub(crate) cause: Cause<'a>,
    /// Its most frequent group of the route.
    pub(crate) group: &'a GroupReport,
    /// How many groups of the route it has.
    pub(crate) groups: u64,
}

impl<'a> RouteView<'a> {
    /// The route of this name, as it is or as a page shows it; `None` if neither report nor decision has it.
    pub(crate) fn find(decided: &'a Decided, name: &str) -> Option<Self> {
        let mut routes = decided.report.routes.iter();
        let counted = routes.find(|route| names(name, &route.route));
        let mut routes = decided.decision.routes.iter();
        let decision = routes.find(|route| names(name, &route.route));
        let counted_name = counted.map(|route| route.route.as_str());
        Some(Self {
            decided,
            name: counted_name.or_else(|| decision.map(|route| route.route.as_str()))?,
            counted,
            decision,
        })
    }

    /// The verdict in a sentence, and then what else bears on it. They are not made visible.
    pub(crate) fn told(&self) -> Vec<String> {
        let decision = &self.decided.decision;
        self.decision
            .map_or_else(Vec::new, |route| of_route(decision, route))
    }

    /// The share that differs, between which bounds, and what settles the route; `None` where the gate says nothing of it.
    pub(crate) fn proof(&self) -> Option<(String, String)> {
        let route = self.decision.filter(|route| route.compared > 0)?;
        let shown = format!(
            "{}, between {} and {}",
            percent(route.rate),
            percent(route.lower),
            percent(route.upper)
        );
        let view = DecisionView {
            decision: &self.decided.decision,
        };
        Some((shown, view.needed(route)))
    }

    /// Requests without a verdict.
    pub(crate) fn without_verdict(&self) -> Vec<WithoutVerdict> {
        let counted = self.counted.into_iter();
        counted
            .flat_map(|route| WithoutVerdict::all(&route.counts, std::slice::from_ref(route)))
            .collect()
    }

    /// The times of both services by quantile.
    pub(crate) fn latency(&self) -> Vec<QuantileRow> {
        let Some(route) = self.counted else {
            return Vec::new();
        };
        let head = [&route.legacy_head_us, &route.candidate_head_us];
        let whole = [&route.legacy_us, &route.candidate_us];
        let all = head.into_iter().chain(whole);
        let quantiles: BTreeSet<&String> = all.flat_map(BTreeMap::keys).collect();
        let rows = quantiles.into_iter().map(|name| {
            let of = |times: &BTreeMap<String, u64>| {
                let time = times.get(name);
                time.map_or_else(|| "–".to_owned(), |time| elapsed(*time))
            };
            QuantileRow {
                name: name.clone(),
                head: head.map(of),
                whole: whole.map(of),
            }
        });
        rows.collect()
    }

    /// The compared requests by attribute.
    pub(crate) fn attributes(&self) -> Vec<AttributeRow<'a>> {
        let Some(route) = self.counted else {
            return Vec::new();
        };
        let counted = route.attributes.get(COUNTED).copied().unwrap_or(0);
        let mut by_name: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
        for (key, count) in &route.attributes {
            if let Some((name, value)) = attributes::split(key) {
                by_name.entry(name).or_default().push((value, *count));
            }
        }
        let rows = by_name.into_iter().map(|(name, mut values)| {
            // What is left of the others is no value.
            values.sort_by_key(|(value, count)| (*value == OTHER, Reverse(*count), *value));
            let more = values.len().saturating_sub(MAX_VALUES);
            let first = values.into_iter().take(MAX_VALUES);
            let values = first.map(|(value, count)| {
                let share = rate(count.min(counted), counted).unwrap_or_default();
                (value, share)
            });
            AttributeRow {
                name,
                values: values.collect(),
                more,
            }
        });
        rows.collect()
    }

    /// Causes that have groups of it, the gravest first.
    pub(crate) fn causes(&self) -> Vec<CauseHere<'a>> {
        let differing = ReportView::from(self.decided).differing();
        let entries = differing.entries.into_iter().chain(differing.spelt);
        let here = entries.filter_map(|entry| {
            let Entry::Cause(cause) = entry else {
                return None;
            };
            let own = cause.members.iter().map(|member| member.group);
            let own = own.filter(|group| group.route == self.name);
            let groups = own.clone().count() as u64;
            let group = own.max_by_key(|group| group.count)?;
            Some(CauseHere {
                cause,
                group,
                groups,
            })
        });
        here.collect()
    }

    /// The same as a report has them.
    pub(crate) fn cause_reports(&self) -> Vec<CauseReport> {
        let here = self.causes();
        let here = here.into_iter().map(|here| here.cause.report().clone());
        here.collect()
    }

    /// Rules in force that apply to it, those of the route alone first; `None` where their text is not recorded.
    pub(crate) fn rules(&self, text: Option<&RulesText>) -> Option<Vec<RouteRule>> {
        Some(applying(
            text.filter(|text| !text.cut)?,
            self.name,
            &self.decided.report.rules,
        ))
    }
}

fn applying(text: &RulesText, name: &str, hits: &[RuleHits]) -> Vec<RouteRule> {
    let hits = hits.iter();
    let hits: HashMap<&str, u64> = hits.map(|rule| (rule.id.as_str(), rule.hits)).collect();
    let of_it = |only: &Option<String>| only.as_ref().is_none_or(|only| means(only, name));
    let all = text.rules.iter().filter(|rule| of_it(&rule.route));
    let mut all: Vec<RouteRule> = all
        .map(|rule| RouteRule {
            hits: hits.get(rule.id.as_str()).copied().unwrap_or(0),
            rule: rule.clone(),
        })
        .collect();
    // Stable: otherwise in the order of the configuration.
    all.sort_by_key(|one| one.rule.route.is_none());
    all
}

#[cfg(test)]
mod tests {
    use parity_schemas::terms::RuleText;

    use super::*;

    #[test]
    fn rules_of_the_route_come_before_those_of_all_and_others_do_not_apply() {
        let rule = |id: &str, route: Option<&str>| RuleText {
            id: id.to_owned(),
            route: route.map(str::to_owned),
            ..RuleText::default()
        };
        let text = RulesText {
            rules: vec![
                rule("all", None),
                rule("other", Some("GET /b")),
                rule("own", Some("POST /graphql")),
            ],
            ..RulesText::default()
        };
        let ids = |name: &str| -> Vec<String> {
            let all = applying(&text, name, &[]).into_iter();
            all.map(|one| one.rule.id).collect()
        };
        assert_eq!(ids("POST /graphql query Orders"), ["own", "all"]);
        assert_eq!(ids("POST /graphql"), ["own", "all"]);
        assert_eq!(ids("GET /a"), ["all"]);
    }
}
