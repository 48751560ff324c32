//! Processes that were killed and began again: what such a one had received and not written is in no count. One that begins again within
//! seconds leaves no gap in a chart, and what is missing looks like a quiet moment.

use std::collections::BTreeMap;

use parity_schemas::edited::Edited;
use parity_schemas::evidence::Window;
use parity_schemas::history::{Mark, MarkKind};
use parity_schemas::time::Timestamp;
use parity_sink::read::{RunSeen, RunTimes};

/// Marks of them, the latest: a process that dies each minute is told by the first of them.
const MAX_KILLED: usize = 20;

/// A mark for each process of this window that did not say that it ended, and whose name another one has behind it, of whatever version. `runs`
/// are all of the migration; which of them ended is known of those that were `seen`.
pub(super) fn marks(runs: &[RunTimes], seen: &[RunSeen], window: Window) -> Vec<Mark> {
    // A process has several runs if it was given another configuration. It is over with the last of them.
    let mut found: BTreeMap<(Timestamp, &str), Timestamp> = BTreeMap::new();
    for run in seen.iter().filter(|run| !run.ended) {
        let own = runs.iter().filter(|one| one.instance == run.instance);
        let next = own
            .map(|one| one.started)
            .filter(|start| *start > run.written);
        if let Some(next) = next.min() {
            let heard = found.entry((next, &run.instance)).or_insert(run.written);
            *heard = run.written.max(*heard);
        }
    }
    let is_in = |heard: Timestamp| window.from <= heard && heard < window.to;
    let found = found.into_iter();
    let found = found.filter(|(_, heard)| is_in(*heard));
    let mut marks: Vec<Mark> = found
        .map(|((next, instance), heard)| Mark {
            time: heard,
            kind: MarkKind::Killed,
            from: instance.to_owned(),
            to: next.to_string(),
            about: String::new(),
            names: Edited::default(),
        })
        .collect();
    let surplus = marks.len().saturating_sub(MAX_KILLED);
    marks.drain(..surplus);
    marks
}

#[cfg(test)]
mod tests {
    use parity_schemas::tally::Identity;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// Of runs: whose, whether it ended, when it began and wrote last.
    fn told(all: &[(&str, bool, i64, i64)]) -> Vec<(i64, String)> {
        let runs = all.iter().map(|(instance, _, started, written)| RunTimes {
            identity: Identity::default(),
            instance: (*instance).to_owned(),
            started: at(*started),
            written: at(*written),
        });
        let seen = all.iter().map(|(instance, ended, _, written)| RunSeen {
            instance: (*instance).to_owned(),
            candidate_version: String::new(),
            written: at(*written),
            ended: *ended,
            candidate: parity_schemas::lately::CandidateSeen::default(),
        });
        let window = Window {
            from: at(100),
            to: at(1_000),
        };
        let (runs, seen): (Vec<_>, Vec<_>) = (runs.collect(), seen.collect());
        let marks = marks(&runs, &seen, window);
        let second = |time: Timestamp| time.as_micros() / 1_000_000;
        marks
            .into_iter()
            .map(|mark| (second(mark.time), mark.from))
            .collect()
    }

    #[test]
    fn a_process_is_killed_that_did_not_say_that_it_ended_and_began_again() {
        let a = |second| vec![(second, "a".to_owned())];
        assert_eq!(
            told(&[("a", false, 100, 200), ("a", false, 203, 500)]),
            a(200)
        );
        // It had another configuration, and requests of the one before were under way.
        let reloaded = [
            ("a", false, 100, 199),
            ("a", false, 150, 200),
            ("a", false, 203, 500),
        ];
        assert_eq!(told(&reloaded), a(200));
        // It ended in order, goes on, was given another configuration, or another name stands there now.
        assert!(told(&[("a", true, 100, 200), ("a", false, 203, 500)]).is_empty());
        assert!(told(&[("a", false, 100, 500)]).is_empty());
        assert!(told(&[("a", false, 100, 500), ("a", false, 200, 500)]).is_empty());
        assert!(told(&[("a", false, 100, 200), ("b", false, 203, 500)]).is_empty());
        // Minutes later, or in another range.
        assert_eq!(
            told(&[("a", false, 100, 200), ("a", false, 403, 500)]),
            a(200)
        );
        assert!(told(&[("a", false, 10, 20), ("a", false, 23, 500)]).is_empty());
    }
}
