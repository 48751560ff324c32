//! Whether a run of letters and digits is made of words or was drawn at random.
//!
//! How usual a letter is after another one tells words from random letters, in English and the languages near it, in
//! identifiers and in names of constants: of sixteen characters or more, hardly one in a million of either kind is taken for
//! the other. What lies between is [`Reading::Unclear`], so that whoever looks at two values can ask whether one of them
//! is plainly a token and the other at least not plainly a word.

/// What a run of characters looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Words, identifiers, paths.
    Words,
    /// Either.
    Unclear,
    /// Drawn at random.
    Random,
}

/// How unusual each letter is after another one: the binary logarithm of how much rarer it is than if all letters were
/// equally frequent, by the words of English documentation and some of German and its neighbours. A row for each first
/// letter, with [`USUAL`] for what is neither more frequent nor rarer.
const AFTER: [&[u8; 26]; 26] = [
    b"73236546375131737221446647",
    b"25471677166155267224267747",
    b"17361771372377167341377757",
    b"26640657167365277325356757",
    b"36214446576331645113546367",
    b"27551257176256177342277747",
    b"25670632275342277126277767",
    b"17770777177444177242376747",
    b"34233437776330247422737573",
    b"16551665366666156623166666",
    b"27650547177463457314354767",
    b"17641677176177267733457717",
    b"13660777177537217736377767",
    b"26222416275564367621447767",
    b"54336547474320337133243677",
    b"17661463277277227132377757",
    b"66656666666364666556065666",
    b"16430557174534257423356747",
    b"37261672175455336621275747",
    b"27460673077467267223376736",
    b"33342447377221537122777777",
    b"17670567177667377666677667",
    b"17771552177472177235676767",
    b"37161673177755407751556547",
    b"34352545267322317412644764",
    b"16660566275556377647374753",
];
/// What stands in the table for a pair of letters that is as frequent as by chance.
const USUAL: i32 = b'3' as i32;
/// For a part of one letter; words have few.
const OF_ONE: i32 = 4;
/// For a part of two letters.
const OF_TWO: i32 = 2;
/// For each number within a run: words have one or none.
const NUMBER: i32 = 3;
/// From this sum on a run is random. Of known words and identifiers none comes near it; of a thousand random runs of
/// sixteen characters one stays below, so two of them hardly ever.
const RANDOM: i32 = 0;
/// The same for runs shorter than [`SURE`], such as `svg+xml`.
const SHORT_RANDOM: i32 = 8;
/// From so many characters on it is sure enough what is random.
const SURE: usize = 16;
/// Up to this sum a run is words: most are far below, and of random runs of twenty characters one in a million is.
const WORDS: i32 = -11;
/// The same for runs that are shorter than [`LONG`], which random ones come to more easily.
const SHORT_WORDS: i32 = -16;
/// From so many characters on a run is long.
const LONG: usize = 20;

/// Up to this sum a few letters may be a word: `paid`, `true` and `null` are, `kgrt` is not.
const WORDLIKE: i32 = -2;

/// What a run of characters looks like.
pub(super) fn reading(run: &str) -> Reading {
    let sum = surprise(run);
    let words = if run.len() < LONG { SHORT_WORDS } else { WORDS };
    let random = if run.len() < SURE {
        SHORT_RANDOM
    } else {
        RANDOM
    };
    if sum <= words {
        Reading::Words
    } else if sum < random {
        Reading::Unclear
    } else {
        Reading::Random
    }
}

/// Whether a few letters are more usual together than random ones.
pub(super) fn is_wordlike(letters: &str) -> bool {
    surprise(letters) <= WORDLIKE
}

/// How unusual the letters of a run follow each other, in bits. It is cut where anything but letters is, and where
/// identifiers begin a word: before the capital of `errorCode`, and before the last one of `HTTPServer`.
fn surprise(run: &str) -> i32 {
    let bytes = run.as_bytes();
    let mut sum = 0;
    let (mut at, mut length) = (0, 0);
    let ends = |length: usize| match length {
        1 => OF_ONE,
        2 => OF_TWO,
        _ => 0,
    };
    while let Some(byte) = bytes.get(at).copied() {
        if byte == b'%' && at + 2 < bytes.len() {
            // An escaped character is no letter.
            sum += ends(length);
            (at, length) = (at + 3, 0);
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if byte.is_ascii_alphabetic() {
            let after = bytes.get(at + 1);
            let begins = byte.is_ascii_uppercase()
                && (before.is_some_and(u8::is_ascii_lowercase)
                    || after.is_some_and(u8::is_ascii_lowercase));
            if begins {
                sum += ends(length);
                length = 0;
            }
            if let (true, Some(before)) = (length > 0, before) {
                sum += after_letter(*before, byte);
            }
            length += 1;
        } else {
            sum += ends(length);
            length = 0;
            if byte.is_ascii_digit() && !before.is_some_and(u8::is_ascii_digit) {
                sum += NUMBER;
            }
        }
        at += 1;
    }
    sum + ends(length)
}

/// How unusual one letter is after another.
fn after_letter(first: u8, second: u8) -> i32 {
    let place = |letter: u8| usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
    let known = AFTER
        .get(place(first))
        .and_then(|row| row.get(place(second)));
    known.map_or(0, |cost| i32::from(*cost) - USUAL)
}
