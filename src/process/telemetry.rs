//! Logging on stderr.
//!
//! stdout is for data, so nothing is logged there. `PARITY_LOG` takes a filter in the syntax of `tracing` and overrides
//! `-v` and `-q`.

use std::env::VarError;
use std::io::Write;

use anyhow::{Result, anyhow, bail};
use parity_dashboards::terminal::{tame, tame_json};
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, LogFormat};

/// Libraries whose debug logs contain bytes of requests and answers, which hold secrets. Whatever the filter says, only
/// their warnings are logged.
const WIRE: [&str; 9] = [
    "axum",
    "clickhouse",
    "h2",
    "hyper",
    "hyper_rustls",
    "hyper_util",
    "rusqlite",
    "rustls",
    "tokio_rustls",
];

/// stderr, on which no line is an order to a CI job: what is logged may quote what a service sent.
struct Tamed {
    json: bool,
}

impl Write for Tamed {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.write_all(line)?;
        Ok(line.len())
    }

    /// A whole line, as the log is written.
    fn write_all(&mut self, line: &[u8]) -> std::io::Result<()> {
        let text = String::from_utf8_lossy(line);
        let text = if self.json {
            tame_json(&text)
        } else {
            tame(&text)
        };
        std::io::stderr().write_all(text.as_bytes())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Starts logging as the flags say, or `PARITY_LOG`.
pub(crate) fn start(cli: &Cli) -> Result<()> {
    let level = match (cli.quiet, cli.verbose) {
        (true, _) => "error",
        (false, 0) => "warn,parity=info,parity_mirror=info,parity_sink=info,parity_dashboards=info",
        (false, 1) => {
            "info,parity=debug,parity_mirror=debug,parity_sink=debug,parity_dashboards=debug"
        }
        (false, _) => "debug",
    };
    let filter = match std::env::var("PARITY_LOG") {
        Ok(filter) => EnvFilter::try_new(&filter).map_err(|error| {
            anyhow!("PARITY_LOG: `{filter}` is not a filter: {error}; write for example info or parity_mirror=debug")
        })?,
        Err(VarError::NotPresent) => EnvFilter::new(level),
        Err(VarError::NotUnicode(_)) => bail!("PARITY_LOG: the value is not UTF-8 text"),
    };
    let filter = WIRE.iter().fold(filter, |filter, library| {
        match format!("{library}=warn").parse() {
            Ok(directive) => filter.add_directive(directive),
            Err(_) => filter,
        }
    });
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let json = cli.log_format == LogFormat::Json;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Tamed { json })
        // It would report a failed write by printing to stderr, which panics when stderr is the file on the full disk.
        .log_internal_errors(false)
        .with_ansi(color);
    let started = match cli.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // It fails only when it is called a second time.
    debug_assert!(started.is_ok());
    Ok(())
}
