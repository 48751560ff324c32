//! The screen of one group.

use askama::Template;
use parity_comparator::RuleConfig;
use parity_schemas::attributes::SpecialAttribute;
use parity_schemas::evidence::Window;
use parity_schemas::record::Mismatch;
use parity_schemas::route::split_operation;
use parity_schemas::suggested::{Effect, Suggestions};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::visible::visible;

use super::chart::Chart;
use super::shell::Shell;
use super::tables::Stored;
use super::told::told;
use super::{ROOM, count, group_path, lines, moment, second, side};
use crate::links::{Elsewhere, Known};
use crate::view::words::{grouped, version};
use crate::view::{
    Browsed, Decided, Group, GroupTimes, LeftOut, MismatchView, SeenAt, Uncounted, Weight,
    adoptable,
};

/// A rule that would excuse a group.
struct RuleShown {
    toml: String,
    is_lossy: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage<'a> {
    shell: &'a Shell,
    group: Group<'a>,
    rate: Option<String>,
    interval: Option<String>,
    stored: Stored<'a>,
    /// That they have few targets, in words.
    alike: Option<String>,
    rule: Option<RuleShown>,
    /// Why none is suggested, if that is known.
    unruled: Option<&'a str>,
    known_command: String,
    /// The entry that this command writes; `None` for what is known, is noise or does not count.
    known_entry: Option<String>,
    chart: Option<Chart<'a>>,
    first: SeenAt,
    last: SeenAt,
    special: &'a [SpecialAttribute],
    /// Whether that is beside the requests since it was first seen alone.
    is_since: bool,
    /// Where it was found instead, in a sentence.
    elsewhen: Option<String>,
    /// Why it does not count any more, in a sentence.
    uncounted: Option<String>,
    /// Up to when the rules counted that counted it, if these are not the present ones.
    counted: Option<Window>,
    elsewhere: Vec<Elsewhere>,
}

/// What the page of a group is made of.
pub(crate) struct GroupFound<'a> {
    /// The report that has it.
    pub(crate) decided: &'a Decided,
    /// What the list of what counts leaves out of it.
    pub(crate) left_out: &'a LeftOut,
    /// What is special about its requests beside those since it was first seen, where that is not all that is counted.
    pub(crate) special: Option<Vec<SpecialAttribute>>,
    /// When it was found.
    pub(crate) times: &'a GroupTimes,
    /// The version that was looked at first and does not have it.
    pub(crate) not_under: Option<String>,
    /// Why it does not count any more, if that is so.
    pub(crate) uncounted: Option<&'a Uncounted>,
    /// Its name.
    pub(crate) fingerprint: &'a str,
    /// Which of the groups of this name; any if `None`.
    pub(crate) route: Option<&'a str>,
    /// Some of its mismatches, the newest first.
    pub(crate) mismatches: &'a [Mismatch],
    /// Whether these are not the newest.
    pub(crate) is_later: bool,
    /// Where older ones begin, if there are some.
    pub(crate) next: Option<String>,
    /// Rules that are suggested, and what gets none.
    pub(crate) suggestions: &'a Suggestions,
    /// The date on which what is entered now expires.
    pub(crate) expires: &'a str,
}

/// One group; `None` if the report has none of this name.
pub(crate) fn group(shell: &Shell, found: &GroupFound<'_>) -> Option<askama::Result<String>> {
    let row = Browsed::find(
        found.decided,
        found.left_out,
        found.fingerprint,
        found.route,
    )?;
    let fingerprint = row.group.report.fingerprint.as_str();
    let mut unruled = found.suggestions.unruled.iter();
    let unruled = unruled.find(|one| one.fingerprints.iter().any(|name| name == fingerprint));
    let mut rules = found.suggestions.rules.iter();
    let rule = rules.find(|rule| rule.fingerprints.iter().any(|name| name == fingerprint));
    let entered = adoptable(found.decided).into_iter();
    let mut entered = entered.filter(|one| one.fingerprints.iter().any(|name| name == fingerprint));
    let thresholds = &found.decided.decision.thresholds;
    let known_entry = entered
        .next()
        .map(|one| one.to_toml(fingerprint, found.expires, thresholds));
    let report = row.group.report;
    let uncounted = found.uncounted;
    let earlier = uncounted.filter(|uncounted| uncounted.is_of_earlier_rules());
    let alone = found.times.alone(row.names());
    let first = found.times.first(row.names(), report.first_seen);
    let last = found.times.last(row.names(), report.last_seen);
    let page = GroupPage {
        shell,
        chart: Chart::of_group(shell, &alone),
        elsewhere: shell.elsewhere(&Known {
            trace_id: None,
            from: first.time,
            to: last.time.saturating_add_micros(INTERVAL_MICROS),
            route: Some(&report.route),
            group: Some(&report.fingerprint),
            migration: &shell.migration,
            candidate_version: &found.decided.report.candidate_version,
        }),
        first,
        last,
        uncounted: uncounted.map(|uncounted| uncounted.told(second)),
        counted: earlier.and(found.decided.report.window),
        elsewhen: found.not_under.as_ref().map(|asked| {
            let has = &found.decided.report.candidate_version;
            if asked == has {
                format!("Not seen in the time that was chosen: what stands here is of all of candidate {}.", version(has))
            } else {
                format!(
                    "Not seen under candidate {}: what stands here was seen under candidate {}.",
                    version(asked),
                    version(has)
                )
            }
        }),
        special: found.special.as_deref().unwrap_or(&report.special),
        is_since: found.special.is_some(),
        known_entry,
        unruled: unruled.map(|one| one.why.as_str()),
        rate: row.rate(),
        interval: row.interval(),
        stored: Stored {
            shell,
            rows: found.mismatches,
            group: Some(fingerprint),
            is_later: found.is_later,
            older: found.next.as_ref().map(|next| {
                let more = [("of_route", report.route.as_str()), ("after", next.as_str())];
                shell.scope.with(&group_path(fingerprint), &more)
            }),
        },
        alike: alike(found.mismatches, !found.is_later && found.next.is_none()),
        rule: rule.map(|rule| RuleShown {
            toml: format!("[[rule]]\n{}", RuleConfig::from(&rule.rule).to_toml()),
            is_lossy: rule.effect == Effect::Lossy,
        }),
        known_command: format!(
            "parity known add {fingerprint} --owner NAME --reason TEXT --expires {}",
            found.expires
        ),
        group: row.group,
    };
    Some(page.render())
}

