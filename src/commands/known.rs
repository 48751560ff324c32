//! `parity known`: enters known differences, lists them, says that one is mended.
//!
//! What is entered is looked up in the record first, so that a slip in a fingerprint is told now and not by a gate that
//! fails. The configuration is changed in one step or not at all ([`file`]).

mod file;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::question::Question;
use parity_dashboards::terminal::{self, plural, shown};
use parity_dashboards::view::{self, Adoptable, Decided};
use parity_schemas::documents::KnownList;
use parity_schemas::known::{KnownEntry, KnownUse};
use parity_schemas::report::GroupReport;
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use self::file::{Edited, NewEntry};
use super::selection;
use crate::cli::{AddArgs, KnownCommand, ListKnownArgs, MendArgs, OutputFormat, StoreArgs};
use crate::config::DEFAULT_FILE;

/// Fingerprints that an error suggests.
const MAX_SUGGESTED: usize = 5;
/// Said of what was entered and does not block.
const EXCUSES_ANY: &str = "it does not block: it excuses any other value of that kind at its place, also a wrong one, so it is for \
     places whose value nobody relies on";

/// Runs it.
pub(crate) fn run(command: &KnownCommand) -> Result<ExitCode> {
    match command {
        KnownCommand::Add(args) => add(args),
        KnownCommand::List(args) => list(args),
        KnownCommand::Mend(args) => mend(args),
    }
}

fn path(named: Option<&Path>) -> PathBuf {
    named.unwrap_or(Path::new(DEFAULT_FILE)).to_owned()
}

/// The record as it is now, and the register.
fn read(args: &StoreArgs) -> Result<(Decided, Question)> {
    let (store, question) = selection::resolve(args, &Question::default())?;
    let reader = view::reader(&store)?;
    let decided = view::decided(&reader, &question)?;
    if let Some(absent) = &decided.absent {
        bail!("{}", visible(&absent.sentence));
    }
    Ok((decided, question))
}

