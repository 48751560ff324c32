//! `parity rules test`: what the gate would say of a store under the rules of a file, and exits with that.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::terminal;
use parity_dashboards::view;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use std::sync::Arc;

use crate::cli::{OutputFormat, TestArgs};
use crate::commands::selection;
use crate::config::Layers;
use crate::error::code;

/// Runs it.
pub(super) fn run(args: &TestArgs) -> Result<ExitCode> {
    let now = Timestamp::now();
    let mut layers = Layers::load_here(args.store.file.config.as_deref(), &[]);
    let Some(rules) = layers.rules(now) else {
        return Err(layers.into_problems().into());
    };
    let rules = Arc::new(rules.holding_at(now));
    let (store, question) = selection::resolve(&args.store, args.asked.question())?;
    let reader = view::reader(&store)?;
    let decided = view::decided(&reader, &question)?;
    if let Some(absent) = &decided.absent {
        if absent.is_unknown_migration {
            bail!("{}", absent.sentence);
        }
        terminal::note(&visible(&absent.sentence));
    }
    let trial = view::tried(&reader, &question, &decided, &rules)?;
    match args.output {
        OutputFormat::Json => terminal::print_json(&trial)?,
        OutputFormat::Text => terminal::print(&terminal::tried(&trial))?,
    }
    Ok(code(trial.after.outcome))
}
