//! Who may look at an admin port, who may change something by it, and how a change by a page of ours is known.
//!
//! There are two tokens: that for changes opens everything, the other one shows everything and changes nothing. A port
//! without tokens is on loopback, where everybody may change.
//!
//! A browser attaches what its user typed once to every request, also to one that a page of somebody else causes. So a form of
//! ours carries a secret of this process, which no other page can read, and a change by a browser without it is refused
//! ([`Access::is_own_form`]). It is the same for all forms: who can read one may use them all.

use std::fmt;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use uuid::Uuid;

/// Bytes at the beginning of a token that give it away: nobody writes so many of them by chance.
const BEGINNING: usize = 8;
/// Base64 without its ending, of whatever bits are left over.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// See everything.
    Look,
    /// And change what can be changed here.
    Change,
}

/// The tokens of an admin port.
#[derive(Clone)]
pub struct Access {
    change: Option<String>,
    look: Option<String>,
    form: String,
}

impl Access {
    /// With these tokens; without the first, everybody may do everything, and the second has no use.
    pub fn new(change: Option<String>, look: Option<String>) -> Self {
        // Two random ids hold 244 random bits.
        let form = [Uuid::new_v4(), Uuid::new_v4()];
        Self {
            look: look.filter(|_| change.is_some()),
            change,
            form: form.map(|id| id.simple().to_string()).concat(),
        }
    }

    /// Whether a token is demanded.
    pub fn demands_token(&self) -> bool {
        self.change.is_some()
    }

    /// What somebody may do who shows this token, if anything.
    pub(super) fn role(&self, given: Option<&[u8]>) -> Option<Role> {
        let Some(change) = &self.change else {
            return Some(Role::Change);
        };
        let given = given?;
        // Both are compared, so that the time says nothing of which it was.
        let may_change = equal(given, change.as_bytes());
        let look = self.look.as_ref();
        let may_look = look.is_some_and(|look| equal(given, look.as_bytes()));
        match (may_change, may_look) {
            (true, _) => Some(Role::Change),
            (false, true) => Some(Role::Look),
            (false, false) => None,
        }
    }

    /// Whether one of the tokens, or its beginning, is somewhere in a text, as it is or in base64.
    pub(super) fn has_token(&self, text: &[u8]) -> bool {
        let tokens = [&self.change, &self.look].into_iter().flatten();
        // Only the beginning: whoever has one token could guess the other one piece by piece if any part of it were looked for.
        let beginnings: Vec<&[u8]> = tokens
            .map(String::as_bytes)
            .map(|token| token.get(..BEGINNING).unwrap_or(token))
            .filter(|token| !token.is_empty())
            .collect();
        let has = |text: &[u8]| {
            beginnings.iter().any(|token| {
                let mut parts = text.windows(token.len());
                parts.any(|part| equal(part, token))
            })
        };
        !beginnings.is_empty() && (has(text) || in_base64(text).iter().any(|text| has(text)))
    }

    /// What a form of ours carries.
    pub(super) fn form(&self) -> &str {
        &self.form
    }

    /// Whether a form carries it.
    pub(super) fn is_own_form(&self, given: &str) -> bool {
        equal(given.as_bytes(), self.form.as_bytes())
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("change", &self.change.is_some())
            .field("look", &self.look.is_some())
            .finish_non_exhaustive()
    }
}

/// What the runs of characters of base64 in a text may stand for, in both alphabets, wherever in a run it begins.
fn in_base64(text: &[u8]) -> Vec<Vec<u8>> {
    let is_of_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let runs = text.split(|byte| !is_of_base64(byte));
    let mut found = Vec::new();
    for run in runs {
        let standard: Vec<u8> = run
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            })
            .collect();
        for begin in 0..4 {
            let mut rest = standard.get(begin..).unwrap_or_default();
            // One character alone is less than a byte.
            if let (1, [before @ .., _]) = (rest.len() % 4, rest) {
                rest = before;
            }
            if let Ok(decoded) = LENIENT.decode(rest) {
                found.push(decoded);
            }
        }
    }
    found
}

/// Compares in constant time, so that its duration does not reveal a prefix of the token.
fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_opens_what_it_is_for() {
        let text = |text: &str| Some(text.to_owned());
        let both = Access::new(text("changes"), text("looks"));
        let one = Access::new(text("changes"), None);
        let none = Access::new(None, text("looks"));
        for (access, given, role) in [
            (&both, Some("changes"), Some(Role::Change)),
            (&both, Some("looks"), Some(Role::Look)),
            (&both, Some("look"), None),
            (&both, Some("changesX"), None),
            (&both, Some(""), None),
            (&both, None, None),
            (&one, Some("looks"), None),
            (&one, Some("changes"), Some(Role::Change)),
            // Whoever reaches it is on this machine.
            (&none, None, Some(Role::Change)),
            (&none, Some("looks"), Some(Role::Change)),
        ] {
            assert_eq!(access.role(given.map(str::as_bytes)), role, "{given:?}");
        }
    }

    #[test]
    fn a_token_is_found_wherever_it_stands() {
        let both = Access::new(Some("changes".to_owned()), Some("looks".to_owned()));
        for text in ["changes", "looks", "it looks so", "xchanges"] {
            assert!(both.has_token(text.as_bytes()), "{text}");
            assert!(!Access::new(None, None).has_token(text.as_bytes()));
        }
        for text in ["", "change", "Looks"] {
            assert!(!both.has_token(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_token_and_its_base64_give_it_away() {
        let token = "0123456789abcdef0123456789abcdef";
        let access = Access::new(Some(token.to_owned()), None);
        let padded = base64::engine::general_purpose::STANDARD;
        let bare = base64::engine::general_purpose::URL_SAFE_NO_PAD;
        for text in [
            token.to_owned(),
            token.split_at(31).0.to_owned(),
            token.split_at(8).0.to_owned(),
            format!("ada {}", token.split_at(12).0),
            padded.encode(token),
            bare.encode(token),
            bare.encode(token.split_at(8).0),
            padded.encode(format!("ada:{token}")),
            format!("Basic {}", padded.encode(format!("\u{ff}\u{fe}a:{token}"))),
            format!("x{}", padded.encode(token)),
            format!("ab{}", padded.encode(token.split_at(20).0)),
        ] {
            assert!(access.has_token(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "ada",
            "ada lovelace",
            token.split_at(7).0,
            "a",
            "YWRh",
            &padded.encode("adalovelace"),
            "\u{e4}\u{f6}",
        ] {
            assert!(!access.has_token(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_form_of_another_process_is_none_of_ours() {
        let (one, other) = (Access::new(None, None), Access::new(None, None));
        assert!(one.is_own_form(one.form()));
        assert!(one.clone().is_own_form(one.form()));
        for given in ["", "0", other.form(), one.form().split_at(1).1] {
            assert!(!one.is_own_form(given), "{given}");
        }
        assert!(!format!("{one:?}").contains(one.form()));
    }
}
