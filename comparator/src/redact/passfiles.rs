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
    let mut spans: Vec<Range<usize>> = Vec::new();
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

/// The passwords of lines `host:port:database:user:password`.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let from = start;
        start += line.len();
        let line = line.trim_end();
        let fields = fields(line);
        let [host, port, database, user, password] = fields.as_slice() else {
            continue;
        };
        let of = |span: &Range<usize>| line.get(span.clone()).unwrap_or_default();
        let is_port = of(port) == "*"
            || of(port)
                .parse::<u32>()
                .is_ok_and(|port| PORTS.contains(&port));
        // The escape of a colon is part of a name.
        let is_name = |span: &Range<usize>| {
            let name = of(span);
            name == "*"
                || (name.contains(char::is_alphabetic)
                    && name
                        .chars()
                        .all(|sign| sign.is_alphanumeric() || "._-/\\:".contains(sign)))
        };
        let of_digits = |sign: char| sign.is_ascii_digit() || sign == '.';
        let is_host = is_name(host) || (of(host).contains('.') && of(host).chars().all(of_digits));
        if is_port && is_host && is_name(database) && is_name(user) && !password.is_empty() {
            spans.push(from + password.start..from + password.end);
        }
    }
    spans
}

/// The fields of a line, parted by colons that no backslash precedes; nothing if there are more than five.
fn fields(line: &str) -> Vec<Range<usize>> {
    const FIELDS: usize = 5;
    let mut fields = Vec::new();
    let (mut from, mut escaped) = (0, false);
    for (at, sign) in line.char_indices() {
        if sign == ':' && !escaped {
            if fields.len() == FIELDS {
                return Vec::new();
            }
            fields.push(from..at);
            from = at + 1;
        }
        escaped = sign == '\\' && !escaped;
    }
    fields.push(from..line.len());
    fields
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
        ] {
            assert!(found(text, lines).is_empty(), "{text}");
        }
    }
}
