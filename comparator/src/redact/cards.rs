//! Payment card numbers in any text.
//!
//! A card number has 13 to 19 digits, a valid Luhn check digit, and a prefix of a payment scheme. It is found in one
//! piece, in groups separated by spaces, dashes, dots and the like, adjacent to other digits, in full-width and other
//! digits, and as a number with an exponent. (A time in milliseconds begins with 1, and no scheme does; without that
//! condition one in ten of them would be taken for a card.)

mod exponents;

use std::ops::Range;

use exponents::{exponents, with_exponent};

const MIN_DIGITS: usize = 13;
const MAX_DIGITS: usize = 19;
/// Most characters between two groups of one number: ` - `.
const MAX_GAP: usize = 3;
/// Fewest groups of a card number separated by dots or commas; fewer groups are a decimal or a list.
const MIN_DOTTED_GROUPS: usize = 3;

/// Whether a text contains a card number.
pub(super) fn any(text: &str) -> bool {
    !find(text).is_empty()
}

/// The digits of a card number that was found, however it is written.
pub(super) fn digits_of(number: &str) -> String {
    if let Some((_, digits)) = with_exponent(number) {
        return digits
            .iter()
            .map(|digit| char::from(b'0' + digit))
            .collect();
    }
    number
        .chars()
        .filter_map(digit)
        .map(|digit| char::from(b'0' + digit))
        .collect()
}

/// The decimal digit that a character stands for, in the scripts that people write numbers in.
fn digit(character: char) -> Option<u8> {
    /// The zero of each script; its other nine digits follow it.
    const ZEROS: [char; 7] = [
        '0', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{e50}', '\u{ff10}',
    ];
    if character.is_ascii() {
        return character.to_digit(10).map(|digit| digit as u8);
    }
    ZEROS.iter().find_map(|zero| {
        let digit = (character as u32).checked_sub(*zero as u32)?;
        (digit < 10).then_some(digit as u8)
    })
}

/// What separates two digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing.
    None,
    /// Spaces and dashes.
    Soft,
    /// Also characters that separate the digits of other numbers.
    Dotted,
    /// Something else.
    Break,
}

struct Digit {
    start: usize,
    end: usize,
    value: u8,
    before: Gap,
}

/// The spans of card numbers, in order and without overlap.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    // Most texts have few digits. A number with an exponent may have only two.
    if text.bytes().filter(u8::is_ascii_digit).count() < 2 && text.is_ascii() {
        return Vec::new();
    }
    let mut found = exponents(text);
    let digits = digits(text);
    if digits.len() >= MIN_DIGITS {
        let mut at = 0;
        while at < digits.len() {
            if at > 0 && digits[at].before == Gap::None {
                at += 1;
                continue;
            }
            let (card, next) = from_group(&digits, at);
            if let Some(card) = card {
                found.push(digits[card.start].start..digits[card.end - 1].end);
                at = card.end;
                // The rest of the group is not a group of its own.
                while digits
                    .get(at)
                    .is_some_and(|digit| digit.before == Gap::None)
                {
                    at += 1;
                }
            } else {
                at = next;
            }
        }
        found.sort_by_key(|range| range.start);
        found.dedup_by(|next, before| next.start < before.end);
    }
    found
}

fn digits(text: &str) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    let (mut gap, mut width) = (Gap::Break, 0);
    for (start, character) in text.char_indices() {
        if let Some(value) = digit(character) {
            digits.push(Digit {
                start,
                end: start + character.len_utf8(),
                value,
                before: gap,
            });
            (gap, width) = (Gap::None, 0);
            continue;
        }
        width += 1;
        gap = if gap == Gap::Break || width > MAX_GAP {
            Gap::Break
        } else if is_soft(character) {
            gap.max_soft()
        } else if matches!(character, '.' | ',' | '/' | '·' | '\'' | '’' | '*' | '|') {
            Gap::Dotted
        } else {
            Gap::Break
        };
    }
    digits
}

/// A space within a line, a dash, or an invisible character.
fn is_soft(character: char) -> bool {
    let dash = matches!(
        character,
        '-' | '_' | '+' | '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
    );
    dash || (character.is_whitespace() && !matches!(character, '\n' | '\r'))
}

impl Gap {
    fn max_soft(self) -> Self {
        if self == Self::Dotted {
            self
        } else {
            Self::Soft
        }
    }
}

