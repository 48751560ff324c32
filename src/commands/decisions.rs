//! `parity decisions`: lists, prints, exports and checks the decisions that are stored.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use parity_dashboards::{markdown, terminal, view};
use parity_schemas::json_text::pretty;
use parity_schemas::visible::visible;
use parity_sink::read::DecisionFilter;
use parity_sink::{Reader, StoreConfig, StoreError};
use uuid::Uuid;

use crate::cli::{DecisionsCommand, ListArgs, OutputFormat, ReportFormat, StoreArgs};
use crate::config::Layers;
use crate::config::settings::record;
use crate::error;

/// The program, as a file names it.
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));
/// Migrations that are named where none has the name that was asked for; more are counted.
const MAX_NAMED: usize = 10;
/// The newest decisions that are looked at for names of migrations: who decides on several at a time has all of them here.
const LOOKED_AT: usize = 200;
/// Longest file that is read. A decision on a thousand routes has less than a megabyte.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Runs it.
pub(crate) fn run(command: &DecisionsCommand) -> Result<ExitCode> {
    match command {
        DecisionsCommand::List(args) => list(args),
        DecisionsCommand::Show { id, store, output } => show(*id, store, *output),
        DecisionsCommand::Export {
            id,
            store,
            to,
            force,
        } => export(*id, store, to, *force),
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
        ..DecisionFilter::default()
    };
    let reader = Reader::open(&store)?;
    let page = view::decision_page(&reader, &filter, args.limit)?;
    // A document without decisions is an answer to a program; a person would read nothing.
    if page.decisions.is_empty()
        && matches!(args.output, OutputFormat::Text)
        && let Some(slip) = slip(&reader, &store, &filter)?
    {
        bail!("{slip}");
    }
    match args.output {
        OutputFormat::Json => terminal::print_json(&page)?,
        OutputFormat::Text => {
            terminal::print(&terminal::decisions(&page))?;
            if page.decisions.is_empty() {
                terminal::note(&visible(&none_stored(&reader, &store, &filter)?));
            } else if let Some(migration) = &filter.migration {
                let others = migrations(&reader, migration)?;
                if !others.is_empty() {
                    terminal::note(&visible(&format!(
                        "these are of migration `{migration}`; there are some of {}, too: --all-migrations",
                        named_in_short(&others)
                    )));
                }
            }
            if let Some(next) = &page.next {
                terminal::note(&format!("there are more: --after {next}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(id: Option<Uuid>, store: &StoreArgs, output: ReportFormat) -> Result<ExitCode> {
    let (store, reader, id) = found(id, store)?;
    let Some((text, decision)) = view::stored_decision(&reader, id)? else {
        bail!(unknown(id, &store));
    };
    match output {
        ReportFormat::Json => terminal::print_document(&pretty(&text))?,
        ReportFormat::Text => terminal::print(&terminal::gate(&decision))?,
        ReportFormat::Markdown => terminal::print(&markdown::gate(&decision))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn export(id: Option<Uuid>, store: &StoreArgs, to: &Path, force: bool) -> Result<ExitCode> {
    let (store, reader, id) = found(id, store)?;
    let Some(export) = view::exported(&reader, id, PROGRAM)? else {
        bail!(unknown(id, &store));
    };
    let text = pretty(&serde_json::to_string(&export)?) + "\n";
    if to == Path::new("-") {
        terminal::print_document(text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut options = OpenOptions::new();
    if force {
        options.write(true).create(true).truncate(true);
    } else {
        options.write(true).create_new(true);
    }
    let written = options
        .open(to)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
            "{} exists, and may be the only copy of another decision: name another file, or overwrite it with --force",
            to.display()
        ),
        written => written.with_context(|| format!("cannot write {}", to.display()))?,
    }
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
        migration: Some(migration),
        ..DecisionFilter::default()
    };
    let newest = reader.decisions(&filter, 1)?;
    let Some(newest) = newest.first() else {
        bail!(none_stored(&reader, &store, &filter)?);
    };
    Ok((store, reader, newest.id))
}

/// Nothing at all is recorded under the name that was asked for, and something under others: nobody may read that as an answer.
fn slip(
    reader: &Reader,
    store: &StoreConfig,
    filter: &DecisionFilter,
) -> Result<Option<String>, StoreError> {
    let Some(migration) = &filter.migration else {
        return Ok(None);
    };
    let of_it = DecisionFilter {
        migration: Some(migration.clone()),
        ..DecisionFilter::default()
    };
    let recorded = reader.known(migration)?.migrations;
    let is_there = recorded.is_empty()
        || recorded.contains(migration)
        || !reader.decisions(&of_it, 1)?.is_empty();
    if is_there {
        return Ok(None);
    }
    let told = if migrations(reader, migration)?.is_empty() {
        view::unknown_migration(migration, &recorded)
    } else {
        none_stored(reader, store, filter)?
    };
    Ok(Some(visible(&told)))
}

/// Says that no decision is as asked for, and of which migrations there are some: the name may be another one than the default.
fn none_stored(
    reader: &Reader,
    store: &StoreConfig,
    filter: &DecisionFilter,
) -> Result<String, StoreError> {
    let asked = filter.migration.as_deref().unwrap_or_default();
    let others = migrations(reader, asked)?;
    let of_asked = DecisionFilter {
        migration: filter.migration.clone(),
        ..DecisionFilter::default()
    };
    Ok(if !reader.decisions(&of_asked, 1)?.is_empty() {
        format!("{store} has no decision like that; leave out --outcome or --after to see all")
    } else if others.is_empty() {
        format!("{store} has no decision; `parity gate` stores one each time that it decides")
    } else {
        format!(
            "{store} has no decision of migration `{asked}`; it has some of {}: choose one with --migration",
            named_in_short(&others)
        )
    })
}

/// The other migrations that the newest decisions are of.
fn migrations(reader: &Reader, but: &str) -> Result<BTreeSet<String>, StoreError> {
    let newest = reader.decisions(&DecisionFilter::default(), LOOKED_AT)?;
    let names = newest.into_iter().map(|one| one.migration);
    Ok(names.filter(|name| name != but).collect())
}

fn named_in_short(names: &BTreeSet<String>) -> String {
    let named = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`"));
    let mut text = named.collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        text.extend([" and ", &more.to_string(), " more"]);
    }
    text
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
