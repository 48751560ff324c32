//! Redacts plain text by patterns. This is best effort, because nothing marks where a value begins and ends.
//!
//! A value counts as secret if it follows a secret name (`password=…`, `"token": "…"`, `:pin => …`, `api key: …`,
//! `--secret …`) or a sentence tells it (`prose`), or if it looks like a secret: credentials in a URL, `Bearer …`, JSON web tokens, private keys, keys
//! of well-known services, card numbers. Percent encoding and escapes are undone before a name is checked. Where the
//! end of a value is unclear, more is hidden rather than less.

use std::borrow::Cow;
use std::ops::Range;

use parity_schemas::secret::is_service_key;

use super::name_value::{Name, names, separator_after};
use super::{Redactor, cards, codes, commands, logins, networks, passfiles, webhooks};

/// Words that a credential follows after a space.
const SCHEMES: [&str; 4] = ["bearer", "basic", "negotiate", "digest"];
/// Command-line options that `user:password` follows.
const LOGIN_OPTIONS: [&str; 3] = ["-u", "--user", "--proxy-user"];
/// Longest first line of a PEM block that is looked at.
const MAX_LABEL_BYTES: usize = 80;

impl Redactor {
    /// The text with everything that looks like a secret replaced. It is nested in `depth` other texts.
    pub(super) fn text<'t>(&self, text: &'t str, depth: usize) -> Cow<'t, str> {
        self.text_of(text, depth, false)
    }

    /// The same for a text that is declared to be one table.
    pub(super) fn table<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text_of(text, 0, true)
    }

    /// The spans of what looks like a secret.
    pub(super) fn secrets_in(&self, text: &str, depth: usize, table: bool) -> Vec<Range<usize>> {
        let mut spans = self.found_in(text, depth, table);
        spans.extend(cards::find(text));
        spans
    }

    /// The same without the numbers of cards.
    fn found_in(&self, text: &str, depth: usize, table: bool) -> Vec<Range<usize>> {
        let mut spans = self.after_names(text);
        spans.extend(self.in_columns(text, table));
        spans.extend(self.in_paths(text));
        spans.extend(self.in_statements(text));
        spans.extend(logins::in_addresses(text));
        spans.extend(logins::in_oracle_addresses(text));
        spans.extend(logins::before_hosts(text));
        spans.extend(webhooks::secrets(text));
        spans.extend(private_keys(text));
        spans.extend(commands::passwords(text));
        spans.extend(commands::piped(text));
        spans.extend(passfiles::hashes(text));
        spans.extend(passfiles::lines(text));
        spans.extend(codes::told_before(text));
        spans.extend(codes::to_enter(text));
        spans.extend(networks::keys(text));
        self.encoded(text, depth, &mut spans);
        spans
    }

    fn text_of<'t>(&self, text: &'t str, depth: usize, table: bool) -> Cow<'t, str> {
        let mut spans = self.found_in(text, depth, table);
        let cards = cards::find(text);
        if spans.is_empty() && cards.is_empty() {
            return Cow::Borrowed(text);
        }
        spans.extend(cards.iter().cloned());
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for span in merged(spans) {
            let hidden = text.get(span.clone()).unwrap_or_default();
            out.push_str(text.get(at..span.start).unwrap_or_default());
            let hash = if cards.contains(&span) {
                self.hash(cards::digits_of(hidden).as_bytes())
            } else {
                self.hash(hidden.as_bytes())
            };
            out.push_str(&hash);
            at = span.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The spans of values that follow secret names, and of words that are credentials themselves.
    fn after_names(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut hidden_to = 0;
        for name in names(text) {
            if name.span.start < hidden_to {
                continue;
            }
            let span = self.value_of(text, &name);
            if let Some(span) = span {
                hidden_to = span.end;
                spans.push(span);
            }
        }
        spans
    }

    fn value_of(&self, text: &str, name: &Name) -> Option<Range<usize>> {
        let word = text.get(name.span.clone())?;
        if is_service_key(word) {
            return Some(name.span.clone());
        }
        let after = text.get(name.span.end..)?;
        if SCHEMES
            .iter()
            .any(|scheme| word.eq_ignore_ascii_case(scheme))
        {
            let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
            let value = after.get(blank..)?;
            let length = value.find(|end: char| end.is_whitespace() || "\"',;<>&".contains(end));
            let length = length.unwrap_or(value.len());
            let from = name.span.end + blank;
            let credential = value.get(..length)?;
            let is_word = credential.chars().all(char::is_lowercase);
            if blank > 0 && length >= 4 && !is_word {
                return Some(from..from + length);
            }
        }
        // `-uada:…`, without a space.
        if word.starts_with("-u")
            && !word.starts_with("--")
            && after.starts_with(':')
            && word.len() > 2
        {
            let length = after.find(char::is_whitespace).unwrap_or(after.len());
            return Some(name.span.start + 2..name.span.end + length);
        }
        if LOGIN_OPTIONS.contains(&word) {
            let sign = |sign: char| sign.is_whitespace() || sign == '=';
            let blank = after.len() - after.trim_start_matches(sign).len();
            let value = after.get(blank..)?;
            let length = value.find(char::is_whitespace).unwrap_or(value.len());
            let from = name.span.end + blank;
            return value
                .get(..length)?
                .contains(':')
                .then_some(from..from + length);
        }
        if let Some(code) = codes::told(text, name) {
            return Some(code);
        }
        let Some(sign) = separator_after(text, name) else {
            return self.told(text, name);
        };
        // A name may consist of several words: `pin code: 1234`.
        let parameter = text
            .get(..name.span.start)
            .is_some_and(|before| before.ends_with(['?', '&', '#', ';']));
        let secret = self.secret_names.contains(&name.decoded(text))
            || (parameter && is_secret_parameter(word))
            || is_key_of_environment(word, after)
            || self
                .secret_names
                .contains(text.get(name.phrase..name.span.end)?)
            || (word.eq_ignore_ascii_case("by")
                && text
                    .get(name.phrase..name.span.start)?
                    .to_ascii_lowercase()
                    .ends_with("identified "));
        // Computed last, because finding the end of a value may scan the whole text.
        secret
            .then(|| sign.value(text, name))
            .filter(|value| !value.is_empty())
    }
}

