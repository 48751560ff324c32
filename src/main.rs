//! The program `parity`: parse, load, run a command, exit.
//!
//! This package is the only place that uses every crate. It holds no comparison, no protocol and no SQL: it connects the
//! crates ([`pipeline`]), runs commands ([`commands`]), and leaves what a person sees to `parity_dashboards`.

mod asking;
mod cli;
mod commands;
mod config;
mod error;
mod fetching;
mod loading;
mod metrics;
mod pipeline;
mod process;
mod recording;
#[cfg(test)]
mod reference;
mod rerun;
mod rollout;
mod stub;
mod top;

use std::process::ExitCode;

use cli::{Cli, Command};
use process::{signals, telemetry};

fn main() -> ExitCode {
    let cli: Cli = cli::parse();
    // The only place that decides about colours, for everything that is printed.
    anstream::ColorChoice::from(cli.color).write_global();
    let started = telemetry::start(&cli).and_then(|()| signals::survive_file_size_limit());
    if let Err(error) = started {
        return error::report(&error);
    }
    let ended = match cli.command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Mirror(args) => commands::mirror::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Ci(args) => commands::ci::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Rerun(args) => commands::rerun::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Gate(args) => commands::gate::run(&args),
        Command::Decisions(command) => commands::decisions::run(&command),
        Command::Sink(args) => commands::sink::run(&args),
        Command::Schema(command) => commands::schema::run(&command),
        Command::Ui(args) => commands::ui::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Rollout(command) => commands::rollout::run(&command),
        Command::Metrics(args) => commands::metrics::run(&args),
        Command::Stub(args) => commands::stub::run(*args),
        Command::Soak(args) => commands::soak::run(&args),
        Command::Stress(args) => commands::stress::run(&args),
        Command::Rules(command) => commands::rules::run(&command),
        Command::Known(command) => commands::known::run(&command),
        Command::Config(command) => commands::config::run(&command),
        Command::Supervise(args) => process::guard::run(&args.command),
    };
    ended.unwrap_or_else(|error| error::report(&error))
}
