//! Which names have secret values, wherever they stand: keys of a body, fields of a form, segments of a path.
//!
//! Redaction hides what stands behind these names; the naming of routes must not spell it out either, because the label
//! of a route is stored with every count. A name is judged by its words, not by its spelling: it is parted at `_`, `-`,
//! `.`, digits and every other sign, and where upper case begins; plurals count as the word, full-width letters as plain
//! ones. So `user_passwords`, `passwordHash`, `accessTokenV2` and `API-Keys` are known without being listed.
//!
//! Where a word has a harmless meaning too, the words beside it decide, and doubt means secret:
//!
//! - `key` alone says nothing (`key`, `sort_key`, `primaryKey`, `cache-key`); what it opens makes it secret
//!   (`api_key`, `session_key`, `aws_access_key_id`).
//! - `tokens` that are counted (`max_tokens`, `tokens_used`) are no secret.
//! - `session` is one as the whole name or before `id`, `key`, `cookie`; `sessions` are counted.
//! - `code` is one behind `pin`, `verification`, `recovery` and their like.

use smallvec::SmallVec;

/// Secret wherever they stand in a name, also within words that are written together (`dbpassword1`).
const CONTAINED: &[&[u8]] = &[
    b"password",
    b"passwort",
    b"kennwort",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"passkey",
    b"pwd",
    b"secret",
    b"credential",
    b"authorization",
    b"bearer",
    b"jwt",
    b"apikey",
    b"privatekey",
    b"secretkey",
    b"accesskey",
    b"sessionkey",
    b"signingkey",
    b"encryptionkey",
    b"masterkey",
    b"sessionid",
    b"sessid",
    b"sessiontoken",
    b"authtoken",
    b"cardnumber",
    b"securitycode",
    b"verificationcode",
    b"recoverycode",
    b"backupcode",
    b"pincode",
    b"onetimecode",
    b"recoveryphrase",
    b"seedphrase",
    b"connectionstring",
];
/// The letters of each, so that nearly every name is done with after one operation for each word.
const CONTAINED_LETTERS: [u32; CONTAINED.len()] = {
    let mut all = [0; CONTAINED.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = letters(CONTAINED[at]);
        at += 1;
    }
    all
};
/// Secret as a word of a name, unless its last word is one of [`TAILS`].
const WORDS: &[&[u8]] = &[
    b"assertion",
    b"auth",
    b"cookie",
    b"csrf",
    b"cvc",
    b"cvv",
    b"otp",
    b"pan",
    b"pin",
    b"sid",
    b"signature",
    b"ssn",
    b"totp",
    b"xsrf",
];
/// Secret as the whole name only.
const WHOLE: &[&[u8]] = &[b"pass", b"session", b"sess", b"sig"];
/// What is said of a secret and is none.
const TAILS: &[&[u8]] = &[
    b"algorithm",
    b"at",
    b"budget",
    b"count",
    b"enabled",
    b"expiration",
    b"expiry",
    b"in",
    b"length",
    b"limit",
    b"method",
    b"mode",
    b"policy",
    b"provider",
    b"required",
    b"scheme",
    b"ttl",
    b"type",
    b"usage",
];
/// Beside `tokens`: what a language model counts.
const COUNTED: &[&[u8]] = &[
    b"audio",
    b"cached",
    b"completion",
    b"consumed",
    b"input",
    b"max",
    b"min",
    b"num",
    b"output",
    b"per",
    b"prompt",
    b"reasoning",
    b"remaining",
    b"total",
    b"used",
];
/// Before `key`: what a key opens or signs.
const KEY_OF: &[&[u8]] = &[
    b"access",
    b"account",
    b"activation",
    b"aes",
    b"api",
    b"app",
    b"application",
    b"auth",
    b"client",
    b"consumer",
    b"crypto",
    b"decryption",
    b"deploy",
    b"encryption",
    b"gpg",
    b"hmac",
    b"host",
    b"integration",
    b"licence",
    b"license",
    b"master",
    b"pgp",
    b"private",
    b"rsa",
    b"secret",
    b"security",
    b"server",
    b"service",
    b"session",
    b"shared",
    b"signature",
    b"signing",
    b"ssh",
    b"ssl",
    b"storage",
    b"subscription",
    b"symmetric",
    b"tls",
    b"webhook",
];
/// Before `code`: what proves who somebody is.
const CODE_OF: &[&[u8]] = &[
    b"access",
    b"activation",
    b"auth",
    b"backup",
    b"device",
    b"fa",
    b"mfa",
    b"otp",
    b"pass",
    b"pin",
    b"recovery",
    b"reset",
    b"security",
    b"sms",
    b"verification",
];
/// Before `pass` as the last word: what is no password.
const PASS_OF: &[&[u8]] = &[b"boarding", b"by", b"day", b"season", b"ski", b"test"];

