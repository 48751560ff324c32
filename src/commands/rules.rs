//! `parity rules`: lists and prints the profiles, lists the explanations that `accept` takes, and suggests rules for what a
//! store has. It applies none of them: the configuration does.

mod adding;
mod suggest;
mod trial;

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
                bail!("`{name}` is not a profile; `parity rules profile` lists them")
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
        RulesCommand::Test(args) => return trial::run(args),
        RulesCommand::Suggest(args) => return suggest::run(args),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each name, with its description.
fn table<'a>(lines: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = lines.clone().map(|(name, _)| name.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (name, about) in lines {
        writeln!(text, "{name:width$}  {about}").expect("memory");
    }
    text
}
