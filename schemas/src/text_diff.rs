//! The unified diff of two texts, perhaps cut.
//!
//! Where it is printed and stored it is one text, and [`CUT_MARK`] alone on a last line says that it was cut. Every other
//! line begins with a sign of ours (`@`, `-`, `+`, a space, a backslash), so no captured line can be that mark. Only this
//! file writes and reads it.

use std::fmt;

use crate::side::CUT_MARK;

/// A unified diff.
#[derive(Clone, PartialEq, Eq)]
pub struct TextDiff {
    /// Its lines, each with its line break.
    pub lines: String,
    /// Whether there are more lines than these.
    pub is_cut: bool,
}

impl TextDiff {
    /// Reads the form that [`Display`](fmt::Display) writes.
    pub fn read(text: &str) -> Self {
        match text.strip_suffix(CUT_MARK) {
            Some(lines) if lines.is_empty() || lines.ends_with('\n') => Self {
                lines: lines.to_owned(),
                is_cut: true,
            },
            _ => Self {
                lines: text.to_owned(),
                is_cut: false,
            },
        }
    }

    /// Lines that it removes and adds.
    pub fn counts(&self) -> (u64, u64) {
        let count = |sign| {
            let lines = self.lines.lines();
            lines.filter(|line| line.starts_with(sign)).count() as u64
        };
        (count('-'), count('+'))
    }
}

impl fmt::Display for TextDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines)?;
        if self.is_cut {
            write!(f, "{CUT_MARK}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_read_as_it_was_written_and_no_line_of_it_is_the_mark() {
        for (lines, is_cut) in [
            ("@@ -1,1 +1,1 @@\n-a\n+…\n", false),
            ("@@ -1,1 +1,1 @@\n-a\n+b\n", true),
            ("-a\n+…", false),
            ("", true),
            ("", false),
        ] {
            let diff = TextDiff {
                lines: lines.to_owned(),
                is_cut,
            };
            assert!(TextDiff::read(&diff.to_string()) == diff, "{lines:?}");
        }
        assert_eq!(TextDiff::read("@@\n-a\n-b\n+c\n…").counts(), (2, 1));
    }
}
