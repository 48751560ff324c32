//! The two inputs of `parity diff`: reads them, decompresses them, and finds out which kind of document they are.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use parity_comparator::decode::{DecodeError, decode};
use parity_comparator::message::is_answer;

use crate::cli::DiffKind;

/// Largest file, as it is and decompressed. No answer that is worth comparing is larger.
pub(super) const MAX_INPUT_BYTES: u64 = 1 << 30;
/// Extensions of compressed files, with their first bytes and the name of the encoding.
const COMPRESSIONS: [(&str, &[u8], &str); 2] = [
    ("gz", &[0x1f, 0x8b, 0x08], "gzip"),
    ("zst", &[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
];

/// One input.
pub(super) struct Input {
    /// The name that the user gave, and the compression that was removed. Not yet safe to print.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// The extension in lower case, without that of a compression.
    extension: Option<String>,
}

impl Input {
    /// Reads a file, or standard input for `-`, and decompresses it unless it is wanted `as_it_is`.
    pub(super) fn read(path: &Path, as_it_is: bool) -> Result<Self> {
        let shown = path.display();
        let bytes = read(path).with_context(|| format!("cannot read {shown}"))?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            bail!("{shown} is larger than {MAX_INPUT_BYTES} bytes");
        }
        let mut input = Self {
            name: path.to_string_lossy().into_owned(),
            bytes,
            extension: extension(path),
        };
        let compression = COMPRESSIONS
            .iter()
            .find(|(_, magic, _)| input.bytes.starts_with(magic));
        if let Some((extension, _, encoding)) = compression
            && !as_it_is
        {
            let decoded = decode(
                &input.bytes,
                &[(*encoding).to_owned()],
                MAX_INPUT_BYTES as usize,
            );
            match decoded.map(std::borrow::Cow::into_owned) {
                Ok(bytes) => {
                    input.bytes = bytes;
                    input.name = format!("{}, {encoding} undone", input.name);
                    if input.extension.as_deref() == Some(*extension) {
                        input.extension = self::extension(&path.with_extension(""));
                    }
                }
                Err(DecodeError::TooLarge) => {
                    bail!("{shown} is larger than {MAX_INPUT_BYTES} bytes once decompressed")
                }
                // Damaged, or bytes that begin like a compressed file by chance: compared as they are.
                Err(_) => {}
            }
        }
        Ok(input)
    }

    fn kind_by_extension(&self) -> Option<DiffKind> {
        match self.extension.as_deref()? {
            "json" | "geojson" | "jsonld" | "har" => Some(DiffKind::Json),
            "ndjson" | "jsonl" => Some(DiffKind::Ndjson),
            "yaml" | "yml" => Some(DiffKind::Yaml),
            "xml" => Some(DiffKind::Xml),
            "csv" => Some(DiffKind::Csv),
            "http" => Some(DiffKind::Http),
            "txt" | "text" | "html" | "svg" | "xhtml" | "md" => Some(DiffKind::Text),
            "bin" | "png" | "jpg" => Some(DiffKind::Bytes),
            _ => None,
        }
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension()
        .and_then(OsStr::to_str)
        .map(str::to_ascii_lowercase)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let stdin = std::io::stdin().lock();
        stdin.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    if path.is_dir() {
        bail!("it is a directory; two files are compared");
    }
    let file = std::fs::File::open(path)?;
    file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// HTTP answers if both begin like one; else by extension; else by content.
pub(super) fn guess(legacy: &Input, candidate: &Input) -> DiffKind {
    let both = |test: fn(&[u8]) -> bool| test(&legacy.bytes) && test(&candidate.bytes);
    // The output of `curl -i` is an answer whatever the file is called; no other document begins this way.
    if both(is_answer) {
        return DiffKind::Http;
    }
    let are_answers = both(|bytes| bytes.starts_with(b"HTTP/"));
    match (legacy.kind_by_extension(), candidate.kind_by_extension()) {
        // Neither JSON nor usual YAML begins this way, so it is read as an answer: then the error says what is wrong with
        // its head.
        (Some(DiffKind::Json | DiffKind::Yaml), _) | (_, Some(DiffKind::Json | DiffKind::Yaml))
            if are_answers =>
        {
            return DiffKind::Http;
        }
        // JSON is YAML.
        (Some(DiffKind::Json), Some(DiffKind::Yaml))
        | (Some(DiffKind::Yaml), Some(DiffKind::Json)) => return DiffKind::Yaml,
        (Some(one), Some(two)) if one == two => return one,
        (Some(kind), None) | (None, Some(kind)) => return kind,
        // Neither name has a known extension, or the two disagree.
        _ => {}
    }
    if are_answers {
        DiffKind::Http
    } else if both(is_json) {
        DiffKind::Json
    } else if both(is_json_lines) {
        DiffKind::Ndjson
    } else if both(|bytes| std::str::from_utf8(bytes).is_ok()) {
        DiffKind::Text
    } else {
        DiffKind::Bytes
    }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

fn is_json_lines(bytes: &[u8]) -> bool {
    let mut lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    lines.all(is_json)
}
