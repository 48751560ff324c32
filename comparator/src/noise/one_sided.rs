//! What the legacy shows by itself and the candidate does not.
//!
//! A legacy that sends a flag, another text or a refusal in some answers only, at random, differs there from a candidate
//! that never does. Asked again the legacy most often has what the candidate has, so that each such mismatch looks as if the
//! data had changed (`transient`). Services that behave alike change their answers alone equally often. So what the legacy
//! does more often than the candidate may hide that the candidate lacks it, and is added to what may hide.
//!
//! Nothing is proven to differ by it: data that really changes between the two first answers, of which the legacy's is the
//! earlier one, looks the same. Nothing counts of a legacy that had failed at first. That it answers later says nothing of
//! the candidate.
//!
//! What somebody has entered as known is not looked at.
//!
//! *How much*: as often as it was seen, and a standard deviation more, of all that does not count. Of several groups on a
//! route the one in which it is most is taken: one change of the data moves many fields.

use parity_schemas::noise::{Excused, NoiseGroup, NoiseState};
use parity_schemas::recheck::{RecheckEvent, RecheckEvidence};
use parity_schemas::tally::Counts;

use super::class::is_failure;
use super::group_place::Place;
use super::proof::both;
use super::sums::GroupSums;

/// The share of the compared requests of a route that may be such. The groups are those of the route; of them only those
/// that are proven to be noise excuse anything.
pub(crate) fn of_route<'a>(
    counts: &Counts,
    excused: Excused,
    groups: impl IntoIterator<Item = &'a NoiseGroup>,
) -> f64 {
    let proven = groups.into_iter().filter(|group| {
        group.state == NoiseState::Proven && !is_failure(group.group.legacy_status)
    });
    let of_groups = proven.filter_map(|group| {
        let place = Place::of(&group.route, &group.group)?;
        let (alone, mirror) = GroupSums::of_noise(group, place.shape);
        let both = both(&alone, mirror.as_ref());
        let moved = [
            RecheckEvidence::LegacyAlone,
            RecheckEvidence::CandidateAlone,
        ];
        let [legacy, candidate] = moved.map(|evidence| both.of(evidence));
        Some(excess(legacy, candidate, both.rechecks()) * both.count as f64)
    });
    let not_counted = (excused.transient + excused.noise) as f64;
    let most = of_groups.fold(of_all(counts) * not_counted, f64::max);
    most.min(not_counted) / counts.compared().max(1) as f64
}

/// The same of the rechecks of all mismatches together: their share.
pub(crate) fn of_all(counts: &Counts) -> f64 {
    let of = |event| counts.rechecks.get(&event).copied().unwrap_or(0);
    let answered = of(RecheckEvent::Asked).saturating_sub(of(RecheckEvent::Failed));
    excess(
        of(RecheckEvent::LegacyAlone),
        of(RecheckEvent::CandidateAlone),
        answered,
    )
}

/// The share by which one is more frequent than the other, and a standard deviation of it where it was seen at all.
fn excess(more: u64, less: u64, of: u64) -> f64 {
    let deviation = ((more + less) as f64).sqrt();
    let excess = more as f64 - less as f64 + deviation;
    (excess / of.max(1) as f64).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(matched: u64, mismatch: u64, events: &[(RecheckEvent, u64)]) -> Counts {
        Counts {
            received: matched + mismatch,
            matched,
            mismatch,
            rechecks: events.iter().copied().collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn what_only_the_legacy_shows_may_hide_and_what_both_show_may_not() {
        use RecheckEvent::{Asked, CandidateAlone, Failed, LegacyAlone};
        let transient = |count| Excused {
            transient: count,
            ..Excused::default()
        };
        for (events, excused, from, to) in [
            // The candidate never has what the legacy shows in two of a hundred answers.
            (&[(Asked, 20), (LegacyAlone, 20)][..], 20, 0.02, 0.02),
            // Few are enough.
            (&[(Asked, 8), (LegacyAlone, 8)], 8, 0.008, 0.008),
            // Both have it.
            (
                &[(Asked, 40), (LegacyAlone, 20), (CandidateAlone, 20)],
                20,
                0.0,
                0.004,
            ),
            // The data changes between the answers, mostly after the legacy's.
            (
                &[(Asked, 78), (LegacyAlone, 52), (CandidateAlone, 26)],
                52,
                0.017,
                0.024,
            ),
            // Only the candidate moves.
            (&[(Asked, 40), (CandidateAlone, 40)], 0, 0.0, 0.0),
            // Ids that move on both sides.
            (&[(Asked, 900)], 0, 0.0, 0.0),
            // Nothing is known.
            (&[(Asked, 9), (Failed, 9)], 0, 0.0, 0.0),
        ] {
            let counts = counts(900, 100, events);
            let hidden = of_route(&counts, transient(excused), []);
            assert!((from..=to).contains(&hidden), "{events:?}: {hidden}");
        }
    }

    #[test]
    fn what_was_not_asked_about_may_hide_as_what_was() {
        let events = [
            (RecheckEvent::Asked, 50),
            (RecheckEvent::LegacyAlone, 50),
            (RecheckEvent::RefusedRate, 50),
        ];
        let excused = Excused {
            transient: 50,
            noise: 50,
            ..Excused::default()
        };
        let hidden = of_route(&counts(900, 100, &events), excused, []);
        assert!((0.1 - hidden).abs() < 1e-9, "{hidden}");
    }
}
