//! Finds passwords that command lines give by an option whose name says little elsewhere: `mysql -pSECRET`,
//! `sshpass -p SECRET`, `curl -U bob:SECRET`. A command line is a text, or a list of words as a container is given one:
//! `["mysql", "-pSECRET"]`. One automaton reads the words of both, so the two cannot come to differ.
//!
//! `-p` is a port, a path or a process for most programs, so it counts only behind the name of a program for which it is a
//! password. Options that say what they are (`--password`) are recognized by their names (`names`).
//!
//! Each word is looked at once, and nothing behind it except the value of an option: a text costs what its length does.

mod programs;

use std::ops::Range;

use programs::{Called, Form, Place, calls_any, is_directive, program};

/// What a word of a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// It ends with a password that begins here.
    Here(usize),
    /// It is an option, and the value of that follows.
    Next(Form),
}

/// What stands between two words.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Border {
    /// They may be of one command.
    #[default]
    None,
    /// A command ended, so that the next word may call a program.
    Over,
}

/// The words of a command that were read so far.
#[derive(Default)]
struct Command {
    called: Option<Called>,
    /// Whether the word that `Place::After` waits for was read.
    is_after: bool,
    /// Words that are no options.
    words: usize,
    /// Whether `htpasswd` was told that the password is a word.
    is_batch: bool,
    /// How many words it was told to do without: one, if it writes no file.
    absent: usize,
    /// Whether the next word belongs to the one before it.
    skips: bool,
    /// What the word before leaves to the next one.
    border: Border,
}

impl Command {
    fn read(&mut self, word: &str) -> Told {
        if is_directive(word) {
            return Told::Next(Form::Apart);
        }
        // By itself, or behind another one.
        let begins = self.called.is_none() || self.border == Border::Over;
        if let Some(called) = program(word, begins) {
            *self = Self {
                called: Some(called),
                ..Self::default()
            };
            return Told::Nothing;
        }
        let told = self.told(word);
        self.border = if word.ends_with([';', '|', '&', '(']) {
            Border::Over
        } else {
            Border::None
        };
        if self.border == Border::Over && self.called.is_some_and(|called| called.ends) {
            self.called = None;
        }
        told
    }

    fn told(&mut self, word: &str) -> Told {
        match self.called.map(|called| called.place) {
            None => Told::Nothing,
            Some(Place::Options(options)) => by_option(word, options),
            Some(Place::After(wanted, options)) => {
                self.is_after |= word == wanted;
                if self.is_after {
                    by_option(word, options)
                } else {
                    Told::Nothing
                }
            }
            Some(Place::LastOfBatch) => self.batch(word),
            Some(Place::Slash) => self.slash(word),
            Some(Place::BehindShare(wanted)) => {
                self.is_after |= word.eq_ignore_ascii_case(wanted);
                self.behind_share(word)
            }
            Some(Place::Pairs(wanted)) => {
                let is_after = self.is_after;
                self.is_after |= wanted.contains(&word);
                let is_option = word.starts_with('-');
                if self.skips && !is_option {
                    self.skips = false;
                    if !word.contains('=') {
                        return Told::Here(0);
                    }
                }
                self.skips |= word == "login" && self.words == 0;
                self.words += usize::from(!is_option);
                match word.find('=') {
                    Some(sign) if is_after && !word.starts_with('-') => Told::Here(sign + 1),
                    _ => Told::Nothing,
                }
            }
        }
    }

    /// The word behind the name of a share, unless that is an option or asks for the password.
    fn behind_share(&mut self, word: &str) -> Told {
        if word.starts_with("\\\\") {
            self.words += 1;
            return Told::Nothing;
        }
        let is_password = self.is_after && self.words == 1 && !word.starts_with('/') && word != "*";
        self.words += usize::from(self.words == 1);
        if is_password {
            Told::Here(0)
        } else {
            Told::Nothing
        }
    }

