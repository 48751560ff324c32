//! Which words are values rather than names: keys of objects and segments of paths.
//!
//! `{"acc-1001": …, "acc-1002": …}` is a map, and one cause in it is one group; `/accounts/acc-1001` is one route with all
//! other accounts. Decided by the word alone, without state: so every instance and every version names a route or a group
//! alike, whatever it has seen before.
//!
//! Keys are told more cautiously than segments. A field name that is taken for a value hides the field, so what might be
//! a name is one (`address2`, `iso-8601`, `thumb_1024`, `line_10`). A segment that is taken for a name makes a route for
//! each value, so what counts things is a value from its first digit on (`acc_129`, `usr_7`), unless it is known for a
//! name: versions, standards, and what people count up by hand (`v1.2`, `utf-8`, `step-2`). A rule that names keys by
//! `*`, and a `[[route]]`, say more than any guess, and hold besides.

/// First words of names that end in a number.
const STANDARDS: [&str; 9] = [
    "cp", "ieee", "iso", "rfc", "rsa", "sha", "utf", "windows", "din",
];
/// Names with so many digits that they would pass for values: processors, codecs, quantiles, algorithms, a language.
const NAMES: [&str; 24] = [
    "x86", "x64", "h264", "h265", "p50", "p75", "p90", "p95", "p99", "p999", "es256", "es384",
    "es512", "hs256", "hs384", "hs512", "ps256", "ps384", "ps512", "rs256", "rs384", "rs512",
    "es-419", "k8s",
];
/// What stands behind the number of a version.
const LABELS: [&str; 8] = [
    "alpha", "beta", "rc", "preview", "dev", "snapshot", "a", "b",
];
/// What people count up by hand, or name by a number.
const STEPS: [&str; 47] = [
    "step", "page", "part", "phase", "stage", "level", "tier", "chapter", "section", "slide",
    "tab", "round", "act", "season", "episode", "volume", "day", "week", "month", "quarter", "q",
    "h", "version", "ver", "rev", "revision", "v", "gen", "top", "last", "next", "first", "line",
    "column", "row", "option", "plan", "layer", "mode", "web", "http", "oauth", "tls", "base",
    "covid", "formula", "mp",
];
/// Digits behind such a word: what goes on counts records.
const STEP_DIGITS: usize = 2;
/// Digits between the dots of a version; a year is one.
const VERSION_DIGITS: usize = 4;
/// Digits of a number in the name of a standard.
const STANDARD_DIGITS: usize = 5;
/// Numbers in the name of a standard.
const STANDARD_NUMBERS: usize = 3;
/// Shortest word behind the number of a standard: what is shorter is part of a hash.
const STANDARD_WORD_BYTES: usize = 3;
/// Letters behind a year, with what parts them: `2024-report`; what is shorter is a code (`2024-eur`).
const YEARLY_WORD_BYTES: usize = 4;
/// Digits that make a segment a value, wherever they stand.
const SEGMENT_DIGITS: usize = 4;
/// A segment of at least this many bytes with a digit or mixed case in it is taken for a token.
const LONG_SEGMENT_BYTES: usize = 24;
/// Shortest token behind a word in a path.
const SHORT_TOKEN_BYTES: usize = 6;
/// Digits that make a value behind several words.
const SEVERAL_WORDS_DIGITS: usize = 3;
/// Digits behind `word-` that make an id: fewer are counted up by hand (`line-2`, `sha-256`).
const ID_DIGITS: usize = 4;
/// Digits behind `word_`: names are written so, and have years and sizes in them (`total_2026`, `thumb_1024`).
const SNAKE_DIGITS: usize = 5;
/// Leading digits of a date or a number with something behind: fewer are names (`2fa_enabled`, `24h_volume`).
const LEADING_DIGITS: usize = 4;
/// Shortest hash; `1a2b3c4d` is what version control shows.
const HEX_BYTES: usize = 8;
/// A hash by its length alone; in a shorter one letters and digits must take turns, since `cafe2024` is a name.
const LONG_HEX_BYTES: usize = 16;
/// Shortest token (ULID, KSUID, nano id, base58, …) that stands alone.
const TOKEN_BYTES: usize = 16;
/// Shortest token behind a prefix, as in `cus_9s6XKzkNRiz8i3`.
const PREFIXED_TOKEN_BYTES: usize = 8;
/// Of a hundred neighbours in a token of mixed case, those of two kinds (upper, lower, digit): in random text they are
/// 62, in words that are written together (`averageLatencyP99Last30Days`) 35.
const MIXED_TURNS_PERCENT: usize = 45;

