//! Recognizes numbers and dates as people of different languages write them: `1.234,56 €` and `€1,234.56`, `3 mars 2026`
//! and `March 3, 2026`.

use unicode_normalization::UnicodeNormalization;

use crate::instant::Instant;
use crate::notation::number::{Decimal, same_decimal};

/// Longest text that is read: a date in words, or an amount with its currency.
const MAX_TEXT_BYTES: usize = 64;
/// Fewest digits of a number: one digit is the same by chance.
const MIN_DIGITS: usize = 2;
/// Shortest beginning that stands for a month.
const MIN_MONTH_LETTERS: usize = 3;

/// The months in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish and Polish, without marks on the
/// letters.
const MONTHS: [&[&str]; 12] = [
    &[
        "january", "januar", "janvier", "enero", "gennaio", "janeiro", "januari", "stycznia",
    ],
    &[
        "february",
        "februar",
        "fevrier",
        "febrero",
        "febbraio",
        "fevereiro",
        "februari",
        "lutego",
    ],
    &[
        "march", "marz", "mars", "marzo", "marco", "maart", "marca", "mrz",
    ],
    &["april", "avril", "abril", "aprile", "kwietnia"],
    &["may", "mai", "mayo", "maggio", "maio", "mei", "maj", "maja"],
    &[
        "june", "juni", "juin", "junio", "giugno", "junho", "czerwca",
    ],
    &[
        "july", "juli", "juillet", "julio", "luglio", "julho", "lipca",
    ],
    &[
        "august", "aout", "agosto", "augustus", "augusti", "sierpnia",
    ],
    &[
        "september",
        "septembre",
        "septiembre",
        "settembre",
        "setembro",
        "wrzesnia",
    ],
    &[
        "october",
        "oktober",
        "octobre",
        "octubre",
        "ottobre",
        "outubro",
        "pazdziernika",
    ],
    &["november", "novembre", "noviembre", "novembro", "listopada"],
    &[
        "december",
        "dezember",
        "decembre",
        "diciembre",
        "dicembre",
        "dezembro",
        "grudnia",
    ],
];
/// Words that stand between the parts of a date and mean nothing.
const FILLERS: [&str; 10] = [
    "of", "the", "de", "del", "den", "le", "at", "a", "um", "uhr",
];

/// Whether two different texts are one number or one date.
pub(super) fn same_texts(one: &[u8], two: &[u8]) -> bool {
    let (Some(one), Some(two)) = (readable(one), readable(two)) else {
        return false;
    };
    // Two times that can be read were compared before.
    let instant = |text: &str| Instant::parse(text.as_bytes()).is_some();
    same_amount(one, two) || !(instant(one) && instant(two)) && same_date(one, two)
}

/// Whether a text is a JSON number as people write it.
pub(super) fn same_number(text: &[u8], number: &[u8]) -> bool {
    readable(text)
        .and_then(Amount::parse)
        .is_some_and(|amount| {
            amount.unit.is_empty() && same_decimal(amount.number.as_bytes(), number)
        })
}

fn readable(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    (text.len() <= MAX_TEXT_BYTES).then_some(text)
}

fn same_amount(one: &str, two: &str) -> bool {
    let (Some(one), Some(two)) = (Amount::parse(one), Amount::parse(two)) else {
        return false;
    };
    one.unit == two.unit && same_decimal(one.number.as_bytes(), two.number.as_bytes())
}

/// A number with its unit.
struct Amount {
    /// As a JSON number.
    number: String,
    /// What stands before and after the digits but for a sign, without spaces.
    unit: String,
}

