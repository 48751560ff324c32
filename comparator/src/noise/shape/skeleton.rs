//! A text without what may differ by chance in it.

use super::form::{run, value_at};
use super::length_class;
use super::letters::{self, Reading};

/// Shortest word within a text that is taken for an id when letters and digits are mixed in it.
pub(super) const SHORTEST_ID: usize = 8;
/// What stands for an id in a skeleton.
pub(super) const ID: &str = "<id>";

/// A text with its numbers, UUIDs, times, hashes and ids replaced by what they are.
pub(in crate::noise) fn skeleton(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let length = run(rest);
        if length == 0 {
            let Some(character) = rest.chars().next() else {
                break;
            };
            out.push(character);
            at += character.len_utf8();
        } else if let Some((length, word)) = value_at(text, at) {
            out.push_str(word);
            at += length;
        } else {
            push_word(rest.get(..length).unwrap_or_default(), &mut out);
            at += length;
        }
    }
    out
}

/// A run of letters and digits: as it is, if it is a word; else what it is.
fn push_word(word: &str, out: &mut String) {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_id = word.len() >= SHORTEST_ID
        && digits > 0
        // `Windows10Professional` is none.
        && letters::reading(word) != Reading::Words;
    if digits == word.len() && !is_id {
        out.push('#');
    } else if is_id {
        // A number of eight digits may be a hash of eight digits.
        out.push_str(if digits == word.len() && word.len() > 2 * SHORTEST_ID {
            "#"
        } else {
            ID
        });
        if digits < word.len() && word.len() > 2 * SHORTEST_ID {
            out.push_str(&length_class(word.len()).to_string());
        }
    } else {
        // Digits within a short word are numbers: `web3`, `v12`.
        let mut in_number = false;
        for character in word.chars() {
            if !character.is_ascii_digit() {
                out.push(character);
            } else if !in_number {
                out.push('#');
            }
            in_number = character.is_ascii_digit();
        }
    }
}
