//! Which evidence is the latest: that for the rules and versions that were last in force.
//!
//! The newest counts do not tell: requests of an earlier configuration may be settled later, and nothing may have been
//! received since the last reload. So the runs tell. A run is in force until its last watermark, or until the next run
//! of its instance began. Runs that were in force until about the same time are those of mirrors that work side by side;
//! of these the one that began last counts, as in a rolling reload. Stopping a mirror therefore changes nothing.

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;

use super::Selection;
use super::others::Starts;

/// When a run was at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// What it counted for.
    pub identity: Identity,
    /// Which process.
    pub instance: String,
    /// When it began: with the process, or a reload.
    pub started: Timestamp,
    /// When it last wrote its watermark, which it does each second, and when it ends.
    pub written: Timestamp,
}

/// What was last in force within the selection. `runs` are all of the migration. `counted` is what the newest matching
/// interval counts for, and when it began: older programs, and runs of which only tallies have arrived, have no
/// watermark.
pub(super) fn last_in_force(
    runs: Vec<RunTimes>,
    selection: &Selection,
    counted: Option<(Identity, Timestamp)>,
) -> Option<Identity> {
    let starts: Starts = runs
        .iter()
        .map(|run| (run.instance.clone(), run.started))
        .collect();
    let runs: Vec<(Timestamp, RunTimes)> = runs
        .into_iter()
        .filter(|run| selection.allows(&run.identity) && selection.since <= Some(run.written))
        .map(|run| {
            let next = starts.after(&run.instance, run.started);
            let until = next.map_or(run.written, |next| next.min(run.written));
            (until, run)
        })
        .collect();
    let heard = runs.iter().map(|(_, run)| run.written).max();
    if let Some((identity, begins)) = counted
        && heard.is_none_or(|heard| heard < begins)
    {
        return Some(identity);
    }
    let last = runs.iter().map(|(until, _)| *until).max()?;
    let about = last.saturating_add_micros(-SILENT_AFTER_MICROS);
    let side_by_side = runs.into_iter().filter(|(until, _)| *until >= about);
    side_by_side
        .max_by_key(|(until, run)| (run.started, *until))
        .map(|(_, run)| run.identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn identity(candidate: &str, rules: &str) -> Identity {
        Identity {
            candidate_version: candidate.to_owned(),
            rules_hash: rules.to_owned(),
            ..Identity::default()
        }
    }

    fn run(instance: &str, candidate: &str, rules: &str, times: [i64; 2]) -> RunTimes {
        RunTimes {
            identity: identity(candidate, rules),
            instance: instance.to_owned(),
            started: at(times[0]),
            written: at(times[1]),
        }
    }

    fn rules(runs: Vec<RunTimes>, selection: &Selection) -> Option<String> {
        last_in_force(runs, selection, None).map(|identity| identity.rules_hash)
    }

    #[test]
    fn the_last_reload_counts_whatever_was_counted_last() {
        let reloaded = || {
            vec![
                run("a", "1", "x", [10, 20]),
                // A slow request of it was settled long after the next reload.
                run("a", "1", "y", [20, 90]),
                run("a", "1", "z", [30, 40]),
                run("a", "2", "z2", [40, 100]),
            ]
        };
        let all = Selection::default();
        assert_eq!(rules(reloaded(), &all).as_deref(), Some("z2"));
        let first = Selection {
            candidate_version: Some("1".to_owned()),
            ..Selection::default()
        };
        assert_eq!(rules(reloaded(), &first).as_deref(), Some("z"));
        let late = Selection {
            since: Some(at(95)),
            ..first
        };
        assert_eq!(rules(reloaded(), &late), None);
    }

    #[test]
    fn of_mirrors_side_by_side_the_one_that_began_last_counts_while_it_is_there() {
        let all = Selection::default();
        let both = vec![run("a", "1", "x", [10, 101]), run("b", "1", "y", [20, 100])];
        assert_eq!(rules(both, &all).as_deref(), Some("y"));
        let one = vec![run("a", "1", "x", [10, 101]), run("b", "1", "y", [20, 50])];
        assert_eq!(rules(one, &all).as_deref(), Some("x"));
    }

    #[test]
    fn counts_without_a_watermark_count_if_they_are_newer() {
        let all = Selection::default();
        let found = |begins| {
            let counted = Some((identity("1", "old"), at(begins)));
            let runs = vec![run("a", "1", "x", [10, 20])];
            last_in_force(runs, &all, counted).map(|identity| identity.rules_hash)
        };
        assert_eq!(found(21).as_deref(), Some("old"));
        assert_eq!(found(20).as_deref(), Some("x"));
        let none = last_in_force(Vec::new(), &all, Some((identity("1", "old"), at(1))));
        assert!(none.is_some());
    }
}
