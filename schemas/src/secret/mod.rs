//! Recognizes names whose values are secret: keys of a body, fields of a form, segments of a path.
//!
//! Redaction hides the values of these names. Route labels must not contain these values either, because the label is
//! stored with every count. A name is judged by its words, not by its spelling: it is parted at `_`, `-`, `.`, digits
//! and every other sign, and where upper case begins; plurals count as the word; letters in full width, with accents or
//! of another script that look like plain ones are those ([`folded`]). So `user_passwords`, `passwordHash`,
//! `accessTokenV2` and `API-Keys` are known without being listed.
//!
//! Where a word has a harmless meaning too, the words beside it decide, and doubt means secret:
//!
//! - `key` alone says nothing (`key`, `sort_key`, `primaryKey`, `cache-key`); what it opens makes it secret
//!   (`api_key`, `session_key`, `aws_access_key_id`).
//! - `tokens` that are counted (`max_tokens`, `tokens_used`) are no secret.
//! - `session` is one as the whole name or before `id`, `key`, `cookie`; `sessions` are counted.
//! - `code` is one behind `pin`, `verification`, `recovery` and their like.

mod key;
mod lists;
mod login;
mod path;
mod token;
mod words;

use smallvec::SmallVec;

pub use key::{holds_service_key, is_service_key};
pub use login::without_password;
pub use path::Trail;
pub use token::is_token;
pub use words::{Words, folded};

use lists::{
    CODE_OF, CONTAINED, CONTAINED_LETTERS, COUNTED, EXACT, FOREIGN, KEY_OF, PAIRS, PASS_OF,
    QUALIFIERS, SHORT_PASSWORD, STEMS, TAILS, WHOLE, WORDS,
};
use words::{seen, singular};

/// Whether values of this name are secret.
pub fn is_secret_name(name: &str) -> bool {
    if !may_be_secret(name) {
        return false;
    }
    let words = Words::of(&folded(name));
    if !words.is_empty() && is_secret(&words) {
        return true;
    }
    !name.is_ascii() && {
        let joined = Words::of(&seen(name)).joined();
        let written = FOREIGN.iter().map(|word| word.as_bytes());
        written.into_iter().any(|word| memmem(&joined, word))
    }
}

/// Whether a text is a secret name, perhaps with whose it is before it, and says nothing else: `new_password`,
/// `X-Api-Key`, but neither `password_changed` nor `session`, which name many things.
pub fn is_exactly_secret(name: &str) -> bool {
    if !may_be_secret(name) {
        return false;
    }
    if !name.is_ascii() {
        let joined = Words::of(&seen(name)).joined();
        if FOREIGN.iter().any(|word| word.as_bytes() == &*joined) {
            return true;
        }
    }
    let words = Words::of(&folded(name));
    let mut rest = &*words.0;
    let mut qualified = false;
    loop {
        let joined: SmallVec<[u8; 64]> =
            rest.iter().copied().filter(|byte| *byte != b' ').collect();
        let whole = singular(&joined);
        if EXACT.contains(&whole) || (qualified && whole == b"token") {
            return true;
        }
        let Some(end) = rest.iter().position(|byte| *byte == b' ') else {
            return false;
        };
        if !QUALIFIERS.contains(&&rest[..end]) {
            return false;
        }
        qualified = true;
        rest = &rest[end + 1..];
    }
}

/// Whether a stem is among the letters of a name.
fn may_be_secret(name: &str) -> bool {
    let (mut first, mut second) = (0, 0);
    for byte in name.bytes() {
        if !byte.is_ascii() {
            return true;
        }
        if !byte.is_ascii_alphabetic() {
            continue;
        }
        let third = byte | 0x20;
        if [second, third] == SHORT_PASSWORD {
            return true;
        }
        let begins = PAIRS[usize::from(first & 31)] >> (second & 31) & 1 == 1;
        if begins && STEMS.contains(&[first, second, third]) {
            return true;
        }
        (first, second) = (second, third);
    }
    false
}

fn is_secret(words: &Words) -> bool {
    let joined = words.joined();
    let letters = letters(&joined);
    let contained = CONTAINED
        .iter()
        .zip(CONTAINED_LETTERS)
        .any(|(word, needed)| needed & !letters == 0 && contains(&joined, word));
    if contained {
        return true;
    }
    let whole = singular(&joined);
    // Many sessions are a number of visits.
    if WHOLE.contains(&&*joined) || (WHOLE.contains(&whole) && whole != b"session") {
        return true;
    }
    let last = words.iter().last().unwrap_or_default();
    let about = TAILS.contains(&last);
    let counted = words.iter().any(|word| COUNTED.contains(&word));
    let mut before: &[u8] = b"";
    for written in words.0.split(|byte| *byte == b' ') {
        let word = singular(written);
        let secret = match word {
            b"key" => KEY_OF.contains(&before),
            b"code" => CODE_OF.contains(&before),
            b"id" | b"cookie" if before == b"session" || before == b"sess" => true,
            b"pass" => {
                written.as_ptr_range().end == words.0.as_ptr_range().end
                    && !PASS_OF.contains(&before)
            }
            _ if word.ends_with(SHORT_PASSWORD) => true,
            _ if holds_token(word) => !(about || (counted && written.ends_with(b"s"))),
            _ => WORDS.contains(&word) && !about,
        };
        if secret {
            return true;
        }
        before = word;
    }
    // What case has parted in an odd place (`cSRF`, `PiNs`).
    WORDS.contains(&whole)
}

/// One bit for each letter that occurs.
const fn letters(word: &[u8]) -> u32 {
    let (mut all, mut at) = (0, 0);
    while at < word.len() {
        all |= 1 << (word[at] & 31);
        at += 1;
    }
    all
}

/// `secret` is not part of `secretary`.
fn contains(name: &[u8], word: &[u8]) -> bool {
    let secretary: &[u8] = b"ar";
    name.windows(word.len()).enumerate().any(|(at, found)| {
        found == word && !(word == b"secret" && name[at + word.len()..].starts_with(secretary))
    })
}

/// `token` is not part of `tokenizer`.
fn holds_token(word: &[u8]) -> bool {
    const TOKEN: &[u8] = b"token";
    word.windows(TOKEN.len()).enumerate().any(|(at, found)| {
        let rest = &word[at + TOKEN.len()..];
        found == TOKEN && !(rest.starts_with(b"iz") || rest.starts_with(b"is"))
    })
}

fn memmem(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|found| found == word)
}

#[cfg(test)]
mod tests;