/// Whether a key of an object is a value rather than the name of a field.
pub fn is_value_as_key(key: &str) -> bool {
    is_number(key)
        || ends_in_uuid(key)
        || is_address(key)
        || begins_with_number(key)
        || segments(key).any(|segment| segment.is_id())
}

/// Whether a segment of a path is a value rather than a name. It comes as it stands in the path, percent-encoded.
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

/// `2024-report`: there is one in a year.
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

/// A number, or what random text looks like, behind a word: `acc_129`, `usr-7`, `tok_9f86d0`; behind several words
/// (`best-of-2`) only a number that nobody counts to by hand.
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

/// Neighbours of one kind.
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

/// Numbers, dates, times, IP addresses, coordinates: digits, and what stands between digits.
fn is_number(key: &str) -> bool {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key).as_bytes();
    let ends = [digits.first(), digits.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_digit))
        && digits
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"-._:/+, ".contains(byte))
}

/// Also `urn:uuid:…` and `user-…`.
fn ends_in_uuid(key: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    const LENGTH: usize = 36;
    let key = key.strip_suffix('}').unwrap_or(key).as_bytes();
    let Some((before, uuid)) = key.len().checked_sub(LENGTH).map(|at| key.split_at(at)) else {
        return false;
    };
    before
        .last()
        .is_none_or(|byte| !byte.is_ascii_alphanumeric())
        && uuid.iter().enumerate().all(|(at, byte)| {
            if DASHES.contains(&at) {
                *byte == b'-'
            } else {
                byte.is_ascii_hexdigit()
            }
        })
}

/// Of mail, or of a network interface (IPv6, MAC).
fn is_address(key: &str) -> bool {
    if let Some((name, host)) = key.split_once('@') {
        return !name.is_empty() && host.contains('.') && !key.contains(' ');
    }
    key.matches(':').count() >= 2
        && key.bytes().any(|byte| byte.is_ascii_digit())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte))
}

/// `2026-01-31T00:00:00Z`, `20260131T000000Z`, `2026Q1`, `1001-eur`.
fn begins_with_number(key: &str) -> bool {
    let bytes = key.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let next = |at: usize| bytes.get(digits + at).copied();
    digits >= LEADING_DIGITS
        && match next(0) {
            Some(b'T' | b'Q' | b'W') => next(1).is_some_and(|byte| byte.is_ascii_digit()),
            Some(byte) => byte.is_ascii() && !byte.is_ascii_alphanumeric(),
            None => true,
        }
}

/// A run of letters and digits within a key.
struct Segment<'a> {
    text: &'a str,
    /// What stands before it; `None` for the first.
    separator: Option<u8>,
    /// The key is the name of a standard.
    standard: bool,
}

fn is_name_of_standard(word: &str) -> bool {
    STANDARDS.iter().any(|name| name.eq_ignore_ascii_case(word))
}

fn segments(key: &str) -> impl Iterator<Item = Segment<'_>> {
    let splits = |character: char| character.is_ascii() && !character.is_ascii_alphanumeric();
    let first = key.split(splits).next().unwrap_or_default();
    let standard = is_name_of_standard(first);
    let mut at = 0_usize;
    key.split(splits).map(move |text| {
        let separator = at.checked_sub(1).map(|before| key.as_bytes()[before]);
        at += text.len() + 1;
        Segment {
            text,
            separator,
            standard,
        }
    })
}

impl Segment<'_> {
    fn is_id(&self) -> bool {
        let letters = Letters::of(self.text);
        if letters.other > 0 || letters.digits == 0 {
            return false;
        }
        if letters.digits == self.text.len() {
            let wanted = match self.separator {
                // The key as a whole is no number, so a word follows.
                None => return false,
                Some(b':' | b'#' | b'/' | b'=') => 1,
                Some(b'_' | b' ') => SNAKE_DIGITS,
                Some(_) => ID_DIGITS,
            };
            return !self.standard && letters.digits >= wanted;
        }
        self.is_hash(&letters) || self.is_token(&letters)
    }

    fn is_hash(&self, letters: &Letters) -> bool {
        if let Some(hex) = self.text.strip_prefix("0x") {
            return hex.len() >= HEX_BYTES && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        }
        self.text.len() >= HEX_BYTES
            && letters.digits >= 2
            && self.text.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (self.text.len() >= LONG_HEX_BYTES || letters.turns >= 2)
    }

    fn is_token(&self, letters: &Letters) -> bool {
        let shortest = match self.separator {
            None => TOKEN_BYTES,
            Some(_) => PREFIXED_TOKEN_BYTES,
        };
        if self.text.len() < shortest || letters.digits < 2 {
            return false;
        }
        match (letters.upper, letters.lower) {
            // Article numbers: `sku-AB12CD34`.
            (_, 0) => letters.turns >= 3,
            (0, _) => letters.turns >= 4 && letters.digits >= 3,
            (upper, lower) => {
                upper >= 2
                    && lower >= 2
                    && letters.turns * 100 >= MIXED_TURNS_PERCENT * (self.text.len() - 1)
            }
        }
    }
}

