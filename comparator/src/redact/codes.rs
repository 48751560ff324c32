//! Finds codes to log in that a message tells: `Your code: 493817`, `the code is 493817`, `493817 is your code`.
//!
//! A code is most often that of an error, a country or a product, so it counts only where a message speaks to somebody of
//! theirs, or tells just this. Names that say more (`verification code`) are secret ones anyway.

use std::ops::Range;

use super::name_value::Name;

/// Digits of a code that a message calls the reader's.
const YOURS: std::ops::RangeInclusive<usize> = 4..=8;
/// Digits of one that it only tells: codes of errors have fewer.
const TOLD: std::ops::RangeInclusive<usize> = 6..=8;
/// Words before `code` for what the reader has and everybody knows.
const KNOWN: [&str; 24] = [
    "area",
    "bar",
    "booking",
    "country",
    "coupon",
    "currency",
    "discount",
    "error",
    "exit",
    "fare",
    "language",
    "order",
    "postal",
    "postcode",
    "product",
    "promo",
    "promotion",
    "qr",
    "reference",
    "response",
    "source",
    "status",
    "tracking",
    "zip",
];
/// Words before `code` that say nothing of which one it is.
const PLAIN: [&str; 6] = ["the", "this", "my", "new", "following", "use"];
/// Words for what a name or a message calls the reader's.
const THEIRS: [&str; 10] = [
    "your", "yours", "dein", "deine", "ihr", "ihre", "votre", "ton", "tu", "su",
];
/// The same before a code that was told.
const THEIRS_BEFORE: [&str; 6] = ["your", "dein", "ihr", "votre", "tu", "su"];
/// Numbers that allow one transaction of a bank. In small letters a tan is a colour.
const TRANSACTION: [&str; 5] = ["TAN", "mTAN", "smsTAN", "pushTAN", "chipTAN"];
/// Words before what is to be entered …
const ENTER: [&str; 3] = ["enter ", "use ", "type "];
/// … and behind it.
const TO_LOG_IN: [&str; 7] = [
    " to log in",
    " to login",
    " to log on",
    " to sign in",
    " to verify",
    " to unlock",
    " to confirm",
];
/// Words between `code` and its digits.
const VERBS: [&str; 6] = ["is", "was", "lautet", "ist", "est", "es"];
/// Words between digits and whose code they are: `use 493817 as your code`.
const VERBS_AFTER: [&str; 6] = ["is", "was", "as", "ist", "est", "es"];
/// What a message calls a code that it told before.
const CODES: [&str; 6] = ["code", "codigo", "otp", "passcode", "password", "pin"];
/// Most words between `your` and that: `your Example account verification code`.
const MAX_BETWEEN: usize = 3;
/// Words before `code` for one to log in, where a message does not say whose it is.
const LOGIN: [&str; 8] = [
    "access",
    "authentication",
    "confirmation",
    "login",
    "one-time",
    "security",
    "sign-in",
    "verification",
];
/// Longest text that is looked at before and behind `your`.
const MAX_BYTES: usize = 64;

/// The digits of the code that the text behind `name` tells, if that is the word `code` or its like.
pub(super) fn told(text: &str, name: &Name) -> Option<Range<usize>> {
    let word = text.get(name.span.clone())?;
    let is_transaction = TRANSACTION.contains(&word);
    let is_code = ["code", "codigo", "código"]
        .iter()
        .any(|code| word.eq_ignore_ascii_case(code));
    if !is_code && !is_transaction {
        return None;
    }
    let before = text.get(name.phrase..name.span.start)?.to_ascii_lowercase();
    let before: Vec<&str> = before.split_whitespace().collect();
    let last = before.last().copied();
    if last.is_some_and(|last| KNOWN.contains(&last)) {
        return None;
    }
    let rest = text.get(name.span.end..)?;
    let signed = rest.trim_start_matches([' ', '\t', '\u{a0}']);
    let colon = signed.strip_prefix(':');
    let after = colon.unwrap_or(signed).trim_start();
    let verb = VERBS.iter().find_map(|verb| {
        let rest = after.strip_prefix(verb)?;
        rest.starts_with([' ', ':', '\u{a0}']).then_some(rest)
    });
    let value = verb
        .unwrap_or(after)
        .trim_start_matches([' ', ':', '\u{a0}']);
    let from = text.len() - value.len();
    let (length, digits) = code(value)?;
    let is_theirs = before.iter().any(|word| THEIRS.contains(word));
    let is_plain = last.is_none_or(|last| PLAIN.contains(&last)) && verb.is_some();
    (is_transaction && TOLD.contains(&digits)
        || (is_theirs && YOURS.contains(&digits))
        || (is_plain && TOLD.contains(&digits)))
    .then_some(from..from + length)
}

