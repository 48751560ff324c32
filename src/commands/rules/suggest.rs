//! `parity rules suggest`: rules for what differs in a known way, as TOML to read and copy, as JSON, or added to the file.
//!
//! Each rule expires, so that what was accepted in a migration is looked at once more before it is kept for good.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::terminal::{self, plural};
use parity_dashboards::view;
use parity_schemas::spelling;
use parity_schemas::suggested::{Effect, SuggestedRule, Suggestions};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use super::adding::{Added, add};
use crate::cli::{OutputFormat, SuggestArgs};
use crate::commands::selection;
use crate::config::DEFAULT_FILE;

/// Runs it.
pub(super) fn run(args: &SuggestArgs) -> Result<ExitCode> {
    let (store, question) = selection::resolve(&args.store, args.asked.question())?;
    let reader = view::reader(&store)?;
    let decided = view::decided(&reader, &question)?;
    if let Some(absent) = &decided.absent {
        if absent.is_unknown_migration {
            bail!("{}", absent.sentence);
        }
        terminal::note(&visible(&absent.sentence));
    }
    let mut found = view::suggested(&reader, &decided, &view::expires(Timestamp::now()))?;
    if args.owner.is_some() {
        for one in &mut found.rules {
            one.rule.owner.clone_from(&args.owner);
        }
    }
    are_suggested(&args.lossy, &found)?;
    if args.write {
        write(args, &found)?;
    }
    match args.output {
        OutputFormat::Json => terminal::print_json(&found)?,
        OutputFormat::Text if args.write => {}
        OutputFormat::Text => terminal::print(&terminal::suggested(&found, &args.lossy))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A decision on a rule that is not there is a slip, or one on other evidence.
fn are_suggested(ids: &[String], found: &Suggestions) -> Result<()> {
    let known: Vec<&str> = found.rules.iter().map(|one| &*one.rule.id).collect();
    let Some(unknown) = ids.iter().find(|id| !known.contains(&id.as_str())) else {
        return Ok(());
    };
    let unknown = visible(unknown);
    match spelling::nearest(&unknown, known.iter().copied()) {
        Some(meant) => bail!("no rule `{unknown}` is suggested; did you mean `{meant}`?"),
        None => bail!(
            "no rule `{unknown}` is suggested; an id follows from what its rule says, which more evidence can change: \
             `parity rules suggest` lists those that are suggested now"
        ),
    }
}

/// Adds the rules to the file that the command reads its settings from, and says what was done. Lossy ones only if they are named:
/// one of them may excuse a fault.
fn write(args: &SuggestArgs, found: &Suggestions) -> Result<()> {
    let file = args.store.file.config.clone();
    let file = file.unwrap_or_else(|| DEFAULT_FILE.into());
    let is_decided =
        |one: &&SuggestedRule| one.effect == Effect::Harmless || args.lossy.contains(&one.rule.id);
    let decided: Vec<&SuggestedRule> = found.rules.iter().filter(is_decided).collect();
    let Added { added, kept } = add(&file, &decided)?;
    let mut told = vec![match added {
        0 => "nothing to add".to_owned(),
        _ => format!("{} added", plural(added, "rule", "rules")),
    }];
    if kept > 0 {
        let kept = plural(kept, "rule stays as it is", "rules stay as they are");
        told.push(format!("{kept}: their ids are there already"));
    }
    if added > 0 && args.owner.is_none() {
        let nobody = view::NOBODY;
        let whose = if added == 1 { "its" } else { "their" };
        told.push(format!(
            "{whose} owner is \"{nobody}\": write who answers for it into the file (--owner NAME does)"
        ));
    }
    let open = (found.rules.len() - decided.len()) as u64;
    if open > 0 {
        let (rules, need) = match open {
            1 => ("rule", "needs"),
            _ => ("rules", "need"),
        };
        told.push(format!(
            "{open} lossy {rules} {need} a decision: without --write it is listed what each would hide, and --lossy ID adds one"
        ));
    }
    if !found.unruled.is_empty() {
        let left = plural(found.unruled.len() as u64, "group gets", "groups get");
        told.push(format!("{left} no rule: without --write they are listed"));
    }
    let told = format!("{}: {}", file.display(), told.join("; "));
    terminal::note(&visible(&told));
    Ok(())
}
