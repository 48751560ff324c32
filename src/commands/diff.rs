//! `parity diff`: the comparator on two files.
//!
//! It is a tool of its own, so its limits are other than those of a mirror: nobody waits behind it, and somebody who
//! compares two files wants every difference. They are named here, each with its reason.

mod input;

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use http::Method;
use parity_comparator::document::DiffDocument;
use parity_comparator::message::{cut_short, read_answer};
use parity_comparator::{AnswerPair, Comparator, Comparison, DocumentKind, Limits, Rules};
use parity_dashboards::terminal::{self, Layout};
use parity_dashboards::view::diff::Diff;
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Reason, Verdict};

use crate::cli::{DiffArgs, DiffKind, OutputFormat};
use crate::config::Layers;
use crate::config::environment::Environment;
use crate::error;
use input::{Input, MAX_INPUT_BYTES};

const LIMITS: Limits = Limits {
    // The bodies of answers may be compressed in their files; a bomb ends where a file would.
    decoded_bytes: MAX_INPUT_BYTES as usize,
    depth: parity_comparator::limits::DEPTH,
    // Some seconds, for elements in any order: a person waits for one answer, not a queue for a thousand.
    work: 100 * parity_comparator::limits::WORK,
    // Every difference of any pair that is still about differences; with what goes with each, about 100 MB.
    findings: 100_000,
    // What findings of short values never reach; whole subtrees under long paths end here.
    finding_bytes: 256 << 20,
    tolerated: 100_000,
    // Two long texts differ where they differ, which is rarely in the first kilobyte.
    value_bytes: 64 << 10,
    // All of a diff that somebody reads, and most of one that goes into a file.
    text_diff_bytes: 4 << 20,
    // More than ten megabytes of log have; some two seconds at the worst, where equal lines are scattered at random.
    text_diff_lines: 300_000,
};

/// Runs it.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    let stdin = Path::new("-");
    if args.legacy == stdin && args.candidate == stdin {
        bail!("both sides are `-`; only one can be standard input");
    }
    if args.stat && args.output == OutputFormat::Json {
        bail!("--stat is a form of the text; the JSON document has the same counts in `groups`");
    }
    let now = Timestamp::now();
    let rules = rules(args, now)?;
    let as_it_is = args.kind == Some(DiffKind::Bytes);
    let legacy = Input::read(&args.legacy, as_it_is)?;
    let candidate = Input::read(&args.candidate, as_it_is)?;
    let kind = args
        .kind
        .unwrap_or_else(|| input::guess(&legacy, &candidate));
    let mut comparator = Comparator::new(Arc::clone(&rules), LIMITS);
    let mut compare = |kind| {
        let comparison = comparator.compare_documents(&legacy.bytes, &candidate.bytes, kind, now);
        let bodies = [&legacy, &candidate].map(|input| Cow::Borrowed(&*input.bytes));
        (comparison, bodies)
    };
    let (comparison, bodies) = match kind {
        DiffKind::Json => compare(DocumentKind::Json),
        DiffKind::Ndjson => compare(DocumentKind::JsonLines),
        DiffKind::Yaml => compare(DocumentKind::Yaml),
        DiffKind::Text => compare(DocumentKind::Text),
        DiffKind::Bytes => compare(DocumentKind::Bytes),
        DiffKind::Http => {
            let names = [&legacy, &candidate].map(|input| terminal::shown(&input.name));
            let (legacy, candidate) = (answer(&legacy)?, answer(&candidate)?);
            let mut comparison = comparator.explain_answers(AnswerPair {
                route: "",
                method: &Method::GET,
                time: now,
                legacy: &legacy,
                candidate: &candidate,
                asked_together: false,
            });
            let cut = [
                (&legacy, &names[0], Reason::LegacyTruncated),
                (&candidate, &names[1], Reason::CandidateTruncated),
            ];
            for (answer, name, reason) in cut.into_iter().rev() {
                say_if_cut(answer, name, reason, &mut comparison);
            }
            let bodies =
                [legacy, candidate].map(|answer| answer.body.contiguous().into_owned().into());
            (comparison, bodies)
        }
    };
    match args.output {
        OutputFormat::Json => {
            let document = DiffDocument::from(&comparison).with_counts(&comparison, &rules);
            terminal::print_json(&document)?;
        }
        OutputFormat::Text => {
            let diff = Diff {
                comparison: &comparison,
                rules: &rules,
                limits: &LIMITS,
                names: [&legacy.name, &candidate.name],
                bodies: [&*bodies[0], &*bodies[1]],
                answers: kind == DiffKind::Http,
            };
            let layout = Layout {
                width: terminal::width(),
                all: args.all,
            };
            terminal::print(&if args.stat {
                terminal::stat(&diff, layout)
            } else {
                terminal::diff(&diff, layout)
            })?;
        }
    }
    Ok(exit_code(&comparison))
}

/// The rules that were asked for; none without a flag, whatever configuration lies about.
fn rules(args: &DiffArgs, now: Timestamp) -> Result<Arc<Rules>> {
    let flags: Vec<_> = args
        .profile
        .as_deref()
        .map(|names| ("profiles", names))
        .into_iter()
        .collect();
    let mut layers = Layers::load(args.rules.as_deref(), &Environment::default(), &flags);
    match layers.rules(now) {
        Some(rules) => Ok(rules),
        None => Err(layers.into_problems().into()),
    }
}

fn answer(input: &Input) -> Result<Capture> {
    read_answer(&input.bytes).with_context(|| format!("{} is not an HTTP answer", input.name))
}

/// A body that was cut short may differ in what is missing: no match, whatever the rest says. A difference stands.
fn say_if_cut(answer: &Capture, name: &str, reason: Reason, comparison: &mut Comparison) {
    let Some((there, announced)) = cut_short(answer) else {
        return;
    };
    terminal::note(&format!(
        "{name}: cut short: the body has {there} of the {announced} bytes that its Content-Length says; save the answer again"
    ));
    if !matches!(comparison.verdict, Verdict::Mismatch) {
        comparison.verdict = Verdict::NotCompared(reason);
    }
}

fn exit_code(comparison: &Comparison) -> ExitCode {
    match comparison.verdict {
        Verdict::Match => ExitCode::SUCCESS,
        Verdict::Mismatch => ExitCode::from(error::NO),
        Verdict::NotCompared(_) => ExitCode::from(error::UNDECIDED),
    }
}
