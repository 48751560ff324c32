//! Recognizes secrets in paths: segments after a secret name, or after the name of a resource that a token gives access
//! to.
//!
//! Route labels and recorded paths both use this code, so that neither shows what the other hides. Segments are decoded
//! first, also if they were percent-encoded twice.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use smallvec::SmallVec;

use super::{CONTAINED, Words, contains, folded, holds_service_key, is_token};

/// How many layers of percent encoding are decoded.
const MAX_ENCODINGS: usize = 3;
/// Words of a segment behind which a token stands that lets its bearer do something.
const TOKEN_PLACES: [&str; 14] = [
    "activate",
    "activation",
    "callback",
    "confirm",
    "confirmation",
    "invite",
    "invitation",
    "magic",
    "reset",
    "share",
    "shared",
    "unsubscribe",
    "verification",
    "verify",
];
/// Whole segments behind which a token may stand, but more often an id or a word: only what is long or mixed is one.
const TICKET_PLACES: [&str; 14] = [
    "2fa",
    "code",
    "codes",
    "hook",
    "hooks",
    "invitations",
    "invites",
    "key",
    "keys",
    "mfa",
    "recover",
    "recovery",
    "shares",
    "ticket",
];
/// The last word of a segment behind which a session may stand: `/sessions/x`, `/checkout_sessions/x`. Who names it is in it.
const SESSIONS: [&str; 3] = ["session", "sessions", "logins"];
/// Shortest mixed token there …
const MIN_MIXED_BYTES: usize = 8;
/// … and shortest one of any letters.
const MIN_LONG_BYTES: usize = 24;
/// Words that stand behind secret names in the paths of services: what is done with a password or token.
const ACTIONS: [&str; 36] = [
    "accept",
    "api",
    "authorize",
    "callback",
    "cancel",
    "change",
    "check",
    "config",
    "confirm",
    "create",
    "data",
    "delete",
    "edit",
    "email",
    "expire",
    "forgot",
    "info",
    "introspect",
    "list",
    "login",
    "logout",
    "me",
    "metadata",
    "new",
    "password",
    "refresh",
    "register",
    "renew",
    "reset",
    "revoke",
    "rotate",
    "status",
    "token",
    "update",
    "users",
    "verify",
];
/// Longest text of small letters that is taken for a word where a token may stand.
const MAX_WORD_BYTES: usize = 16;

/// What the segments so far say about the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Behind {
    #[default]
    Nothing,
    /// A secret name: the next segment is its value.
    Name,
    /// The name of something that holds secrets: all that follows leads to one or is one.
    Holder,
    /// A place where a token may stand, or a word.
    Place,
    /// A place where a token may stand, or an id, or a word.
    Ticket,
}

/// Reads a path segment by segment.
///
/// A segment that leads nowhere (`.`, an empty one, one of signs alone, in any encoding) leaves the next one what it was,
/// and `..` leads back to what stood before: some servers take `/token/./x` and `/token/y/../x` for `/token/x`. Others do
/// not, so a segment is hidden if either reading says so.
#[derive(Debug, Default)]
pub struct Trail {
    behind: Behind,
    /// What was said before each segment; a byte for each, so never more than the path itself.
    before: SmallVec<[Behind; 8]>,
}

impl Trail {
    /// Whether the next segment must be hidden. `is_secret` recognizes secret names.
    pub fn hides(&mut self, segment: &str, is_secret: impl Fn(&str) -> bool) -> bool {
        if segment.is_empty() {
            return false;
        }
        let plain = decoded(segment);
        if !plain.contains(['/', '\\']) {
            return self.step(&plain, &is_secret);
        }
        // Some servers part a path at these, too.
        let mut hidden = holds_value(&plain, &is_secret);
        for piece in plain.split(['/', '\\']).filter(|piece| !piece.is_empty()) {
            hidden |= self.step(piece, &is_secret);
        }
        hidden
    }

    /// The same for a segment without encoding.
    fn step(&mut self, plain: &str, is_secret: &impl Fn(&str) -> bool) -> bool {
        let holds = holds_value(plain, is_secret);
        // Parameters of a segment are no part of its name: `/;v=1/`.
        let bare = plain.split(';').next().unwrap_or_default().trim();
        match bare {
            "" | "." => return holds || is_credential(plain),
            ".." => {
                let back = self.before.pop().unwrap_or_default();
                if self.behind == Behind::Nothing {
                    self.behind = back;
                }
                return holds || is_credential(plain);
            }
            _ => {}
        }
        let hidden = match self.behind {
            Behind::Nothing => false,
            Behind::Name | Behind::Holder => !is_any(plain, &ACTIONS),
            Behind::Place => !is_word(plain),
            Behind::Ticket => is_ticket(plain),
        };
        if !bare.contains(char::is_alphanumeric) {
            return hidden || holds;
        }
        // A name that has its value beside it says nothing of the next segment.
        // `/password;x/y`: nobody knows whether the parameter is it.
        let is_name = |text: &str| is_secret(text) && !text.is_empty();
        let named = !holds && is_name(plain) || bare != plain && is_name(bare);
        self.before.push(self.behind);
        self.behind = match self.behind {
            _ if named && is_holder(plain) => Behind::Holder,
            Behind::Holder => Behind::Holder,
            _ if named => Behind::Name,
            // `/token/refresh/x`: what is done with it comes before it.
            Behind::Name if !hidden => Behind::Name,
            _ if is_token_place(plain) => Behind::Place,
            // `/share/s/x`: a letter says which kind.
            Behind::Place if plain.len() == 1 => Behind::Place,
            // `/magic/login/x`, `/invite/accept/x`: what is done by it comes before it, and perhaps with whom: `/verify/users/42`.
            Behind::Place | Behind::Ticket if is_any(plain, &ACTIONS) => Behind::Ticket,
            _ if is_any(plain, &TICKET_PLACES) || is_session_place(plain) => Behind::Ticket,
            _ => Behind::Nothing,
        };
        hidden || holds || is_credential(plain)
    }
}

