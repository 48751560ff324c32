//! Keys of well-known services, by the prefixes that these give them so that they are found where they do not belong.

/// Prefixes of the keys of well-known services.
const KEY_PREFIXES: [&str; 34] = [
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xapp-",
    "ghu_",
    "ghr_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "SG.",
    "ya29.",
    "shpat_",
    "hf_",
    "glsa_",
    "sk-",
    "AIza",
    "hvs.",
    "hvb.",
    "hvr.",
    "glrt-",
    "xoxs-",
    "PMAK-",
    "sq0atp-",
];
/// Shortest word with such a prefix that counts as a key.
const MIN_KEY_BYTES: usize = 16;
/// Prefixes of the ids of keys of AWS, which are in upper case.
const AWS_PREFIXES: [&str; 2] = ["AKIA", "ASIA"];
/// How many letters and digits behind such a prefix tell it from a word.
const AWS_LETTERS: usize = 12;

/// Whether a word is a key of a well-known service or a JSON web token.
pub fn is_service_key(word: &str) -> bool {
    let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let of_aws = |begin: &str| {
        let rest = word.strip_prefix(begin).unwrap_or_default();
        rest.len() >= AWS_LETTERS && rest.bytes().take(AWS_LETTERS).all(is_upper)
    };
    word.len() >= MIN_KEY_BYTES
        && (word.starts_with("eyJ")
            || KEY_PREFIXES.iter().any(|begin| word.starts_with(begin))
            || AWS_PREFIXES.iter().any(|begin| of_aws(begin)))
}

/// Whether such a key begins anywhere in a text, also within a word: `tier-ghp_…`.
pub fn holds_service_key(text: &str) -> bool {
    if text.len() < MIN_KEY_BYTES {
        return false;
    }
    let bytes = text.as_bytes();
    let begins = |at: &usize| *at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let mut begins = (0..bytes.len()).filter(begins);
    begins.any(|at| text.get(at..).is_some_and(is_service_key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_the_begin_of_any_word_and_words_are_none() {
        for text in [
            "AKIAIOSFODNN7EXAMPLE",
            "glpat-abcdefghijklmnop",
            "AIzaabcdefghijklmnopqrstuvwxyzabcde",
            "npm_abcdefghijklmnopqrstuvwxyz",
            "SG.abcdefghijklmnop.qrstuvwxyz",
            "hvs.abcdefghijklmnopqrst",
            "tier-ghp_abcdefghijklmnop",
            "é.sk_live_abcdefghijkl",
        ] {
            assert!(holds_service_key(text), "{text}");
        }
        for text in [
            "",
            "npm_audit",
            "ASIA-PACIFIC-REGION-2",
            "helpdesk-checkout-service",
            "checkout-7d9f8c6b5-x2x9z",
        ] {
            assert!(!holds_service_key(text), "{text}");
        }
    }
}
