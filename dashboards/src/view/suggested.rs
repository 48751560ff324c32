//! The rules that are suggested for what a report counts, and what gets none.

use std::collections::HashSet;

use parity_comparator::causes::Exchanges;
use parity_comparator::suggest::{Naming, Seen, Suggested, is_rename, suggest};
use parity_schemas::noise::{NoiseState, NoiseUse};
use parity_schemas::suggested::{NoisePlace, SUGGESTED_SCHEMA, Suggestions};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Kind;
use parity_sink::{Reader, StoreError};

use super::Decided;
use super::listing::{is_transient, split};
use super::noise::NoiseView;
use super::stored::Stored;

/// Who answers for a suggested rule, until somebody does.
pub const NOBODY: &str = "(nobody yet)";
/// Stored mismatches of one group in which a new name is looked for: all of them must have the same.
const EXAMPLES: usize = 20;
/// Groups of one place that are asked for such mismatches: they differ only in their shape.
const MAX_SHAPES: usize = 3;

/// Days until a suggested rule expires: a quarter, so that it outlives few migrations unseen.
const EXPIRES_AFTER_DAYS: i64 = 90;

/// The date on which a rule expires that is suggested now.
pub fn expires(now: Timestamp) -> String {
    let then = now.saturating_add_micros(EXPIRES_AFTER_DAYS * 24 * 60 * 60 * 1_000_000);
    let text = then.to_string();
    text.split('T').next().unwrap_or(&text).to_owned()
}

/// Suggests rules for what counts in a report. `expires` is the date that each of them gets.
pub fn suggested(
    reader: &Reader,
    decided: &Decided,
    expires: &str,
) -> Result<Suggestions, StoreError> {
    let report = &decided.report;
    let mismatches = report.routes.iter();
    let mismatches = mismatches.map(|route| (route.route.as_str(), route.counts.mismatch));
    let exchanges = Exchanges::of(&report.sets, mismatches);
    let mut seen: Vec<Seen> = decided.listing.counting.iter().flat_map(split).collect();
    name(&mut seen, &mut Stored::new(reader, report))?;
    let Suggested { mut rules, unruled } = suggest(&seen, &exchanges);
    let noisy = report
        .noise
        .iter()
        .filter(|noise| {
            noise.state == NoiseState::Proven || !is_transient(&noise.classes, noise.count)
        })
        .map(|noise| noise.group.fingerprint.as_str());
    let noisy: HashSet<&str> = noisy.collect();
    for suggested in &mut rules {
        suggested.rule.owner = Some(NOBODY.to_owned());
        suggested.rule.expires = Some(expires.to_owned());
        let names = suggested.fingerprints.iter();
        suggested.noise_like = names.filter(|name| noisy.contains(name.as_str())).count() as u64;
    }
    let named = rules.iter().flat_map(|rule| &rule.fingerprints);
    let named: HashSet<&String> = named.collect();
    let sets = report.sets.iter().filter(|set| {
        let mut names = set.fingerprints.iter();
        !set.fingerprints.is_empty() && names.all(|name| named.contains(name))
    });
    let excused = sets.flat_map(|set| set.classes.values()).sum();
    let sets = report.sets.iter().filter(|set| {
        let mut names = set.fingerprints.iter();
        names.any(|name| named.contains(name))
    });
    let covered = sets.flat_map(|set| set.classes.values()).sum();
    let noise = report.noise.iter();
    let noise = noise.filter(|noise| noise.state == NoiseState::Proven);
    Ok(Suggestions {
        schema: SUGGESTED_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        candidate_version: report.candidate_version.clone(),
        rules_hash: report.rules_hash.clone(),
        differing: report.differing,
        covered_at_least: covered,
        excused_at_least: excused,
        noise: noise.count() as u64,
        noise_places: noise_places(decided),
        rules,
        unruled,
    })
}

/// Reads under which name the candidate has what it seems to have under another one.
fn name(seen: &mut [Seen], stored: &mut Stored<'_>) -> Result<(), StoreError> {
    let renamed = seen
        .iter_mut()
        .filter(|of| is_rename(&of.group) && of.group.kind == Kind::Missing);
    for of in renamed {
        let mut examples = Vec::new();
        for fingerprint in of.fingerprints.iter().take(MAX_SHAPES) {
            examples.extend(stored.of(fingerprint, EXAMPLES)?);
        }
        of.name = Naming::read(&examples, &of.fingerprints);
    }
    Ok(())
}

/// What is proven first, then the most frequent.
fn noise_places(decided: &Decided) -> Vec<NoisePlace> {
    let report = &decided.report;
    let usage = decided.decision.thresholds.noise;
    let view = NoiseView::of(&report.noise, None, &report.excused, usage);
    let of = |state: NoiseState| match state {
        NoiseState::Proven => view.proven.entries.iter(),
        NoiseState::Open => view.open.entries.iter(),
    };
    let counts_all = usage == NoiseUse::Report;
    let states = [NoiseState::Proven, NoiseState::Open].into_iter();
    let places = states.flat_map(|state| of(state).map(move |entry| (state, entry)));
    places
        .map(|(state, entry)| NoisePlace {
            route: entry.route.to_owned(),
            part: entry.place.part,
            pattern: entry.place.path.to_owned(),
            kind: entry.kind,
            explanation: entry.explanation,
            state,
            count: entry.count,
            fingerprints: entry
                .fingerprints
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            why: format!(
                "{}; {}",
                match state {
                    NoiseState::Proven if counts_all =>
                        "proven noise, which counts because noise is only reported",
                    NoiseState::Proven => "proven noise: it does not count, so it needs no rule",
                    NoiseState::Open =>
                        "looks like noise: rechecks find that the legacy itself differs there; it counts until that is proven",
                },
                entry.verdict
            ),
        })
        .collect()
}
