//! `parity rerun`: the request of a recorded mismatch once more, and what became of its differences.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::terminal::{self, Layout};
use parity_dashboards::view::{self, Allowed};
use parity_schemas::rerun::RerunOutcome;
use uuid::Uuid;

use crate::cli::{OutputFormat, RerunArgs};
use crate::config::{Layers, MirrorSettings};
use crate::error;
use crate::rerun;

/// Runs it.
pub(crate) fn run(args: &RerunArgs) -> Result<ExitCode> {
    let id: Uuid = args.id.parse().map_err(|_| {
        anyhow!(
            "`{}` is not the id of a mismatch: that is a UUID, as in the address of its page",
            args.id
        )
    })?;
    let settings = settings(args)?;
    let reader = view::reader(&settings.store)?;
    let mismatch = reader.mismatch(id)?.with_context(|| {
        format!(
            "no mismatch {id} is recorded in {}; retention may have removed it, and --store names another store",
            settings.store
        )
    })?;
    if args.sending.allow_unsafe {
        terminal::note(
            "warning: --allow-unsafe sends every method, such as POST and DELETE: both services do again what it did",
        );
    }
    let allowed = Allowed {
        unsafe_methods: args.sending.allow_unsafe,
        hidden: args.sending.accept_hidden,
    };
    let document = rerun::run(&settings, &mismatch, allowed)?;
    match args.output {
        OutputFormat::Json => terminal::print_json(&document)?,
        OutputFormat::Text => {
            let layout = Layout {
                width: terminal::width(),
                all: args.all,
            };
            terminal::print(&terminal::rerun(&document, layout))?;
        }
    }
    Ok(match document.outcome {
        RerunOutcome::Equal => ExitCode::SUCCESS,
        RerunOutcome::Differs => ExitCode::from(error::NO),
        RerunOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// The settings of a mirror that serves nobody. A rule that has expired no longer applies, as in the mirror.
fn settings(args: &RerunArgs) -> Result<MirrorSettings> {
    let flags = args.flags.settings();
    let layers = Layers::load_here(args.file.config.as_deref(), &flags);
    Ok(layers.mirror_to_ask()?)
}
