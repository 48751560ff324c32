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

/// The passwords in all command lines of a text.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    if !PROGRAMS.iter().any(|(program, ..)| text.contains(program)) {
        return spans;
    }
    let mut start = 0;
    for command in text.split_inclusive(['\n', '\r', '|', ';']) {
        of_command(command, start, &mut spans);
        start += command.len();
    }
    spans
}

fn of_command(command: &str, start: usize, spans: &mut Vec<Range<usize>>) {
    let mut known: Option<(&str, Form)> = None;
    let mut at = 0;
    while let Some(rest) = command.get(at..) {
        let blank = rest.len() - rest.trim_start().len();
        let from = at + blank;
        let word = &rest.trim_start();
        let length = word_length(word);
        if length == 0 {
            return;
        }
        let word = word.get(..length).unwrap_or_default();
        at = from + length;
        if let Some(program) = program(word) {
            known = Some(program);
            continue;
        }
        let Some((option, form)) = known else {
            continue;
        };
        let Some(joined) = word.strip_prefix(option) else {
            continue;
        };
        if !joined.is_empty() {
            spans.push(start + from + option.len()..start + at);
        } else if form == Form::Either {
            let rest = command.get(at..).unwrap_or_default();
            let value = rest.trim_start();
            let from = at + rest.len() - value.len();
            at = from + word_length(value);
            if at > from {
                spans.push(start + from..start + at);
            }
        }
    }
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

/// The length of the first word, as a shell reads it: blanks within quotes are part of it. A quote that does not close is a
/// sign like any other.
fn word_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if next.is_whitespace() {
            break;
        }
        let after = at + next.len_utf8();
        let closed = matches!(next, '"' | '\'')
            .then(|| text.get(after..)?.find(next))
            .flatten();
        at = closed.map_or(after, |length| after + length + 1);
    }
    at
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
            "the mysql server listens on port 3306",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
