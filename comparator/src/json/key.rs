//! Which object keys are values: `{"acc-1001": …, "acc-1002": …}` is a map, and one cause in it is one group.
//!
//! Decided by the key alone, without state, as `parity_schemas::route` does with segments of paths: so every instance
//! and every version names a group alike, whatever it has seen before. Keys are told more cautiously than segments,
//! because a field name that is taken for a value hides the field: what might be a name is one (`address2`, `sha256`,
//! `iso-8601`, `thumb_1024`). A rule that names keys by `*` says more than any guess, and holds besides.

/// First words of names that end in a number.
const STANDARDS: [&str; 9] = [
    "cp", "ieee", "iso", "rfc", "rsa", "sha", "utf", "windows", "din",
];
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

/// Whether a key is a value rather than the name of a field.
pub(super) fn is_value(key: &str) -> bool {
    is_number(key)
        || ends_in_uuid(key)
        || is_address(key)
        || begins_with_number(key)
        || segments(key).any(|segment| segment.is_id())
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

fn segments(key: &str) -> impl Iterator<Item = Segment<'_>> {
    let splits = |character: char| character.is_ascii() && !character.is_ascii_alphanumeric();
    let first = key.split(splits).next().unwrap_or_default();
    let standard = STANDARDS
        .iter()
        .any(|name| first.eq_ignore_ascii_case(name));
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
            assert!(is_value(key), "{key} is a value");
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
            assert!(!is_value(key), "{key} is a name");
        }
    }

    proptest! {
        #[test]
        fn hostile_keys_are_decided_too(key in "\\PC{0,60}|[0-9a-f{}@:_ -]{30,60}|[0-9TQé]{4,8}") {
            is_value(&key);
        }

        #[test]
        fn fields_that_are_counted_up_by_hand_stay_names(word in "[a-z]{2,12}", number in 0..1_000_u32) {
            for key in [format!("{word}{number}"), format!("{word}_{number}"), format!("{word}-{number}")] {
                prop_assert!(!is_value(&key), "{}", key);
            }
        }

        #[test]
        fn ids_with_a_prefix_are_values(word in "[a-z]{1,8}", number in 10_000..u64::MAX) {
            prop_assume!(!STANDARDS.contains(&word.as_str()));
            for key in [format!("{word}_{number}"), format!("{word}-{number}"), format!("{word}:{number}")] {
                prop_assert!(is_value(&key), "{}", key);
            }
        }
    }
}
