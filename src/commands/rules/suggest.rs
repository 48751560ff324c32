//! `parity rules suggest`: rules for what differs in a known way, as TOML to read and copy, as JSON, or added to the file.
//!
//! Each rule expires, so that what was accepted in a migration is looked at once more before it is kept for good.

use std::process::ExitCode;

use anyhow::{Result, bail};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use parity_dashboards::terminal::{self, plural};
use parity_dashboards::view;
use parity_schemas::suggested::Suggestions;
use parity_schemas::visible::visible;

use super::adding::{Added, add};
use crate::cli::{OutputFormat, SuggestArgs};
use crate::commands::selection;
use crate::config::DEFAULT_FILE;

/// Days until a suggested rule expires: a quarter, so that it outlives few migrations unseen.
const EXPIRES_AFTER_DAYS: i64 = 90;

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
    let found = view::suggested(&reader, &decided, &expiry()?)?;
    if args.write {
        write(args, &found)?;
    }
    match args.output {
        OutputFormat::Json => terminal::print_json(&found)?,
        OutputFormat::Text if args.write => {}
        OutputFormat::Text => terminal::print(&terminal::suggested(&found))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn expiry() -> Result<String> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    Ok(today.checked_add(EXPIRES_AFTER_DAYS.days())?.to_string())
}

/// Adds the rules to the file that the command reads its settings from, and says what was done.
fn write(args: &SuggestArgs, found: &Suggestions) -> Result<()> {
    let file = args.store.file.config.clone();
    let file = file.unwrap_or_else(|| DEFAULT_FILE.into());
    let Added { added, kept } = add(&file, &found.rules)?;
    let mut told = vec![match added {
        0 => "nothing to add".to_owned(),
        _ => format!("{} added", plural(added, "rule", "rules")),
    }];
    if kept > 0 {
        let kept = plural(kept, "rule stays as it is", "rules stay as they are");
        told.push(format!("{kept}: their ids are there already"));
    }
    if !found.unruled.is_empty() {
        let left = plural(found.unruled.len() as u64, "group gets", "groups get");
        told.push(format!("{left} no rule: without --write they are listed"));
    }
    let told = format!("{}: {}", file.display(), told.join("; "));
    terminal::note(&visible(&told));
    Ok(())
}
