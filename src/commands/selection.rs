//! Which record `report` and `gate` ask, and what.

use anyhow::Result;
use parity_dashboards::question::Question;
use parity_dashboards::terminal;
use parity_schemas::time::Timestamp;
use parity_sink::StoreConfig;

use crate::cli::StoreArgs;
use crate::config::Layers;

/// The store, and the question with its migration and the register of known differences.
pub(crate) fn resolve(args: &StoreArgs, question: &Question) -> Result<(StoreConfig, Question)> {
    let layers = Layers::load_here(args.file.config.as_deref(), &args.flags.settings());
    // Known differences that end are told with what they excuse.
    for ending in layers.rules_end_soon(Timestamp::now()) {
        terminal::note(&format!("warning: {ending}"));
    }
    let settings = layers.reader()?;
    let mut question = question.clone();
    question.selection.migration = Some(settings.migration);
    question.known = settings.known;
    question.selection.dated = settings.dated;
    Ok((settings.store, question))
}
