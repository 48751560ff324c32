//! Sentences in which names stand between backticks, as they are written for terminals: on a page such a name is code.

use parity_schemas::visible::visible;

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Whether it is a name that stood between backticks.
    pub(super) is_code: bool,
    /// It is visible, and has no markup.
    pub(super) text: String,
}

/// The parts of a sentence. A backtick without another one behind it stays what it is.
pub(super) fn pieces(sentence: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut add = |text: &str, is_code| {
        if !text.is_empty() {
            found.push(Piece {
                is_code,
                text: visible(text),
            });
        }
    };
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((name, behind)) = after.split_once('`') else {
            break;
        };
        add(before, false);
        add(name, true);
        rest = behind;
    }
    add(rest, false);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code_and_nothing_is_lost() {
        let told = |sentence: &str| {
            let each = pieces(sentence).into_iter();
            let each = each.map(|piece| {
                if piece.is_code {
                    format!("<{}>", piece.text)
                } else {
                    piece.text
                }
            });
            each.collect::<String>()
        };
        for (sentence, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("mostly `stream`, 5 %", "mostly <stream>, 5 %"),
            ("`a` and `b", "<a> and `b"),
            ("`a\u{202e}`", "<a\\u{202e}>"),
        ] {
            assert_eq!(told(sentence), expected, "{sentence}");
        }
    }
}
