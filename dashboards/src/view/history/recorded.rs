//! When no process recorded: a gap in a chart that nobody can explain looks like a fault of the record, or hides one.

use parity_schemas::evidence::Window;
use parity_schemas::history::Unrecorded;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::SILENT_AFTER_MICROS;
use parity_sink::read::RunTimes;

/// Gaps that are told, the latest.
const MAX_TOLD: usize = 20;
/// That none records any more is told after this time: what a process wrote may be on its way.
const ON_ITS_WAY_MICROS: i64 = 60 * 1_000_000;

/// When none of these runs was at work within this window; `None` if no run is known. What was before the first of them is not known:
/// retention may have removed it, or an older program recorded.
pub(super) fn unrecorded(
    runs: &[RunTimes],
    window: Window,
    now: Timestamp,
) -> Option<Vec<Unrecorded>> {
    let mut runs: Vec<&RunTimes> = runs.iter().collect();
    runs.sort_by_key(|run| run.started);
    let mut last = *runs.first()?;
    let mut found = Vec::new();
    let passed = |from: Timestamp, to: Timestamp| to.as_micros().saturating_sub(from.as_micros());
    for run in runs {
        if passed(last.written, run.started) > SILENT_AFTER_MICROS {
            found.push(Unrecorded {
                from: last.written,
                to: Some(run.started),
                before: last.instance.clone(),
                after: run.instance.clone(),
            });
        }
        if run.written >= last.written {
            last = run;
        }
    }
    if passed(last.written, now) > ON_ITS_WAY_MICROS {
        found.push(Unrecorded {
            from: last.written,
            to: None,
            before: last.instance.clone(),
            after: String::new(),
        });
    }
    found.retain(|gap| gap.from < window.to && gap.to.is_none_or(|to| window.from < to));
    let surplus = found.len().saturating_sub(MAX_TOLD);
    found.drain(..surplus);
    Some(found)
}

#[cfg(test)]
mod tests {
    use parity_schemas::tally::Identity;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn told(runs: &[(&str, i64, i64)], now: i64) -> Option<Vec<(i64, Option<i64>, String)>> {
        let runs = runs.iter().map(|(instance, started, written)| RunTimes {
            identity: Identity::default(),
            instance: (*instance).to_owned(),
            started: at(*started),
            written: at(*written),
        });
        let window = Window {
            from: at(100),
            to: at(1_000),
        };
        let second = |time: Timestamp| time.as_micros() / 1_000_000;
        let found = unrecorded(&runs.collect::<Vec<_>>(), window, at(now))?;
        let told = found.into_iter().map(|gap| {
            let names = format!("{}→{}", gap.before, gap.after);
            (second(gap.from), gap.to.map(second), names)
        });
        Some(told.collect())
    }

    #[test]
    fn a_gap_is_where_no_process_was_at_work_and_a_handover_is_none() {
        assert_eq!(told(&[], 500), None);
        assert_eq!(told(&[("a", 100, 500)], 501), Some(vec![]));
        // A reload, and a process that takes the place of another one.
        let reload = [("a", 100, 300), ("a", 300, 400), ("b", 390, 500)];
        assert_eq!(told(&reload, 501), Some(vec![]));
        let restart = [("b", 350, 500), ("a", 100, 300)];
        assert_eq!(
            told(&restart, 501),
            Some(vec![(300, Some(350), "a→b".to_owned())])
        );
        // One that went on meanwhile.
        let beside = [("a", 100, 300), ("c", 50, 600), ("b", 350, 500)];
        assert_eq!(told(&beside, 601), Some(vec![]));
        assert_eq!(
            told(&[("a", 100, 300)], 500),
            Some(vec![(300, None, "a→".to_owned())])
        );
        // Before the range.
        assert_eq!(told(&[("a", 1, 10), ("a", 90, 500)], 501), Some(vec![]));
    }
}
