//! Finds passwords that command lines give by an option whose name says little elsewhere: `mysql -pSECRET`,
//! `sshpass -p SECRET`, `curl -U bob:SECRET`. A command line is a text, or a list of words as a container is given one:
//! `["mysql", "-pSECRET"]`. One automaton reads the words of both, so the two cannot come to differ.
//!
//! `-p` is a port, a path or a process for most programs, so it counts only behind the name of a program for which it is a
//! password. Options that say what they are (`--password`) are recognized by their names (`names`).
//!
//! Each word is looked at once, and nothing behind it except the value of an option: a text costs what its length does.

use std::ops::Range;

/// How a program takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `-pSECRET`; what follows `-p ` is something else.
    Joined,
    /// `-p SECRET`, and `-pSECRET`, too.
    Either,
    /// `-k SECRET`; what is joined to it is another option.
    Apart,
    /// `-u user:SECRET`, also joined.
    Login,
    /// `-U user%SECRET`, also joined.
    Percent,
    /// `--from-literal=name=SECRET`, also apart.
    Pair,
}

impl Form {
    /// Where the secret begins in the value of the option.
    fn secret_in(self, value: &str) -> Option<usize> {
        match self {
            Self::Joined | Self::Either | Self::Apart => (!value.is_empty()).then_some(0),
            Self::Login => value.contains(':').then_some(0),
            Self::Percent => value.find('%').map(|at| at + 1),
            Self::Pair => value.find('=').map(|at| at + 1),
        }
    }
}

