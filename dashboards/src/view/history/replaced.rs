//! Outages of a version of the candidate that another one took the place of: they are over when it got its last requests, whatever it would have
//! answered. Counts cannot tell that, since nothing of it is recorded behind them; runs can.

use std::collections::BTreeMap;

use parity_schemas::history::CandidateOutage;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::RunTimes;

/// A process that is started again, or another one in its place, goes on with the version of the one before if it begins within this time.
const RESTART_MICROS: i64 = 60_000_000;

/// When one run had its version of the candidate before it.
struct Span<'a> {
    version: &'a str,
    from: Timestamp,
    to: Timestamp,
}

/// Of each run, up to its last word or to the begin of the next run of its process, the earliest first.
fn spans(runs: &[RunTimes]) -> Vec<Span<'_>> {
    let mut starts: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for run in runs {
        starts.entry(&run.instance).or_default().push(run.started);
    }
    let mut spans: Vec<Span<'_>> = runs
        .iter()
        .map(|run| {
            let own = starts.get(&*run.instance).into_iter().flatten();
            let next = own.filter(|start| **start > run.started).min();
            Span {
                version: &run.identity.candidate_version,
                from: run.started,
                to: next.map_or(run.written, |next| run.written.min(*next)),
            }
        })
        .collect();
    spans.sort_by_key(|span| span.from);
    spans
}

/// When a version that was there at a time got its last requests; `None` if it gets some, or if nothing took its place.
fn replaced(spans: &[Span<'_>], version: &str, at: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let own = spans.iter().filter(|span| span.version == version);
    let mut own = own.filter(|span| span.to >= at);
    let mut end = own.next()?.to;
    for span in own {
        if span.from > end.saturating_add_micros(RESTART_MICROS) {
            break;
        }
        end = end.max(span.to);
    }
    let is_live = end > now.saturating_add_micros(-SILENT_AFTER_MICROS);
    let mut others = spans.iter().filter(|span| span.version != version);
    (!is_live && others.any(|other| other.to > end)).then_some(end)
}

/// Ends outages without an answer that belong to a version which was replaced. `runs` are all of the migration.
pub(super) fn end(outages: &mut [CandidateOutage], runs: &[RunTimes], now: Timestamp) {
    let spans = spans(runs);
    let open = outages.iter_mut();
    for outage in open.filter(|outage| !outage.ended && outage.answered.is_none()) {
        outage.replaced = replaced(&spans, &outage.candidate_version, outage.from, now);
        outage.ended = outage.replaced.is_some();
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::tally::Identity;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn run(instance: &str, version: &str, times: [i64; 2]) -> RunTimes {
        RunTimes {
            identity: Identity {
                candidate_version: version.to_owned(),
                ..Identity::default()
            },
            instance: instance.to_owned(),
            started: at(times[0]),
            written: at(times[1]),
        }
    }

    fn told(runs: &[RunTimes], from: i64) -> Option<i64> {
        let mut outages = [CandidateOutage {
            candidate_version: "1".to_owned(),
            from: at(from),
            to: at(from + 1),
            ..CandidateOutage::default()
        }];
        end(&mut outages, runs, at(10_000));
        let [outage] = outages;
        assert_eq!(outage.ended, outage.replaced.is_some());
        outage.replaced.map(|time| time.as_micros() / 1_000_000)
    }

    #[test]
    fn an_outage_ends_with_its_version_and_not_because_nobody_records() {
        // The same process goes on with another one, while requests to the first are settled.
        let reloaded = [run("a", "1", [0, 105]), run("a", "2", [100, 10_000])];
        assert_eq!(told(&reloaded, 50), Some(100));
        // Its rules were changed in between.
        let rules = [
            run("a", "1", [0, 60]),
            run("a", "1", [60, 101]),
            run("b", "2", [90, 10_000]),
        ];
        assert_eq!(told(&rules, 50), Some(101));
        // A mirror has it still.
        let beside = [&reloaded[..], &[run("c", "1", [0, 10_000])]].concat();
        assert_eq!(told(&beside, 50), None);
        // All processes ended, or it was back later, which is another time.
        assert_eq!(
            told(&[run("a", "2", [0, 20]), run("a", "1", [20, 100])], 50),
            None
        );
        let back = [&reloaded[..], &[run("a", "1", [5_000, 10_000])]].concat();
        assert_eq!((told(&back, 50), told(&back, 6_000)), (Some(100), None));
        // No run is known to have had it.
        assert_eq!(told(&[run("a", "2", [0, 10_000])], 50), None);
    }
}
