//! Runs of the same migration with another identity: under other rules, or for versions that the selection does not
//! exclude.
//!
//! Their counts are other evidence. But while one of them receives requests, part of the traffic is compared by other
//! rules or for another version, and whoever decides must know that. A run that was ended by a reload or restart of its
//! instance only settles its remaining requests, and does not count as receiving.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;

use parity_schemas::evidence::OtherRules;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Apart, CLOCKS_APART_MICROS, Run, SILENT_AFTER_MICROS, Watermark};
use uuid::Uuid;

/// Most rules hashes that are listed, newest first: nobody looks up more.
const MAX_LISTED: usize = 100;

/// The latest watermark of such a run.
pub(super) struct OtherRun {
    pub(super) id: Uuid,
    pub(super) identity: Identity,
    pub(super) instance: String,
    pub(super) started: Timestamp,
    pub(super) written: Timestamp,
    pub(super) complete_until: Timestamp,
    pub(super) ended: bool,
    /// Its watermark says that it received requests, and was written within the window.
    pub(super) counted: bool,
    /// It may receive requests; see [`find_receiving`].
    pub(super) receives: bool,
}

/// Determines which of these runs may still receive requests. `received_since` queries whether a run has tallies with
/// requests from a time on.
pub(super) fn find_receiving<E>(
    runs: &mut [OtherRun],
    starts: &Starts,
    mut received_since: impl FnMut(&OtherRun, Timestamp) -> Result<bool, E>,
) -> Result<(), E> {
    for run in runs.iter_mut().filter(|run| !run.ended) {
        let next = starts.last(&run.instance);
        run.receives = match next.filter(|next| *next > run.started) {
            None => true,
            // The next run began after this one's last watermark, so this one was killed.
            Some(next) if next > run.written => false,
            // It settles its remaining requests, unless two processes have the same instance name.
            Some(next) => received_since(run, next)?,
        };
    }
    Ok(())
}

/// The runs that may have received requests while the evidence of `identity` was collected, which begins at `from`. A
/// run under other rules that is not known to have ended always counts, because nobody knows what it received after its
/// last watermark. A run of other versions counts only if it wrote a watermark in that time: versions follow each
/// other, and the newest is the one that is evaluated.
pub(super) fn receiving(
    runs: &[OtherRun],
    identity: &Identity,
    from: Timestamp,
) -> impl Iterator<Item = Run> {
    // A run whose last watermark is only slightly older may still be alive.
    let since = from.saturating_add_micros(-SILENT_AFTER_MICROS);
    let receiving = runs.iter().filter(move |run| {
        run.receives && (is_of_same_versions(run, identity) || run.written >= since)
    });
    receiving.map(move |run| Run {
        apart: Some(if is_of_same_versions(run, identity) {
            Apart::Rules(run.identity.rules_hash.clone())
        } else {
            Apart::Versions {
                legacy: run.identity.legacy_version.clone(),
                candidate: run.identity.candidate_version.clone(),
            }
        }),
        ..of(run)
    })
}

fn of(run: &OtherRun) -> Run {
    Run {
        instance: run.instance.clone(),
        watermark: Some(Watermark {
            id: run.id,
            instance: run.instance.clone(),
            started: run.started,
            written: run.written,
            complete_until: run.complete_until,
            ..Watermark::default()
        }),
        last_tally: None,
        before_watermarks: false,
        lacks_tallies: false,
        succeeded: None,
        apart: None,
    }
}

/// The runs of the same versions under other rules that were killed, and whose place a process took that counts here: `counting`
/// has instance and begin of each. A change of the rules at that moment makes nothing known of what they had not written. Nothing
/// of it is asked for if the next process had begun by `since`.
pub(super) fn lost(
    runs: &[OtherRun],
    identity: &Identity,
    starts: &Starts,
    since: Option<Timestamp>,
    counting: &HashSet<(String, Timestamp)>,
) -> Vec<Run> {
    let killed = runs
        .iter()
        .filter(|run| !run.ended && !run.receives && is_of_same_versions(run, identity));
    let lost = killed.filter_map(|run| {
        let next = starts.after(&run.instance, run.written)?;
        let is_past = since.is_some_and(|since| next <= since);
        let counts = counting.contains(&(run.instance.clone(), next));
        (counts && !is_past).then(|| Run {
            succeeded: Some(next),
            ..of(run)
        })
    });
    lost.collect()
}

pub(super) fn is_of_same_versions(run: &OtherRun, identity: &Identity) -> bool {
    run.identity.legacy_version == identity.legacy_version
        && run.identity.candidate_version == identity.candidate_version
}

/// When the runs of each instance of a migration began, of any identity.
#[derive(Default)]
pub(super) struct Starts(BTreeMap<String, BTreeSet<Timestamp>>);

impl Starts {
    fn last(&self, instance: &str) -> Option<Timestamp> {
        self.0.get(instance)?.last().copied()
    }

    /// The first run that began after `time`.
    pub(super) fn after(&self, instance: &str, time: Timestamp) -> Option<Timestamp> {
        let later = (Bound::Excluded(time), Bound::Unbounded);
        self.0.get(instance)?.range(later).next().copied()
    }

