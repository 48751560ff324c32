//! `parity gate`: prints pass, fail or undecided, stores the decision, and exits with its code.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::{terminal, view};
use parity_schemas::evidence::{Decision, Outcome, Thresholds};
use parity_sink::{Reader, Selection, StoreConfig, record_decision};

use super::selection;
use crate::cli::{GateArgs, OutputFormat};
use crate::error;

/// Pause between two attempts to open a store that does not exist yet.
const LOOK_FOR_STORE: Duration = Duration::from_millis(200);

/// Runs it.
pub(crate) fn run(args: &GateArgs) -> Result<ExitCode> {
    let (store, selection) = selection::resolve(&args.selection)?;
    let thresholds = Thresholds {
        max_mismatch_rate: args.max_mismatch_rate,
        confidence: args.confidence,
        min_requests: args.min_requests,
        max_dropped: args.max_dropped,
        max_uncomparable: args.max_uncomparable,
        max_errors: args.max_errors,
        required_routes: args.require_route.clone(),
    };
    let wait = args.wait.unwrap_or_default();
    let began = Instant::now();
    let reader = open(&store, wait)?;
    let left = wait.saturating_sub(began.elapsed());
    let instances = view::Instances {
        gone: &args.gone,
        expected: &args.expect_instance,
    };
    let decision = decide(&reader, &selection, &thresholds, left, instances)?;
    record_decision(&store, &decision).context("the decision could not be stored")?;
    match args.output {
        OutputFormat::Json => terminal::print_json(&decision)?,
        OutputFormat::Text => terminal::print(&terminal::gate(&decision))?,
    }
    Ok(match decision.outcome {
        Outcome::Pass => ExitCode::SUCCESS,
        Outcome::Fail => ExitCode::from(error::NO),
        Outcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Opens the store. With `--wait`, waits for one that does not exist yet.
fn open(store: &StoreConfig, wait: Duration) -> Result<Reader> {
    let began = Instant::now();
    let progress = spinner()?;
    let opened = loop {
        let left = wait.saturating_sub(began.elapsed());
        match Reader::open(store) {
            Err(error) if error.may_come() && !left.is_zero() => {
                progress.set_message(error.to_string());
                progress.tick();
                std::thread::sleep(LOOK_FOR_STORE.min(left));
            }
            Err(error) if error.may_come() && !wait.is_zero() => {
                break Err(error).with_context(|| format!("waited {wait:?} for the store"));
            }
            opened => break opened.map_err(Into::into),
        }
    };
    progress.finish_and_clear();
    opened
}

/// Draws nothing if stderr is not a terminal.
fn spinner() -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} waiting: {msg}")?;
    Ok(ProgressBar::new_spinner().with_style(style))
}

/// Decides. On a terminal it shows what it waits for.
fn decide(
    reader: &Reader,
    selection: &Selection,
    thresholds: &Thresholds,
    wait: Duration,
    instances: view::Instances<'_>,
) -> Result<Decision> {
    let progress = spinner()?;
    let decided = view::settled(reader, selection, thresholds, wait, instances, |so_far| {
        progress.set_message(so_far.reasons.first().cloned().unwrap_or_default());
        progress.tick();
    });
    progress.finish_and_clear();
    Ok(decided?)
}
