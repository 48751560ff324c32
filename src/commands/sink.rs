//! `parity sink`: moves records from Kafka into ClickHouse, until SIGTERM or Ctrl-C.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::server::{CONNECTIONS, Process, Site};
use parity_dashboards::terminal;
use parity_dashboards::view::SinkStatus;
use parity_schemas::clickhouse::Layout;
use parity_sink::{Sink, SinkHealth, apply_schema};
use prometheus_client::registry::Registry;

use crate::cli::SinkArgs;
use crate::config::{Layers, host_name};
use crate::pipeline::Pipeline;
use crate::process::admin::{AdminPort, bind_admin, register_build_info};
use crate::process::auditing::StoreAuditor;
use crate::process::register::RegisterFile;
use crate::process::signals::{Hangup, Signal, Signals};

/// Runs it.
pub(crate) fn run(args: &SinkArgs) -> Result<ExitCode> {
    let file = args.file.config.as_deref();
    let register = RegisterFile::at(file, &args.flags.settings());
    let layers = Layers::load_here(file, &args.flags.settings());
    let handover = Pipeline::handover(layers.drain());
    let settings = layers.sink()?;
    let register = register.with(settings.known, settings.dated);
    let mut signals = Signals::listen(Hangup::Ends)?;
    if args.migrate {
        let applied = apply_schema(&settings.clickhouse, &Layout::Single, &settings.retention)?;
        terminal::note(&format!("{}: {applied}", settings.clickhouse));
    }
    let listener = bind_admin(&settings.admin)?;
    let sink = Sink::open(&settings.kafka, &settings.clickhouse, settings.options)?;
    let mut registry = Registry::default();
    sink.register(&mut registry);
    register_build_info(&mut registry);
    let health = sink.handle();
    let port = AdminPort::start(
        listener,
        settings.admin.tls,
        Site {
            auditor: Arc::new(StoreAuditor::start(
                settings.clickhouse.clone(),
                format!("sink on {}", host_name()),
            )?),
            store: settings.clickhouse.clone(),
            migration: settings.migration,
            process: Process::Sink(Arc::new(move || status(&health.health()))),
            registry,
            access: settings.admin.access,
            reruns: None,
            register: register.follow()?,
            handover,
            links: settings.admin.links,
        },
        CONNECTIONS,
    )?;
    terminal::note(&format!(
        "moving {} to {} · admin port on {} · Ctrl-C finishes the batches in hand and ends",
        settings.kafka,
        settings.clickhouse,
        port.url()
    ));
    let stopper = sink.stopper();
    let (finished, outcome) = tokio::sync::oneshot::channel();
    let moving = std::thread::Builder::new()
        .name("sink".to_owned())
        .spawn(move || {
            let ended = sink.run();
            let _unheard = finished.send(());
            ended
        })
        .context("cannot start the sink thread")?;
    let mut stops = 0;
    let done = async move {
        let _ended = outcome.await;
    };
    signals.wait(done, |signal| {
        if signal == Signal::End {
            stops += 1;
            stopper.stop();
            if stops == 1 {
                terminal::note("finishing the batches in hand; a second Ctrl-C ends at once");
            }
        }
        stops > 1
    });
    if stops > 1 {
        anyhow::bail!(
            "ended before the batches in hand were; nothing is lost: the next start takes them up again"
        );
    }
    let report = moving
        .join()
        .map_err(|_| anyhow!("the sink ended by a panic; the log has it"))??;
    port.finish()?;
    terminal::note(&report.to_string());
    Ok(ExitCode::SUCCESS)
}

fn status(health: &SinkHealth) -> SinkStatus {
    SinkStatus {
        ready: health.ready,
        partitions: health.partitions,
        lag: health.lag,
        buffered_bytes: health.buffered_bytes,
        dead_letters: health.dead_letters,
        error: health
            .failure
            .as_ref()
            .map(|failure| failure.message.clone()),
    }
}