    /// Whether everything that is unknown of a run lies before `since`. What a run without an orderly end received is
    /// unknown from its last watermark until the next run of its instance began, or until now if there is none.
    pub(super) fn is_over(&self, run: &Watermark, since: Timestamp) -> bool {
        run.written < since && (run.ended || self.is_past(&run.instance, run.written, since))
    }

    /// Whether the next run of an instance began by `since`.
    pub(super) fn is_past(&self, instance: &str, written: Timestamp, since: Timestamp) -> bool {
        let next = self.after(instance, written);
        written < since && next.is_some_and(|next| next <= since)
    }
}

impl FromIterator<(String, Timestamp)> for Starts {
    fn from_iter<I: IntoIterator<Item = (String, Timestamp)>>(starts: I) -> Self {
        let mut by_instance = BTreeMap::<String, BTreeSet<Timestamp>>::new();
        // A start in the future comes from a clock that is ahead. It may really be before those that it seems to
        // follow, so it is ignored.
        let now = Timestamp::now().saturating_add_micros(CLOCKS_APART_MICROS);
        for (instance, started) in starts.into_iter().filter(|(_, started)| *started <= now) {
            by_instance.entry(instance).or_default().insert(started);
        }
        Self(by_instance)
    }
}

/// Which other rules counted for the same versions, newest first.
pub(super) fn by_rules(runs: &[OtherRun], identity: &Identity) -> Vec<OtherRules> {
    let mut found: BTreeMap<&str, (Timestamp, Timestamp)> = BTreeMap::new();
    let counted = runs.iter().filter(|run| run.counted);
    for run in counted.filter(|run| is_of_same_versions(run, identity)) {
        let (from, to) = found
            .entry(&run.identity.rules_hash)
            .or_insert((run.started, run.written));
        *from = run.started.min(*from);
        *to = run.written.max(*to);
    }
    let mut found: Vec<OtherRules> = found
        .into_iter()
        .map(|(rules_hash, (from, to))| OtherRules {
            rules_hash: rules_hash.to_owned(),
            from,
            to,
            why: None,
        })
        .collect();
    found.sort_by_key(|rules| std::cmp::Reverse(rules.to));
    found.truncate(MAX_LISTED);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn run(instance: &str, rules: &str, started: i64, written: i64) -> OtherRun {
        OtherRun {
            id: Uuid::nil(),
            identity: Identity {
                rules_hash: rules.to_owned(),
                ..Identity::default()
            },
            instance: instance.to_owned(),
            started: at(started),
            written: at(written),
            complete_until: at(written),
            ended: false,
            counted: true,
            receives: false,
        }
    }

    #[test]
    fn who_goes_on_receives_and_who_was_put_an_end_to_does_not() {
        let mut runs = [
            run("alone", "a", 10, 100),
            run("reloaded", "a", 10, 100),
            run("killed", "a", 10, 40),
            run("twice", "a", 10, 100),
            OtherRun {
                ended: true,
                ..run("ended", "a", 10, 100)
            },
            run("long ago", "b", 1, 2),
            // What it receives it has not said yet.
            OtherRun {
                counted: false,
                ..run("idle", "c", 10, 100)
            },
        ];
        let starts = [
            ("alone", 10),
            ("reloaded", 50),
            ("killed", 50),
            ("twice", 50),
            ("ended", 10),
            ("idle", 10),
        ];
        let starts: Starts = starts
            .into_iter()
            .map(|(name, began)| (name.to_owned(), at(began)))
            .collect();
        let asked = |run: &OtherRun, since| {
            assert_eq!(since, at(50));
            Ok::<_, ()>(run.instance == "twice")
        };
        find_receiving(&mut runs, &starts, asked).expect("answered");
        let names = |identity: &Identity, from| -> Vec<String> {
            let runs = receiving(&runs, identity, at(from));
            runs.map(|run| run.instance).collect()
        };
        // Nobody knows whether the one of long ago goes on.
        let asked = Identity::default();
        assert_eq!(names(&asked, 50), ["alone", "twice", "long ago", "idle"]);
        let another = Identity {
            legacy_version: "2".to_owned(),
            ..Identity::default()
        };
        assert_eq!(names(&another, 50), ["alone", "twice", "idle"]);
        assert_eq!(names(&another, 0), ["alone", "twice", "long ago", "idle"]);
        assert_eq!(by_rules(&runs, &another), []);
        let listed = by_rules(&runs, &asked);
        assert_eq!(listed.len(), 2);
        assert_eq!(
            (listed[0].rules_hash.as_str(), listed[0].from, listed[0].to),
            ("a", at(10), at(100))
        );
    }

    #[test]
    fn what_is_unknown_of_a_run_reaches_until_the_next_of_its_name_began() {
        let starts: Starts = [("a", 10), ("a", 60), ("a", 90), ("b", 10)]
            .into_iter()
            .map(|(name, began)| (name.to_owned(), at(began)))
            .collect();
        let run = |instance: &str, ended| Watermark {
            instance: instance.to_owned(),
            started: at(10),
            written: at(50),
            ended,
            ..Watermark::default()
        };
        for (run, since, over) in [
            (run("a", false), 40, false),
            (run("a", false), 59, false),
            (run("a", false), 60, true),
            (run("b", false), 1_000, false),
            (run("b", true), 50, false),
            (run("b", true), 51, true),
        ] {
            assert_eq!(starts.is_over(&run, at(since)), over, "{run:?} {since}");
        }
    }
}
