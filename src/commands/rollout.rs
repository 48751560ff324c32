//! `parity rollout`: shows and changes the rollout of a running mirror, by its admin port.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use http::{Method, StatusCode};
use parity_dashboards::terminal;
use parity_schemas::rollout::RolloutDocument;

use crate::cli::{OutputFormat, RolloutArgs, RolloutCommand};
use crate::top::{Asked, LONG, Refused, Source};

/// Exit code when the mirror says why it does not do it, and of the status after a fall back.
const NOT_DONE: u8 = 1;
/// Exit code of the status while a step waits.
const WAITS: u8 = 3;
/// Where the API has it.
const PATH: &str = "/api/v1/rollout";

/// Runs it.
pub(crate) fn run(command: &RolloutCommand) -> Result<ExitCode> {
    let (args, method, path) = match command {
        RolloutCommand::Status(args) => (args, Method::GET, PATH.to_owned()),
        RolloutCommand::Set {
            percent,
            insist,
            args,
        } => {
            let insist = if *insist { "?insist=true" } else { "" };
            (args, Method::POST, format!("{PATH}/{percent}{insist}"))
        }
        RolloutCommand::Back(args) => (args, Method::POST, format!("{PATH}/back")),
    };
    match ask(args, method, &path)? {
        Ok(document) => {
            match args.output {
                OutputFormat::Json => terminal::print_json(&document)?,
                OutputFormat::Text => terminal::print(&text(&document))?,
            }
            Ok(match command {
                RolloutCommand::Status(_) if document.fell_back.is_some() => {
                    ExitCode::from(NOT_DONE)
                }
                RolloutCommand::Status(_) if document.waits.is_some() => ExitCode::from(WAITS),
                _ => ExitCode::SUCCESS,
            })
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
        line("nothing rises by itself after a fall back".to_owned());
    }
    document.share_told().into_iter().for_each(&mut line);
    document
        .kept_told(usize::MAX)
        .into_iter()
        .for_each(&mut line);
    line(document.judged_told());
    document.errors_alone_told().into_iter().for_each(&mut line);
    if let Some(next) = &document.next {
        line(format!("next: {} % at {}", next.percent, next.at));
    }
    if let Some(set) = &document.set {
        let insisted = set.insisted.as_ref();
        line(format!(
            "set to {} % at {} by {}{}",
            set.percent,
            set.at,
            set.who,
            insisted.map_or_else(String::new, |why| format!(", who insisted although {why}"))
        ));
    }
    if let Some(gate) = document.gate_told() {
        line(format!("gate: {gate}"));
    }
    if let Some(rate) = document.max_mismatch_rate {
        line(format!("its bound (rollout.max_mismatch_rate): {rate}"));
    }
    if let Some(error) = &document.state_error {
        line(format!("the state is not on disk: {error}"));
    }
    line(format!("{}:", document.window_told()));
    line(format!("  legacy     {}", document.legacy.told()));
    line(format!("  candidate  {}", document.candidate.told()));
    line(format!("  as shadow  {}", document.shadow.told()));
    line(format!(
        "answered by the legacy because the candidate could not: {}",
        document.repaired
    ));
    out
}
