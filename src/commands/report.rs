//! `parity report`: what was received, compared and found different, read from a store.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::view::{self, Decided};
use parity_dashboards::{markdown, terminal};
use parity_schemas::visible::visible;

use super::selection;
use crate::cli::{ReportArgs, ReportFormat};

/// Runs it.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let (store, question) = selection::resolve(&args.store, args.asked.question())?;
    let reader = view::reader(&store)?;
    let decided = view::decided(&reader, &question)?;
    if let Some(absent) = &decided.absent
        && absent.is_unknown_migration
    {
        bail!("{}", absent.sentence);
    }
    if decided.report.window.is_none()
        && let Some(reason) = decided.decision.reasons.first()
    {
        terminal::note(&visible(reason));
    }
    print(&decided, args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a report.
pub(super) fn print(decided: &Decided, format: ReportFormat) -> Result<()> {
    match format {
        ReportFormat::Json => terminal::print_json(&decided.report)?,
        ReportFormat::Text => terminal::print(&terminal::report(decided))?,
        ReportFormat::Markdown => terminal::print(&markdown::report(decided))?,
    }
    Ok(())
}
