//! Values that stand in for what a hash hides.
//!
//! Nothing says what a hidden value looks like, but something is known of it: it is hidden where it stands. So a value only
//! stands in if redaction would have hidden just it ([`hidden`](super::hidden) asks it to). Values of many forms are tried, with as
//! many lengths, because a rule may ask for digits, for a width, or for the end of a word, of a quoted text or of a line.

use std::collections::HashMap;
use std::ops::Range;

/// What a redacted value begins with, wherever it stands in a text.
pub(super) const HASHED: &str = "hmac:";
/// Hex digits behind it.
const HASH_DIGITS: usize = 32;
/// Stands in for the operator's key, which no record has. Only where something is hidden matters, not by which key.
pub(super) const KEY: &[u8] = b"any key hides the same as others";

/// A form of values. The number tells values apart; `is_candidate` only matters where two spellings have one hash.
pub(super) type Form = fn(number: usize, is_candidate: bool) -> String;

/// Forms of what is hidden because of what stands before it.
pub(super) const WORDS: [Form; 20] = [
    |number, _| format!("{:08}", 40_718_263 + number),
    |number, _| ((number + 3).pow(3) * 1_009).to_string(),
    |number, _| format!("-{}.5", 12 + number),
    |number, _| letters(number, 8),
    |number, _| letters(number, 3 + number % 7).to_ascii_uppercase(),
    |number, _| letters(number, 2),
    |number, _| format!("x{number:x}"),
    |number, _| format!("3f2a91c4-{:04x}-4b7e-9d10-5be0a17c44d2", number % 0xffff),
    |number, _| format!("Zm9v+{}/8aQ==", letters(number, 4)),
    |number, _| format!("a.{}_{}-z~", letters(number, 3), number),
    |number, _| format!("p@ss:{number};w,o=r&d%20#!$(x)"),
    |number, _| format!("two words {}", letters(number, 4)),
    |number, _| format!("one line\nand line {}", letters(number, 4)),
    |number, _| format!("a\"b'c<d>{}", letters(number, 4)),
    |number, _| format!("{}{}", letters(number, 9), "0aB".repeat(100)),
    // No class of ASCII letters, no usual width and no list of punctuation has these.
    |number, _| format!("M\u{fc}\u{df}{}", letters(number, 4)),
    |number, _| format!("\u{540d}\u{524d}{}\u{1f511}", letters(number, 3)),
    |number, _| letters(number, 1),
    |number, _| format!("[{{*|^?`\\{}}}]", letters(number, 4)),
    |number, _| format!("{}{}", letters(number, 9), "7fA".repeat(2_000)),
];

/// Forms of what is hidden wherever it stands.
pub(super) const SECRETS: [Form; 6] = [
    |number, _| format!("sk_live_{}4eC39HqLyjWDarjtT1", letters(number, 8)),
    |number, _| {
        format!(
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{}In0.c2lnbmF0dXJlLW9mLWl0",
            letters(number, 8)
        )
    },
    |number, _| card(number, ""),
    |number, _| card(number, " "),
    |number, is_candidate| card(number, if is_candidate { "-" } else { "" }),
    |number, _| {
        format!(
            "-----BEGIN PRIVATE KEY-----\nMIIB{}\n-----END PRIVATE KEY-----",
            letters(number, 60)
        )
    },
];

/// A number in letters, of at least this length, that is no word.
fn letters(number: usize, length: usize) -> String {
    const DIGITS: &[u8; 16] = b"kqxzvwjbhfgmprst";
    let mut text: Vec<char> = Vec::new();
    let mut rest = number;
    while rest > 0 || text.len() < length {
        text.push(char::from(DIGITS[rest % 16]));
        rest /= 16;
    }
    text.into_iter().collect()
}

/// The number of a card in groups of four.
fn card(number: usize, between: &str) -> String {
    let mut digits: Vec<u32> = format!("41111111{:07}", number % 10_000_000)
        .chars()
        .filter_map(|digit| digit.to_digit(10))
        .collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match digit * (2 - place as u32 % 2) {
            double if double > 9 => double - 9,
            double => double,
        })
        .sum();
    digits.push((10 - sum % 10) % 10);
    let groups = digits.chunks(4).map(|four| {
        let digits = four.iter().filter_map(|digit| char::from_digit(*digit, 10));
        digits.collect::<String>()
    });
    groups.collect::<Vec<_>>().join(between)
}

/// Where hashes are in a text.
pub(super) fn hashes(text: &str) -> Vec<Range<usize>> {
    let found = text.match_indices(HASHED);
    found
        .map(|(start, mark)| {
            let begin = start + mark.len();
            let rest = text.get(begin..).unwrap_or_default();
            let digits = rest.bytes().take(HASH_DIGITS);
            start..begin + digits.take_while(u8::is_ascii_hexdigit).count()
        })
        .collect()
}

/// Whether every hash in a text is one that redaction wrote.
pub(super) fn are_whole(text: &str) -> bool {
    let whole = HASHED.len() + HASH_DIGITS;
    hashes(text).iter().all(|span| span.len() == whole)
}

/// A text with other values in place of its hashes.
pub(super) fn filled(text: &str, values: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for span in hashes(text) {
        out.push_str(text.get(copied..span.start).unwrap_or_default());
        let hash = text.get(span.clone()).unwrap_or_default();
        out.push_str(values.get(hash).map_or(hash, String::as_str));
        copied = span.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// A text in which all hashes are the same.
pub(super) fn without_hashes(text: &str) -> String {
    let alike = |span: Range<usize>| (text.get(span).unwrap_or_default(), HASHED.to_owned());
    let values: HashMap<&str, String> = hashes(text).into_iter().map(alike).collect();
    filled(text, &values)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn values_of_a_form_are_told_apart_and_cards_are_cards() {
        for (index, form) in WORDS.iter().chain(&SECRETS).enumerate() {
            let values: HashSet<String> = (0..200).map(|number| form(number, false)).collect();
            assert_eq!(values.len(), 200, "form {index}");
        }
        assert_eq!(card(1, ""), "4111111100000010".to_owned());
        assert_eq!(card(1, " "), "4111 1111 0000 0010");
    }

    #[test]
    fn hashes_are_found_and_replaced_and_nothing_else() {
        let hash = format!("hmac:{}", "0a".repeat(16));
        let text = format!("token {hash}, {hash}. hmac:12 hmac: end");
        assert_eq!(hashes(&text).len(), 4);
        assert!(!are_whole(&text) && are_whole(&hash));
        let values = [(hash.as_str(), "x".to_owned())].into();
        assert_eq!(filled(&text, &values), "token x, x. hmac:12 hmac: end");
        assert_eq!(without_hashes(&format!("a {hash} b")), "a hmac: b");
    }
}
