//! When versions and rules began to hold that a history marks. Tallies tell in which minute something first counted under them; runs tell when a
//! process began with them, to the moment, and also before anything was received.

use parity_schemas::edited::Edited;
use parity_schemas::history::{History, HistoryIdentity, Mark, MarkKind};
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_sink::read::RunTimes;
use parity_sink::read::history::HistoryFilter;

/// The kinds of marks of what tallies are counted for.
const COUNTED_FOR: [MarkKind; 3] = [
    MarkKind::LegacyVersion,
    MarkKind::CandidateVersion,
    MarkKind::Rules,
];

/// What of the three a kind of mark is about; `None` of another kind.
fn part(kind: MarkKind, of: [&str; 3]) -> Option<&str> {
    let mut parts = COUNTED_FOR.into_iter().zip(of);
    let found = parts.find(|(known, _)| *known == kind);
    found.map(|(_, part)| part)
}

fn of_run(run: &RunTimes) -> [&str; 3] {
    let identity = &run.identity;
    [
        &identity.legacy_version,
        &identity.candidate_version,
        &identity.rules_hash,
    ]
}

fn of_counted(identity: &HistoryIdentity) -> [&str; 3] {
    [
        &identity.legacy_version,
        &identity.candidate_version,
        &identity.rules_hash,
    ]
}

/// Tells marks of versions and rules by when a run began with them, instead of by the begin of its first minute: else a change would stand
/// before what led to it, or, where nothing was received at once, behind what came of it.
pub(super) fn refine(history: &mut History, runs: &[RunTimes]) {
    for mark in &mut history.marks {
        let minute = mark.time;
        let end = minute.saturating_add_micros(INTERVAL_MICROS);
        // When the minute began in which what was before it counted last.
        let before = history.identities.iter();
        let before = before.filter(|one| part(mark.kind, of_counted(one)) == Some(&*mark.from));
        let before = before.map(|one| one.last).max();
        let own = runs
            .iter()
            .filter(|run| part(mark.kind, of_run(run)) == Some(&*mark.to));
        let own: Vec<Timestamp> = own.map(|run| run.started).collect();
        let within = own
            .iter()
            .filter(|began| minute <= **began && **began < end);
        // It was in force before it counted, if nothing else counted since.
        let earlier = own
            .iter()
            .filter(|began| **began < minute && before.is_some_and(|before| before <= **began));
        let found = within.min().or_else(|| earlier.max());
        mark.time = found.copied().unwrap_or(minute);
    }
}

/// What began to hold last and has counted nothing yet: who changed it looks for the mark at once, and not after the next request.
pub(super) fn not_counted_yet(
    history: &History,
    filter: &HistoryFilter,
    runs: &[RunTimes],
) -> Vec<Mark> {
    let asked = &filter.selection;
    let is_asked = |run: &&RunTimes| {
        let is =
            |asked: &Option<String>, part: &str| asked.as_ref().is_none_or(|asked| asked == part);
        let [legacy, candidate, rules] = of_run(run);
        is(&asked.legacy_version, legacy)
            && is(&asked.candidate_version, candidate)
            && is(&asked.rules_hash, rules)
    };
    let newest = runs.iter().filter(is_asked).max_by_key(|run| run.started);
    let last = history.identities.iter().max_by_key(|one| one.last);
    let (Some(newest), Some(last), Some(window)) = (newest, last, history.window) else {
        return Vec::new();
    };
    // What has counted since it began has a mark by its counts.
    let mut counted = history.identities.iter();
    let has_counted = counted.any(|one| {
        let end = one.last.saturating_add_micros(INTERVAL_MICROS);
        of_counted(one) == of_run(newest) && newest.started < end
    });
    if has_counted || newest.started < last.last || newest.started >= window.to {
        return Vec::new();
    }
    let parts = of_counted(last).into_iter().zip(of_run(newest));
    let changed = COUNTED_FOR.into_iter().zip(parts);
    let changed = changed.filter(|(_, (from, to))| from != to);
    let marks = changed.map(|(kind, (from, to))| Mark {
        time: newest.started,
        kind,
        from: from.to_owned(),
        to: to.to_owned(),
        about: String::new(),
        names: Edited::default(),
    });
    marks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_the_second_in_which_a_run_began_with_it() {
        let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
        let mut history: History = serde_json::from_value(serde_json::json!({
            "schema": "", "migration": "m", "legacy_version": null, "candidate_version": null, "route": null,
            "window": null, "bucket_seconds": 60, "buckets": [], "without_excused": true, "with_latency": false,
            "identities": [], "marks": [], "routes": [], "routes_left_out": 0, "groups": []
        }))
        .expect("a history");
        let mark = |second: i64, kind, to: &str| Mark {
            time: at(second),
            kind,
            from: String::new(),
            to: to.to_owned(),
            about: String::new(),
            names: Edited::default(),
        };
        history.marks = vec![
            mark(120, MarkKind::Rules, "def"),
            mark(180, MarkKind::Rules, "abc"),
            mark(121, MarkKind::ShadowingOff, "def"),
        ];
        let run = |second: i64, rules: &str| RunTimes {
            identity: parity_schemas::tally::Identity {
                rules_hash: rules.to_owned(),
                ..Default::default()
            },
            instance: "a".to_owned(),
            started: at(second),
            written: at(1_000),
        };
        refine(
            &mut history,
            &[run(150, "def"), run(145, "def"), run(240, "abc")],
        );
        let times: Vec<_> = history.marks.iter().map(|mark| mark.time).collect();
        assert_eq!(times, [at(145), at(180), at(121)]);
        // It was in force in the minute before, and the first request came later; or others counted on meanwhile.
        let identity = |rules: &str, first: i64, last: i64| HistoryIdentity {
            legacy_version: String::new(),
            candidate_version: String::new(),
            rules_hash: rules.to_owned(),
            first: at(first),
            last: at(last),
        };
        for (last_of_before, expected) in [(60, 119), (120, 180)] {
            let mut mark = mark(180, MarkKind::Rules, "def");
            mark.from = "abc".to_owned();
            history.marks = vec![mark];
            history.identities = vec![
                identity("abc", 0, last_of_before),
                identity("def", 180, 180),
            ];
            refine(&mut history, &[run(119, "def")]);
            assert_eq!(history.marks[0].time, at(expected), "{last_of_before}");
        }
        // Nothing was received under it yet.
        history.identities = vec![identity("abc", 0, 120)];
        let filter = HistoryFilter::default();
        let told = |history: &History, runs: &[RunTimes]| {
            let marks = not_counted_yet(history, &filter, runs).into_iter();
            marks
                .map(|mark| (mark.time, mark.kind, mark.from, mark.to))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&history, &[run(200, "def")]), []);
        history.window = Some(parity_schemas::evidence::Window {
            from: at(0),
            to: at(240),
        });
        assert_eq!(
            told(&history, &[run(0, "abc"), run(200, "def")]),
            [(at(200), MarkKind::Rules, "abc".to_owned(), "def".to_owned())]
        );
        assert_eq!(told(&history, &[run(0, "abc")]), []);
        history.identities.push(identity("def", 200, 200));
        assert_eq!(told(&history, &[run(0, "abc"), run(200, "def")]), []);
    }
}