/// Whether a URL parameter holds a credential although its name says little elsewhere: `code` of OAuth, `key` of many
/// APIs, `sig` of signed URLs.
fn is_secret_parameter(name: &str) -> bool {
    ["code", "key", "sig"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a word is a variable of an environment that holds the key of a service: `STRIPE_KEY=`. Other keys have such names,
/// too: of tables, of caches, of what is public.
fn is_key_of_environment(word: &str, after: &str) -> bool {
    const NO_SECRETS: [&str; 16] = [
        "CACHE",
        "FOREIGN",
        "GROUP",
        "HASH",
        "INDEX",
        "LOOKUP",
        "ORDER",
        "PARTITION",
        "PRIMARY",
        "PUBLIC",
        "PUBLISHABLE",
        "RANGE",
        "ROUTING",
        "SHARD",
        "SORT",
        "UNIQUE",
    ];
    let is_variable = |name: &str| {
        name.bytes()
            .all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == b'_')
    };
    after.starts_with('=')
        && !after.starts_with("==")
        && word.strip_suffix("_KEY").is_some_and(|owner| {
            is_variable(owner) && !owner.split('_').any(|part| NO_SECRETS.contains(&part))
        })
}

/// The spans of private keys in PEM, from their first line to their last.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("-----BEGIN ")) {
        let start = from + at;
        let rest = text.get(start..).unwrap_or_default();
        let head = rest.get(..rest.floor_char_boundary(MAX_LABEL_BYTES));
        let label = head.and_then(|head| head.get(5..)?.split_once("-----"));
        let private = label.is_none_or(|(label, _)| label.contains("PRIVATE"));
        let end = rest
            .find("-----END ")
            .and_then(|end| {
                let tail = rest.get(end + 9..)?;
                Some(end + 9 + tail.find("-----")? + 5)
            })
            .unwrap_or(rest.len());
        if private {
            spans.push(start..start + end);
        }
        from = start + end;
    }
    spans
}

/// The spans in order, with overlapping ones merged.
pub(super) fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut out: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}