/// The card number that begins with or within the group at `from`; otherwise where the next group begins.
fn from_group(digits: &[Digit], from: usize) -> (Option<Range<usize>>, usize) {
    let mut best = None;
    let mut next = None;
    let (mut groups, mut dotted, mut at) = (0, false, from);
    loop {
        let end = at
            + 1
            + digits[at + 1..]
                .iter()
                .take_while(|digit| digit.before == Gap::None)
                .count();
        next.get_or_insert(end);
        groups += 1;
        let parted = !dotted || groups >= MIN_DOTTED_GROUPS;
        let run = from..end;
        if parted && (MIN_DIGITS..=MAX_DIGITS).contains(&run.len()) && is_card(&digits[run.clone()])
        {
            best = Some(run.clone());
        } else if parted && best.is_none() {
            // Adjacent to other digits, at either end.
            best = [16, 15, 14]
                .into_iter()
                .flat_map(|length| {
                    [
                        run.end.checked_sub(length).map(|start| start..run.end),
                        Some(run.start..run.start + length),
                    ]
                })
                .flatten()
                .find(|window| {
                    window.start >= run.start
                        && window.end <= run.end
                        && window.len() < run.len()
                        // Otherwise it begins or ends with a group and is found as such.
                        && (window.start < next.unwrap_or(run.end) || groups == 1)
                        && is_glued_card(&digits[window.clone()])
                });
        }
        let gap = digits.get(end).map(|digit| digit.before);
        if !matches!(gap, Some(Gap::Soft | Gap::Dotted)) || end - from > MAX_DIGITS {
            break;
        }
        dotted |= gap == Some(Gap::Dotted);
        at = end;
    }
    (best, next.unwrap_or(from + 1))
}

/// Whether digits have the prefix of a scheme and the right check digit.
fn is_card(digits: &[Digit]) -> bool {
    let begin = begin(digits);
    let scheme = match digits.first().map(|digit| digit.value) {
        Some(2) => (2200..=2204).contains(&begin) || (2221..=2720).contains(&begin),
        Some(3) => matches!(begin / 100, 30 | 34..=39),
        Some(4..=6) => true,
        _ => false,
    };
    scheme && luhn(digits.iter().map(|digit| digit.value))
}

/// The same for digits with others next to them: then only the lengths that its scheme uses count.
fn is_glued_card(digits: &[Digit]) -> bool {
    let begin = begin(digits);
    let fits = match digits.len() {
        16 => {
            matches!(begin, 2200..=2204 | 2221..=2720 | 3528..=3589 | 4000..=4999 | 5100..=5599 | 6000..=6999)
        }
        15 => matches!(begin / 100, 34 | 37),
        14 => matches!(begin / 100, 30 | 36 | 38 | 39),
        _ => false,
    };
    fits && luhn(digits.iter().map(|digit| digit.value))
}

/// The first four digits as a number.
fn begin(digits: &[Digit]) -> u32 {
    let first = digits.iter().take(4);
    first.fold(0, |number, digit| number * 10 + u32::from(digit.value))
}

fn luhn(digits: impl DoubleEndedIterator<Item = u8>) -> bool {
    let sum: u32 = digits
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, u32::from(digit) * 2) {
            (0, _) => u32::from(digit),
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_found_in_every_writing_and_other_numbers_are_not() {
        let cut = |text: &str| {
            let mut out = text.to_owned();
            for range in find(text).into_iter().rev() {
                let digits = digits_of(text.get(range.clone()).unwrap_or_default()).len();
                out.replace_range(range, &format!("<{digits}>"));
            }
            out
        };
        for (text, expected) in [
            ("4111111111111111", "<16>"),
            ("pay 4111 1111 1111 1111 now", "pay <16> now"),
            ("no. 12 4111-1111-1111-1111", "no. 12 <16>"),
            ("3782 822463 10005", "<15>"),
            ("é5555555555554444é", "é<16>é"),
            ("6011000990139424,30569309025904", "<16>,<14>"),
            ("4111.1111.1111.1111", "<16>"),
            ("4111\u{a0}1111\u{202f}1111\u{2009}1111", "<16>"),
            ("4111  1111  1111  1111", "<16>"),
            ("4111 - 1111 - 1111 - 1111", "<16>"),
            ("41 11-11.11 1111 11 11", "<16>"),
            ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "<16>"),
            ("94111111111111111", "9<16>"),
            ("1004111111111111111", "100<16>"),
            ("41111111111111111226", "<16>1226"),
            ("94111 1111 1111 1111", "9<16>"),
            ("４１１１１１１１１１１１１１１１", "<16>"),
            ("٤١١١١١١١١١١١١١١١", "<16>"),
            ("4.111111111111111e15", "<16>"),
            ("x4.111111111111111E+15,", "x<16>,"),
            ("41111111111111110e-1", "<16>"),
            ("411111111111111.1e1", "<16>"),
            ("4111111111111111.0", "<16>.0"),
            ("4111111111111112", "4111111111111112"),
            ("1577934245120", "1577934245120"),
            ("9007199254740993", "9007199254740993"),
            ("4111 1111", "4111 1111"),
            ("51.507351234567,-0.1278", "51.507351234567,-0.1278"),
            ("2026-01-31 2026-02-28", "2026-01-31 2026-02-28"),
            ("2026-01-31T12:30:45.123456Z", "2026-01-31T12:30:45.123456Z"),
            ("3e8", "3e8"),
            ("", ""),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn the_digits_of_a_card_are_the_same_in_every_writing() {
        for text in [
            "4111 1111-1111.1111",
            "４１１１１１１１１１１１１１１１",
            "4.111111111111111e15",
        ] {
            assert_eq!(digits_of(text), "4111111111111111");
        }
    }
}
