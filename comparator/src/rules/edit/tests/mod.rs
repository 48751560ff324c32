//! What is said of an edit must be what comparing again says.

mod cases;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use parity_schemas::evidence::carried::{Fate, RouteCounted, RulesCounted};
use parity_schemas::evidence::{GroupEvidence, SetEvidence};
use parity_schemas::exchange::Capture;
use parity_schemas::recheck::add_counts;
use parity_schemas::record::MismatchClass;
use parity_schemas::route::OTHER;
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Part, Verdict};

use self::random::Random;
use super::redecide;
use crate::rules::{RuleConfig, Rules};
use crate::{AnswerPair, Comparator, Comparison, Limits, fingerprint};

const ROUTE: &str = "GET /a";

/// Groups by fingerprint: the classes that a recheck would have found, and the group.
type Groups = BTreeMap<String, (MismatchClass, GroupEvidence)>;

fn compiled(configs: &[RuleConfig]) -> Arc<Rules> {
    Arc::new(Rules::compile(configs, Timestamp::from_micros(0)).expect("the rules are right"))
}

fn counted_under(rules: &Rules) -> RulesCounted {
    RulesCounted {
        hash: rules.hash().to_owned(),
        texts: vec![rules.text()],
    }
}

fn compare(rules: &Arc<Rules>, limits: Limits, [legacy, candidate]: &[Capture; 2]) -> Comparison {
    let mut comparator = Comparator::new(Arc::clone(rules), limits);
    comparator.compare_answers(AnswerPair {
        route: ROUTE,
        method: &Method::GET,
        request: None,
        time: Timestamp::from_micros(0),
        legacy,
        candidate,
        asked_together: true,
    })
}

/// A pattern as a record has it: `h@h` is a secret, and so is everything below `s`.
fn shown(pattern: &str) -> String {
    let mut shown = String::new();
    let mut secret = false;
    for segment in pattern.split('/').skip(1) {
        shown.push('/');
        if secret {
            shown.push('*');
            break;
        }
        shown.push_str(if segment == "h@h" { "*" } else { segment });
        secret = segment == "s";
    }
    shown
}

/// Adds an exchange to the counts, as a mirror counts it.
fn count(
    counted: &mut RouteCounted,
    rules: &Rules,
    answers: &[Capture; 2],
    found: &Comparison,
    mut class: impl FnMut() -> MismatchClass,
) {
    let ids: Vec<&str> = rules.ids().collect();
    for (rule, hits) in &found.rule_hits {
        *counted.rule_hits.entry(ids[*rule].to_owned()).or_default() += u64::from(*hits);
    }
    counted.counts.received += 1;
    match found.verdict {
        Verdict::Match => counted.counts.matched += 1,
        Verdict::NotCompared(reason) => {
            *counted.counts.not_compared.entry(reason).or_default() += 1;
        }
        Verdict::Mismatch => {
            let statuses = [answers[0].status, answers[1].status];
            let named = fingerprint::groups(
                ROUTE,
                statuses[0],
                statuses[1],
                &found.findings,
                |finding| {
                    if finding.part == Part::Body {
                        shown(&finding.pattern)
                    } else {
                        finding.pattern.clone()
                    }
                },
            );
            let mut groups = Groups::new();
            for group in named {
                let class = class();
                groups.entry(group.fingerprint.clone()).or_insert_with(|| {
                    let group = GroupEvidence {
                        last_seen: parity_schemas::time::Timestamp::default(),
                        route: ROUTE.to_owned(),
                        group,
                        count: 1,
                        classes: [(class, 1)].into(),
                        evidence: BTreeMap::new(),
                    };
                    (class, group)
                });
            }
            add_mismatch(counted, groups, found.is_complete());
        }
    }
}

fn add_mismatch(counted: &mut RouteCounted, groups: Groups, is_complete: bool) {
    let class = groups
        .values()
        .map(|(class, _)| *class)
        .min()
        .unwrap_or_default();
    counted.counts.mismatch += 1;
    *counted.counts.classes.entry(class).or_default() += 1;
    let in_set = groups
        .iter()
        .filter(|(_, (class, _))| *class != MismatchClass::Transient);
    let fingerprints: Vec<String> = in_set.map(|(name, _)| name.clone()).collect();
    if is_complete && !fingerprints.is_empty() {
        counted.sets.push(SetEvidence {
            route: ROUTE.to_owned(),
            fingerprints,
            classes: [(class, 1)].into(),
            never_asked: 0,
        });
    }
    for (name, (_, group)) in groups {
        match counted
            .groups
            .iter_mut()
            .find(|known| known.group.fingerprint == name)
        {
            Some(known) => {
                known.count += 1;
                add_counts(&mut known.classes, &group.classes);
            }
            None => counted.groups.push(group),
        }
    }
}

/// The fate of what these exchanges counted, by the one edit.
fn fate(old: &Rules, new: &Rules, counted: &RouteCounted) -> Fate {
    let fates = redecide(
        &counted_under(old),
        &counted_under(new),
        std::slice::from_ref(counted),
    );
    fates.expect("the texts are there").remove(0)
}