    fn batch(&mut self, word: &str) -> Told {
        if std::mem::take(&mut self.skips) {
            return Told::Nothing;
        }
        if let Some(flags) = word.strip_prefix('-') {
            self.is_batch |= flags.contains('b');
            self.absent = self.absent.max(usize::from(flags.contains('n')));
            // The cost of a hash is a number behind its flag.
            self.skips = flags.ends_with(['C', 'r']);
            return Told::Nothing;
        }
        self.words += 1;
        if self.is_batch && self.words + self.absent == 3 {
            Told::Here(0)
        } else {
            Told::Nothing
        }
    }

    fn slash(&mut self, word: &str) -> Told {
        if word.starts_with('-') {
            return Told::Nothing;
        }
        self.words += 1;
        let login = word.split_once('/').filter(|(user, rest)| {
            self.words == 1 && !user.is_empty() && !user.contains('@') && rest.contains('@')
        });
        login.map_or(Told::Nothing, |(user, _)| Told::Here(user.len() + 1))
    }
}

/// What a word is for a program with these options.
fn by_option(word: &str, options: &[(&str, Form)]) -> Told {
    for (option, form) in options {
        let Some(joined) = word.strip_prefix(option) else {
            continue;
        };
        // A quote may follow, which parts words in a text.
        if joined.is_empty() || (option.starts_with("--") && joined == "=") {
            return Told::Next(*form);
        }
        if *form == Form::Apart || (option.starts_with("--") && !joined.starts_with('=')) {
            continue;
        }
        let sign = usize::from(option.starts_with("--"));
        let secret = form.secret_in(joined.get(sign..).unwrap_or_default());
        return secret.map_or(Told::Nothing, |at| Told::Here(option.len() + sign + at));
    }
    Told::Nothing
}

/// The positions of passwords in a command that is a list of words. `None` stands for an element that is no text.
pub(super) fn positions<'w>(words: impl Iterator<Item = Option<&'w str>>) -> Vec<usize> {
    let mut command = Command::default();
    let mut expected = None;
    let mut found = Vec::new();
    for (at, word) in words.enumerate() {
        let told = match (expected.take(), word) {
            // A number may be a password, too.
            (Some(form), word) => {
                let is_secret = word.is_none_or(|word| Form::secret_in(form, word).is_some());
                if is_secret {
                    Told::Here(0)
                } else {
                    Told::Nothing
                }
            }
            (None, Some(word)) => command.read(word),
            (None, None) => Told::Nothing,
        };
        match told {
            Told::Here(_) => found.push(at),
            Told::Next(Form::Joined) | Told::Nothing => {}
            Told::Next(form) => expected = Some(form),
        }
    }
    found
}

/// The passwords in all command lines of a text. A command line may itself be quoted (`sh -c "mysql -pSECRET"`), and a quote
/// may be an apostrophe, so quotes part words like blanks; only a password that begins with one ends with it. A command ends
/// with its line, unless that ends in a backslash.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    if !calls_any(text) {
        return spans;
    }
    let mut command = Command::default();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = word_length(rest);
        let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) else {
            let sign = rest.chars().next().unwrap_or_default();
            let is_continued = text
                .get(..at)
                .is_some_and(|before| before.trim_end_matches('\r').ends_with('\\'));
            if sign == '\n' && !is_continued {
                command = Command::default();
            }
            at += sign.len_utf8();
            continue;
        };
        let from = at;
        at += length;
        // What only continues a line, or parts the words of a list, is no word of a command.
        if matches!(word, "\\" | "," | "[" | "]") {
            continue;
        }
        let span = match command.read(word) {
            Told::Nothing => None,
            Told::Here(secret) => Some(here(text, from, secret)),
            Told::Next(form) => next(text, from, at, form),
        };
        if let Some(span) = span.filter(|span| !span.is_empty()) {
            at = at.max(span.end);
            spans.push(span);
        }
    }
    spans
}

