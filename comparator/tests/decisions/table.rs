//! What was simulated, as a table on standard output.

use parity_schemas::evidence::Thresholds;

use crate::traffic::Runs;

pub(crate) struct Table(String);

impl Table {
    pub(crate) fn new(title: &str) -> Self {
        Self(format!(
            "\n{title}\n{:32} {:8} {:>10} {:>7} {:>6} {:>7} {:>7} {:>9} {:>13} {:>13}\n",
            "",
            "bound",
            "confidence",
            "allowed",
            "runs",
            "passed",
            "failed",
            "undecided",
            "median to pass",
            "to fail"
        ))
    }

    pub(crate) fn row(&mut self, name: &str, thresholds: &Thresholds, runs: &Runs) {
        let share = |count: u64| format!("{:.2} %", count as f64 / runs.all as f64 * 100.0);
        let median = |counts: &[u64]| {
            let middle = counts.get(counts.len() / 2);
            middle.map_or_else(|| "-".to_owned(), u64::to_string)
        };
        let row = format!(
            "{name:32} {:8} {:>10} {:>7} {:>6} {:>7} {:>7} {:>9} {:>13} {:>13}\n",
            thresholds.bound,
            thresholds.confidence,
            thresholds.max_mismatch_rate,
            runs.all,
            share(runs.passed),
            share(runs.failed),
            share(runs.undecided()),
            median(&runs.until_pass),
            median(&runs.until_fail),
        );
        self.0.push_str(&row);
    }

    pub(crate) fn print(&self) {
        say(&self.0);
    }
}

#[expect(
    clippy::print_stdout,
    reason = "what is found is what the simulation is for"
)]
pub(crate) fn say(text: &str) {
    println!("{text}");
}
