//! Finds passwords that command lines give by an option whose name says little elsewhere: `mysql -pSECRET`,
//! `sshpass -p SECRET`.
//!
//! `-p` is a port, a path or a process for most programs, so it counts only behind the name of a program for which it is a
//! password. Options that say what they are (`--password`) are recognized by their names (`names`).

use std::ops::Range;

/// How a program takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `-pSECRET`; what follows `-p ` is something else.
    Joined,
    /// `-p SECRET`, and `-pSECRET`, too.
    Either,
}

/// Programs by the begin of their names, with the option that a password follows.
const PROGRAMS: [(&str, &str, Form); 9] = [
    ("mysql", "-p", Form::Joined),
    ("mariadb", "-p", Form::Joined),
    ("mycli", "-p", Form::Either),
    ("sshpass", "-p", Form::Either),
    ("mongo", "-p", Form::Either),
    ("sqlcmd", "-P", Form::Either),
    ("redis-cli", "-a", Form::Either),
    ("ldapsearch", "-w", Form::Either),
    ("ldapmodify", "-w", Form::Either),
];

/// The passwords in all command lines of a text. A command line may itself be quoted (`sh -c "mysql -pSECRET"`), and a quote
/// may be an apostrophe, so quotes part words like blanks; only a password that begins with one ends with it. A command ends
/// with its line, unless that ends in a backslash.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    if !PROGRAMS.iter().any(|(program, ..)| text.contains(program)) {
        return spans;
    }
    let mut known: Option<(&str, Form)> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = word_length(rest);
        let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) else {
            let sign = rest.chars().next().unwrap_or_default();
            let is_continued = text
                .get(..at)
                .is_some_and(|before| before.trim_end_matches('\r').ends_with('\\'));
            if sign == '\n' && !is_continued {
                known = None;
            }
            at += sign.len_utf8().max(1);
            continue;
        };
        let from = at;
        at += length;
        if let Some(program) = program(word) {
            known = Some(program);
            continue;
        }
        let Some((option, form)) = known else {
            continue;
        };
        if !word.starts_with(option) {
            continue;
        }
        let mut value = from + option.len();
        let behind = text.get(value..).unwrap_or_default();
        if behind.starts_with(|sign: char| sign.is_whitespace()) || behind.is_empty() {
            if form == Form::Joined {
                continue;
            }
            let blank = |sign: char| sign.is_whitespace() || sign == '\\';
            value += behind.len() - behind.trim_start_matches(blank).len();
        }
        let end = value + value_length(text.get(value..).unwrap_or_default());
        if end > value {
            spans.push(value..end);
            at = end;
        }
    }
    spans
}

/// The option and form of a program that a word calls, by whatever path.
fn program(word: &str) -> Option<(&'static str, Form)> {
    let word = word.trim_matches(['"', '\'', '`', '$', '(', '#', '>']);
    let name = word.rsplit(['/', '\\']).next()?;
    PROGRAMS
        .iter()
        .find(|(program, ..)| name.starts_with(program))
        .map(|(_, option, form)| (*option, *form))
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
