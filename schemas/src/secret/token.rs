//! Recognizes tokens by their form: random texts of letters and digits.

/// Shortest token that stands by itself: shorter ones cannot be told from words.
const TOKEN_BYTES: usize = 16;
/// Shortest token of letters and digits; ids are shorter.
const MIXED_TOKEN_BYTES: usize = 20;

/// Whether a segment of a path is a random text: a token, such as one to set a new password. UUIDs, hexadecimal digits
/// and numbers are ids, not tokens.
pub fn is_token(segment: &str) -> bool {
    segment.len() >= TOKEN_BYTES
        && segment
            .split(|character: char| !character.is_ascii_alphanumeric())
            .any(|run| run.len() >= TOKEN_BYTES && is_random(run))
}

/// Whether letters and digits stand in no order that a language has.
fn is_random(run: &str) -> bool {
    let bytes = run.as_bytes();
    let count = |test: &dyn Fn(&u8) -> bool| bytes.iter().filter(|byte| test(byte)).count();
    let digits = count(&u8::is_ascii_digit);
    if bytes.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let turns = bytes
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count();
    if digits > 0 {
        let upper = count(&u8::is_ascii_uppercase);
        // One case and digits are how ids are made (ULID, article numbers).
        return run.len() >= MIXED_TOKEN_BYTES
            && upper > 0
            && upper + digits < run.len()
            && turns >= run.len() / 4;
    }
    // In words that are written together, one letter of five is a capital at most.
    turns * 100 >= 45 * run.len() || !is_pronounced(bytes)
}

/// What holds for words of European languages, alone and written together.
fn is_pronounced(letters: &[u8]) -> bool {
    /// Longest run of consonants; `ngths` has five.
    const MAX_RUN: usize = 5;
    let (mut vowels, mut rare, mut run, mut longest) = (0, 0, 0, 0_usize);
    for letter in letters.iter().map(u8::to_ascii_lowercase) {
        if b"aeiouy".contains(&letter) {
            vowels += 1;
            run = 0;
        } else {
            rare += usize::from(b"jqxz".contains(&letter));
            run += 1;
            longest = longest.max(run);
        }
    }
    let percent = |count: usize| count * 100 / letters.len();
    longest <= MAX_RUN
        && percent(vowels) >= 24
        && percent(rare) < 12
        && (longest < MAX_RUN || percent(vowels) >= 32)
}
