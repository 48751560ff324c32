//! `parity report`: what was received, compared and found different, read from a store.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_comparator::decision;
use parity_dashboards::deciding;
use parity_schemas::evidence::{Decision, Thresholds};
use parity_schemas::id::new_id;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Standing;
use parity_sink::Reader;

use super::selection;
use crate::cli::{OutputFormat, ReportArgs};
use crate::output;

/// Runs it.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let (store, selection) = selection::resolve(&args.selection)?;
    let reader = Reader::open(&store)?;
    let report = reader.report(&selection)?;
    if report.window.is_none() {
        let known = reader.known(selection.migration())?;
        let absent = deciding::absent(&known, &selection);
        let migration = selection.migration();
        if !known.migrations.is_empty() && !known.migrations.iter().any(|name| name == migration) {
            bail!("{absent}");
        }
        output::note(&absent);
    }
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
    let standing = Standing {
        complete_until: report.complete_until,
        watermarks: report.watermarks.clone(),
    };
    decision::decide(
        &report.migration,
        report.evidence().as_ref(),
        &standing,
        &Thresholds::default(),
        new_id(),
        Timestamp::now(),
    )
}
