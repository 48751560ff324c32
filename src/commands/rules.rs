//! `parity rules`: what rules can be made of: the profiles, listed or printed, and the explanations that `accept` takes.
//! Profiles are read where they are used, by the configuration.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_comparator::rules::{PROFILES, Profile};
use parity_dashboards::terminal;
use parity_schemas::verdict::Explanation;

use crate::cli::RulesCommand;

/// Runs it.
pub(crate) fn run(command: &RulesCommand) -> Result<ExitCode> {
    let text = match command {
        RulesCommand::Profile { name: Some(name) } => match Profile::named(name) {
            Some(profile) => profile.text.to_owned(),
            None => {
                bail!("`{name}` is no profile; `parity rules profile` lists the ones there are")
            }
        },
        RulesCommand::Profile { name: None } => {
            let about = |profile: &Profile| (profile.name, profile.about());
            table(PROFILES.iter().map(about))
        }
        RulesCommand::Explanations => {
            let about = |word: &Explanation| (word.as_str(), word.meaning());
            table(Explanation::ALL.iter().map(about))
        }
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// One line for each name and what it says.
fn table<'a>(lines: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = lines.clone().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (name, about) in lines {
        writeln!(text, "{name:width$}  {about}").expect("memory");
    }
    text
}
