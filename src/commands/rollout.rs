//! `parity rollout`: shows and changes the rollout of a running mirror, by its admin port.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use http::{Method, StatusCode};
use parity_dashboards::terminal;
use parity_schemas::rollout::{RolloutDocument, RolloutSide};

use crate::cli::{OutputFormat, RolloutArgs, RolloutCommand};
use crate::top::{Asked, LONG, Refused, Source};

/// Exit code when the mirror says why it does not do it.
const NOT_DONE: u8 = 1;
/// Where the API has it.
const PATH: &str = "/api/v1/rollout";

/// Runs it.
pub(crate) fn run(command: &RolloutCommand) -> Result<ExitCode> {
    let (args, method, path) = match command {
        RolloutCommand::Status(args) => (args, Method::GET, PATH.to_owned()),
        RolloutCommand::Set { percent, args } => (args, Method::POST, format!("{PATH}/{percent}")),
        RolloutCommand::Back(args) => (args, Method::POST, format!("{PATH}/back")),
    };
    match ask(args, method, &path)? {
        Ok(document) => {
            match args.output {
                OutputFormat::Json => terminal::print_json(&document)?,
                OutputFormat::Text => terminal::print(&text(&document))?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(Refused::Answered(StatusCode::CONFLICT, why)) => {
            terminal::note(&format!("not done: {why}"));
            Ok(ExitCode::from(NOT_DONE))
        }
        Err(refused) => Err(anyhow!("{}", refused.told())),
    }
}

fn ask(args: &RolloutArgs, method: Method, path: &str) -> Result<Result<RolloutDocument, Refused>> {
    let source = Source::new(&args.port.admin, args.port.files(), Asked::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime of the client")?;
    Ok(runtime.block_on(source.answer(method, path, LONG)))
}

/// For a person.
fn text(document: &RolloutDocument) -> String {
    let mut out = format!("{}\n", document.told());
    let mut line = |text: String| {
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "{text}");
    };
    if document.fell_back.is_some() {
        line(format!(
            "nothing rises by itself after a fall back: `parity rollout set {}` lifts it",
            document
                .blocked
                .map_or_else(|| "PERCENT".to_owned(), |percent| percent.to_string())
        ));
    }
    if let Some(next) = &document.next {
        line(format!("next: {} % at {}", next.percent, next.at));
    }
    if let Some(set) = &document.set {
        line(format!(
            "set to {} % at {} by {}",
            set.percent, set.at, set.who
        ));
    }
    if let Some(gate) = &document.gate {
        line(format!("gate: {gate}"));
    }
    if let Some(error) = &document.state_error {
        line(format!("the state is not on disk: {error}"));
    }
    line(format!("last {} s:", document.window_seconds));
    line(format!("  legacy     {}", side(&document.legacy)));
    line(format!("  candidate  {}", side(&document.candidate)));
    line(format!(
        "answered by the legacy because the candidate could not: {}",
        document.repaired
    ));
    out
}

fn side(side: &RolloutSide) -> String {
    let time = side.p95_us.map_or_else(String::new, |micros| {
        format!(", 95 % within {:.1} ms", micros as f64 / 1_000.0)
    });
    format!("{} requests, {} errors{time}", side.requests, side.errors)
}
