//! Logging on stderr, and the signals of the operating system.
//!
//! stdout is data, so nothing is ever logged there. `PARITY_LOG` takes a filter in `tracing`'s syntax and wins over
//! `-v` and `-q`.

use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, LogFormat};

/// Libraries that write what goes over the wire into their log, when they are asked to: whatever the filter says, only
/// their warnings are logged, because requests and answers hold secrets.
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

/// Starts logging as the flags say.
pub(crate) fn start(cli: &Cli) {
    let level = match (cli.quiet, cli.verbose) {
        (true, _) => "error",
        (false, 0) => "warn,parity=info,parity_mirror=info,parity_sink=info,parity_dashboards=info",
        (false, 1) => {
            "info,parity=debug,parity_mirror=debug,parity_sink=debug,parity_dashboards=debug"
        }
        (false, _) => "debug",
    };
    let filter = EnvFilter::try_from_env("PARITY_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let filter = WIRE.iter().fold(filter, |filter, library| {
        match format!("{library}=warn").parse() {
            Ok(directive) => filter.add_directive(directive),
            Err(_) => filter,
        }
    });
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color);
    let started = match cli.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    // Only a second start could fail, and main starts it once.
    debug_assert!(started.is_ok());
}
