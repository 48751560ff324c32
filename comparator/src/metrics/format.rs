//! The two formats of a page, and which part of it is to be read.
//!
//! `OpenMetrics` ends with `# EOF`, so that a page that was cut can be told from a whole one. In Prometheus' text format the same words are
//! a comment like any other, and what comes behind them counts.

use super::exposition::PageError;
use super::labels::told;

/// The format of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4, which has no end of its own.
    #[default]
    Text,
    /// `OpenMetrics`, which says where it ends.
    OpenMetrics,
}

impl Format {
    /// The one that a `Content-Type` names; what is not `OpenMetrics` is text.
    pub fn of(content_type: Option<&str>) -> Self {
        let media = content_type.and_then(|text| text.split(';').next());
        let is_open = media.is_some_and(|media| {
            media
                .trim()
                .eq_ignore_ascii_case("application/openmetrics-text")
        });
        if is_open {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// Whether a page of this format says by itself that it is whole.
    pub fn has_end(self) -> bool {
        self == Self::OpenMetrics
    }

    /// Whether a page ends where it must.
    pub(super) fn look_at_end(self, text: &str) -> Result<(), PageError> {
        if !self.has_end() {
            return Ok(());
        }
        let is_end = |line: &str| {
            line.strip_prefix('#')
                .is_some_and(|end| end.trim() == "EOF")
        };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at, line.trim()));
        lines
            .find(|(_, line)| is_end(line))
            .ok_or(PageError::NoEnd)?;
        match lines.find(|(_, line)| !line.is_empty()) {
            Some((at, line)) => Err(PageError::Behind(at + 1, told(line))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_names_the_format() {
        for (text, format) in [
            (
                Some("application/openmetrics-text; version=1.0.0; charset=utf-8"),
                Format::OpenMetrics,
            ),
            (Some("Application/OpenMetrics-Text"), Format::OpenMetrics),
            (Some("text/plain; version=0.0.4"), Format::Text),
            (
                Some("text/plain; x=application/openmetrics-text"),
                Format::Text,
            ),
            (None, Format::Text),
        ] {
            assert_eq!(Format::of(text), format, "{text:?}");
        }
    }

    #[test]
    fn only_open_metrics_has_an_end_and_must_have_it() {
        for (page, expected) in [
            ("a 1\n# EOF\n", Ok(())),
            ("a 1\n# EOF", Ok(())),
            ("a 1\r\n# EOF\r\n\n", Ok(())),
            ("a 1\n", Err(PageError::NoEnd)),
            ("", Err(PageError::NoEnd)),
            ("a 1\n# EO", Err(PageError::NoEnd)),
            ("a 1\n# HELP a # EOF\n", Err(PageError::NoEnd)),
            (
                "a 1\n# EOF\nb 2\n",
                Err(PageError::Behind(3, "b 2".to_owned())),
            ),
            (
                "a 1\n# EOF\n# EOF\n",
                Err(PageError::Behind(3, "# EOF".to_owned())),
            ),
        ] {
            assert_eq!(Format::OpenMetrics.look_at_end(page), expected, "{page}");
            assert_eq!(Format::Text.look_at_end(page), Ok(()), "{page}");
        }
    }
}