/// The passwords that a program reads from its input: `echo "user:SECRET" | chpasswd`, `chpasswd <<< user:SECRET`, and
/// `echo SECRET | docker login --password-stdin`. More of the line before the pipe is hidden rather than less.
pub(super) fn piped(text: &str) -> Vec<Range<usize>> {
    /// What calls it, and whether a user stands before the password.
    const READERS: [(&str, bool); 3] = [
        ("chpasswd", true),
        ("--password-stdin", false),
        ("sudo -S", false),
    ];
    /// What writes a password as it is told.
    const WRITERS: [&str; 2] = ["echo ", "printf "];
    let mut spans = Vec::new();
    for (reader, with_user) in READERS {
        if !text.contains(reader) {
            continue;
        }
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let from = start;
            start += line.len();
            let Some((before, behind)) = line.split_once(reader) else {
                continue;
            };
            let given = match (before.rsplit_once('|'), behind.split_once("<<<")) {
                (Some((given, _)), _) => 0..given.len(),
                (None, Some((_, given))) => line.len() - given.len()..line.len(),
                (None, None) => continue,
            };
            let written = line.get(given.clone()).unwrap_or_default();
            let secret = if with_user {
                written.split_once(':').map(|(_, password)| password)
            } else if given.start > 0 {
                Some(written)
            } else {
                let writers = WRITERS.iter();
                let told = writers.filter_map(|writer| Some(written.rsplit_once(writer)?.1));
                told.min_by_key(|told| told.len())
            };
            let Some(secret) = secret else {
                continue;
            };
            let at = from + given.start + (written.len() - secret.len());
            let blank = secret.len() - secret.trim_start().len();
            let password = secret.trim().trim_end_matches(['"', '\'']);
            spans.push(at + blank..at + blank + password.len());
        }
    }
    spans.retain(|span| !span.is_empty());
    spans
}

/// The password that begins within a word of a text. If the word is one by itself, the quote before it belongs to it.
fn here(text: &str, word: usize, secret: usize) -> Range<usize> {
    let quoted = secret == 0 && text.get(..word).is_some_and(|it| it.ends_with(['"', '\'']));
    let from = word + secret - usize::from(quoted);
    let rest = text.get(from..).unwrap_or_default();
    // `"name=SECRET with blanks"`: the quote that opens before the name closes behind the value.
    let before = text.get(..word).and_then(|it| it.chars().next_back());
    let opened = before.filter(|sign| secret > 0 && matches!(sign, '"' | '\''));
    let closed = opened.and_then(|quote| rest.lines().next()?.find(quote));
    from..from + closed.unwrap_or_else(|| value_length(rest))
}

/// The password behind an option. A quote that opens before the option closes behind it (`"-p", "SECRET"`); any other
/// quote opens the value (`-p'SECRET'`).
fn next(text: &str, from: usize, end: usize, form: Form) -> Option<Range<usize>> {
    let behind = text.get(end..)?;
    let quote = behind
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''));
    let closes = quote.is_some_and(|quote| text.get(..from).is_some_and(|it| it.ends_with(quote)));
    let apart = closes || behind.starts_with(char::is_whitespace) || behind.is_empty();
    if apart && form == Form::Joined {
        return None;
    }
    let mut value = end + usize::from(closes);
    if apart {
        let behind = text.get(value..)?;
        let blank = |sign: char| sign.is_whitespace() || matches!(sign, '\\' | ',');
        let gap = behind.len() - behind.trim_start_matches(blank).len();
        // The next line belongs to the command only if this one says so.
        let gap = behind.get(..gap)?;
        if gap.contains('\n') && !gap.contains(['\\', ',']) {
            return None;
        }
        value += gap.len();
    }
    let written = text.get(value..)?;
    let written = written.get(..value_length(written))?;
    let secret = form.secret_in(written)?;
    Some(value + secret..value + written.len())
}

/// The length of the word at the start, which may be none.
fn word_length(text: &str) -> usize {
    text.find(|sign: char| sign.is_whitespace() || matches!(sign, '"' | '\'' | '`'))
        .unwrap_or(text.len())
}

/// The length of a password: to the quote that closes it, or else to the next blank.
fn value_length(text: &str) -> usize {
    let quote = text
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''));
    let closed = quote.and_then(|quote| text.get(1..)?.find(quote));
    if let Some(length) = closed {
        return length + 2;
    }
    let from = usize::from(quote.is_some());
    from + word_length(text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests;
