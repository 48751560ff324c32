//! `parity report`: what was received, compared and found different, read from a store.

use std::process::ExitCode;

use anyhow::Result;
use parity_comparator::decision;
use parity_schemas::evidence::{Decision, Thresholds};
use parity_schemas::id::new_id;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_sink::Reader;

use super::selection;
use crate::cli::{OutputFormat, ReportArgs};
use crate::output;

/// Runs it.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let (store, selection) = selection::resolve(&args.selection)?;
    let report = Reader::open(&store)?.report(&selection)?;
    print(&report, args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a report in either form.
pub(crate) fn print(report: &Report, format: OutputFormat) -> Result<()> {
    match format {
        OutputFormat::Json => output::print_json(report),
        OutputFormat::Text => Ok(output::print(&output::report_text(report, &view(report)))?),
    }
}

/// How the gate sees this report at its default thresholds: for the verdict sentence, never stored.
fn view(report: &Report) -> Decision {
    decision::decide(
        &report.migration,
        report.evidence().as_ref(),
        &Thresholds::default(),
        new_id(),
        Timestamp::now(),
    )
}