fn add(args: &AddArgs) -> Result<ExitCode> {
    let path = path(args.store.file.config.as_deref());
    let mut edited = Edited::open(&path)?;
    let by_place = [
        &args.route,
        &args.part,
        &args.path,
        &args.kind,
        &args.explanation,
    ];
    let by_place = by_place.into_iter().any(Option::is_some);
    if !by_place && args.fingerprints.is_empty() && !args.baseline {
        bail!(
            "say what is known: a FINGERPRINT (`parity known list` names those that count), a --path, or --baseline"
        );
    }
    if args.id.is_some() && args.fingerprints.len() > 1 {
        bail!("--id names one entry, and each fingerprint gets one of its own");
    }
    let (decided, question) = read(&args.store)?;
    let adoptable = view::adoptable(&decided);
    let mut added = Vec::new();
    // An entry without a rate.
    let mut unbounded = None;
    let mut left_out = 0;
    if by_place {
        let id = args.id.clone().unwrap_or_else(|| free_id(&question.known));
        let entry = NewEntry {
            id: &id,
            args,
            what: None,
        };
        edited.add(&entry, args.rate)?;
        let meant = meant(&edited, &question, &decided, &id);
        let seen = meant
            .as_ref()
            .and_then(|meant| view::rate_of(meant, &question.thresholds));
        match (args.rate, seen) {
            (None, Some(seen)) => edited.set(&id, "rate", seen)?,
            (None, None) => unbounded = Some(id.clone()),
            (Some(_), _) => {}
        }
        added.push(format!("{}: {}", shown(&id), covered(meant.as_ref())));
    } else {
        let chosen = chosen(args, &adoptable, &decided)?;
        left_out = chosen.left_out;
        for one in chosen.entered {
            let first = one.fingerprints.first().map_or("", String::as_str);
            let named = args
                .fingerprints
                .iter()
                .find(|name| one.fingerprints.contains(name));
            let id = args
                .id
                .as_deref()
                .unwrap_or(named.map_or(first, String::as_str));
            let entry = NewEntry {
                id,
                args,
                what: Some(one),
            };
            let rate = args.rate.unwrap_or_else(|| one.rate(&question.thresholds));
            edited.add(&entry, Some(rate))?;
            added.push(format!("{}: {}", shown(id), one.words()));
        }
    }
    if left_out > 0 {
        terminal::note(&not_entered(left_out as u64));
    }
    if added.is_empty() {
        terminal::note(if left_out > 0 {
            "everything else that counts is known already; nothing is changed"
        } else {
            "all that counts is known already; nothing is changed"
        });
        return Ok(ExitCode::SUCCESS);
    }
    edited.save()?;
    terminal::print(&(added.join("\n") + "\n"))?;
    terminal::note(&format!(
        "{} entered in {}",
        plural(added.len() as u64, "difference is", "differences are"),
        visible(&path.display().to_string())
    ));
    if !args.blocks {
        terminal::note(EXCUSES_ANY);
    }
    if let Some(id) = unbounded {
        terminal::note(&format!(
            "nothing was recorded at the place of `{}`, so it has no rate and cannot grow; to let it grow, give it a `rate` there, or \
             enter it with --rate",
            visible(&id)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Which differences are entered one by one.
struct Chosen<'a> {
    entered: Vec<&'a Adoptable>,
    /// How many of the baseline are not, because they look like noise.
    left_out: usize,
}

fn chosen<'a>(args: &AddArgs, adoptable: &'a [Adoptable], decided: &Decided) -> Result<Chosen<'a>> {
    let mut entered: Vec<&Adoptable> = Vec::new();
    let mut left_out = 0;
    if args.baseline {
        let known = |one: &&Adoptable| args.with_likely_noise || one.likely_noise.is_none();
        entered.extend(adoptable.iter().filter(known));
        left_out = adoptable.len() - entered.len();
    }
    for fingerprint in &args.fingerprints {
        let found = find(fingerprint, adoptable, decided)?;
        if !entered.iter().any(|one| std::ptr::eq(*one, found)) {
            entered.push(found);
        }
    }
    Ok(Chosen { entered, left_out })
}

/// What is said of what looks like noise and was left out.
fn not_entered(count: u64) -> String {
    let looks = plural(
        count,
        "difference looks like noise and is not entered",
        "differences look like noise and are not entered",
    );
    format!(
        "{looks}: rechecks find that the legacy itself differs there, and more of them may prove it. `parity known list` marks what \
         looks like noise; --with-likely-noise enters it, and so does its FINGERPRINT"
    )
}

/// A name that no entry has.
fn free_id(known: &[KnownEntry]) -> String {
    let taken: HashSet<&str> = known.iter().map(|entry| entry.id.as_str()).collect();
    let mut names = (1..).map(|number| format!("known-{number}"));
    names
        .find(|name| !taken.contains(name.as_str()))
        .unwrap_or_default()
}

/// What a new entry that names a place means in the record; `None` if nothing.
fn meant(edited: &Edited, question: &Question, decided: &Decided, id: &str) -> Option<KnownUse> {
    let uses = view::would_mean(decided, question, &edited.register());
    uses.into_iter().find(|one| one.entry.id == id)
}

/// The same in words: told, so that nobody enters more than they think.
fn covered(meant: Option<&KnownUse>) -> String {
    match meant {
        Some(one) => format!(
            "means {} with {}",
            plural(one.groups.len() as u64, "group", "groups"),
            plural(one.mismatches(), "mismatch", "mismatches")
        ),
        None => "means nothing that was recorded so far".to_owned(),
    }
}

/// The difference that has a fingerprint, or an error that says why there is none.
fn find<'a>(
    fingerprint: &str,
    adoptable: &'a [Adoptable],
    decided: &Decided,
) -> Result<&'a Adoptable> {
    let has = |one: &&Adoptable| one.fingerprints.iter().any(|name| name == fingerprint);
    if let Some(found) = adoptable.iter().find(has) {
        return Ok(found);
    }
    for known in &decided.report.known {
        if known
            .groups
            .iter()
            .any(|group| group.group.fingerprint == fingerprint)
        {
            bail!(
                "`{}` is known already, by the entry `{}`",
                visible(fingerprint),
                shown(&known.entry.id)
            );
        }
    }
    let recorded = decided.report.groups.iter().flat_map(GroupReport::members);
    if recorded
        .into_iter()
        .any(|member| member.fingerprint == fingerprint)
    {
        bail!(
            "`{}` does not count: it is noise or transient, so nothing needs to be entered",
            visible(fingerprint)
        );
    }
    let names = adoptable
        .iter()
        .flat_map(|one| &one.fingerprints)
        .map(String::as_str);
    let near = spelling::nearest(fingerprint, names.clone());
    let some: Vec<&str> = names.take(MAX_SUGGESTED).collect();
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if some.is_empty() => "nothing counts that is not known".to_owned(),
        None => format!(
            "those that count are {}; `parity known list` has all",
            some.join(", ")
        ),
    };
    bail!(
        "no difference is recorded as `{}`: {hint}",
        visible(fingerprint)
    )
}

