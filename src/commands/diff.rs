//! `parity diff`: the comparator on two files.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::{HeaderMap, HeaderName, HeaderValue};
use parity_comparator::document::DiffDocument;
use parity_comparator::{AnswerPair, Comparator, Comparison, DocumentKind, Limits};
use parity_schemas::exchange::{Body, Capture};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Verdict;

use crate::cli::{DiffArgs, DiffKind, OutputFormat};
use crate::config::Layers;
use crate::{error, output};

/// Files larger than this are not what a comparison of answers is for.
const MAX_INPUT_BYTES: u64 = 1 << 30;
/// As many as the proxy accepts.
const MAX_HEADERS: usize = 100;

/// Runs it.
pub fn run(args: &DiffArgs) -> Result<ExitCode> {
    let stdin = Path::new("-");
    if args.legacy == stdin && args.candidate == stdin {
        bail!("both sides are `-`; only one can be standard input");
    }
    let now = Timestamp::now();
    let rules = match &args.rules {
        Some(file) => {
            let mut layers = Layers::load(Some(file), |_| None, &[]);
            match layers.rules(now) {
                Some(rules) => rules,
                None => return Err(layers.into_problems().into()),
            }
        }
        None => Arc::default(),
    };
    let legacy = read(&args.legacy)?;
    let candidate = read(&args.candidate)?;
    let largest = legacy.len().max(candidate.len());
    let limits = Limits::for_files(largest);
    let mut comparator = Comparator::new(rules, limits);
    let kind = args.kind.unwrap_or_else(|| guess(&args.legacy, &legacy, &args.candidate, &candidate));
    let comparison = match kind {
        DiffKind::Json => comparator.compare_documents(&legacy, &candidate, DocumentKind::Json, &args.route, now),
        DiffKind::Yaml => comparator.compare_documents(&legacy, &candidate, DocumentKind::Yaml, &args.route, now),
        DiffKind::Text => comparator.compare_documents(&legacy, &candidate, DocumentKind::Text, &args.route, now),
        DiffKind::Bytes => comparator.compare_documents(&legacy, &candidate, DocumentKind::Bytes, &args.route, now),
        DiffKind::Http => {
            let legacy = answer(&legacy).with_context(|| format!("{} is not an HTTP answer", args.legacy.display()))?;
            let candidate =
                answer(&candidate).with_context(|| format!("{} is not an HTTP answer", args.candidate.display()))?;
            comparator.compare_answers(AnswerPair {
                route: &args.route,
                head: false,
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
        std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        bail!("{} is larger than {MAX_INPUT_BYTES} bytes", path.display());
    }
    Ok(bytes)
}

/// By extension, else by an `HTTP/` first line, else by a look.
fn guess(legacy_path: &Path, legacy: &[u8], candidate_path: &Path, candidate: &[u8]) -> DiffKind {
    let by_extension = |path: &Path| match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
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

/// Reads a raw HTTP/1 answer: head by `httparse`, body as it stands, or unchunked if it says so.
fn answer(bytes: &[u8]) -> Result<Capture> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(head) = response.parse(bytes)? else {
        bail!("the head does not end; an empty line must follow the header fields");
    };
    let headers = header_map(response.headers)?;
    let body = bytes.get(head..).unwrap_or_default();
    let chunked = headers
        .get(http::header::TRANSFER_ENCODING)
        .is_some_and(|value| value.as_bytes().to_ascii_lowercase().ends_with(b"chunked"));
    let (body, trailers) = if chunked { unchunk(body)? } else { (body.to_vec(), None) };
    Ok(Capture {
        status: response.code.unwrap_or_default(),
        headers,
        body: Body::from(body),
        trailers,
        elapsed: Duration::ZERO,
    })
}

fn header_map(fields: &[httparse::Header<'_>]) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for field in fields {
        headers.append(HeaderName::from_bytes(field.name.as_bytes())?, HeaderValue::from_bytes(field.value)?);
    }
    Ok(headers)
}

/// The body of a chunked message, and its trailers if it has any.
fn unchunk(mut rest: &[u8]) -> Result<(Vec<u8>, Option<HeaderMap>)> {
    let mut body = Vec::new();
    loop {
        let (start, length) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((start, length))) => (start, usize::try_from(length)?),
            _ => bail!("the chunked body breaks off or has a bad chunk size after {} bytes", body.len()),
        };
        if length == 0 {
            let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
            let httparse::Status::Complete((_, fields)) =
                httparse::parse_headers(rest.get(start..).unwrap_or_default(), &mut fields)?
            else {
                bail!("the chunked body does not end; an empty line must follow the last chunk");
            };
            return Ok((body, (!fields.is_empty()).then(|| header_map(fields)).transpose()?));
        }
        let end = start.checked_add(length).context("the chunk size is out of range")?;
        let chunk = rest.get(start..end).with_context(|| format!("a chunk of {length} bytes is cut short"))?;
        body.extend_from_slice(chunk);
        rest = rest.get(end..).and_then(|rest| rest.strip_prefix(b"\r\n")).context("a chunk does not end in CRLF")?;
    }
}