/// How often each fate was seen, by what was changed.
#[derive(Default)]
struct Seen(BTreeMap<String, [usize; 3]>);

#[test]
fn whatever_is_carried_over_is_what_comparing_again_says() {
    let cases = 8_000;
    let mut seen = Seen::default();
    for case in 0..cases {
        check(case, &mut seen);
    }
    // It must not hold because nothing is ever carried over.
    let of = |what: &str| seen.0.get(what).copied().unwrap_or_default();
    for what in ["+ignore", "+accept", "+status", "+header"] {
        let [untouched, excused, anew] = of(what);
        assert!(untouched > 0 && anew > 0, "{what} is hardly tried");
        assert!(excused > cases / 4_000, "{what} excuses hardly anything");
    }
    for what in [
        "-ignore",
        "-accept",
        "-tolerance",
        "-as",
        "-unordered",
        "+tolerance",
        "+as",
    ] {
        assert!(of(what)[0] > cases / 200, "{what} is hardly tried");
    }
}

/// What an edit changes, if that is one thing.
fn what([old, new]: &[Vec<RuleConfig>; 2]) -> Option<String> {
    let names = |rules: &[RuleConfig]| -> BTreeSet<String> {
        rules.iter().map(|rule| rule.id.clone()).collect()
    };
    let (before, after) = (names(old), names(new));
    let added: Vec<&RuleConfig> = new
        .iter()
        .filter(|rule| !before.contains(&rule.id))
        .collect();
    let removed: Vec<&RuleConfig> = old
        .iter()
        .filter(|rule| !after.contains(&rule.id))
        .collect();
    let word = |sign: &str, rule: &RuleConfig| {
        let word = match rule.part.as_deref() {
            None | Some("body") => &rule.action,
            Some(part) => part,
        };
        format!("{sign}{word}")
    };
    match (added.as_slice(), removed.as_slice()) {
        ([rule], []) => Some(word("+", rule)),
        ([], [rule]) => Some(word("-", rule)),
        _ => None,
    }
}

fn check(case: usize, seen: &mut Seen) {
    let random = &mut Random(case as u64);
    let earlier = random::rules(random);
    let old = compiled(&earlier);
    let limits = Limits {
        work: random.pick(&[Limits::default().work, Limits::default().work, 200, 40]),
        findings: random.pick(&[256, 256, 256, 2]),
        depth: random.pick(&[128, 128, 3]),
        ..Limits::default()
    };
    let transient = random.one_in(4);
    let mut before = RouteCounted {
        route: ROUTE.to_owned(),
        ..RouteCounted::default()
    };
    let mut after = before.clone();
    let count_of = 1 + random.below(3);
    let bodies: Vec<_> = (0..count_of).map(|_| random::answers(random)).collect();
    for answers in &bodies {
        let class = |random: &mut Random| match random.below(4) {
            0 if transient => MismatchClass::Transient,
            0 | 1 => MismatchClass::Noise,
            2 => MismatchClass::Confirmed,
            _ => MismatchClass::Unconfirmed,
        };
        let found = compare(&old, limits, answers);
        count(&mut before, &old, answers, &found, || class(random));
    }
    let groups: Vec<&Group> = before.groups.iter().map(|group| &group.group).collect();
    let edit = [earlier.clone(), random::edited(random, &earlier, &groups)];
    let new = compiled(&edit[1]);
    for answers in &bodies {
        let again = compare(&new, limits, answers);
        count(&mut after, &new, answers, &again, MismatchClass::default);
    }
    let fate = fate(&old, &new, &before);
    if let Some(what) = what(&edit) {
        let counts = seen.0.entry(what).or_default();
        counts[match fate {
            Fate::Untouched => 0,
            Fate::Excused(_) => 1,
            Fate::Anew(_) => 2,
        }] += 1;
    }
    let mut carried = before.clone();
    match &fate {
        Fate::Anew(why) => {
            assert!(!why.is_empty());
            return;
        }
        Fate::Untouched => {}
        Fate::Excused(groups) => {
            assert!(!groups.is_empty());
            carried.excuse(groups);
        }
    }
    let outcome = |counted: &RouteCounted| {
        let counts = &counted.counts;
        (counts.matched, counts.mismatch, counts.not_compared.clone())
    };
    let shown = || {
        let bodies = bodies.iter().flatten().map(|side| {
            let text = String::from_utf8_lossy(&side.body.contiguous()).into_owned();
            format!("{} {text}", side.status)
        });
        bodies.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        outcome(&carried),
        outcome(&after),
        "case {case}: {fate:?}\nold {:#?}\nnew {:#?}\n{limits:?}\n{}\n{before:#?}",
        edit[0],
        edit[1],
        shown()
    );
    assert_eq!(
        carried.counts.classes.values().sum::<u64>(),
        carried.counts.mismatch
    );
    let in_sets = |counted: &RouteCounted| {
        counted
            .sets
            .iter()
            .flat_map(|set| set.classes.values())
            .sum::<u64>()
    };
    assert!(in_sets(&carried) <= carried.counts.mismatch);
}
