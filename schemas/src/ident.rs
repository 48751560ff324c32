//! Recognizes words that are values rather than names, among keys of objects and segments of paths.
//!
//! `{"acc-1001": …, "acc-1002": …}` is a map, and a difference that occurs in all of its values is one group;
//! `/accounts/acc-1001` is the same route as all other accounts. Decided by the word alone, without state, so that
//! every instance and version gives routes and groups the same names.
//!
//! Keys are judged more cautiously than segments. A field name that is mistaken for a value hides the field, so a key
//! that might be a name is one (`address2`, `iso-8601`, `thumb_1024`, `line_10`). A segment that is mistaken for a name
//! creates a route for each value, so a numbered word is a value from its first digit on (`acc_129`, `usr_7`), unless
//! it is a known kind of name: versions, standards, and things that people number by hand (`v1.2`, `utf-8`, `step-2`).
//! Rules with `*` for keys, and `[[route]]`, apply in addition.

mod path;

pub use path::is_value_in_path;

/// First words of names of standards, which end in a number.
const STANDARDS: [&str; 9] = [
    "cp", "ieee", "iso", "rfc", "rsa", "sha", "utf", "windows", "din",
];
/// Digits after `word-` that make it an id; names that people number have fewer (`line-2`, `sha-256`).
const ID_DIGITS: usize = 4;
/// Digits after `word_` that make it an id. More than after `-`, because names in snake case contain years and sizes
/// (`total_2026`, `thumb_1024`).
const SNAKE_DIGITS: usize = 5;
/// Leading digits of a date, or of a number with a suffix; names have fewer (`2fa_enabled`, `24h_volume`).
const LEADING_DIGITS: usize = 4;
/// Shortest hash; `1a2b3c4d` is what version control shows.
const HEX_BYTES: usize = 8;
/// At this length, hex digits are a hash. In a shorter one letters and digits must alternate, because `cafe2024` is a
/// name.
const LONG_HEX_BYTES: usize = 16;
/// Shortest token (ULID, KSUID, nano id, base58, …) that stands alone.
const TOKEN_BYTES: usize = 16;
/// Shortest token behind a prefix, as in `cus_9s6XKzkNRiz8i3`.
const PREFIXED_TOKEN_BYTES: usize = 8;
/// In a token of mixed case, at least this percentage of neighbouring characters are of different kinds (upper, lower,
/// digit). In random text it is 62, in camel case (`averageLatencyP99Last30Days`) 35.
const MIXED_TURNS_PERCENT: usize = 45;

/// Whether a key of an object is a value rather than the name of a field.
pub fn is_value_as_key(key: &str) -> bool {
    is_number(key)
        || ends_in_uuid(key)
        || is_address(key)
        || begins_with_number(key)
        || segments(key).any(|segment| segment.is_id())
}

/// Numbers, dates, times, IP addresses, coordinates: digits, and what stands between digits.
fn is_number(key: &str) -> bool {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key).as_bytes();
    let ends = [digits.first(), digits.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_digit))
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"-._:/+, ".contains(byte))
}