/// Where a program takes its password.
#[derive(Clone, Copy)]
enum Place {
    /// Behind one of these options.
    Options(&'static [(&'static str, Form)]),
    /// The same, once this word has been read: `kubectl create secret …`, for other kinds the same option gives no secret.
    After(&'static str, &'static [(&'static str, Form)]),
    /// `htpasswd -b file user SECRET`, and `htpasswd -nb user SECRET`.
    LastOfBatch,
    /// `sqlplus user/SECRET@database`.
    Slash,
}

const MYSQL: Place = Place::Options(&[("-p", Form::Joined)]);
const SMB: Place = Place::Options(&[("-U", Form::Percent), ("--user", Form::Percent)]);
const LDAP: Place = Place::Options(&[("-w", Form::Either)]);

/// Programs by the begin of their names.
const PROGRAMS: [(&str, Place); 16] = [
    ("mysql", MYSQL),
    ("mariadb", MYSQL),
    ("mycli", Place::Options(&[("-p", Form::Either)])),
    ("sshpass", Place::Options(&[("-p", Form::Either)])),
    ("mongo", Place::Options(&[("-p", Form::Either)])),
    ("sqlcmd", Place::Options(&[("-P", Form::Either)])),
    ("redis-cli", Place::Options(&[("-a", Form::Either)])),
    ("ldapsearch", LDAP),
    ("ldapmodify", LDAP),
    (
        "curl",
        Place::Options(&[
            ("-u", Form::Login),
            ("-U", Form::Login),
            ("--user", Form::Login),
            ("--proxy-user", Form::Login),
        ]),
    ),
    ("openssl", Place::After("enc", &[("-k", Form::Apart)])),
    ("smbclient", SMB),
    ("rpcclient", SMB),
    (
        "kubectl",
        Place::After("secret", &[("--from-literal", Form::Pair)]),
    ),
    ("htpasswd", Place::LastOfBatch),
    ("sqlplus", Place::Slash),
];

/// What a word of a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// It ends with a password that begins here.
    Here(usize),
    /// It is an option, and the value of that follows.
    Next(Form),
}

/// The words of a command that were read so far.
#[derive(Default)]
struct Command {
    place: Option<Place>,
    /// Whether the word that `Place::After` waits for was read.
    is_after: bool,
    /// Words that are no options.
    words: usize,
    /// Whether `htpasswd` was told that the password is a word.
    is_batch: bool,
    /// How many words it was told to do without: one, if it writes no file.
    absent: usize,
    /// Whether the next word belongs to the option before it.
    skips: bool,
}

impl Command {
    fn read(&mut self, word: &str) -> Told {
        if let Some(place) = program(word) {
            *self = Self {
                place: Some(place),
                ..Self::default()
            };
            return Told::Nothing;
        }
        match self.place {
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
    if !PROGRAMS.iter().any(|(program, _)| text.contains(program)) {
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

/// The passwords that `chpasswd` reads: `echo "user:SECRET" | chpasswd`, `chpasswd <<< user:SECRET`. More of the line before
/// the pipe is hidden rather than less.
pub(super) fn piped(text: &str) -> Vec<Range<usize>> {
    const PROGRAM: &str = "chpasswd";
    let mut spans = Vec::new();
    if !text.contains(PROGRAM) {
        return spans;
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let from = start;
        start += line.len();
        let Some((before, behind)) = line.split_once(PROGRAM) else {
            continue;
        };
        let given = match (before.rsplit_once('|'), behind.split_once("<<<")) {
            (Some((given, _)), _) => 0..given.len(),
            (None, Some((_, given))) => line.len() - given.len()..line.len(),
            (None, None) => continue,
        };
        let written = line.get(given.clone()).unwrap_or_default();
        if let Some((user, password)) = written.split_once(':') {
            let at = from + given.start + user.len() + 1;
            let password = password.trim_end().trim_end_matches(['"', '\'']);
            spans.push(at..at + password.len());
        }
    }
    spans.retain(|span| !span.is_empty());
    spans
}

/// The password that begins within a word of a text. If the word is one by itself, the quote before it belongs to it.
fn here(text: &str, word: usize, secret: usize) -> Range<usize> {
    let quoted = secret == 0 && text.get(..word).is_some_and(|it| it.ends_with(['"', '\'']));
    let from = word + secret - usize::from(quoted);
    from..from + value_length(text.get(from..).unwrap_or_default())
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
        value += behind.len() - behind.trim_start_matches(blank).len();
    }
    let written = text.get(value..)?;
    let written = written.get(..value_length(written))?;
    let secret = form.secret_in(written)?;
    Some(value + secret..value + written.len())
}

/// Where a program takes its password that a word calls, by whatever path.
fn program(word: &str) -> Option<Place> {
    let word = word.trim_matches(['"', '\'', '`', '$', '(', '#', '>']);
    let name = word.rsplit(['/', '\\']).next()?;
    // A text with blanks is a sentence about the program, or a command line in itself.
    if name.contains(char::is_whitespace) {
        return None;
    }
    PROGRAMS
        .iter()
        .find(|(program, _)| name.starts_with(program))
        .map(|(_, place)| *place)
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
mod tests {
    use super::*;

    #[test]
    fn a_password_is_one_only_behind_a_program_that_takes_it_so() {
        let found = |text: &str| {
            let spans = passwords(text).into_iter();
            spans
                .map(|span| text.get(span).unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        for (text, password) in [
            ("mysql -uroot -pHUNTER2 shop", "HUNTER2"),
            (
                "$ /usr/bin/mysqldump -u root -p'HUN TER2' shop > x.sql",
                "'HUN TER2'",
            ),
            ("cd /x; mariadb-admin -pHUNTER2 ping", "HUNTER2"),
            ("sshpass -p HUNTER2 ssh -p 2222 ada@host", "HUNTER2"),
            ("sshpass -pHUNTER2 scp -P 22 a b", "HUNTER2"),
            ("mongodump -u ada -p HUNTER2", "HUNTER2"),
            ("redis-cli -h h -a HUNTER2 ping", "HUNTER2"),
            ("sqlcmd -S h -U sa -P HUNTER2", "HUNTER2"),
            ("mysql -p'HUNTER2", "'HUNTER2"),
            ("sh -c \"mysql -uroot -pHUNTER2 shop\"", "HUNTER2"),
            ("cmd=\"mysqldump -pHUNTER2 shop\"", "HUNTER2"),
            ("mysql \"-pHUNTER2\"", "HUNTER2"),
            ("don't run mysql -pHUNTER2, it isn't safe", "HUNTER2,"),
            ("mysql -p'ab;HUNTER2' x", "'ab;HUNTER2'"),
            ("mysql -uroot \\\n -pHUNTER2", "HUNTER2"),
            ("mysql -e 'select 1; select 2' -pHUNTER2", "HUNTER2"),
        ] {
            assert!(
                found(text).contains(&password.to_owned()),
                "{text}: {:?}",
                found(text)
            );
        }
        for text in [
            "mysql -u root -p shop",
            "mysql -P 3306 --port=3306 shop",
            "ssh -p 2222 ada@host",
            "docker run -p 8080:80 mysql",
            "mkdir -p a/b; echo mysql",
            "mysql",
            "mysql ",
            "sshpass -p",
            "mysql\nssh -pX",
            "the mysql server listens on port 3306",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
