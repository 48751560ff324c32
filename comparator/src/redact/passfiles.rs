//! Finds what files of passwords hold: hashes as `crypt` writes them, and lines of a `.pgpass`.
//!
//! A hash is no password, but whoever has it may try passwords in peace, and finds the weak ones.

use std::ops::Range;

/// What hashes of passwords begin with, up to their parameters.
const HASHES: [&str; 29] = [
    "$1$",
    "$2$",
    "$2a$",
    "$2b$",
    "$2x$",
    "$2y$",
    "$5$",
    "$6$",
    "$7$",
    "$y$",
    "$gy$",
    "$apr1$",
    "$argon2d$",
    "$argon2i$",
    "$argon2id$",
    "$scrypt$",
    "$pbkdf2$",
    "$pbkdf2-sha256$",
    "$pbkdf2-sha512$",
    "pbkdf2_sha256$",
    "argon2$argon2id$",
    "argon2$argon2i$",
    "bcrypt$$2b$",
    "bcrypt_sha256$$2b$",
    "$P$",
    "$H$",
    "$S$",
    "pbkdf2:sha256:",
    "scrypt:",
];
/// Shortest such hash: that of MD5 without a salt has 26 characters.
const MIN_BYTES: usize = 24;
/// Longest such hash; longer ones are something else. It bounds the work on a text full of beginnings.
const MAX_BYTES: usize = 512;
/// Shortest last piece of one: 22 characters are 128 bits.
const MIN_DIGEST: usize = 20;
/// Ports that a database listens on; smaller numbers are more often a line or a minute.
const PORTS: std::ops::RangeInclusive<u32> = 1_024..=65_535;

/// The hashes of passwords in a text.
pub(super) fn hashes(text: &str) -> Vec<Range<usize>> {
    let mut spans = of_directories(text);
    if !text.contains('$') {
        return spans;
    }
    for begin in HASHES {
        for (at, _) in text.match_indices(begin) {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '$') {
                continue;
            }
            let rest = text.get(at..).unwrap_or_default();
            let is_part = |sign: &u8| sign.is_ascii_alphanumeric() || b"./$=,+-_:".contains(sign);
            let length = rest.bytes().take(MAX_BYTES).take_while(is_part).count();
            let hash = rest.get(..length).unwrap_or_default();
            let hash = hash.trim_end_matches(['.', ',', ':']);
            let digest = hash.rsplit('$').next().unwrap_or_default();
            let digest = digest.split(':').next().unwrap_or_default();
            if hash.len() >= MIN_BYTES && digest.len() >= MIN_DIGEST {
                // `/etc/shadow` goes on behind it.
                let shadow = hash.len() - hash.rsplit('$').next().unwrap_or_default().len();
                spans.push(at..at + shadow + digest.len());
            }
        }
    }
    spans
}

/// Hashes as directories of users store them (RFC 2307): `{SHA}` and base64.
fn of_directories(text: &str) -> Vec<Range<usize>> {
    const SCHEMES: [&str; 8] = [
        "{SHA}",
        "{SSHA}",
        "{SHA256}",
        "{SSHA256}",
        "{SHA512}",
        "{SSHA512}",
        "{MD5}",
        "{SMD5}",
    ];
    let mut spans = Vec::new();
    for scheme in SCHEMES {
        for (at, _) in text.match_indices(scheme) {
            let rest = text.get(at + scheme.len()..).unwrap_or_default();
            let is_part = |sign: &u8| sign.is_ascii_alphanumeric() || b"+/=".contains(sign);
            let length = rest.bytes().take(MAX_BYTES).take_while(is_part).count();
            // A path goes on with a slash behind a placeholder: `/commits/{SHA}/files`.
            if length >= MIN_DIGEST && !rest.starts_with('/') {
                spans.push(at..at + scheme.len() + length);
            }
        }
    }
    spans
}

/// Longest address in brackets, as of IPv6 with a zone. It bounds the work on a text full of brackets.
const MAX_BRACKETS: usize = 64;

/// The passwords of lines `host:port:database:user:password`, also within other text: a command that appends one, a
/// difference of two files, a comment.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let found = line.match_indices(':');
        let found = found.filter_map(|(colon, _)| password(line.trim_end(), colon));
        spans.extend(found.map(|span| start + span.start..start + span.end));
        start += line.len();
    }
    spans
}

/// The password in a line whose `host` ends at a colon.
///
/// Each step ends at the next colon that no backslash precedes, so no part of a line is read more than a few times.
fn password(line: &str, colon: usize) -> Option<Range<usize>> {
    let rest = line.get(colon + 1..)?;
    let (port, rest) = rest.split_once(':')?;
    let is_port = port == "*" || port.parse::<u32>().is_ok_and(|port| PORTS.contains(&port));
    if !is_port {
        return None;
    }
    let (before, host) = host(line.get(..colon)?)?;
    let is_host = is_name(host, "")
        || host.starts_with('[')
        || host.contains("\\:")
        || (host.contains('.') && host.chars().all(|sign| ".0123456789".contains(sign)));
    let (database, rest) = rest.split_at_checked(field(rest))?;
    let (user, rest) = rest.get(1..)?.split_at_checked(field(rest.get(1..)?))?;
    let password = rest.strip_prefix(':')?;
    if !is_host || !is_name(database, "") || !is_name(user, "@+") {
        return None;
    }
    let end = match before.chars().next_back() {
        Some(quote @ ('"' | '\'' | '`')) => closing(password, quote),
        // What else may stand before a line of such a file: blanks, the marks of a difference, a comment, a quote.
        _ if before
            .trim_matches(['+', '-', '>', '<', '|', '#', ' ', '\t'])
            .is_empty() =>
        {
            None
        }
        _ => password.find(char::is_whitespace),
    };
    let length = end.unwrap_or(password.len());
    let is_last = field(password) >= length;
    let from = line.len() - password.len();
    (length > 0 && is_last).then_some(from..from + length)
}

