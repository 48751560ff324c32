//! `parity ui`: the report page and the API from a store, without a mirror.

use std::process::ExitCode;

use anyhow::Result;
use parity_dashboards::{server, terminal};
use parity_sink::Reader;

use crate::cli::UiArgs;
use crate::config::Layers;
use crate::process::admin::{AdminPort, bind_admin, reading_site};
use crate::process::signals::{Hangup, Signal, Signals};

/// Runs it.
pub(crate) fn run(args: &UiArgs) -> Result<ExitCode> {
    let (settings, admin) =
        Layers::load_here(args.file.config.as_deref(), &args.flags.settings()).ui()?;
    // A store that cannot be read is an error at the start, not on the first page.
    drop(Reader::open(&settings.store)?);
    let mut signals = Signals::listen(Hangup::Ends)?;
    let listener = bind_admin(&admin)?;
    let port = AdminPort::start(
        listener,
        reading_site(
            settings.store,
            settings.migration,
            (settings.known, settings.dated),
            admin.token,
        ),
        server::CONNECTIONS,
    )?;
    terminal::note(&format!("serving http://{}/ · Ctrl-C ends", port.address()));
    signals.wait(std::future::pending(), |signal| signal == Signal::End);
    port.finish()?;
    Ok(ExitCode::SUCCESS)
}
