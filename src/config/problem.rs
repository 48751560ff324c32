//! What is wrong with a configuration: where, what, and what to do.
//!
//! Problems are collected, never thrown one by one: whoever edits a file wants to see all of them at once.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// Finds the line and column of a byte, without reading all that stands before it: a file may have as many mistakes as
/// lines, or all of them in one line.
pub(crate) struct Places<'a> {
    text: &'a str,
    /// Where each line begins, and some places within long lines: byte offset, line and column.
    marks: Vec<(usize, usize, usize)>,
}

impl<'a> Places<'a> {
    /// Bytes between two marks of a long line.
    const MARKED: usize = 4096;

    /// The places of a file's text.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut marks = vec![(0, 1, 1)];
        let (mut marked, mut line, mut column) = (0, 1, 1);
        for (offset, character) in text.char_indices() {
            if (column == 1 && marked != offset) || offset - marked >= Self::MARKED {
                marks.push((offset, line, column));
                marked = offset;
            }
            (line, column) = match character {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        if column == 1 && line > 1 {
            marks.push((text.len(), line, column));
        }
        Self { text, marks }
    }

    /// The place of a byte offset.
    pub(crate) fn at(&self, path: &Arc<Path>, offset: usize) -> Origin {
        let next = self.marks.partition_point(|(mark, ..)| *mark <= offset);
        let mark = self.marks.get(next.saturating_sub(1)).copied();
        let (mark, line, column) = mark.unwrap_or((0, 1, 1));
        let before = self.text.get(mark..offset).unwrap_or_default();
        Origin::File {
            path: Arc::clone(path),
            line,
            column: column + before.chars().count(),
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

    /// The same problem with a hint on what to do.
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
        let mut known: HashSet<_> = self.0.iter().cloned().collect();
        let new = other.0.into_iter();
        self.0
            .extend(new.filter(|problem| known.insert(problem.clone())));
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

/// A key or a token is one line; a larger file is another one.
pub(crate) const MAX_SECRET_BYTES: u64 = 64 << 10;

/// Reads a file that a setting names, up to a limit. A problem stands where the name was given.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_by_line_and_column_in_characters() {
        let long = "é".repeat(10_000);
        let text = format!("a = 1\n\nü = {long}x\n");
        let places = Places::of(&text);
        let path: Arc<Path> = Path::new("p").into();
        let ends = [
            (0, (1, 1)),
            (4, (1, 5)),
            (5, (1, 6)),
            (6, (2, 1)),
            (7, (3, 1)),
            (9, (3, 2)),
            (text.len() - 2, (3, 10_005)),
            (text.len(), (4, 1)),
        ];
        for (offset, (line, column)) in ends {
            let path = Arc::clone(&path);
            let expected = Origin::File { path, line, column };
            assert_eq!(places.at(&Path::new("p").into(), offset), expected);
        }
    }

    #[test]
    fn as_many_mistakes_as_lines_are_told_in_time() {
        // Comparing each with each, or counting lines from the start for each, would take minutes.
        let text = "unknown_key = 1\n".repeat(300_000);
        let places = Places::of(&text);
        let path: Arc<Path> = Path::new("p").into();
        let found = |places: &Places<'_>| {
            let offsets = (0..text.len()).step_by(16);
            let problems = offsets.map(|offset| Problem::new(places.at(&path, offset), "unknown"));
            Problems(problems.collect())
        };
        let mut problems = found(&places);
        problems.merge(found(&places));
        assert_eq!(problems.0.len(), 300_000);
    }
}