/// The host with which a text ends, and what stands before it.
fn host(text: &str) -> Option<(&str, &str)> {
    if text.ends_with(']') {
        let near = text.ceil_char_boundary(text.len().saturating_sub(MAX_BRACKETS));
        let from = near + text.get(near..)?.rfind('[')?;
        let address = text.get(from + 1..text.len() - 1)?;
        let is_address = |sign: char| sign.is_ascii_hexdigit() || "\\:.%".contains(sign);
        // Behind the sign of percent is the name of a network card.
        let plain = address.split('%').next()?;
        return (plain.contains(':') && plain.chars().all(is_address)).then(|| text.split_at(from));
    }
    let mut from = text.len();
    let mut signs = text.char_indices().rev().peekable();
    while let Some((at, sign)) = signs.next() {
        let escaped = sign == ':' && signs.peek().is_some_and(|(_, before)| *before == '\\');
        if !escaped && !sign.is_alphanumeric() && !"._-/\\*".contains(sign) {
            // A field before the host: this is another list.
            if sign == ':' {
                return None;
            }
            break;
        }
        from = at;
    }
    // A line that a difference takes away.
    let removed = text.get(from..)?.trim_start_matches('-');
    Some(text.split_at(text.len() - removed.len()))
}

/// Whether a field names something, or all: letters, and signs of names besides `more`.
fn is_name(field: &str, more: &str) -> bool {
    // The escape of a colon is part of a name.
    let is_sign =
        |sign: char| sign.is_alphanumeric() || "._-/\\:".contains(sign) || more.contains(sign);
    field == "*" || (field.contains(char::is_alphabetic) && field.chars().all(is_sign))
}

/// The length of the field with which a text begins: up to the first colon that no backslash precedes.
fn field(text: &str) -> usize {
    unescaped(text, ':').unwrap_or(text.len())
}

/// Where the quotes close that stand before a text.
fn closing(text: &str, quote: char) -> Option<usize> {
    // The password ends at a colon at the latest, so nothing behind it is looked at.
    unescaped(text.get(..field(text))?, quote)
}

fn unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    for (at, sign) in text.char_indices() {
        if sign == wanted && !escaped {
            return Some(at);
        }
        escaped = sign == '\\' && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, find: fn(&str) -> Vec<Range<usize>>) -> Vec<&str> {
        let spans = find(text).into_iter();
        spans
            .map(|span| text.get(span).unwrap_or_default())
            .collect()
    }

    #[test]
    fn hashes_of_passwords_are_found_and_sums_of_money_are_none() {
        for hash in [
            "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/",
            "$1$salt$qJH7.N4xYta3aEG/dfqo/0",
            "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG",
            "pbkdf2_sha256$260000$salt$V3iWmBUSYcBZqD8uqQFxmgYQFqG3FYOxLSmZqR0BBZA=",
        ] {
            for text in [
                hash.to_owned(),
                format!("root:{hash}:19000:0:99999:7:::"),
                format!("the hash is {hash}, changed today"),
            ] {
                assert_eq!(found(&text, hashes), [hash], "{text}");
            }
        }
        for text in [
            "$6.00 and $5 and $1$2",
            "US$1$000",
            "echo $1$2$3$variable",
            "scrypt: a slow hash",
            "$2b$12$short",
        ] {
            assert!(found(text, hashes).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_line_of_five_fields_with_a_port_is_one_of_pgpass() {
        for text in [
            "db.example:5432:shop:ada:HUNTER2",
            "# kept 3\n*:*:*:ada:HUNTER2\n",
            "10.0.0.7:5432:*:ada:HUNTER2\r\n",
            "h\\:1:5432:shop:ada:HUNTER2",
            "echo \"db:5432:shop:ada:HUNTER2\" >> ~/.pgpass",
            "echo db:5432:shop:ada:HUNTER2 >> ~/.pgpass",
            "printf '%s' 'db:5432:shop:ada:HUNTER2' > .pgpass: done",
            "\t  db:5432:shop:ada:HUNTER2",
            "+db:5432:shop:ada:HUNTER2",
            "-db:5432:shop:ada:HUNTER2",
            "-*:*:*:ada:HUNTER2",
            "> # db:5432:shop:ada:HUNTER2",
            "db:5432:shop:ada@example.com:HUNTER2",
            "[::1]:5432:shop:ada:HUNTER2",
            "+ [fe80::1%eth0]:5432:shop:ada:HUNTER2",
            "\\:\\:1:5432:shop:ada:HUNTER2",
        ] {
            assert_eq!(found(text, lines), ["HUNTER2"], "{text}");
        }
        for text in [
            "12:30:45:67:89",
            "main.rs:12:5:error:expected",
            "a:5432:b",
            "root:x:0:0:root:/root:/bin/sh",
            "arn:aws:s3:eu:bucket",
            "00:1b:44:11:3a",
            "at 10:5432: x: y: z",
            "at 12:30:45",
            "2026-01-02T12:30:45: a:b:c:d:e",
            "see a:b:c:d:e, and a:80:c:d:e",
            "see main.rs:1200:5:error:expected",
            "see a:b:5432:c:d:e",
            "[see below]:5432:a:b:c",
            "db:5432:shop:ada:",
            "\"db:5432:shop:ada:\" is empty",
        ] {
            assert!(found(text, lines).is_empty(), "{text}");
        }
    }
}