/// Three letters of every word above, at the least: a name without any of them, which is nearly every one, is done with
/// in a few nanoseconds.
const STEMS: &[[u8; 3]] = &[
    *b"ass", *b"aut", *b"bea", *b"car", *b"cod", *b"con", *b"coo", *b"cre", *b"csr", *b"cvc",
    *b"cvv", *b"jwt", *b"ken", *b"key", *b"otp", *b"pan", *b"pas", *b"phr", *b"pin", *b"pwd",
    *b"sec", *b"ses", *b"sid", *b"sig", *b"ssn", *b"tok", *b"xsr",
];
/// By first letter, the second ones that begin a stem.
const PAIRS: [u32; 32] = {
    let mut pairs = [0; 32];
    let mut at = 0;
    while at < STEMS.len() {
        pairs[(STEMS[at][0] & 31) as usize] |= 1 << (STEMS[at][1] & 31);
        at += 1;
    }
    pairs
};

/// The words of a name in lower case, parted by single spaces.
pub struct Words(SmallVec<[u8; 64]>);

impl Words {
    /// Parts a name; without an allocation where it is short, because every segment of every path is asked.
    pub fn of(name: &str) -> Self {
        #[derive(Clone, Copy, PartialEq)]
        enum Case {
            Gap,
            Lower,
            Upper,
        }
        let mut text: SmallVec<[u8; 64]> = SmallVec::new();
        let mut before = Case::Gap;
        let mut characters = name.chars().map(plain);
        while let Some(character) = characters.next() {
            let case = match character {
                _ if !character.is_alphabetic() => Case::Gap,
                _ if character.is_uppercase() => Case::Upper,
                _ => Case::Lower,
            };
            let mut ahead = characters.clone();
            let begins = match (before, case) {
                (Case::Lower, Case::Upper) => true,
                // The last capital of `APIKey` begins a word, that of `PINs` does not.
                (Case::Upper, Case::Upper) => {
                    let next = ahead.next();
                    let plural = next == Some('s') && !ahead.next().is_some_and(char::is_lowercase);
                    next.is_some_and(char::is_lowercase) && !plural
                }
                _ => false,
            };
            if (case == Case::Gap || begins) && text.last().is_some_and(|last| *last != b' ') {
                text.push(b' ');
            }
            if case != Case::Gap {
                for lower in character.to_lowercase() {
                    text.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            before = case;
        }
        if text.last() == Some(&b' ') {
            text.pop();
        }
        Self(text)
    }

    /// Each word, a plural as the word itself.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b' ').map(singular)
    }

    /// The name as one word.
    pub fn joined(&self) -> SmallVec<[u8; 64]> {
        let letters = self.0.iter().copied();
        letters.filter(|byte| *byte != b' ').collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Full-width forms are how some input methods write the same letters.
fn plain(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(character as u32 - 0xfee0).unwrap_or(character),
        _ => character,
    }
}

fn singular(word: &[u8]) -> &[u8] {
    match word {
        [rest @ .., b's'] if rest.len() >= 2 && rest.last() != Some(&b's') => rest,
        _ => word,
    }
}

/// Whether values of this name are secret.
pub fn is_secret_name(name: &str) -> bool {
    if !may_be_secret(name) {
        return false;
    }
    let words = Words::of(name);
    !words.is_empty() && is_secret(&words)
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

/// Shortest token that stands by itself: shorter ones cannot be told from words.
const TOKEN_BYTES: usize = 16;
/// Shortest token of letters and digits; ids are shorter.
const MIXED_TOKEN_BYTES: usize = 20;

/// Whether a segment of a path is a text that nobody pronounces: a token, such as one to set a new password. UUIDs,
/// hexadecimal digits and numbers are ids and no tokens.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_known_by_their_words() {
        let names = "
            password Password user_password passwords password_confirmation passwordHash PasswordHash PASSWORD_2
            dbpassword1 passWord pass-word p.a.s.s.w.d db_pass pass passwd pwd userPwd clientSecret secrets
            token tokens accessToken accessTokenV2 access_token_2 refresh_token id_token x-csrf-token tokenValue
            accesstokenvalue a-very-long-prefixed-refresh_token API-Key apiKey APIKeys x-api-key api_keys private_key
            session_key aws_access_key_id AWSSecretAccessKey signing.key ssh-key pin PIN PINs pins pin_code pinCode
            userPIN otp totp_code cvv cvv2 cvc auth X-Auth basic_auth bearer credentials sid connect.sid session
            sessionId session-id JSESSIONID PHPSESSID set-cookie cookies Authorization proxy_authorization ssn sig
            signature X-Amz-Signature verification_code recoveryCodes 2fa_code wsse:Password user[password][]
            ｐａｓｓｗｏｒｄ $password @token seed_phrase";
        for name in names.split_whitespace() {
            assert!(is_secret_name(name), "{name} is secret");
        }
    }

    #[test]
    fn harmless_names_stay_harmless() {
        let names = "
            id name key keys value primary_key sortKey sort_key foreign-key cache_key keyboard keyword monkey turkey
            key_id public_key idempotency_key i18n_key pinned pinterest spin shipping tokens_used max_tokens
            prompt_tokens totalTokens tokenizer tokenized_at token_type token_count passenger passed compass
            boarding_pass bypass sessions session_count author authority authors secretary secretariat country_code
            zip_code code status_code order balance users transactions accounts iban signal design
            company span pandas oauth2 v1 address2";
        for name in names.split_whitespace() {
            assert!(!is_secret_name(name), "{name} is harmless");
        }
        for name in ["", "_", "42", "€"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn every_secret_word_has_a_stem() {
        let others: &[&[u8]] = &[b"token", b"key", b"code", b"session"];
        for word in [CONTAINED, WORDS, WHOLE, others].concat() {
            let word = std::str::from_utf8(word).expect("ASCII");
            assert!(may_be_secret(word), "{word}");
        }
    }

    #[test]
    fn tokens_are_told_from_words_and_ids() {
        for token in [
            "kjhqwexzvbnmasdfghjkl",
            "dGhpc0lzQVRva2VuRm9yWW91",
            "xkcdqwrtzpvbnmlkjhg",
            "aGVsbG8td29ybGQtdGhpcy1pcy1h",
            "QWERTZXCVBNMASDFGHJKL",
            "tok_hZrqTbLwXnKcVpMsDfGj",
        ] {
            assert!(is_token(token), "{token} is a token");
        }
        let harmless = "
            users 42 3fa85f64-5717-4562-b3fc-2c963f66afa6 507f1f77bcf86cd799439011 01HZXK7E4C9JQ5V2M8T3R6W1YB
            da39a3ee5e6b4b0d3255bfef95601890afd80709 this-is-a-long-slug-for-a-post internationalization
            getCustomerAccountDetails notificationpreferences authenticationproviders transactionhistoryexport
            subscriptionmanagement telecommunications misunderstandings configurationmanagement order-10023
            passwordresetconfirmation UserAuthenticationController";
        for segment in harmless.split_whitespace() {
            assert!(!is_token(segment), "{segment} is no token");
        }
    }
}
