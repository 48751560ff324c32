//! Splits a command into words as a POSIX shell does, without replacing anything.

use std::iter::Peekable;
use std::str::Chars;

/// What a text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// A whole command; empty if there is only a comment.
    Words(Vec<String>),
    /// A quote is open, or the last line goes on.
    Open,
}

/// Finds the end of a command, line by line.
#[derive(Default)]
pub(super) struct Command {
    /// The quote that is open.
    open: Option<Quote>,
    is_in_word: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// `$'…'`
    OfC,
}

impl Command {
    /// Takes the next line; returns whether the command goes on after it.
    pub(super) fn goes_on_after(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut letters = line.iter().copied();
        let mut before = 0;
        while let Some(letter) = letters.next() {
            match (self.open, letter) {
                // Of a backslash inside of a line, the letter behind it is taken, too.
                (None, b'#') if !self.is_in_word => return false,
                (None | Some(Quote::Double | Quote::OfC), b'\\') if letters.next().is_none() => {
                    return true;
                }
                (None, b'\'') if before == b'$' => self.open = Some(Quote::OfC),
                (None, b'\'') => self.open = Some(Quote::Single),
                (None, b'"') => self.open = Some(Quote::Double),
                (Some(Quote::Single | Quote::OfC), b'\'') | (Some(Quote::Double), b'"') => {
                    self.open = None;
                }
                _ => {}
            }
            self.is_in_word = self.open.is_some() || !matches!(letter, b' ' | b'\t');
            before = letter;
        }
        if self.open.is_none() {
            self.is_in_word = false;
        }
        self.open.is_some()
    }
}

/// Splits a text that may have several lines.
pub(super) fn split(text: &str) -> Result<Split, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek().is_none_or(|next| *next == '\n') => {}
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '#' if word.is_none() => {
                letters
                    .by_ref()
                    .take_while(|letter| *letter != '\n')
                    .for_each(drop);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => word.push(letter),
                        None => return Ok(Split::Open),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                if !in_quotes(&mut letters, word)? {
                    return Ok(Split::Open);
                }
            }
            '$' if letters.peek() == Some(&'\'') => {
                letters.next();
                let word = word.get_or_insert_default();
                if !in_c_quotes(&mut letters, word)? {
                    return Ok(Split::Open);
                }
            }
            '\\' => match letters.next() {
                None => return Ok(Split::Open),
                Some('\n') => {}
                Some('\r') if letters.peek() == Some(&'\n') => {
                    letters.next();
                }
                Some(letter) => word.get_or_insert_default().push(letter),
            },
            '$' | '`' => return Err("a shell would replace a part of it"),
            '|' | ';' | '&' | '<' | '>' | '(' | ')' => {
                return Err("more than one command, or a redirection");
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(Split::Words(words))
}

/// Reads to the closing `"`; `false` if there is none.
fn in_quotes(letters: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<bool, &'static str> {
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(true),
            '$' | '`' => return Err("a shell would replace a part of it"),
            '\\' => match letters.next() {
                None => return Ok(false),
                Some('\n') => {}
                Some(letter @ ('"' | '\\' | '$' | '`')) => word.push(letter),
                Some(letter) => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
    Ok(false)
}

/// Reads `$'…'` to its end, with the escapes of C; `false` if there is none.
fn in_c_quotes(letters: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<bool, &'static str> {
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => return Ok(true),
            '\\' => {
                let Some(letter) = letters.next() else {
                    return Ok(false);
                };
                let plain = match letter {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    'a' => '\u{7}',
                    'e' => '\u{1b}',
                    'x' => hex(letters, 2)?,
                    'u' => hex(letters, 4)?,
                    'U' => hex(letters, 8)?,
                    other => other,
                };
                word.push(plain);
            }
            letter => word.push(letter),
        }
    }
    Ok(false)
}

fn hex(letters: &mut Peekable<Chars<'_>>, digits: usize) -> Result<char, &'static str> {
    let mut code = 0;
    for _ in 0..digits {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(16)) else {
            break;
        };
        letters.next();
        code = code * 16 + digit;
    }
    // A byte from 0x80 on would be a part of a letter in some encoding.
    let is_letter = digits > 2 || code < 0x80;
    let letter = char::from_u32(code).filter(|_| is_letter);
    letter.ok_or("an escape that is no letter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, words) in [
            (
                "curl  'a b' \"c\\\"d\" e\\ f",
                &["curl", "a b", "c\"d", "e f"][..],
            ),
            ("curl a \\\n  -H 'x:\ny'", &["curl", "a", "-H", "x:\ny"]),
            ("curl a \\\r\n b\r\n", &["curl", "a", "b"]),
            (r"curl $'it\'s \u00fc\n\x41' ''", &["curl", "it's ü\nA", ""]),
            ("# nothing", &[]),
            ("a#b # c", &["a#b"]),
        ] {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(split(text), Ok(Split::Words(words)), "{text}");
        }
        let end = |text: &str| {
            let mut command = Command::default();
            text.split('\n')
                .take_while(|line| command.goes_on_after(line.as_bytes()))
                .count()
        };
        for (text, lines) in [
            ("curl a", 0),
            ("curl a \\\r\n b\r\nc", 1),
            ("curl 'a\nb' c\nd", 1),
            ("curl \"a\\\"\n\n\\\nb\"\nd", 3),
            ("curl $'it\\'s\nb'\nd", 1),
            ("# it's\nd", 0),
            ("curl a#'b\nc'\nd", 1),
        ] {
            assert_eq!(end(text), lines, "{text}");
        }
        for open in ["curl 'a", "curl \"a", "curl $'a", "curl a \\", "curl \"a\\"] {
            assert_eq!(split(open), Ok(Split::Open), "{open}");
        }
        for refused in [
            "curl $HOME",
            "curl \"$HOME\"",
            "curl `id`",
            "curl a | sh",
            "curl a > b",
            "curl $'\\xff'",
        ] {
            assert!(split(refused).is_err(), "{refused}");
        }
    }
}
