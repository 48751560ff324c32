//! `parity report`: what was received, compared and found different, read from a store.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::{terminal, view};
use parity_schemas::visible::visible;

use super::selection;
use super::written::Written;
use crate::cli::ReportArgs;

/// Runs it.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let config = args.store.file.config.as_deref();
    let written = Written::ready(&args.written, args.output, config)?;
    let (store, question) = selection::resolve(&args.store, args.asked.question())?;
    let reader = view::reader(&store)?;
    let decided = view::decided(&reader, &question)?;
    if let Some(absent) = &decided.absent
        && absent.is_unknown_migration
    {
        written.report_files(&reader, &decided);
        bail!("{}", absent.sentence);
    }
    if decided.report.window.is_none()
        && let Some(reason) = decided.decision.reasons.first()
    {
        terminal::note(&visible(reason));
    }
    written.report(&reader, &decided)
}
