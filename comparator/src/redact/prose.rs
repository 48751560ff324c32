//! Finds the secrets that sentences tell: `the password is opensesame`, `The password for bob is: …`, `login ada password
//! opensesame`.
//!
//! Best effort, and careful with prose: most sentences with the word in them tell no password (`password is required`).
//! So only names that say nothing else count (`password`, `passphrase`, `access token`), and a word of small letters is a
//! value only where a value may stand and if people do not write it there otherwise.

use std::ops::Range;

use super::Redactor;
use super::name_value::Name;

/// Longest rest of a sentence that is looked at, from the name to its value.
const MAX_BYTES: usize = 160;
/// Longest begin of a line that is looked at before a name.
const MAX_BEFORE: usize = 48;
/// Most words between a name and its verb: `for the new user bob`.
const MAX_BETWEEN: usize = 5;
/// Shortest word of small letters that is taken for a value.
const MIN_LETTERS: usize = 3;

/// Words between a name and whose it is.
const OF: [&str; 10] = [
    "for", "of", "to", "from", "on", "für", "von", "pour", "para", "de",
];
/// Words before a value.
const VERBS: [&str; 8] = ["is", "was", "are", "ist", "war", "lautet", "est", "es"];
/// Words before a name behind which its value may follow without a verb.
const WITH: [&str; 7] = ["with", "use", "using", "and", "login", "user", "username"];
/// Ends of words that are seldom a password.
const ENDS: [&str; 19] = [
    "able", "ance", "ation", "ed", "ence", "ent", "ful", "ible", "ic", "ing", "ion", "ity", "ive",
    "less", "ly", "ness", "ory", "ous", "ery",
];
/// Other words that people write behind `password` and `password is`.
#[rustfmt::skip]
const PROSE: [&str; 163] = [
    "a", "about", "above", "again", "age", "all", "alone", "already", "also", "always", "an", "and", "any", "as",
    "at", "attempt", "available", "bad", "be", "before", "below", "blank", "both", "box", "broken", "but", "by",
    "can", "case", "change", "check", "confirm", "correct", "dialog", "different", "do", "does", "done", "down",
    "due", "email", "empty", "entry", "error", "exact", "exists", "expiry", "fails", "false", "field", "fine",
    "first", "for", "forgotten", "form", "format", "found", "from", "gone", "good", "has", "hash", "help", "here",
    "hidden", "hint", "history", "how", "if", "in", "incorrect", "input", "insecure", "invalid", "it", "its", "just",
    "kept", "known", "last", "length", "link", "list", "login", "long", "lost", "manager", "match", "may", "mismatch",
    "missing", "must", "my", "necessary", "needs", "never", "new", "no", "not", "now", "null", "of", "off", "ok",
    "okay", "old", "on", "once", "one", "only", "optional", "or", "our", "out", "over", "page", "policy", "present",
    "private", "prompt", "public", "quality", "ready", "reset", "right", "rules", "safe", "same", "screen", "secret",
    "secure", "sent", "set", "settings", "short", "shown", "simple", "so", "still", "storage", "strength", "strong",
    "than", "that", "the", "there", "to", "today", "token", "too", "twice", "unknown", "unsafe", "unset", "up",
    "update", "user", "valid", "weak", "what", "wrong", "your", "yours",
];

impl Redactor {
    /// The span of the value that the sentence around a name tells, if no sign separates the two.
    pub(super) fn told(&self, text: &str, name: &Name) -> Option<Range<usize>> {
        let rest = text.get(name.span.end..)?;
        if !rest.starts_with([' ', '\t', '\u{a0}']) || !self.is_told_name(text, name) {
            return None;
        }
        let near = rest.get(..rest.floor_char_boundary(MAX_BYTES))?;
        let line = near.split(['\n', '\r']).next()?;
        // If the end of the line is out of sight, no word can be taken for its last one.
        let whole = line.len() < near.len() || near.len() == rest.len();
        let from = |word: &str| {
            text.len() - rest.len() + (word.as_ptr() as usize - rest.as_ptr() as usize)
        };
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let (value, sign) = if OF.contains(&first) {
            after_owner(words)?
        } else if is_verb(first) {
            (words.next()?, first)
        } else if whole && words.next().is_none() && may_follow(text, name) {
            (first, "")
        } else {
            return None;
        };
        let start = from(value);
        if sign.ends_with([':', '=']) {
            let end = from(line) + line.trim_end().len();
            return (start < end).then_some(start..end);
        }
        let core = value.trim_matches(|sign: char| ".,:;!?\"'`()“”„‘’«»".contains(sign));
        let letters = core.chars().all(char::is_lowercase);
        // Without a verb, what is no word of small letters is recognized by its look elsewhere.
        let tells = if letters {
            core.chars().count() >= MIN_LETTERS && !is_prose(core)
        } else {
            !sign.is_empty() && !core.is_empty()
        };
        tells.then(|| from(core)..from(core) + core.len())
    }

    /// Whether a name, alone or with the word before it, says nothing else.
    fn is_told_name(&self, text: &str, name: &Name) -> bool {
        let names = &self.secret_names;
        let phrase = text.get(name.phrase..name.span.end).unwrap_or_default();
        let two = phrase.rmatch_indices(char::is_whitespace).nth(1);
        let two = two.and_then(|(at, _)| phrase.get(at..)).unwrap_or(phrase);
        text.get(name.span.clone())
            .is_some_and(|word| names.contains_exactly(word))
            || names.contains_exactly(two)
    }
}

/// The word after `for bob is:`, and the word that separates it.
fn after_owner<'t>(words: impl Iterator<Item = &'t str>) -> Option<(&'t str, &'t str)> {
    let mut words = words.take(MAX_BETWEEN + 2);
    while let Some(word) = words.next() {
        if is_verb(word) || word.ends_with([':', '=']) {
            return Some((words.next()?, word));
        }
        if word.ends_with(['.', ',', ';', '!', '?']) {
            return None;
        }
    }
    None
}

fn is_verb(word: &str) -> bool {
    let verb = word.trim_end_matches([':', '=']);
    VERBS.contains(&verb)
}

/// Whether a value may follow a name directly: the name begins its line, or stands behind a user.
fn may_follow(text: &str, name: &Name) -> bool {
    let before = text.get(..name.span.start).unwrap_or_default();
    let before = before.get(before.ceil_char_boundary(before.len().saturating_sub(MAX_BEFORE))..);
    let line = before.and_then(|before| before.rsplit(['\n', '\r']).next());
    let mut words = line.unwrap_or_default().split_whitespace().rev();
    let is_user = |word: &str| {
        let word = word.trim_end_matches([',', ':', ';']);
        ["account", "login", "user", "username"]
            .iter()
            .any(|user| word.eq_ignore_ascii_case(user))
    };
    match words.next() {
        None => true,
        Some(last) => {
            WITH.iter().any(|with| last.eq_ignore_ascii_case(with)) || words.take(2).any(is_user)
        }
    }
}

/// Whether people write a word behind a secret name without telling a secret.
fn is_prose(word: &str) -> bool {
    /// Shorter words end like others by chance.
    const MIN_BYTES: usize = 5;
    let single = word.strip_suffix('s').unwrap_or(word);
    PROSE.contains(&word)
        || PROSE.contains(&single)
        || (word.len() >= MIN_BYTES
            && ENDS
                .iter()
                .any(|end| word.ends_with(end) || single.ends_with(end)))
}
