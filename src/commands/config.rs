//! `parity config init|check|show|schema`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use parity_dashboards::terminal::{self, plural};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use crate::cli::{ConfigCommand, MirrorArgs, OutputFormat};
use crate::config::problem::{Origin, Problem, Problems};
use crate::config::settings::{metrics, mirror, sink};
use crate::config::{DEFAULT_FILE, Layers, render};

/// Runs it.
pub(crate) fn run(command: &ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Init { file } => init(file),
        ConfigCommand::Check { file, named } => check(file.as_deref().or(named.config.as_deref())),
        ConfigCommand::Show {
            mirror,
            origin,
            output,
        } => show(mirror, *origin, *output),
        ConfigCommand::Schema => {
            terminal::print_json(&render::schema())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn init(file: &PathBuf) -> Result<ExitCode> {
    let text = render::starting_file();
    if file == Path::new("-") {
        terminal::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut opened) => opened
            .write_all(text.as_bytes())
            .with_context(|| format!("cannot write {}", file.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!(
                "{} exists already and was not changed; name another file, or `-` to print",
                file.display()
            )
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot create {}", file.display()));
        }
    }
    terminal::note(&format!(
        "wrote {}; next: set legacy and candidate, then `parity config check`",
        file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Checks a file for each command that it configures: for `sink` when it names Kafka or ClickHouse, for `mirror` when it
/// names an upstream, routes or rules, or configures no sink; for `metrics` when it says anything of them. A file without upstreams
/// or pages expects them from flags.
fn check(file: Option<&Path>) -> Result<ExitCode> {
    let file = match file {
        None if !Path::new(DEFAULT_FILE).exists() => return Err(no_file().into()),
        file => file.unwrap_or(Path::new(DEFAULT_FILE)),
    };
    let Checked { holds, warnings } = checked(file)?;
    let found = match warnings.len() as u64 {
        0 => "no problems".to_owned(),
        count => format!("no problems, {}", plural(count, "warning", "warnings")),
    };
    for warning in warnings {
        terminal::note(&visible(&format!("warning: {warning}")));
        if let Some(hint) = &warning.hint {
            terminal::note(&visible(&format!("  hint: {hint}")));
        }
    }
    terminal::note(&format!("{}: {found}; {holds}", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// A file without problems.
pub(super) struct Checked {
    /// What it holds, in words.
    holds: String,
    /// What may be meant, and is seldom right.
    warnings: Vec<Problem>,
}

/// What a file holds, or everything that is wrong with it.
pub(super) fn checked(file: &Path) -> Result<Checked, Problems> {
    let layers = Layers::load_here(Some(file), &[]);
    let sinks = layers.is_given(&sink::KAFKA) || layers.is_given(&sink::CLICKHOUSE);
    let upstreams = layers.is_given(&mirror::LEGACY) || layers.is_given(&mirror::CANDIDATE);
    let says_metrics = layers.says_metrics();
    let says_stress = layers.says_stress();
    let mirrors = (!sinks && !says_metrics && !says_stress) || upstreams || layers.has_entries();
    let mut warnings = layers.broad_rules();
    warnings.extend(layers.ends_soon(Timestamp::now()));
    warnings.extend(layers.tight_budget());
    warnings.extend(layers.one_address());
    let mut problems = Problems::default();
    let mut holds = Vec::new();
    if mirrors {
        // Stand in for upstreams that come from flags or the environment, so that the rest of the file can be checked.
        let unnamed = [
            mirror::LEGACY.is("http://legacy.invalid"),
            mirror::CANDIDATE.is("http://candidate.invalid"),
        ];
        let whole = if upstreams {
            layers.clone()
        } else {
            layers.clone().or(&unnamed)
        };
        match whole.mirror() {
            Ok(settings) => {
                if !upstreams {
                    holds.push(
                        "no upstreams, so `parity mirror` needs --legacy and --candidate"
                            .to_owned(),
                    );
                }
                let starting = layers.as_in_the_starting_file();
                if !starting.is_empty() {
                    holds.push(format!(
                        "{} as `parity config init` wrote, perhaps not yet yours",
                        starting.join(", ")
                    ));
                }
                let (routes, rules) = (&settings.mirror.policy.routes, &settings.rules);
                holds.push(plural(routes.len() as u64, "route", "routes"));
                holds.push(plural(rules.ids().count() as u64, "rule", "rules"));
                let known = settings.known.len() as u64;
                if known > 0 {
                    holds.push(plural(known, "known difference", "known differences"));
                }
            }
            Err(found) => problems.merge(found),
        }
    }
    if says_metrics {
        let unnamed = [
            metrics::legacy::URL.is("http://legacy.invalid"),
            metrics::candidate::URL.is("http://candidate.invalid"),
        ];
        match layers.clone().or(&unnamed).metrics() {
            Ok(settings) => {
                let thresholds = settings.thresholds.len() as u64;
                let thresholds = plural(thresholds, "threshold", "thresholds");
                holds.push(format!("metrics with {thresholds}"));
            }
            Err(found) => problems.merge(found),
        }
    }
    if says_stress {
        let unnamed = [
            mirror::LEGACY.is("http://127.0.0.1:1"),
            mirror::CANDIDATE.is("http://127.0.0.1:2"),
        ];
        match layers.clone().or(&unnamed).stress() {
            Ok(settings) => {
                let rates = settings.rates.len() as u64;
                holds.push(format!("a load of {}", plural(rates, "rate", "rates")));
            }
            Err(found) => problems.merge(found),
        }
        if let Err(found) = layers.clone().or(&unnamed).soak() {
            problems.merge(found);
        }
    }
    if sinks {
        match layers.sink() {
            Ok(settings) => holds.push(format!("a sink to {}", settings.clickhouse)),
            Err(found) => problems.merge(found),
        }
    }
    if problems.0.is_empty() {
        Ok(Checked {
            holds: holds.join(", "),
            warnings,
        })
    } else {
        Err(problems)
    }
}

fn no_file() -> Problems {
    let message = format!("cannot read {DEFAULT_FILE}: there is none in the working directory");
    let hint = "`parity config init` writes one; or name the file to check";
    Problems(vec![Problem::new(Origin::Default, message).hint(hint)])
}

fn show(args: &MirrorArgs, origin: bool, format: OutputFormat) -> Result<ExitCode> {
    let layers = Layers::load_here(args.file.config.as_deref(), &args.flags.settings());
    match format {
        OutputFormat::Text => terminal::print(&render::list(&layers, origin))?,
        OutputFormat::Json => terminal::print_json(&render::document(&layers))?,
    }
    let problems = layers.into_problems();
    if problems.0.is_empty() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(problems.into())
    }
}
