//! Ids of sessions as the names of members: `{"sessions":{"9f86d081884c7d65":{"user":"ada"}}}`.
//!
//! Whoever has the id of a session has the session. Under a name of its own it is a secret as `session_id` is; as a key it is
//! known by where it stands and by its look, so that `{"sessions":{"mobile":3}}` stays as it is.

use parity_schemas::secret::is_token;

/// Shortest id: half the digits of a UUID. Shorter ones could be guessed, and are names.
const MIN_BYTES: usize = 16;
/// Shortest run of letters of both cases and digits, which is no word.
const MIN_MIXED_BYTES: usize = 8;
/// How often letters and digits must take turns in an id that is no hexadecimal number.
const MIN_TURNS: usize = 4;

/// Whether the members of an object of this name are sessions.
pub(super) fn are_named(name: &str) -> bool {
    ["session", "sessions"].iter().any(|end| {
        let at = name.len().checked_sub(end.len());
        at.and_then(|at| name.get(at..))
            .is_some_and(|last| last.eq_ignore_ascii_case(end))
    })
}

/// Whether a name may be the id of a session.
pub(super) fn is_id(key: &str) -> bool {
    let signs = |sign: char| sign.is_ascii_alphanumeric() || "-_.~+=/%".contains(sign);
    if !key.chars().all(signs) {
        return false;
    }
    if key
        .split(|sign: char| !sign.is_ascii_alphanumeric())
        .any(is_mixed)
    {
        return true;
    }
    if key.len() < MIN_BYTES {
        return false;
    }
    let digits = key.bytes().filter(u8::is_ascii_hexdigit).count();
    let is_hex = digits >= MIN_BYTES
        && key
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_hex || is_token(key) || has_random_run(key)
}

/// Whether letters and digits take turns in a long run of a text, as they do in no name.
pub(super) fn has_random_run(text: &str) -> bool {
    let runs = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    let mut runs = runs.filter(|run| run.len() >= MIN_BYTES);
    runs.any(|run| turns(run) >= MIN_TURNS)
}

/// Whether a run has letters of both cases and digits, and not all of the digits at its end.
fn is_mixed(run: &str) -> bool {
    let has = |test: fn(&u8) -> bool| run.bytes().any(|byte| test(&byte));
    run.len() >= MIN_MIXED_BYTES
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && turns(run) > 1
}

fn turns(run: &str) -> usize {
    let kinds = run.as_bytes().windows(2);
    kinds
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_sessions_are_told_from_words_and_dates() {
        for name in [
            "sessions",
            "activeSessions",
            "user_sessions",
            "session",
            "Sessions",
        ] {
            assert!(are_named(name), "{name}");
        }
        for name in ["sessionCount", "users", "", "sess", "obsessions_of"] {
            assert!(!are_named(name), "{name}");
        }
        for id in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "550e8400-e29b-41d4-a716-446655440000",
            "sess_4f2a9c81d0b7e6a3",
            "kX9vQz2LmN8pRt4WbYc7",
            "s%3AkX9vQz2LmN8pRt4WbYc7.abc",
            "sunnyQB09S",
        ] {
            assert!(is_id(id), "{id}");
        }
        for name in [
            "mobile",
            "AcmeCorp2024",
            "top10users",
            "2026-01-31",
            "2026-01-31-evening",
            "conference-room-2026",
            "2026-01-31T09:30:00Z",
            "authenticatedUsers",
            "total_duration_seconds",
        ] {
            assert!(!is_id(name), "{name}");
        }
    }
}