impl Amount {
    /// Refuses what is another number in another language: `1.234` is a thousand or one, and a fault by a thousand must not
    /// look like a spelling.
    fn parse(text: &str) -> Option<Self> {
        let first = text.find(|letter: char| letter.is_ascii_digit())?;
        let last = text.rfind(|letter: char| letter.is_ascii_digit())?;
        let (before, rest) = text.split_at(first);
        let (digits, after) = rest.split_at(last + 1 - first);
        if digits.bytes().filter(u8::is_ascii_digit).count() < MIN_DIGITS {
            return None;
        }
        let mut negative = false;
        let mut unit = String::new();
        for letter in before.chars().chain(after.chars()) {
            match letter {
                '-' | '\u{2212}' => negative = true,
                space if space.is_whitespace() => {}
                other => unit.push(other),
            }
        }
        let number = match ['.', ','].map(|point| read(digits, point, negative)) {
            [Some(one), Some(two)] => (one == two).then_some(one)?,
            [one, two] => one.or(two)?,
        };
        Some(Self { number, unit })
    }
}

/// Reads digits with this sign before the decimals; all others must part groups of three.
fn read(digits: &str, point: char, negative: bool) -> Option<String> {
    const GROUP: usize = 3;
    let (whole, decimals) = digits.split_once(point).unwrap_or((digits, ""));
    if !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_parting =
        |letter: &char| matches!(letter, '.' | ',' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}');
    let parting = whole.chars().find(|letter| !letter.is_ascii_digit());
    let joined = match parting {
        None => whole.to_owned(),
        Some(parting) if is_parting(&parting) => {
            let mut groups = whole.split(parting);
            let first = groups
                .next()
                .filter(|first| (1..=GROUP).contains(&first.len()))?;
            let rest: Vec<&str> = groups.collect();
            if !rest.iter().all(|group| group.len() == GROUP) {
                return None;
            }
            std::iter::once(first).chain(rest).collect()
        }
        Some(_) => return None,
    };
    let sign = if negative { "-" } else { "" };
    let significant = joined.trim_start_matches('0');
    let whole = if significant.is_empty() {
        "0"
    } else {
        significant
    };
    let number = match decimals {
        "" => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{decimals}"),
    };
    Decimal::parse(number.as_bytes()).map(|_| number)
}

/// Whether both name the same month, and otherwise have the same numbers and words.
fn same_date(one: &str, two: &str) -> bool {
    match (parts_of_date(one), parts_of_date(two)) {
        (Some(one), Some(two)) => one == two,
        _ => false,
    }
}

/// The month of a date in words, then its other parts in their order; `None` without a month and a number.
fn parts_of_date(text: &str) -> Option<Vec<String>> {
    // Most texts end here, before they cost memory.
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let plain: String = text
        .nfd()
        .filter(|letter| !unicode_normalization::char::is_combining_mark(*letter))
        .flat_map(char::to_lowercase)
        .collect();
    let (mut months, mut numbers) = (0, 0);
    let mut parts = vec![String::new()];
    for word in plain.split(|letter: char| !letter.is_alphanumeric()) {
        if word.is_empty() || FILLERS.contains(&word) {
            continue;
        }
        if let Some(month) = month(word) {
            months += 1;
            // Languages differ in where it stands. All else keeps its place, or a day would be a year.
            parts[0] = format!("month {month}");
        } else if let Some(number) = ordinal(word) {
            numbers += 1;
            parts.push(number.to_owned());
        } else {
            parts.push(word.to_owned());
        }
    }
    (months == 1 && numbers > 0).then_some(parts)
}

/// The number of a day or a year, without leading zeros: `03`, `3rd`, `1er`.
fn ordinal(word: &str) -> Option<&str> {
    let end = word
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    let is_ending = matches!(rest, "" | "st" | "nd" | "rd" | "th" | "er" | "e" | "o");
    (!digits.is_empty() && is_ending).then(|| digits.trim_start_matches('0'))
}

/// The month that a word is or begins, if there is one only.
fn month(word: &str) -> Option<usize> {
    let mut found = (0..MONTHS.len()).filter(|month| MONTHS[*month].contains(&word));
    if let Some(exact) = found.next() {
        return Some(exact);
    }
    if word.len() < MIN_MONTH_LETTERS || !word.is_ascii() {
        return None;
    }
    let begun = |month: &usize| MONTHS[*month].iter().any(|name| name.starts_with(word));
    let mut months = (0..MONTHS.len()).filter(begun);
    months.next().filter(|_| months.next().is_none())
}