/// What a segment consists of.
#[derive(Default)]
struct Letters {
    digits: usize,
    upper: usize,
    lower: usize,
    other: usize,
    /// Neighbours of two kinds.
    turns: usize,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Self::default();
        let mut before = None;
        for byte in text.bytes() {
            let kind = match byte {
                b'0'..=b'9' => 0,
                b'A'..=b'Z' => 1,
                b'a'..=b'z' => 2,
                _ => 3,
            };
            *[
                &mut letters.digits,
                &mut letters.upper,
                &mut letters.lower,
                &mut letters.other,
            ][kind] += 1;
            letters.turns += usize::from(before.is_some_and(|before| before != kind));
            before = Some(kind);
        }
        letters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_told_from_names() {
        let spaced = ["+41 79 123 45 67", "4111 1111 1111 1111", "account 10023"];
        let values = "
            1 42 -5 1.5 99.9 10.0.0.1 12:30 2026 2026-01 2026-01-31 31/01/2026 51.5074,-0.1278 1.2.3 18-25
            2026-01-31T00:00:00Z 2026-01-31T00:00:00.000+01:00 20260131T120000Z 2026Q1 2026-W05 2026-Q1 jan-2026
            3fa85f64-5717-4562-b3fc-2c963f66afa6 3FA85F64-5717-4562-B3FC-2C963F66AFA6
            urn:uuid:3fa85f64-5717-4562-b3fc-2c963f66afa6 {3fa85f64-5717-4562-b3fc-2c963f66afa6}
            user_aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa 3fa85f6457174562b3fc2c963f66afa6 507f1f77bcf86cd799439011
            1a2b3c4d sess_9f86d081 0x52908400098527886E0F7030069857D2E4169EE7
            acc-1001 acc-2001 ord-10023 ORD-10023 usr_10023 user:42 issue#7 /users/42 orders/42/items 1001-eur
            inv-2026-00017 acc-1001-eur ns.pod.10023
            usr_01HZXK7E4C9JQ5V2M8T3R6W1YB 01HZXK7E4C9JQ5V2M8T3R6W1YB 01hzxk7e4c9jq5v2m8t3r6w1yb
            cus_9s6XKzkNRiz8i3 pi_3MtwBwLkdIwHu7ix28a3tqPa cjld2cjxh0000qzrmn831i7rn sku-AB12CD34 00Q5g000003XyZaEAK
            ann@example.com ann.lee+x@mail.example.com 2001:db8::1 00:1a:2b:3c:4d:5e";
        for key in values.split_whitespace().chain(spaced) {
            assert!(is_value_as_key(key), "{key} is a value");
        }
    }

    #[test]
    fn names_stay_names() {
        let spaced = ["", "first name", "line 2", "about me @ work. or not"];
        let names = "
            a id name address2 addressLine2 line1 line-1 line_10 x1 _1 _12 $0 v1 v2.1 v1beta1 ns1:Order xs:element
            md5 sha1 sha256 sha-256 SHA-256 sha_512_256 md5sum sha256sum ipv4 ipv6_address http2 http_2 oauth2_token
            isOAuth2Enabled utf8 utf-8 utf8mb4_unicode_ci latin1 iso3166 iso_3166 iso-8601 ISO-8859-15 iso3166_1_alpha2
            rfc3339 rfc-3339 windows-1252 rsa-4096 base64 base64url file_base64url ed25519 x25519mlkem768 secp256k1
            key_secp256k1 chacha20poly1305 cipher_aes256gcm TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
            TLS_CHACHA20_POLY1305_SHA256 i18n a11y e2e k8s s3_bucket x86_64 arm64 h264 mp4
            p50 p99_9 p50p90p99 top_10 last_30_days lastThirtyDays numberOfOrdersLast30Days p50p90p99Latency
            averageLatencyP99Last30Days total_2026 q1_2026 thumb_1024 image_1920x1080 1080p 1080p_url 2fa 2fa_enabled
            3ds2 24h_volume 30d 1st 2xx 404_page cafe2024 face2face deadbeef feedback decade added2023
            @id @type #text en-US zh-Hans-CN de_DE EUR/USD a.b.c order.created.v2
            x-request-id x-amzn-trace-id Content-MD5 straße2 naïve größe_1 ключ 鍵 ключ-1 9é";
        for key in names.split_whitespace().chain(spaced) {
            assert!(!is_value_as_key(key), "{key} is a name");
        }
    }

