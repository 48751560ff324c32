//! Adds rules to a configuration file: behind what stands there, of which no byte changes.
//!
//! The new text is checked as `parity config check` checks it, in a file beside the old one, which it then replaces in one step.
//! So the file has all of the rules or none, and is never one that a mirror would refuse. A rule whose id is there already is
//! left as it is, so adding twice changes nothing, and what a person made of a suggestion stays.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use parity_comparator::RuleConfig;
use parity_comparator::rules::config::tables;
use parity_dashboards::terminal;
use parity_schemas::suggested::SuggestedRule;
use parity_schemas::visible::visible;
use tempfile::NamedTempFile;
use toml_edit::{Document, Item};

use crate::commands::config::checked;

/// What became of the rules.
pub(super) struct Added {
    /// Written.
    pub(super) added: u64,
    /// Their ids were there already.
    pub(super) kept: u64,
}

/// Adds those of the rules whose ids the file does not have.
pub(super) fn add(file: &Path, rules: &[&SuggestedRule]) -> Result<Added> {
    // A link stays a link: what it leads to is replaced.
    let file = fs::canonicalize(file).with_context(|| {
        let file = file.display();
        format!("cannot write to {file}; `parity config init` makes a file to start from")
    })?;
    // Before it is read: what is wrong with it is told with its lines, and it stays as it is.
    checked(&file)?;
    let before =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let known = ids(&before).with_context(|| format!("cannot add to {}", file.display()))?;
    let new: Vec<&SuggestedRule> = rules
        .iter()
        .copied()
        .filter(|one| !known.contains(&one.rule.id))
        .collect();
    let added = Added {
        added: new.len() as u64,
        kept: (rules.len() - new.len()) as u64,
    };
    if new.is_empty() {
        return Ok(added);
    }
    let mut text = before.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for rule in new {
        text.push('\n');
        text.push_str(&terminal::suggested_rule(rule));
    }
    replace(&file, &before, &text)?;
    Ok(added)
}

/// The ids of the rules of a text to which more can be added at the end.
fn ids(text: &str) -> Result<Vec<String>> {
    let document = Document::parse(text)?;
    let rules = document.as_table().get("rule");
    if let Some(Item::Value(_)) = rules {
        bail!("its rules are one list, `rule = […]`; write each one as [[rule]] first");
    }
    let tables = rules.and_then(tables).unwrap_or_default();
    let tables = tables.into_iter().enumerate();
    Ok(tables
        .map(|(index, (table, _))| RuleConfig::read(table, index).0.id)
        .collect())
}

/// Puts a text in the place of another one, if it is still there and the new one is right.
fn replace(file: &Path, before: &str, text: &str) -> Result<()> {
    let told = || format!("cannot write {}", file.display());
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut beside = NamedTempFile::new_in(directory).with_context(told)?;
    beside.write_all(text.as_bytes()).with_context(told)?;
    let allowed = fs::metadata(file).with_context(told)?.permissions();
    beside
        .as_file()
        .set_permissions(allowed)
        .with_context(told)?;
    beside.as_file().sync_all().with_context(told)?;
    if let Err(problems) = checked(beside.path()) {
        let file = file.display().to_string();
        terminal::note(&visible(&format!(
            "{file} would be refused with these rules, so it is as it was:"
        )));
        return Err(problems.into());
    }
    if fs::read_to_string(file).with_context(told)? != before {
        bail!(
            "{} changed meanwhile, so nothing was written",
            file.display()
        );
    }
    beside.persist(file).with_context(told)?;
    Ok(())
}
