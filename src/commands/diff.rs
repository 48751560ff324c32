//! `parity diff`: the comparator on two files.
//!
//! Its limits are higher than those of a mirror: no other exchange waits for this one, and a user who compares two files
//! wants every difference. Each limit stands here with its reason.

mod input;

use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parity_comparator::document::DiffDocument;
use parity_comparator::message::{contradicts_itself, cut_short, read_answer};
use parity_comparator::{Comparator, Comparison, DocumentKind, Limits, Rules};
use parity_dashboards::terminal::{self, Layout};
use parity_dashboards::view::diff::Diff;
use parity_schemas::exchange::Capture;
use parity_schemas::route::means;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;
use parity_schemas::visible::visible;

use crate::cli::{DiffArgs, DiffKind, OutputFormat};
use crate::config::Layers;
use crate::config::environment::Environment;
use crate::config::settings::top;
use crate::error;
use input::{Input, MAX_INPUT_BYTES};

const LIMITS: Limits = Limits {
    // An answer in a file may have a compressed body. What it unpacks to has the same limit as a file.
    decoded_bytes: MAX_INPUT_BYTES as usize,
    depth: parity_comparator::limits::DEPTH,
    // A few seconds for arrays whose order does not count: one person waits for one result.
    work: 100 * parity_comparator::limits::WORK,
    // More than anybody reads; with paths and values about 100 MB.
    findings: 100_000,
    // Findings with short values never reach it; it bounds whole subtrees under long paths.
    finding_bytes: 256 << 20,
    tolerated: 100_000,
    // The first difference of two long texts is rarely in the first kilobyte.
    value_bytes: 64 << 10,
    // A diff that a person reads fits whole, and so does most of one that is written to a file.
    text_diff_bytes: 4 << 20,
    // More lines than a log of ten megabytes has. In the worst case, equal lines in random order, it takes two seconds.
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
        DiffKind::Graphql => compare(DocumentKind::Graphql),
        DiffKind::Ndjson => compare(DocumentKind::JsonLines),
        DiffKind::Yaml => compare(DocumentKind::Yaml),
        DiffKind::Xml => compare(DocumentKind::Xml),
        DiffKind::Csv => compare(DocumentKind::Csv),
        DiffKind::Text => compare(DocumentKind::Text),
        DiffKind::Bytes => compare(DocumentKind::Bytes),
        DiffKind::Http => {
            let names = [&legacy, &candidate].map(|input| terminal::shown(&input.name));
            let (legacy, candidate) = (answer(&legacy)?, answer(&candidate)?);
            say_if_doubtful(&legacy, &names[0]);
            say_if_doubtful(&candidate, &names[1]);
            let comparison = comparator.explain_saved(&legacy, &candidate, now);
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

/// The rules that a flag or its variable names. A parity.toml in the working directory is not read by itself.
fn rules(args: &DiffArgs, now: Timestamp) -> Result<Arc<Rules>> {
    let environment = Environment::of_process().only(&[&top::PROFILES]);
    let mut layers = Layers::load(args.rules.as_deref(), &environment, &args.flags.settings());
    let asked = args.route.as_deref();
    let route = asked
        .map(|request| layers.label_of(request).context("--route"))
        .transpose()?;
    let Some(rules) = layers.rules(now) else {
        return Err(layers.into_problems().into());
    };
    let Some(route) = route else {
        return Ok(rules);
    };
    if !rules.routes().any(|named| means(named, &route)) {
        terminal::note(&visible(&format!(
            "--route: no rule is for `{route}` alone"
        )));
    }
    Ok(Arc::new(rules.on_route(&route)))
}

fn answer(input: &Input) -> Result<Capture> {
    read_answer(&input.bytes).with_context(|| format!("{} is not an HTTP answer", input.name))
}

fn say_if_doubtful(answer: &Capture, name: &str) {
    if contradicts_itself(&answer.headers) {
        terminal::note(&format!(
            "{name}: clients refuse this answer: its Content-Length is no number or says two, or its Transfer-Encoding is not chunked"
        ));
    }
    if let Some((there, announced)) = cut_short(answer) {
        terminal::note(&format!(
            "{name}: cut short: the body has {there} of the {announced} bytes that its Content-Length says; save the answer again"
        ));
    }
}

fn exit_code(comparison: &Comparison) -> ExitCode {
    match comparison.verdict {
        Verdict::Match => ExitCode::SUCCESS,
        Verdict::Mismatch => ExitCode::from(error::NO),
        Verdict::NotCompared(_) => ExitCode::from(error::UNDECIDED),
    }
}
