//! `parity decisions`: lists, prints, exports and checks the decisions that are stored.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use parity_dashboards::{terminal, view};
use parity_schemas::json_text::pretty;
use parity_sink::read::DecisionFilter;
use parity_sink::{Reader, StoreConfig};
use uuid::Uuid;

use crate::cli::{DecisionsCommand, ListArgs, OutputFormat, StoreArgs};
use crate::config::Layers;
use crate::config::settings::record;
use crate::error;

/// The program, as a file names it.
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));
/// Longest file that is read. A decision on a thousand routes has less than a megabyte.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Runs it.
pub(crate) fn run(command: &DecisionsCommand) -> Result<ExitCode> {
    match command {
        DecisionsCommand::List(args) => list(args),
        DecisionsCommand::Show { id, store, output } => show(*id, store, *output),
        DecisionsCommand::Export { id, store, to } => export(*id, store, to),
        DecisionsCommand::Verify {
            file,
            store,
            config,
            output,
        } => verify(file, store.as_deref(), config.config.as_deref(), *output),
    }
}

/// The store that is named, and its migration.
fn named(args: &StoreArgs) -> Result<(StoreConfig, String)> {
    let layers = Layers::load_here(args.file.config.as_deref(), &args.flags.settings());
    let settings = layers.reader()?;
    Ok((settings.store, settings.migration))
}

fn list(args: &ListArgs) -> Result<ExitCode> {
    let (store, migration) = named(&args.store)?;
    let before = args
        .after
        .as_deref()
        .map(|text| {
            view::place(text).with_context(|| {
                format!("--after is `{text}`; give the `next` of the page before as it was")
            })
        })
        .transpose()?;
    let filter = DecisionFilter {
        migration: (!args.all_migrations).then_some(migration),
        outcome: args.outcome,
        before,
    };
    let reader = Reader::open(&store)?;
    let page = view::decision_page(&reader, &filter, args.limit)?;
    match args.output {
        OutputFormat::Json => terminal::print_json(&page)?,
        OutputFormat::Text => {
            terminal::print(&terminal::decisions(&page))?;
            if page.decisions.is_empty() {
                terminal::note(
                    "no decision is stored here; `parity gate` stores one each time that it decides",
                );
            }
            if let Some(next) = &page.next {
                terminal::note(&format!("there are more: --after {next}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(id: Option<Uuid>, store: &StoreArgs, output: OutputFormat) -> Result<ExitCode> {
    let (store, reader, id) = found(id, store)?;
    let Some((text, decision)) = view::stored_decision(&reader, id)? else {
        bail!(unknown(id, &store));
    };
    match output {
        OutputFormat::Json => terminal::print_document(&pretty(&text))?,
        OutputFormat::Text => terminal::print(&terminal::gate(&decision))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn export(id: Option<Uuid>, store: &StoreArgs, to: &Path) -> Result<ExitCode> {
    let (store, reader, id) = found(id, store)?;
    let Some(export) = view::exported(&reader, id, PROGRAM)? else {
        bail!(unknown(id, &store));
    };
    let text = pretty(&serde_json::to_string(&export)?) + "\n";
    if to == Path::new("-") {
        terminal::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = OpenOptions::new().write(true).create_new(true).open(to);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", to.display()))?;
    terminal::note(&format!(
        "{} has decision {id}; check it with `parity decisions verify {0}`",
        to.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The store, and the decision that is asked for: the newest unless one is named.
fn found(id: Option<Uuid>, store: &StoreArgs) -> Result<(StoreConfig, Reader, Uuid)> {
    let (store, migration) = named(store)?;
    let reader = Reader::open(&store)?;
    if let Some(id) = id {
        return Ok((store, reader, id));
    }
    let filter = DecisionFilter {
        migration: Some(migration.clone()),
        ..DecisionFilter::default()
    };
    let newest = reader.decisions(&filter, 1)?;
    let Some(newest) = newest.first() else {
        bail!(
            "{store} has no decision of migration `{migration}`; `parity gate` stores one each time that it decides"
        );
    };
    Ok((store, reader, newest.id))
}

fn unknown(id: Uuid, store: &StoreConfig) -> String {
    format!(
        "{store} has no decision {id}; `parity decisions list --all-migrations` lists those that it has"
    )
}

fn verify(
    file: &Path,
    store: Option<&str>,
    config: Option<&Path>,
    output: OutputFormat,
) -> Result<ExitCode> {
    let bytes = read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let reader = match store {
        Some(url) => {
            let flags = [(&*record::STORE, url)];
            Some(Reader::open(
                &Layers::load_here(config, &flags).reader()?.store,
            )?)
        }
        None => None,
    };
    let verification = view::verified(&bytes, reader.as_ref(), PROGRAM)?;
    match output {
        OutputFormat::Json => terminal::print_json(&verification)?,
        OutputFormat::Text => terminal::print(&terminal::verification(&verification))?,
    }
    Ok(if verification.holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(error::NO)
    })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(file)?)
    };
    source.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(
        bytes.len() as u64 <= MAX_FILE_BYTES,
        "it is longer than {MAX_FILE_BYTES} bytes"
    );
    Ok(bytes)
}