/// The digits of codes that stand before what they are: `493817 is your code`.
pub(super) fn told_before(text: &str) -> Vec<Range<usize>> {
    let has = |word: &str| {
        let bytes = text.as_bytes().windows(word.len());
        bytes
            .into_iter()
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    if !text.bytes().any(|sign| sign.is_ascii_digit()) || !CODES.iter().any(|code| has(code)) {
        return Vec::new();
    }
    // Bytes keep their places.
    let lower = text.to_ascii_lowercase();
    let spans = THEIRS_BEFORE.into_iter().chain(["the"]).flat_map(|whose| {
        let found = lower.match_indices(whose);
        let begins = |at: usize| {
            lower
                .get(..at)
                .is_some_and(|it| it.ends_with([' ', '\u{a0}']))
        };
        let found = found.filter(move |(at, _)| begins(*at));
        let lower = &lower;
        found.filter_map(move |(at, _)| {
            let after = lower.get(at + whose.len()..)?;
            let after = after.get(..after.floor_char_boundary(MAX_BYTES))?;
            let from = text.ceil_char_boundary(at.saturating_sub(MAX_BYTES));
            let digits = names_a_code(after, whose != "the")?;
            let span = code_before(text.get(from..at)?, &digits)?;
            Some(from + span.start..from + span.end)
        })
    });
    spans.collect()
}

/// What a message says is to be entered: `Enter 493817 to log in`, `Use aB3xY9 to sign in`. A word is no code: somebody may use an
/// account or a phone to sign in.
pub(super) fn to_enter(text: &str) -> Vec<Range<usize>> {
    if !text.bytes().any(|sign| sign.is_ascii_digit()) {
        return Vec::new();
    }
    // Bytes keep their places.
    let lower = text.to_ascii_lowercase();
    let spans = TO_LOG_IN.into_iter().flat_map(|behind| {
        let found = lower.match_indices(behind);
        found.filter_map(|(end, _)| {
            let from = text.ceil_char_boundary(end.saturating_sub(MAX_BYTES));
            let before = lower.get(from..end)?;
            let begin = before.rfind(' ').map_or(0, |at| at + 1);
            let quotes = |sign: char| "\"'`*()“”".contains(sign);
            let written = text.get(from + begin..end)?;
            let told = written.trim_start_matches(quotes);
            let start = end - told.len();
            let told = told.trim_end_matches(quotes);
            let asks = before.get(..begin)?;
            let asks = ENTER.iter().any(|enter| asks.ends_with(enter));
            (asks && is_to_enter(told)).then_some(start..start + told.len())
        })
    });
    spans.collect()
}

/// Whether a word is a number of the length of a code, or has letters of both cases and digits that are not at its end, as no
/// name of a program has.
fn is_to_enter(word: &str) -> bool {
    const MIXED: std::ops::RangeInclusive<usize> = 6..=32;
    let is_number =
        code(word).is_some_and(|(length, digits)| length == word.len() && YOURS.contains(&digits));
    let name = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let has = |test: fn(&u8) -> bool| name.bytes().any(|sign| test(&sign));
    let mixed = name.bytes().all(|sign| sign.is_ascii_alphanumeric())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase);
    is_number || (mixed && MIXED.contains(&word.len()))
}

/// How many digits a code has that is called like this, if the text behind `your` or `the` names one.
fn names_a_code(after: &str, is_theirs: bool) -> Option<std::ops::RangeInclusive<usize>> {
    let words = after.strip_prefix([' ', '\u{a0}'])?.split_whitespace();
    let mut last = None;
    for word in words.take(MAX_BETWEEN + 1) {
        let name = word.trim_end_matches(|sign: char| ".,:;!?)\"'".contains(sign));
        if CODES.contains(&name) {
            return match (is_theirs, last) {
                (true, None) => Some(YOURS),
                (true, Some(last)) => (!KNOWN.contains(&last)).then_some(YOURS),
                (_, None) => Some(TOLD),
                (_, Some(last)) => LOGIN.contains(&last).then_some(TOLD),
            };
        }
        // Another sentence.
        if name.len() < word.len() {
            return None;
        }
        last = Some(name);
    }
    None
}

/// The code in a text that ends with `493817 is `.
fn code_before(text: &str, allowed: &std::ops::RangeInclusive<usize>) -> Option<Range<usize>> {
    let said = text.trim_end_matches([' ', '\u{a0}']);
    let verb = said.rsplit([' ', '\u{a0}']).next()?;
    if said.len() == text.len()
        || !VERBS_AFTER
            .iter()
            .any(|known| verb.eq_ignore_ascii_case(known))
    {
        return None;
    }
    let quotes = |sign: char| " \u{a0}\"'`*()“”".contains(sign);
    let told = said
        .get(..said.len() - verb.len())?
        .trim_end_matches(quotes);
    // One word, or two halves.
    let starts = told.rmatch_indices(|sign: char| sign.is_whitespace() || quotes(sign));
    let mut starts: Vec<usize> = starts.take(2).map(|(at, sign)| at + sign.len()).collect();
    starts.push(0);
    starts.truncate(2);
    // The longer one.
    starts.into_iter().rev().find_map(|from| {
        let (length, digits) = code(told.get(from..)?)?;
        (from + length == told.len() && allowed.contains(&digits)).then_some(from..told.len())
    })
}

/// The length of the code with which a text begins, and how many digits it has: `493817`, `493-817`, `G-493817`.
fn code(text: &str) -> Option<(usize, usize)> {
    let (mut digits, mut length) = (0, 0);
    let prefix = text
        .strip_prefix(|letter: char| letter.is_ascii_uppercase())
        .and_then(|rest| rest.strip_prefix('-'))
        .map_or(0, |rest| text.len() - rest.len());
    for (at, sign) in text.get(prefix..)?.char_indices() {
        match sign {
            '0'..='9' => {
                digits += 1;
                length = prefix + at + 1;
            }
            // Between two halves.
            '-' | ' ' if digits == 3 && length == prefix + at => {}
            _ => break,
        }
    }
    let after = text.get(length..)?.chars().next();
    // A number goes on: an amount, a date, a version.
    let ends = !after.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    let goes_on = text.get(length..)?.chars().nth(1);
    let is_decimal = after.is_some_and(|sign| ".,:-/".contains(sign))
        && goes_on.is_some_and(|sign| sign.is_ascii_digit());
    (digits > 0 && ends && !is_decimal).then_some((length, digits))
}
