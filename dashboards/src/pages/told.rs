//! Sentences of parity's with names in them, as a page shows them: a name that a terminal has between backticks is set as code.
//!
//! The only text beside a style sheet that is not escaped by the templates, because it is escaped here, piece by piece.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};
use parity_schemas::visible::visible;

/// A sentence, visible and escaped.
pub(super) struct Told(String);

/// A sentence whose names are between backticks. One that has an odd number of them is shown as it is.
pub(super) fn told(text: &str) -> Told {
    Told(visible(text))
}

impl HtmlSafe for Told {}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces: Vec<&str> = self.0.split('`').collect();
        if pieces.len().is_multiple_of(2) {
            return f.write_str(&html(&self.0));
        }
        for (place, piece) in pieces.into_iter().enumerate() {
            let piece = html(piece);
            if place.is_multiple_of(2) {
                f.write_str(&piece)?;
            } else {
                write!(f, "<code>{piece}</code>")?;
            }
        }
        Ok(())
    }
}

fn html(text: &str) -> String {
    let Ok(escaped) = escape(text, Html);
    escaped.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_nothing_of_them_is_markup() {
        for (text, expected) in [
            ("plain & <b>", "plain &#38; &#60;b&#62;"),
            (
                "rule `a<b` was `c`",
                "rule <code>a&#60;b</code> was <code>c</code>",
            ),
            ("`<script>`", "<code>&#60;script&#62;</code>"),
            ("odd ` <i>", "odd ` &#60;i&#62;"),
            ("\u{202e}`x`", "\\u{202e}<code>x</code>"),
            ("", ""),
        ] {
            assert_eq!(told(text).to_string(), expected);
        }
    }
}