/// Also `urn:uuid:…` and `user-…`.
fn ends_in_uuid(key: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    const LENGTH: usize = 36;
    let key = key.strip_suffix('}').unwrap_or(key).as_bytes();
    let Some((before, uuid)) = key.len().checked_sub(LENGTH).map(|at| key.split_at(at)) else {
        return false;
    };
    before
        .last()
        .is_none_or(|byte| !byte.is_ascii_alphanumeric())
        && uuid.iter().enumerate().all(|(at, byte)| {
            if DASHES.contains(&at) {
                *byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// Of mail, or of a network interface (IPv6, MAC).
fn is_address(key: &str) -> bool {
    if let Some((name, host)) = key.split_once('@') {
        return !name.is_empty() && host.contains('.') && !key.contains(' ');
    }
    key.matches(':').count() >= 2
        && key.bytes().any(|byte| byte.is_ascii_digit())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte))
}

/// `2026-01-31T00:00:00Z`, `20260131T000000Z`, `2026Q1`, `1001-eur`.
fn begins_with_number(key: &str) -> bool {
    let bytes = key.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let next = |at: usize| bytes.get(digits + at).copied();
    digits >= LEADING_DIGITS
        && match next(0) {
            Some(b'T' | b'Q' | b'W') => next(1).is_some_and(|byte| byte.is_ascii_digit()),
            Some(byte) => byte.is_ascii() && !byte.is_ascii_alphanumeric(),
            None => true,
        }
}

/// A run of letters and digits within a key.
struct Segment<'a> {
    text: &'a str,
    /// What stands before it; `None` for the first.
    separator: Option<u8>,
    /// The key is the name of a standard.
    standard: bool,
}

fn is_name_of_standard(word: &str) -> bool {
    STANDARDS.iter().any(|name| name.eq_ignore_ascii_case(word))
}

fn segments(key: &str) -> impl Iterator<Item = Segment<'_>> {
    let splits = |character: char| character.is_ascii() && !character.is_ascii_alphanumeric();
    let first = key.split(splits).next().unwrap_or_default();
    let standard = is_name_of_standard(first);
    let mut at = 0_usize;
    key.split(splits).map(move |text| {
        let separator = at.checked_sub(1).map(|before| key.as_bytes()[before]);
        at += text.len() + 1;
        Segment {
            text,
            separator,
            standard,
        }
    })
}

impl Segment<'_> {
    fn is_id(&self) -> bool {
        let letters = Letters::of(self.text);
        if letters.other > 0 || letters.digits == 0 {
            return false;
        }
        if letters.digits == self.text.len() {
            let wanted = match self.separator {
                // The key as a whole is no number, so a word follows.
                None => return false,
                Some(b':' | b'#' | b'/' | b'=') => 1,
                Some(b'_' | b' ') => SNAKE_DIGITS,
                Some(_) => ID_DIGITS,
            };
            return !self.standard && letters.digits >= wanted;
        }
        self.is_hash(&letters) || self.is_token(&letters)
    }

    fn is_hash(&self, letters: &Letters) -> bool {
        if let Some(hex) = self.text.strip_prefix("0x") {
            return hex.len() >= HEX_BYTES && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        }
        self.text.len() >= HEX_BYTES
            && letters.digits >= 2
            && self.text.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (self.text.len() >= LONG_HEX_BYTES || letters.turns >= 2)
    }

    fn is_token(&self, letters: &Letters) -> bool {
        let shortest = match self.separator {
            None => TOKEN_BYTES,
            Some(_) => PREFIXED_TOKEN_BYTES,
        };
        if self.text.len() < shortest || letters.digits < 2 {
            return false;
        }
        match (letters.upper, letters.lower) {
            // Article numbers: `sku-AB12CD34`.
            (_, 0) => letters.turns >= 3,
            (0, _) => letters.turns >= 4 && letters.digits >= 3,
            (upper, lower) => {
                upper >= 2
                    && lower >= 2
                    && letters.turns * 100 >= MIXED_TURNS_PERCENT * (self.text.len() - 1)
            }
        }
    }
}

/// What a segment consists of.
#[derive(Default)]
struct Letters {
    digits: usize,
    upper: usize,
    lower: usize,
    other: usize,
    /// Neighbours of two kinds.
    turns: usize,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Self::default();
        let mut before = None;
        for byte in text.bytes() {
            let kind = match byte {
                b'0'..=b'9' => 0,
                b'A'..=b'Z' => 1,
                b'a'..=b'z' => 2,
                _ => 3,
            };
            *[
                &mut letters.digits,
                &mut letters.upper,
                &mut letters.lower,
                &mut letters.other,
            ][kind] += 1;
            letters.turns += usize::from(before.is_some_and(|before| before != kind));
            before = Some(kind);
        }
        letters
    }
}

#[cfg(test)]
mod tests;
