//! Runs of the same migration and versions that count under other rules.
//!
//! What they counted is other evidence. But while one of them goes on receiving, part of the traffic is judged by other
//! rules than those that are asked about, and whoever decides must know it. A run that a reload or a restart of its
//! instance has put an end to only settles what it had: it is none of these.

use std::collections::BTreeMap;

use parity_schemas::evidence::OtherRules;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{Run, SILENT_AFTER_MICROS, Watermark};
use uuid::Uuid;

/// Rules that are listed, the newest; more were changed so often that nobody looks them up.
const MAX_LISTED: usize = 100;

/// What such a run said last.
pub(super) struct OtherRun {
    pub(super) id: Uuid,
    pub(super) rules_hash: String,
    pub(super) instance: String,
    pub(super) started: Timestamp,
    pub(super) written: Timestamp,
    pub(super) complete_until: Timestamp,
    pub(super) ended: bool,
    /// It has received something, as far as it has said.
    pub(super) counted: bool,
    /// It may receive requests; see [`find_receiving`].
    pub(super) receives: bool,
}

/// Notes which of these runs may receive requests. `latest` is when the last run of each instance began; `received_since`
/// asks for tallies of a run that began at a time or later and have requests.
pub(super) fn find_receiving<E>(
    runs: &mut [OtherRun],
    latest: &BTreeMap<String, Timestamp>,
    mut received_since: impl FnMut(&OtherRun, Timestamp) -> Result<bool, E>,
) -> Result<(), E> {
    for run in runs.iter_mut().filter(|run| !run.ended) {
        let next = latest.get(&run.instance).copied();
        run.receives = match next.filter(|next| *next > run.started) {
            None => true,
            // The one that came next began when this one had been silent: it was killed.
            Some(next) if next > run.written => false,
            // It settles what it had, unless two processes go by one name.
            Some(next) => received_since(run, next)?,
        };
    }
    Ok(())
}

/// Those that may have received something while the evidence grew that begins at `from`.
pub(super) fn receiving(runs: &[OtherRun], from: Timestamp) -> impl Iterator<Item = Run> {
    // One that was heard of just before may not have written since.
    let since = from.saturating_add_micros(-SILENT_AFTER_MICROS);
    let receiving = runs
        .iter()
        .filter(move |run| run.receives && run.written >= since);
    receiving.map(|run| Run {
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
        other_rules: Some(run.rules_hash.clone()),
    })
}

/// What was counted by rules, the newest first.
pub(super) fn by_rules(runs: &[OtherRun]) -> Vec<OtherRules> {
    let mut found: BTreeMap<&str, (Timestamp, Timestamp)> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.counted) {
        let (from, to) = found
            .entry(&run.rules_hash)
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
            rules_hash: rules.to_owned(),
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
        let latest = [
            ("alone", 10),
            ("reloaded", 50),
            ("killed", 50),
            ("twice", 50),
            ("ended", 10),
            ("idle", 10),
        ];
        let latest = latest
            .map(|(name, began)| (name.to_owned(), at(began)))
            .into();
        let asked = |run: &OtherRun, since| {
            assert_eq!(since, at(50));
            Ok::<_, ()>(run.instance == "twice")
        };
        find_receiving(&mut runs, &latest, asked).expect("answered");
        let names =
            |from| -> Vec<String> { receiving(&runs, at(from)).map(|run| run.instance).collect() };
        assert_eq!(names(50), ["alone", "twice", "idle"]);
        assert_eq!(names(0), ["alone", "twice", "long ago", "idle"]);
        let listed = by_rules(&runs);
        assert_eq!(listed.len(), 2);
        assert_eq!(
            (listed[0].rules_hash.as_str(), listed[0].from, listed[0].to),
            ("a", at(10), at(100))
        );
    }
}
