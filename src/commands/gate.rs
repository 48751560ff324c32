//! `parity gate`: pass, fail or undecided, printed, stored, and told by the exit code.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use parity_comparator::decision;
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_schemas::id::new_id;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, Selection, record_decision};

use super::selection;
use crate::cli::{GateArgs, OutputFormat};
use crate::{error, output};

/// How often `--wait` looks again: mirrors write their counts several times a second.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Runs it.
pub(crate) fn run(args: &GateArgs) -> Result<ExitCode> {
    let (store, selection) = selection::resolve(&args.selection)?;
    let thresholds = Thresholds {
        max_mismatch_rate: args.max_mismatch_rate,
        confidence: args.confidence,
        min_requests: args.min_requests,
        max_dropped: args.max_dropped,
        max_uncomparable: args.max_uncomparable,
        required_routes: args.require_route.clone(),
    };
    let reader = Reader::open(&store)?;
    let decision = decide(&reader, &selection, &thresholds, args.wait)?;
    record_decision(&store, &decision).context("the decision could not be stored")?;
    match args.output {
        OutputFormat::Json => output::print_json(&decision)?,
        OutputFormat::Text => output::print(&output::gate_text(&decision))?,
    }
    Ok(match decision.outcome {
        Outcome::Pass => ExitCode::SUCCESS,
        Outcome::Fail => ExitCode::from(error::NO),
        Outcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Decides, and while undecided decides again until the wait is over. Only the last decision counts.
fn decide(
    reader: &Reader,
    selection: &Selection,
    thresholds: &Thresholds,
    wait: Option<Duration>,
) -> Result<Decision> {
    let until = wait.map(|wait| Instant::now() + wait);
    // Draws nothing where stderr is no terminal.
    let progress = ProgressBar::new_spinner()
        .with_style(ProgressStyle::with_template("{spinner} waiting: {msg}")?);
    loop {
        let evidence = reader.evidence(selection)?;
        let decision = decision::decide(
            selection.migration(),
            evidence.as_ref(),
            thresholds,
            new_id(),
            Timestamp::now(),
        );
        let left = until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        });
        if decision.outcome != Outcome::Undecided || left.is_zero() {
            progress.finish_and_clear();
            return Ok(decision);
        }
        progress.set_message(decision.reasons.first().cloned().unwrap_or_default());
        progress.tick();
        std::thread::sleep(left.min(LOOK_AGAIN));
    }
}