/// Targets of mismatches that are few.
const FEW: usize = 3;
/// Mismatches for each target from which on they are few: two of one target may be chance.
const TIMES: usize = 4;

/// That mismatches have one target, or few for how many they are: who reads that a route differs takes it for all of the route.
/// `is_all` says whether these are all that is stored. Nothing is told of GraphQL, where requests differ by what is in their bodies,
/// nor of a route that is its only target, without a placeholder and a query: that would be no finding.
fn alike(mismatches: &[Mismatch], is_all: bool) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for mismatch in mismatches {
        split_operation(&mismatch.route).is_none().then_some(())?;
        let request = MismatchView { mismatch }.request();
        match counts.iter_mut().find(|(known, _)| *known == request) {
            Some((_, count)) => *count += 1,
            None => counts.push((request, 1)),
        }
    }
    let routes = mismatches.iter().map(|one| visible(&one.route));
    let is_route = |(only, _): &(String, usize)| routes.clone().all(|route| route == *only);
    if matches!(counts.as_slice(), [only] if is_route(only)) {
        return None;
    }
    if counts.is_empty() || counts.len() > FEW || mismatches.len() < TIMES * counts.len() {
        return None;
    }
    counts.sort_by(|(one, fewer), (other, more)| more.cmp(fewer).then_with(|| one.cmp(other)));
    let these = grouped(mismatches.len() as u64);
    let stored = if is_all {
        format!("{these} stored mismatches")
    } else {
        format!("{these} mismatches that are listed here")
    };
    Some(match counts.as_slice() {
        [(only, _)] => format!("all {stored} are of {only}"),
        several => {
            let each = several
                .iter()
                .map(|(request, count)| format!("{request} ({})", grouped(*count as u64)));
            let each: Vec<String> = each.collect();
            format!(
                "the {stored} are of {} targets only: {}",
                several.len(),
                each.join(", ")
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(targets: &[(&str, usize)], route: &str) -> Vec<Mismatch> {
        let each = targets.iter().flat_map(|(path, count)| {
            let one = Mismatch {
                method: "GET".to_owned(),
                path: (*path).to_owned(),
                route: route.to_owned(),
                ..Mismatch::default()
            };
            std::iter::repeat_n(one, *count)
        });
        each.collect()
    }

    #[test]
    fn that_all_are_of_one_target_or_of_few_is_told() {
        let told = |targets, is_all| alike(&of(targets, "GET /orders/{id}"), is_all);
        assert_eq!(
            told(&[("/orders/7", 25)], true).as_deref(),
            Some("all 25 stored mismatches are of GET /orders/7")
        );
        assert_eq!(
            told(&[("/orders/7", 25)], false).as_deref(),
            Some("all 25 mismatches that are listed here are of GET /orders/7")
        );
        assert_eq!(
            told(&[("/orders/7", 5), ("/orders/\u{202e}8", 20)], true).as_deref(),
            Some(
                "the 25 stored mismatches are of 2 targets only: GET /orders/\\u{202e}8 (20), GET /orders/7 (5)"
            )
        );
        for few in [
            &[][..],
            &[("/orders/7", 3)],
            &[("/a", 4), ("/b", 3)],
            &[("/a", 9), ("/b", 9), ("/c", 9), ("/d", 9)],
        ] {
            assert_eq!(told(few, true), None, "{few:?}");
        }
        // It has no other target.
        let only = of(&[("/quotes", 25)], "GET /quotes");
        assert_eq!(alike(&only, true), None);
        // A query that is always the same is one.
        let mut asked = only;
        for one in &mut asked {
            one.query = "size=7".to_owned();
        }
        assert_eq!(
            alike(&asked, true).as_deref(),
            Some("all 25 stored mismatches are of GET /quotes?size=7")
        );
        asked[0].query.clear();
        assert_eq!(
            alike(&asked, true).as_deref(),
            Some(
                "the 25 stored mismatches are of 2 targets only: GET /quotes?size=7 (24), GET /quotes (1)"
            )
        );
        // All operations are asked at one address.
        let operations = of(&[("/graphql", 25)], "POST /graphql query Order");
        assert!(split_operation(&operations[0].route).is_some());
        assert_eq!(alike(&operations, true), None);
    }
}