fn list(args: &ListKnownArgs) -> Result<ExitCode> {
    let (decided, question) = read(&args.store)?;
    let now = Timestamp::now();
    let list = view::known_list(&decided, &question.known, now);
    match args.output {
        OutputFormat::Json => terminal::print_json(&list)?,
        OutputFormat::Text => terminal::print(&text(&list, &view::adoptable(&decided), now))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(list: &KnownList, not_known: &[Adoptable], now: Timestamp) -> String {
    let mut out = String::new();
    let excused = plural(list.excused, "mismatch does", "mismatches do");
    let entries = plural(
        list.entries.len() as u64,
        "known difference",
        "known differences",
    );
    let _infallible = writeln!(out, "{entries}; {excused} not count");
    for one in &list.entries {
        let _infallible = writeln!(
            out,
            "{:>8} × {}  {}  {}",
            one.mismatches,
            shown(&one.entry.id),
            one.state,
            view::about_known(&one.entry, now)
        );
    }
    if !not_known.is_empty() {
        let count = plural(
            not_known.len() as u64,
            "difference counts and is",
            "differences count and are",
        );
        let _infallible = writeln!(out, "\n{count} not known");
        for one in not_known {
            let first = one.fingerprints.first().map_or("", String::as_str);
            let _infallible = writeln!(out, "  {first}  {}", one.words());
        }
    }
    out
}

fn mend(args: &MendArgs) -> Result<ExitCode> {
    let path = path(args.file.config.as_deref());
    let mut edited = Edited::open(&path)?;
    let register: Vec<KnownEntry> = edited.register().to_vec();
    let Some(entry) = register.iter().find(|entry| entry.id == args.id) else {
        let ids: Vec<&str> = register.iter().map(|entry| entry.id.as_str()).collect();
        let hint = if ids.is_empty() {
            "there are no [[known]] entries".to_owned()
        } else {
            spelling::hint(&args.id, &ids)
        };
        bail!(
            "no known difference is called `{}`: {}",
            visible(&args.id),
            visible(&hint)
        );
    };
    if let Some(mended) = entry.mended {
        bail!("`{}` is mended already, on {mended}", visible(&args.id));
    }
    let on = args
        .on
        .clone()
        .unwrap_or_else(|| Timestamp::now().to_string());
    edited.set(&args.id, "mended", on.as_str())?;
    edited.save()?;
    terminal::note(&format!(
        "`{}` is mended; if it is seen after {}, it is back",
        visible(&args.id),
        visible(&on)
    ));
    Ok(ExitCode::SUCCESS)
}
