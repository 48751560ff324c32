//! `parity diff`: the comparator on two files.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use http::Method;
use parity_comparator::document::DiffDocument;
use parity_comparator::message::read_answer;
use parity_comparator::{AnswerPair, Comparator, Comparison, DocumentKind, Limits};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

use crate::cli::{DiffArgs, DiffKind, OutputFormat};
use crate::config::Layers;
use crate::{error, output};

/// Files larger than this are not what a comparison of answers is for.
const MAX_INPUT_BYTES: u64 = 1 << 30;

/// Runs it.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    let stdin = Path::new("-");
    if args.legacy == stdin && args.candidate == stdin {
        bail!("both sides are `-`; only one can be standard input");
    }
    let now = Timestamp::now();
    let flags: Vec<_> = args
        .profile
        .as_deref()
        .map(|names| ("profiles", names))
        .into_iter()
        .collect();
    let mut layers = Layers::load(args.rules.as_deref(), |_| None, &flags);
    let Some(rules) = layers.rules(now) else {
        return Err(layers.into_problems().into());
    };
    let legacy = read(&args.legacy)?;
    let candidate = read(&args.candidate)?;
    let mut comparator = Comparator::new(rules, Limits::default());
    let kind = args
        .kind
        .unwrap_or_else(|| guess(&args.legacy, &legacy, &args.candidate, &candidate));
    let comparison = match kind {
        DiffKind::Json => {
            comparator.compare_documents(&legacy, &candidate, DocumentKind::Json, now)
        }
        DiffKind::Yaml => {
            comparator.compare_documents(&legacy, &candidate, DocumentKind::Yaml, now)
        }
        DiffKind::Text => {
            comparator.compare_documents(&legacy, &candidate, DocumentKind::Text, now)
        }
        DiffKind::Bytes => {
            comparator.compare_documents(&legacy, &candidate, DocumentKind::Bytes, now)
        }
        DiffKind::Http => {
            let read = |bytes: &[u8], path: &Path| {
                read_answer(bytes)
                    .with_context(|| format!("{} is not an HTTP answer", path.display()))
            };
            let (legacy, candidate) = (
                read(&legacy, &args.legacy)?,
                read(&candidate, &args.candidate)?,
            );
            comparator.explain_answers(AnswerPair {
                route: "",
                method: &Method::GET,
                time: now,
                legacy: &legacy,
                candidate: &candidate,
            })
        }
    };
    print(&comparison, args.output)?;
    Ok(match comparison.verdict {
        Verdict::Match => ExitCode::SUCCESS,
        Verdict::Mismatch => ExitCode::from(error::NO),
        Verdict::NotCompared(_) => ExitCode::from(error::UNDECIDED),
    })
}

fn print(comparison: &Comparison, format: OutputFormat) -> Result<()> {
    match format {
        OutputFormat::Json => output::print_json(&DiffDocument::from(comparison)),
        OutputFormat::Text => Ok(output::print(&output::diff_text(comparison))?),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MAX_INPUT_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        bail!("{} is larger than {MAX_INPUT_BYTES} bytes", path.display());
    }
    Ok(bytes)
}

/// By extension, else by an `HTTP/` first line, else by a look.
fn guess(legacy_path: &Path, legacy: &[u8], candidate_path: &Path, candidate: &[u8]) -> DiffKind {
    let by_extension = |path: &Path| match path.extension()?.to_str()?.to_ascii_lowercase().as_str()
    {
        "json" => Some(DiffKind::Json),
        "yaml" | "yml" => Some(DiffKind::Yaml),
        "http" => Some(DiffKind::Http),
        "txt" | "text" | "html" | "xml" | "csv" | "md" => Some(DiffKind::Text),
        "bin" | "png" | "jpg" | "gz" => Some(DiffKind::Bytes),
        _ => None,
    };
    if let Some(kind) = by_extension(legacy_path).or_else(|| by_extension(candidate_path)) {
        return kind;
    }
    let both = |test: fn(&[u8]) -> bool| test(legacy) && test(candidate);
    if both(|bytes| bytes.starts_with(b"HTTP/")) {
        DiffKind::Http
    } else if both(|bytes| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()) {
        DiffKind::Json
    } else if both(|bytes| std::str::from_utf8(bytes).is_ok()) {
        DiffKind::Text
    } else {
        DiffKind::Bytes
    }
}
