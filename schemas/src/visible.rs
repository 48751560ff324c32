//! Makes captured text safe to show.
//!
//! Terminals execute control characters, browsers reorder text at bidirectional marks, and neither shows a zero-width
//! space. Each of these can hide or forge a difference. Every output of captured text goes through here; HTML escaping
//! is applied in addition.

use std::borrow::Cow;
use std::fmt::Write;

/// What stands before the bracket of a command to a CI runner: GitHub and Azure carry out `##[…]` and `##vso[…]` wherever in a line
/// of a job's log they find them.
const COMMANDS: [&str; 2] = ["##", "##vso"];

/// How the number of a character begins.
const ESCAPE: &str = "\\u{";

/// `text` with control and invisible characters written as `\u{…}`, and the bracket of a command to a CI runner, too.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|character| push(&mut out, character));
    out
}

/// The same, of at most `limit` characters of the original, with `…` where it was cut.
pub fn visible_up_to(text: &str, limit: usize) -> String {
    let mut characters = text.chars();
    let mut out = String::new();
    characters
        .by_ref()
        .take(limit)
        .for_each(|character| push(&mut out, character));
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

/// A captured value in one line of at most `limit` characters. JSON has line breaks between its tokens only, where they
/// carry nothing; in any other value they are spelt out.
pub fn visible_value(value: &str, limit: usize) -> String {
    if !value.starts_with(['{', '[']) {
        return visible_up_to(value, limit);
    }
    let lines: Vec<&str> = value
        .split(['\n', '\r'])
        .map(|line| line.trim_matches([' ', '\t']))
        .collect();
    visible_up_to(&lines.join(" "), limit)
}

/// Whether a text that somebody gives names another one: as it is, or as [`visible`] shows it.
pub fn names(given: &str, known: &str) -> bool {
    given == known || meant(given) == known
}

/// What [`visible`] made this text of, for what somebody copied from a page, or a form of a page sends back.
pub fn meant(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let behind = escape.strip_prefix(ESCAPE).unwrap_or_default();
        let found = behind.split_once('}').and_then(|(digits, behind)| {
            let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            (is_hidden(character) || character == '[').then_some((character, behind))
        });
        if let Some((character, behind)) = found {
            out.push(character);
            rest = behind;
        } else {
            out.push_str(ESCAPE);
            rest = behind;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a character is executed rather than shown, or invisible: controls (also C1 and line breaks), directional
/// marks, zero-width characters, tags, and what is no character and so not allowed in XML.
pub fn is_hidden(character: char) -> bool {
    let unseen = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e007f}'
    );
    unseen || character.is_control()
}

/// Whether a character behind this text makes a command to a CI runner of it.
pub(crate) fn begins_command(text: &str, character: char) -> bool {
    character == '[' && COMMANDS.iter().any(|command| text.ends_with(command))
}

fn push(out: &mut String, character: char) {
    if is_hidden(character) || begins_command(out, character) {
        write!(out, "{}", character.escape_unicode()).expect("writing to a String cannot fail");
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_or_hides_is_spelt_out() {
        assert_eq!(
            visible("a\u{1b}[31m\r\nb\u{202e}c"),
            "a\\u{1b}[31m\\u{d}\\u{a}b\\u{202e}c"
        );
        assert_eq!(visible("é 漢字 🙂"), "é 漢字 🙂");
        assert_eq!(
            visible("a ##[error] ##vso[task] #[x] ##"),
            "a ##\\u{5b}error] ##vso\\u{5b}task] #[x] ##"
        );
    }

    #[test]
    fn what_was_made_visible_is_read_as_what_it_was() {
        for text in [
            "a\u{1b}[31m\r\nb\u{202e}c\0\u{85}",
            "##[error]",
            "é \u{e0001}",
            "",
        ] {
            assert_eq!(meant(&visible(text)), text);
        }
        // A text that only looks like it stays as it is.
        for text in [
            "\\u{61}",
            "\\u{",
            "\\u{zz}",
            "\\u{202e",
            "\\u{110000}",
            "\\u{}",
        ] {
            assert_eq!(meant(text), text);
        }
    }

    #[test]
    fn a_json_value_is_one_line_and_any_other_shows_its_breaks() {
        assert_eq!(
            visible_value("{\n  \"a\": [\n    1\n  ]\n}", 99),
            "{ \"a\": [ 1 ] }"
        );
        assert_eq!(visible_value("a\n b", 99), "a\\u{a} b");
    }

    #[test]
    fn a_cut_is_shown_and_counts_characters_of_the_original() {
        assert_eq!(visible_up_to("ééé", 2), "éé…");
        assert_eq!(visible_up_to("éé", 2), "éé");
        assert_eq!(visible_up_to("\u{200b}\u{200b}", 1), "\\u{200b}…");
    }
}
