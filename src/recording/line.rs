//! The text of a line.

use std::fmt::Write as _;

use parity_schemas::recording::RecordedExchange;

/// One line of NDJSON, with its end. Characters that a terminal could act on are escapes in it: people look into such files.
pub(super) fn line(exchange: &RecordedExchange) -> Vec<u8> {
    let text =
        serde_json::to_string(exchange).expect("a line is made of strings, numbers and lists only");
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if acts(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _infallible = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(character);
        }
    }
    line.push('\n');
    line.into_bytes()
}

/// Whether a character controls how text is shown, or is a line break to some. JSON escapes those of ASCII itself.
fn acts(character: char) -> bool {
    matches!(
        character,
        '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use parity_schemas::recording::RecordedBody;
    use parity_schemas::time::Timestamp;

    use super::*;

    #[test]
    fn a_line_is_one_line_on_any_terminal_and_reads_as_what_was_written() {
        let text = "a\u{9b}31m\u{202e}\r\n\u{1b}[31m\u{2028}\u{7f}é😀";
        let exchange = RecordedExchange {
            schema: "parity.exchange/v1".to_owned(),
            time: Timestamp::default(),
            session: None,
            method: "POST".to_owned(),
            url: "/".to_owned(),
            headers: vec![("x".to_owned(), text.to_owned())],
            body: RecordedBody {
                text: Some(text.to_owned()),
                ..RecordedBody::default()
            },
            hidden: Vec::new(),
            response: None,
        };
        let written = line(&exchange);
        let shown = String::from_utf8(written.clone()).expect("UTF-8");
        assert_eq!(shown.matches('\n').count(), 1);
        assert!(
            !shown
                .trim_end()
                .chars()
                .any(|one| one.is_control() || acts(one)),
            "{shown:?}"
        );
        assert!(shown.contains("é😀"));
        let read: RecordedExchange = serde_json::from_slice(&written).expect("JSON");
        assert_eq!(read, exchange);
    }
}
