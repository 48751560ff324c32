//! What is wrong with a configuration: where, what, and what to do.
//!
//! Problems are collected, never thrown one by one: whoever edits a file wants to see all of them at once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    Default,
    /// A place in a file; lines and columns count from 1.
    File {
        /// The file as the user named it.
        path: Arc<Path>,
        /// Line.
        line: usize,
        /// Column, in characters.
        column: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl Origin {
    /// The place of a byte offset in the text of a file.
    pub(crate) fn at(path: &Arc<Path>, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        Self::File {
            path: Arc::clone(path),
            line,
            column,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) origin: Origin,
    /// What, with the value.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// A problem without a hint.
    pub(crate) fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self {
            origin,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => f.write_str(&self.message),
            origin => write!(f, "{origin}: {}", self.message),
        }
    }
}

/// Everything that is wrong, in the order of the file.
#[derive(Debug, Default, thiserror::Error)]
#[error("the configuration has {} problem{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
pub(crate) struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds those of `other` that are not there yet.
    pub(crate) fn merge(&mut self, other: Self) {
        for problem in other.0 {
            if !self.0.contains(&problem) {
                self.0.push(problem);
            }
        }
        self.0.sort_by_key(|problem| match &problem.origin {
            Origin::File { line, column, .. } => (0, *line, *column),
            _ => (1, 0, 0),
        });
    }
}

/// The file could not be read at all.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        Origin::Default,
        format!("cannot read {}: {error}", path.display()),
    )
}

/// Reads a file that a setting names, within a bound; reports where the name was given.
pub(crate) fn read_named_file(
    path: &PathBuf,
    origin: &Origin,
    limit: u64,
) -> Result<Vec<u8>, Problem> {
    use std::io::Read;
    let named = |error: std::io::Error| {
        Problem::new(
            origin.clone(),
            format!("cannot read {}: {error}", path.display()),
        )
        .hint("the path is relative to the working directory")
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(named)?;
    if bytes.len() as u64 > limit {
        let message = format!("{} is larger than {limit} bytes", path.display());
        return Err(Problem::new(origin.clone(), message));
    }
    Ok(bytes)
}

/// The closest of `known` to `word`, if it is close enough to be a slip.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this Jaro-Winkler similarity a suggestion is more confusing than none.
    const CLOSE: f64 = 0.75;
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= CLOSE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}
