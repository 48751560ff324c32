//! `parity gate`: pass, fail or undecided, printed, stored, and told by the exit code.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::deciding;
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_sink::{Reader, Selection, record_decision};

use super::selection;
use crate::cli::{GateArgs, OutputFormat};
use crate::{error, output};

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

/// Decides, and shows on a terminal what is waited for.
fn decide(
    reader: &Reader,
    selection: &Selection,
    thresholds: &Thresholds,
    wait: Option<Duration>,
) -> Result<Decision> {
    // Draws nothing where stderr is no terminal.
    let progress = ProgressBar::new_spinner()
        .with_style(ProgressStyle::with_template("{spinner} waiting: {msg}")?);
    let wait = wait.unwrap_or_default();
    let decided = deciding::decide(reader, selection, thresholds, wait, |so_far| {
        progress.set_message(so_far.reasons.first().cloned().unwrap_or_default());
        progress.tick();
    });
    progress.finish_and_clear();
    Ok(decided?)
}
