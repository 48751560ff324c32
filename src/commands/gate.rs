//! `parity gate`: prints pass, fail or undecided, stores the decision unless that is impossible, and exits with its code.

mod openapi;
mod waiting;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use parity_dashboards::question::Question;
use parity_dashboards::{terminal, view};
use parity_schemas::evidence::Decision;
use parity_schemas::spelling;
use parity_schemas::visible::visible;
use parity_sink::{Reader, StoreConfig};

use self::waiting::Waiting;
use super::selection;
use super::written::Written;
use crate::cli::GateArgs;

/// Pause between two attempts to open a store that does not exist yet.
const LOOK_FOR_STORE: Duration = Duration::from_millis(200);

/// Runs it.
pub(crate) fn run(args: &GateArgs) -> Result<ExitCode> {
    let config = args.store.file.config.as_deref();
    let written = Written::ready(&args.written, args.output, config)?;
    let (store, mut question) = selection::resolve(&args.store, args.asked.question())?;
    demand_operations(&mut question, args.openapi.as_deref())?;
    judge(
        &store,
        &question,
        args.wait.unwrap_or_default(),
        args.dry_run,
        &written,
    )
}

/// Demands the operations of an OpenAPI description, if there is one.
pub(super) fn demand_operations(question: &mut Question, file: Option<&Path>) -> Result<()> {
    if let Some(file) = file {
        let described = openapi::operations(file)?;
        for note in &described.notes {
            terminal::note(&visible(note));
        }
        question.thresholds.operations = described.operations;
    }
    Ok(())
}

/// Decides on what a store has, waits up to `wait` while that is undecided, keeps, writes and prints the decision.
pub(super) fn judge(
    store: &StoreConfig,
    question: &Question,
    wait: Duration,
    dry_run: bool,
    written: &Written,
) -> Result<ExitCode> {
    let mut waiting = Waiting::new(wait)?;
    let reader = open(store, wait, &mut waiting)?;
    let mut decision = decide(&reader, question, &mut waiting)?;
    drop(waiting);
    keep(&mut decision, store, dry_run);
    name_strangers(&question.gone, &decision);
    written.decision(&reader, question, &decision)
}

/// Stores the decision, unless nobody wants that, and tells when it is not stored.
fn keep(decision: &mut Decision, store: &StoreConfig, dry_run: bool) {
    if dry_run {
        view::leave(decision, "--dry-run".to_owned());
    } else {
        view::keep(decision, store);
    }
    if let Some(why) = &decision.not_stored {
        terminal::note(&visible(&format!("the decision is not stored: {why}")));
    }
}

/// Opens the store. With `--wait`, waits for one that does not exist yet.
fn open(store: &StoreConfig, wait: Duration, waiting: &mut Waiting) -> Result<Reader> {
    loop {
        let left = waiting.left();
        match view::reader(store) {
            Err(error) if error.may_come() && !left.is_zero() => {
                waiting.tell(|| error.to_string());
                std::thread::sleep(LOOK_FOR_STORE.min(left));
            }
            Err(error) if error.may_come() && !wait.is_zero() => {
                return Err(error).with_context(|| format!("waited {wait:?} for the store"));
            }
            opened => return opened.map_err(Into::into),
        }
    }
}

/// Decides, and says what it waits for.
fn decide(reader: &Reader, question: &Question, waiting: &mut Waiting) -> Result<Decision> {
    let mut told = false;
    let mut rules = None;
    let left = waiting.left();
    let decided = view::settled(reader, question, left, |so_far| {
        if !told {
            // A slip in a name is told at once, so that nobody waits in vain for its traffic.
            told = true;
            for reason in so_far
                .reasons
                .iter()
                .filter(|reason| reason.contains(" never "))
            {
                terminal::note(&visible(reason));
            }
        }
        if let Some(change) = waiting::other_rules(&mut rules, so_far) {
            terminal::note(&visible(&change));
        }
        waiting.tell(|| waiting::so_far(so_far));
    });
    Ok(decided?)
}

/// Says which names after `--gone` no instance of the evidence has: they excuse nobody.
fn name_strangers(gone: &[String], decision: &Decision) {
    let Some(evidence) = &decision.evidence else {
        return;
    };
    let watched = evidence.watermarks.iter().map(|one| &one.instance);
    let known: BTreeSet<&str> = evidence
        .instances
        .iter()
        .chain(watched)
        .map(String::as_str)
        .collect();
    let known: Vec<&str> = known.into_iter().collect();
    for name in gone.iter().filter(|name| !known.contains(&name.as_str())) {
        let hint = spelling::hint(name, &known);
        terminal::note(&visible(&format!(
            "--gone: no instance of this evidence is called `{name}`; {hint}"
        )));
    }
}
