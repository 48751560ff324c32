//! `parity rules`: the profiles, listed or printed. They are read where they are used, by the configuration.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_comparator::rules::{PROFILES, Profile};

use crate::cli::RulesCommand;
use crate::output;

/// Runs it.
pub(crate) fn run(command: &RulesCommand) -> Result<ExitCode> {
    let RulesCommand::Profile { name } = command;
    let text = match name {
        Some(name) => match Profile::named(name) {
            Some(profile) => profile.text.to_owned(),
            None => {
                bail!("`{name}` is no profile; `parity rules profile` lists the ones there are")
            }
        },
        None => list(),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let width = PROFILES
        .iter()
        .map(|profile| profile.name.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for profile in PROFILES {
        writeln!(text, "{:width$}  {}", profile.name, profile.about()).expect("memory");
    }
    text
}
