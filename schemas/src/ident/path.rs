//! Recognizes values among segments of paths; see [`super`] for why this is less cautious than for keys.

use super::{HEX_BYTES, Letters, is_name_of_standard, is_value_as_key};

/// Names with so many digits that they would be mistaken for values: processors, codecs, quantiles, algorithms, a
/// language.
const NAMES: [&str; 24] = [
    "x86", "x64", "h264", "h265", "p50", "p75", "p90", "p95", "p99", "p999", "es256", "es384",
    "es512", "hs256", "hs384", "hs512", "ps256", "ps384", "ps512", "rs256", "rs384", "rs512",
    "es-419", "k8s",
];
/// Suffixes of version numbers.
const LABELS: [&str; 8] = [
    "alpha", "beta", "rc", "preview", "dev", "snapshot", "a", "b",
];
/// Words for things that people number by hand.
pub(super) const STEPS: [&str; 47] = [
    "step", "page", "part", "phase", "stage", "level", "tier", "chapter", "section", "slide",
    "tab", "round", "act", "season", "episode", "volume", "day", "week", "month", "quarter", "q",
    "h", "version", "ver", "rev", "revision", "v", "gen", "top", "last", "next", "first", "line",
    "column", "row", "option", "plan", "layer", "mode", "web", "http", "oauth", "tls", "base",
    "covid", "formula", "mp",
];
/// Most digits after such a word; longer numbers are ids.
const STEP_DIGITS: usize = 2;
/// Most digits between the dots of a version, which may be a year.
const VERSION_DIGITS: usize = 4;
/// Digits of a number in the name of a standard.
const STANDARD_DIGITS: usize = 5;
/// Numbers in the name of a standard.
const STANDARD_NUMBERS: usize = 3;
/// Shortest word after the number of a standard; a shorter one is part of a hash.
const STANDARD_WORD_BYTES: usize = 3;
/// Least length of what follows a year, with its separators: `2024-report`. Something shorter is a code (`2024-eur`).
const YEARLY_WORD_BYTES: usize = 4;
/// This many digits make a segment a value, wherever they are.
const SEGMENT_DIGITS: usize = 4;
/// A segment of at least this many bytes that has a digit or mixed case counts as a token.
const LONG_SEGMENT_BYTES: usize = 24;
/// Shortest token after a word in a path.
const SHORT_TOKEN_BYTES: usize = 6;
/// This many digits after several words make a value.
const SEVERAL_WORDS_DIGITS: usize = 3;

/// Whether a segment of a path, still percent-encoded, is a value rather than a name.
pub fn is_value_in_path(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let odd = bytes
        .iter()
        .any(|byte| !(byte.is_ascii_alphanumeric() || b"-_.~".contains(byte)));
    if odd {
        return true;
    }
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let mixed =
        bytes.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase);
    let long = bytes.len() >= LONG_SEGMENT_BYTES && (digits > 0 || mixed);
    if digits == 0 || is_known_name(segment) {
        return long;
    }
    let hex = bytes
        .iter()
        .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    digits * 2 > bytes.len()
        || digits >= SEGMENT_DIGITS
        || (hex && bytes.len() >= HEX_BYTES)
        || long
        || is_counted(segment)
        || is_value_as_key(segment)
}

/// A name with digits in it.
fn is_known_name(segment: &str) -> bool {
    let known = NAMES.iter().any(|name| name.eq_ignore_ascii_case(segment));
    known || is_version(segment) || is_standard(segment) || is_step(segment) || is_of_year(segment)
}

/// `v1`, `v1.2`, `v2-beta`, `v1beta1`, `v10.0.3`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix(['v', 'V']) else {
        return false;
    };
    let mut labels = 0;
    rest.starts_with(|first: char| first.is_ascii_digit())
        && runs(rest).all(|run| match run {
            Run::Digits(digits) => digits.len() <= VERSION_DIGITS,
            Run::Letters(label) => {
                labels += 1;
                labels == 1 && LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
            }
            Run::Separator => true,
        })
}

/// `utf-8`, `sha256`, `iso-8859-15`, `iso3166_1_alpha2`, but no hash behind such a name.
fn is_standard(segment: &str) -> bool {
    let mut runs = runs(segment);
    let first = runs.next();
    let named = matches!(first, Some(Run::Letters(word)) if is_name_of_standard(word));
    let mut numbers = 0;
    let short = runs.all(|run| match run {
        Run::Digits(digits) => {
            numbers += 1;
            digits.len() <= STANDARD_DIGITS
        }
        Run::Letters(word) => word.len() >= STANDARD_WORD_BYTES,
        Run::Separator => true,
    });
    named && short && (1..=STANDARD_NUMBERS).contains(&numbers)
}

/// `step-2`, `page_10`.
fn is_step(segment: &str) -> bool {
    let mut runs = runs(segment);
    matches!(
        [runs.next(), runs.next(), runs.next(), runs.next()],
        [Some(Run::Letters(word)), Some(Run::Separator), Some(Run::Digits(digits)), None]
            if digits.len() <= STEP_DIGITS && STEPS.iter().any(|step| step.eq_ignore_ascii_case(word))
    )
}

/// `2024-report`: a name with a year.
fn is_of_year(segment: &str) -> bool {
    let (year, rest) = segment.split_at_checked(4).unwrap_or_default();
    let is_year = year.starts_with("19") || year.starts_with("20");
    let mut runs = runs(rest);
    let separated = matches!(runs.next(), Some(Run::Separator));
    is_year
        && year.bytes().all(|byte| byte.is_ascii_digit())
        && separated
        && rest.len() > YEARLY_WORD_BYTES
        && runs.all(|run| match run {
            Run::Digits(_) => false,
            Run::Letters(word) => word.bytes().all(|byte| byte.is_ascii_lowercase()),
            Run::Separator => true,
        })
}

/// A number or random text after a word: `acc_129`, `usr-7`, `tok_9f86d0`. After several words (`best-of-2`), only a
/// number that is too large to be counted by hand.
fn is_counted(segment: &str) -> bool {
    let Some((words, tail)) = segment.rsplit_once(['-', '_']) else {
        return false;
    };
    let all_letters =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut count = 0;
    if !words.split(['-', '_']).all(|word| {
        count += 1;
        all_letters(word)
    }) {
        return false;
    }
    let letters = Letters::of(tail);
    if letters.digits == tail.len() {
        let least = if count == 1 { 1 } else { SEVERAL_WORDS_DIGITS };
        return letters.digits >= least;
    }
    count == 1
        && letters.other == 0
        && tail.len() >= SHORT_TOKEN_BYTES
        && letters.digits >= 2
        && letters.turns >= 2
}

/// A run of characters of one kind.
enum Run<'a> {
    Digits(&'a str),
    Letters(&'a str),
    Separator,
}

fn runs(mut text: &str) -> impl Iterator<Item = Run<'_>> {
    std::iter::from_fn(move || {
        let first = text.bytes().next()?;
        let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
        let length = text
            .bytes()
            .take_while(|byte| kind(*byte) == kind(first))
            .count();
        let (run, rest) = text.split_at_checked(length)?;
        text = rest;
        Some(match kind(first) {
            (true, _) => Run::Digits(run),
            (_, true) => Run::Letters(run),
            _ => Run::Separator,
        })
    })
}