    #[test]
    fn values_in_paths_are_told_from_names() {
        let values = "
            42 7 2026 2026-01-31 1.2.3 10.0.0.1 acc_129 usr_7 acc-129 usr-7 acc-1001 ord-10023 cus_1 A-7 order_00042
            inv-2026-00017 prod-order-129 a_b_c_1000 terminal-4 gate-12 page-1234 step-100 acc_0 u42 INV2024
            usr_01HZXK7E4C9JQ5V2M8T3R6W1YB 01hzxk7e4c9jq5v2m8t3r6w1yb cus_9s6XKzkNRiz8i3 tok_9f86d0 sess_1a2b3c4d
            i-0abc12d3 3fa85f64-5717-4562-b3fc-2c963f66afa6 user-3fa85f64-5717-4562-b3fc-2c963f66afa6 deadbeef0
            sha256-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 sha-9f86d081 sku-AB12CD34
            1001-eur 2024-eur 2024-01 2024-q1x20 dGhpc0lzQVRva2VuRm9yWW91 caf%C3%A9 a:b ann@example.com v1-4711002";
        for segment in values.split_whitespace() {
            assert!(is_value_in_path(segment), "{segment} is a value");
        }
    }

    #[test]
    fn names_in_paths_stay_names() {
        let names = "
            users me api v1 v2 v10 V1 v1.2 v10.0.3 v2-beta v1beta1 v1alpha2 v2024 oauth2 oauth2-token sha256 sha-256 md5
            utf-8 utf8 iso-8601 iso8601 iso-8859-15 iso3166_1_alpha2 rfc-3339 rfc7231 windows-1252 cp1252 web-2 web-3
            web2 http-2 http2 h2 step-2 step_2 page-10 part-1 level-5 q-1 top-10 last-30 covid-19 base-64 base64 mp3 mp-4
            2024-report 2024-annual-report 1999-archive es-419 es256 x86 h264 p99 k8s s3 i18n 2fa 2fa-setup 3ds 404-page
            ipv6 e2e acc129 best-of-2 the-big-5 iphone-15-pro this-is-a-long-slug-for-a-post index.html app.js
            robots.txt en-US zh-Hans-CN .well-known openid-configuration a-b a_b - _ ~ . ..";
        for segment in names.split_whitespace().chain([""]) {
            assert!(!is_value_in_path(segment), "{segment} is a name");
        }
    }

    #[test]
    fn what_is_a_value_as_a_key_is_one_in_a_path() {
        for segment in [
            "acc-1001",
            "usr_10023",
            "usr_01HZXK7E4C9JQ5V2M8T3R6W1YB",
            "cus_9s6XKzkNRiz8i3",
            "2026Q1",
            "1a2b3c4d",
            "sess_9f86d081",
            "ns.pod.10023",
        ] {
            assert!(
                is_value_as_key(segment) && is_value_in_path(segment),
                "{segment}"
            );
        }
    }

    proptest! {
        #[test]
        fn counted_records_share_a_route(
            word in "[a-z]{1,12}", separator in "[-_]", one in 0_u32..2_000_000, other in 0_u32..2_000_000,
        ) {
            let known = |word: &str| STEPS.contains(&word) || is_name_of_standard(word) || word == "es";
            prop_assume!(!known(&word));
            for number in [one, other] {
                let segment = format!("{word}{separator}{number}");
                prop_assert!(is_value_in_path(&segment), "{}", segment);
            }
        }

        #[test]
        fn hostile_keys_are_decided_too(key in "\\PC{0,60}|[0-9a-f{}@:_ -]{30,60}|[0-9TQé]{4,8}") {
            is_value_as_key(&key);
            is_value_in_path(&key);
        }

        #[test]
        fn fields_that_are_counted_up_by_hand_stay_names(word in "[a-z]{2,12}", number in 0..1_000_u32) {
            for key in [format!("{word}{number}"), format!("{word}_{number}"), format!("{word}-{number}")] {
                prop_assert!(!is_value_as_key(&key), "{}", key);
            }
        }

        #[test]
        fn ids_with_a_prefix_are_values(word in "[a-z]{1,8}", number in 10_000..u64::MAX) {
            prop_assume!(!STANDARDS.contains(&word.as_str()));
            for key in [format!("{word}_{number}"), format!("{word}-{number}"), format!("{word}:{number}")] {
                prop_assert!(is_value_as_key(&key), "{}", key);
            }
        }
    }
}
