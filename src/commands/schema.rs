//! `parity schema`: the tables of the record in ClickHouse, applied or printed.

use std::process::ExitCode;

use anyhow::Result;
use parity_dashboards::terminal;
use parity_schemas::clickhouse::{Layout, script};
use parity_sink::apply_schema;

use crate::cli::SchemaCommand;
use crate::config::Layers;

/// Runs it.
pub(crate) fn run(command: &SchemaCommand) -> Result<ExitCode> {
    match command {
        SchemaCommand::Apply {
            file,
            clickhouse,
            cluster,
        } => {
            let flags: Vec<_> = clickhouse
                .as_deref()
                .map(|url| ("sink.clickhouse", url))
                .into_iter()
                .collect();
            let settings = Layers::load_here(file.config.as_deref(), &flags).schema()?;
            let applied = apply_schema(
                &settings.clickhouse,
                &layout(cluster.as_deref()),
                &settings.retention,
            )?;
            terminal::print(&format!("{}: {applied}\n", settings.clickhouse))?;
        }
        SchemaCommand::Print { cluster } => {
            let program = concat!("parity ", env!("CARGO_PKG_VERSION"));
            terminal::print(&script(&layout(cluster.as_deref()), program))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn layout(cluster: Option<&str>) -> Layout {
    cluster.map_or(Layout::Single, |name| Layout::Cluster(name.to_owned()))
}