/// Whether a segment is a secret by itself, wherever it stands.
fn is_credential(plain: &str) -> bool {
    is_token(plain) || holds_service_key(plain)
}

/// A segment without its percent encoding.
fn decoded(segment: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(segment);
    for _ in 0..MAX_ENCODINGS {
        if !plain.contains('%') {
            break;
        }
        let next = percent_decode_str(&plain).decode_utf8_lossy().into_owned();
        if next == plain {
            break;
        }
        plain = Cow::Owned(next);
    }
    plain
}

/// Whether a name and its value are in one segment, as in `password,x`, `;token=x` and `ada:x@host`.
fn holds_value(plain: &str, is_secret: &impl Fn(&str) -> bool) -> bool {
    let parts = |byte: u8| b",;:=/\\!|~@#?&()'\"+ ".contains(&byte);
    if !plain.bytes().any(parts) {
        return false;
    }
    let login = plain
        .rfind('@')
        .is_some_and(|at| plain.get(..at).is_some_and(|before| before.contains(':')));
    if login {
        return true;
    }
    let signs = |character: char| u8::try_from(character).is_ok_and(parts);
    let mut pieces = plain.split(signs).filter(|piece| !piece.is_empty());
    pieces.next_back();
    pieces.any(is_secret)
}

fn is_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_token_place(plain: &str) -> bool {
    plain
        .split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| is_any(word, &TOKEN_PLACES))
}

fn is_session_place(plain: &str) -> bool {
    let mut words = plain.rsplit(|character: char| !character.is_ascii_alphanumeric());
    words.next().is_some_and(|last| is_any(last, &SESSIONS))
}

/// Whether a segment is long, or has letters and digits in no order that a name or an id has.
fn is_ticket(segment: &str) -> bool {
    let has = |test: fn(&u8) -> bool| segment.bytes().any(|byte| test(&byte));
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let cased = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    (segment.len() >= MIN_MIXED_BYTES && mixed && (cased || !segment.contains(['-', '_', '.'])))
        || (segment.len() >= MIN_LONG_BYTES && !is_word(segment))
}

/// Whether a secret name is that of a store of them (`/secrets/a/b`) rather than of a part of the service (`/auth/…`).
fn is_holder(plain: &str) -> bool {
    let joined = Words::of(&folded(plain)).joined();
    CONTAINED.iter().any(|word| contains(&joined, word))
}

