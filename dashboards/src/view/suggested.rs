//! The rules that are suggested for what a report counts.

use std::collections::HashSet;

use parity_comparator::causes::Exchanges;
use parity_comparator::suggest::{Seen, Suggested, suggest};
use parity_schemas::noise::NoiseState;
use parity_schemas::suggested::{SUGGESTED_SCHEMA, Suggestions};

use super::Decided;
use super::listing::split;

/// Who answers for a suggested rule, until somebody does.
const OWNER: &str = "(nobody yet)";

/// Suggests rules for what counts in a report. `expires` is the date that each of them gets.
pub fn suggested(decided: &Decided, expires: &str) -> Suggestions {
    let report = &decided.report;
    let mismatches = report.routes.iter();
    let mismatches = mismatches.map(|route| (route.route.as_str(), route.counts.mismatch));
    let exchanges = Exchanges::of(&report.sets, mismatches);
    let seen: Vec<Seen> = decided.listing.counting.iter().flat_map(split).collect();
    let Suggested { mut rules, unruled } = suggest(&seen, &exchanges);
    for suggested in &mut rules {
        suggested.rule.owner = Some(OWNER.to_owned());
        suggested.rule.expires = Some(expires.to_owned());
    }
    let named = rules.iter().flat_map(|rule| &rule.fingerprints);
    let named: HashSet<&String> = named.collect();
    let sets = report.sets.iter().filter(|set| {
        let mut names = set.fingerprints.iter();
        !set.fingerprints.is_empty() && names.all(|name| named.contains(name))
    });
    let excused = sets.flat_map(|set| set.classes.values()).sum();
    let noise = report.noise.iter();
    let noise = noise.filter(|noise| noise.state == NoiseState::Proven);
    Suggestions {
        schema: SUGGESTED_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        candidate_version: report.candidate_version.clone(),
        rules_hash: report.rules_hash.clone(),
        differing: report.differing,
        excused_at_least: excused,
        noise: noise.count() as u64,
        rules,
        unruled,
    }
}
