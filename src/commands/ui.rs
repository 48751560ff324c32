//! `parity ui`: the report page and the API from a store, without a mirror.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use parity_dashboards::server::{Reruns, RunAgain};
use parity_dashboards::{server, terminal, view};
use parity_schemas::visible::visible;
use parity_sink::Reader;

use crate::cli::UiArgs;
use crate::config::Layers;
use crate::config::settings::top::MIGRATION;
use crate::config::settings::{Setting, mirror};
use crate::error;
use crate::pipeline::Pipeline;
use crate::process::admin::{AdminPort, bind_admin, reading_site};
use crate::process::register::RegisterFile;
use crate::process::signals::{Hangup, Signal, Signals};
use crate::rerun::Rerunner;

/// Runs it.
pub(crate) fn run(args: &UiArgs) -> Result<ExitCode> {
    let file = args.file.config.as_deref();
    let register = RegisterFile::at(file, &args.flags.settings());
    let layers = Layers::load_here(file, &args.flags.settings());
    let reruns = reruns(&layers, &args.flags.settings())?;
    let handover = Pipeline::handover(layers.drain());
    let names_migration = layers.is_given(&MIGRATION);
    let (mut settings, admin) = layers.ui()?;
    // A store that cannot be read is an error at the start, not on the first page.
    let reader = Reader::open(&settings.store)?;
    if !names_migration {
        choose(&reader, &mut settings.migration)?;
    }
    // Its mirror may begin later, so pages are served.
    let recorded = reader.known(&settings.migration)?.migrations;
    if !recorded.is_empty() && !recorded.contains(&settings.migration) {
        let told = view::unknown_migration(&settings.migration, &recorded);
        terminal::note(&format!("warning: {}", visible(&told)));
    }
    drop(reader);
    let mut signals = Signals::listen(Hangup::Ends)?;
    let listener = bind_admin(&admin)?;
    let port = AdminPort::start(
        listener,
        admin.tls,
        reading_site(
            settings.store,
            settings.migration,
            register.with(settings.known, settings.dated),
            handover,
            (admin.access, admin.links),
            reruns,
        )?,
        server::CONNECTIONS,
    )?;
    terminal::note(&format!("serving {} · Ctrl-C ends", port.url()));
    signals.wait(std::future::pending(), |signal| signal == Signal::End);
    port.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever names no migration means the one that is recorded; of several the one that counted last, and each page has them all to
/// choose from.
fn choose(reader: &Reader, migration: &mut String) -> Result<()> {
    let known = reader.known(migration)?.migrations;
    if let Some(newest) = reader.newest_migration()?
        && newest != *migration
    {
        let others = match known.len() {
            0 | 1 => String::new(),
            some => format!(", the newest of the {some} that are recorded"),
        };
        terminal::note(&format!("shown is migration {}{others}", visible(&newest)));
        *migration = newest;
    }
    Ok(())
}

/// Requests can be run again where both services are named. What is wrong with a file that names them does not keep a page from
/// being read; with flags, somebody asked for it.
fn reruns(layers: &Layers, flags: &[(&'static Setting, &str)]) -> Result<Option<Reruns>> {
    let services: [&'static Setting; 2] = [&mirror::LEGACY, &mirror::CANDIDATE];
    if !services.iter().all(|service| layers.is_given(service)) {
        return Ok(None);
    }
    let is_flag =
        |service: &&'static Setting| flags.iter().any(|(flag, _)| flag.key == service.key);
    match layers.clone().mirror_to_ask() {
        Ok(settings) => {
            let runs: Arc<dyn RunAgain> = Arc::new(Rerunner::new(&settings));
            Ok(Some(Reruns::new(runs)))
        }
        Err(problems) if services.iter().any(is_flag) => Err(problems.into()),
        Err(problems) => {
            terminal::note(&format!(
                "warning: no request can be run again here: {}",
                error::line(&problems.into())
            ));
            Ok(None)
        }
    }
}