/// Whether a segment is a word, or words parted by dashes: only letters of one case.
fn is_word(segment: &str) -> bool {
    segment
        .split(['-', '_'])
        .all(|word| word.chars().all(char::is_lowercase) && word.len() < MAX_WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::super::is_secret_name;
    use super::*;

    fn shown(path: &str) -> String {
        let mut trail = Trail::default();
        let segments = path.split('/').map(|segment| {
            if trail.hides(segment, is_secret_name) {
                "*"
            } else {
                segment
            }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    #[test]
    fn what_a_secret_name_leads_to_is_hidden() {
        for (path, expected) in [
            ("/users/42/orders", "/users/42/orders"),
            ("/pw/x", "/pw/*"),
            ("/token/x/accept", "/token/*/accept"),
            ("/token//x", "/token//*"),
            ("/token/./x", "/token/./*"),
            ("/token/%2e/x", "/token/%2e/*"),
            ("/token/%252e/x", "/token/%252e/*"),
            ("/token/y/../x", "/token/*/../*"),
            ("/token/y/%2E%2e/x", "/token/*/%2E%2e/*"),
            ("/token/y/z/../../x", "/token/*/z/../../*"),
            ("/token/../x", "/token/../*"),
            ("/token/y%2f..%2fx", "/token/*"),
            ("/token/y/..%2Fx", "/token/*/*"),
            ("/token%2F/x", "/token%2F/*"),
            ("/orders%2F42/x", "/orders%2F42/x"),
            ("/token/;v=1/x", "/token/;v=1/*"),
            ("/token/..;/x", "/token/..;/*"),
            ("/token/%20/x", "/token/%20/*"),
            ("/token/-/x", "/token/*/*"),
            ("/secrets/a/../../x", "/secrets/*/../../*"),
            ("/token/./refresh/x", "/token/./refresh/*"),
            ("/orders/./x", "/orders/./x"),
            ("/orders//x/../y", "/orders//x/../y"),
            ("/orders/../x", "/orders/../x"),
            ("/diff/token\\hunterB", "/diff/*"),
            ("/diff/token%5ChunterA", "/diff/*"),
            ("/token/refresh/Secret1", "/token/refresh/*"),
            ("/token/revoke/abc123", "/token/revoke/*"),
            ("/otp/check/481516", "/otp/check/*"),
            ("/password/reset/confirm", "/password/reset/confirm"),
            ("/auth/login", "/auth/login"),
            ("/auth/x/y", "/auth/*/y"),
            ("/v1/secrets/a/b/x", "/v1/secrets/*/*/*"),
            ("/password/reset/x", "/password/reset/*"),
            ("/password;x/y", "/*/*"),
            ("/reset-password/x", "/reset-password/*"),
            ("/magic-link/aB3", "/magic-link/*"),
            ("/magic-link/482913", "/magic-link/*"),
            ("/verify/email", "/verify/email"),
            ("/%70assword/x", "/%70assword/*"),
            ("/%2570assword/x", "/%2570assword/*"),
            ("/login/password,x", "/login/*"),
            ("/login/password%2Fx", "/login/*"),
            ("/login;jsessionid=x/y", "/*/y"),
            ("/ada:x@host", "/*"),
            ("/orders/a,b;c=d", "/orders/a,b;c=d"),
            ("/oauth/code/HUNTER2x", "/oauth/code/*"),
            ("/2fa/HUNTER2x", "/2fa/*"),
            ("/api/keys/sunnyQC19S/rotate", "/api/keys/*/rotate"),
            ("/mfa/recovery/sunnyQC22S", "/mfa/recovery/*"),
            ("/recover/sunnyqc24s", "/recover/*"),
            ("/hooks/sunnyQC16S", "/hooks/*"),
            ("/ticket/sunnyQC21S", "/ticket/*"),
            ("/share/s/sunnyQC21S", "/share/s/*"),
            ("/hooks/github", "/hooks/github"),
            ("/ticket/4711", "/ticket/4711"),
            ("/keys/user-settings-v2", "/keys/user-settings-v2"),
            ("/code/review", "/code/review"),
            ("/postal-code/SW1A1AA", "/postal-code/SW1A1AA"),
            ("/key/DE", "/key/DE"),
            ("/files/AKIAIOSFODNN7EXAMPLE", "/files/*"),
            ("/sessions/s3cr3tSessionId99", "/sessions/*"),
            (
                "/sessions/6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b",
                "/sessions/*",
            ),
            ("/sessions/9f86d081884c7d65/events", "/sessions/*/events"),
            (
                "/v1/checkout_sessions/cs4testA1b2",
                "/v1/checkout_sessions/*",
            ),
            ("/user-sessions/aB3dE5fG7hJ9", "/user-sessions/*"),
            ("/sessions/%73%33cr3tSessionId99", "/sessions/*"),
            ("/magic/login/k7Qz31xTb9Wm", "/magic/login/*"),
            ("/magic/k7Qz31xTb9Wm", "/magic/*"),
            ("/reset/k7qz31xtb9wm", "/reset/*"),
            ("/reset/confirm/k7qz31xtb9wm", "/reset/confirm/*"),
            ("/invite/k7qz31xt", "/invite/*"),
            ("/invite/accept/k7qz31xtb9wm", "/invite/accept/*"),
            ("/invites/k7qz31xtb9wm", "/invites/*"),
            ("/invitations/k7qz31xtb9wm/accept", "/invitations/*/accept"),
            ("/verify/email/k7qz31xtb9wm", "/verify/email/*"),
            // Ids, words and what belongs to somebody.
            ("/sessions/4711", "/sessions/4711"),
            ("/sessions/current/events", "/sessions/current/events"),
            ("/sessions/2026-keynote", "/sessions/2026-keynote"),
            ("/sessions/new/form", "/sessions/new/form"),
            ("/invitations/4711", "/invitations/4711"),
            ("/verify/users/42", "/verify/users/42"),
            ("/magic/login/start", "/magic/login/start"),
            ("/missions/k7qz31xtb9wm", "/missions/k7qz31xtb9wm"),
            (
                "/orders/6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b",
                "/orders/6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b",
            ),
            (
                "/orders/9f86d081884c7d65/items/4711",
                "/orders/9f86d081884c7d65/items/4711",
            ),
            (
                "/share/orders/6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b",
                "/share/orders/6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b",
            ),
            ("/login/start/k7qz31xt", "/login/start/k7qz31xt"),
            ("/files/x.npm_abcdefghijklmnopqrstuvwxyz/y", "/files/*/y"),
        ] {
            assert_eq!(shown(path), expected);
        }
    }
}
