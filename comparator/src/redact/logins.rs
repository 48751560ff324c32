//! Finds credentials in URLs, in addresses of databases and in `user:password@host`, and secrets in paths.

use std::ops::Range;

use parity_schemas::secret::Trail;

use super::Redactor;

/// Schemes whose addresses have no password: `mailto:ada@example.org`.
const SCHEMES: [&str; 8] = ["acct", "im", "mailto", "npm", "sip", "sips", "tel", "xmpp"];

/// The credentials of `scheme://user:password@host`: all up to the last `@` before the path. A quote ends an address
/// only if the same quote precedes it.
pub(super) fn in_addresses(text: &str) -> Vec<Range<usize>> {
    text.match_indices("//")
        .filter_map(|(at, sign)| {
            let from = at + sign.len();
            let authority = text.get(from..)?;
            let before = text.get(..at)?;
            let whole = before.ends_with(':');
            let scheme = |sign: char| sign.is_ascii_alphanumeric() || "+-.:".contains(sign);
            let quote = match before.trim_end_matches(scheme).chars().next_back() {
                Some('<') => Some('>'),
                quote => quote.filter(|quote| matches!(quote, '"' | '\'' | '`')),
            };
            let ends = |end: char| {
                end.is_whitespace() || matches!(end, '/' | '?' | '#') || Some(end) == quote
            };
            let end = authority.find(ends).unwrap_or(authority.len());
            let (authority, behind) = authority.split_at_checked(end)?;
            if whole && let Some(more) = slashed(authority, behind, quote) {
                return Some(from..from + more);
            }
            authority
                .rfind('@')
                .filter(|length| {
                    whole
                        || authority
                            .get(..*length)
                            .is_some_and(|login| login.contains(':'))
                })
                .map(|length| from..from + length)
        })
        .filter(|span| !span.is_empty())
        .collect()
}

/// The length of credentials whose password has a slash: `postgres://user:a/b@host`. What follows the colon is no port then.
fn slashed(authority: &str, behind: &str, quote: Option<char>) -> Option<usize> {
    /// Longest rest of a password that is looked for. It bounds the work on a text full of addresses.
    const MAX_BYTES: usize = 256;
    let (user, password) = authority.split_once(':')?;
    let is_port = password.bytes().all(|digit| digit.is_ascii_digit());
    let is_plain = !user.contains(['[', '@']) && !password.contains('@');
    if is_port || !is_plain || !behind.starts_with('/') {
        return None;
    }
    let near = behind.get(..behind.floor_char_boundary(MAX_BYTES))?;
    let ends = |end: char| end.is_whitespace() || matches!(end, '<' | '>') || Some(end) == quote;
    let word = near.split(ends).next()?;
    Some(authority.len() + word.rfind('@')?)
}

/// The credentials of an Oracle address: `jdbc:oracle:thin:user/password@…`.
pub(super) fn in_oracle_addresses(text: &str) -> Vec<Range<usize>> {
    const SCHEME: &str = "jdbc:oracle:";
    /// Longest login that is looked for, with the name of the driver.
    const MAX_BYTES: usize = 256;
    text.match_indices(SCHEME)
        .filter_map(|(at, _)| {
            let from = at + SCHEME.len();
            let rest = text.get(from..)?;
            let rest = rest.get(..rest.floor_char_boundary(MAX_BYTES))?;
            let address = rest.split(char::is_whitespace).next()?;
            // Behind the driver's name.
            let begin = address.find(':')? + 1;
            let login = address.get(begin..address.find('@')?)?;
            (login.contains('/')).then(|| from + begin..from + begin + login.len())
        })
        .collect()
}

/// The quote characters that occur more than once in a text, so that they may separate its pieces.
fn quotes_of(text: &str) -> String {
    ['"', '\'', '`']
        .into_iter()
        .filter(|quote| text.matches(*quote).nth(1).is_some())
        .collect()
}

/// The same for `user:password@host` without a scheme.
pub(super) fn before_hosts(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    if !text.contains('@') {
        return spans;
    }
    let quotes = quotes_of(text);
    let mut start = 0;
    for piece in text.split_inclusive(|end: char| {
        end.is_whitespace() || matches!(end, '<' | '>') || quotes.contains(end)
    }) {
        let from = start;
        start += piece.len();
        let Some((before, host)) = piece.rsplit_once('@') else {
            continue;
        };
        let login = before.rfind('/').map_or(0, |at| at + 1);
        let Some((user, password)) = before.get(login..).and_then(|login| login.split_once(':'))
        else {
            continue;
        };
        let addressed = host.starts_with(|first: char| first.is_alphanumeric() || first == '[')
            && !begins_with_digest(host);
        if addressed
            && !password.is_empty()
            && !SCHEMES
                .iter()
                .any(|scheme| user.eq_ignore_ascii_case(scheme))
        {
            spans.push(from + login..from + before.len());
        }
    }
    spans
}

/// Where the path of an address begins: after its host, which `//` precedes. Within a path `//` is an empty segment, and
/// at its begin a name without a dot is no host.
fn path_begins(text: &str) -> usize {
    let Some(at) = text.find("//") else {
        return 0;
    };
    let before = text.get(..at).unwrap_or_default();
    let in_path = before
        .chars()
        .next_back()
        .is_some_and(|sign| sign.is_alphanumeric() || "/-_.~%".contains(sign));
    let rest = text.get(at + 2..).unwrap_or_default();
    let host = rest.find('/').unwrap_or(rest.len());
    let named = rest
        .get(..host)
        .unwrap_or_default()
        .contains(['.', ':', '@']);
    if in_path || (before.is_empty() && !named) {
        0
    } else {
        at + 2 + host
    }
}

/// Whether what stands behind an `@` names an image by its content: `shop/cart:1.4@sha256:` and 64 hex digits. Before it is
/// a tag and no password.
fn begins_with_digest(host: &str) -> bool {
    const HEX_DIGITS: usize = 64;
    let digits = host.strip_prefix("sha256:").unwrap_or_default().bytes();
    digits.take_while(u8::is_ascii_hexdigit).count() == HEX_DIGITS
}

impl Redactor {
    /// The secret segments of the paths in a text.
    pub(super) fn in_paths(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        if !text.contains('/') {
            return spans;
        }
        let quotes = quotes_of(text);
        let ends =
            |end: char| end.is_whitespace() || "<>{}[]\\^".contains(end) || quotes.contains(end);
        let mut start = 0;
        for piece in text.split_inclusive(&ends) {
            let from = start;
            start += piece.len();
            let piece = piece.trim_end_matches(&ends);
            let path = piece
                .find(['?', '#'])
                .and_then(|end| piece.get(..end))
                .unwrap_or(piece);
            let slashes = path.bytes().filter(|byte| *byte == b'/').count();
            if slashes == 0 || !(slashes > 1 || path.starts_with('/') || path.contains("%2")) {
                continue;
            }
            let mut trail = Trail::default();
            let mut at = path_begins(path);
            for segment in path.get(at..).unwrap_or_default().split('/') {
                if trail.hides(segment, |name| self.secret_names.contains(name)) {
                    spans.push(from + at..from + at + segment.len());
                }
                at += segment.len() + 1;
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_before_a_digest_is_no_password_and_nothing_else_passes_for_a_digest() {
        let image = format!("shop/cart:1.4@sha256:{}", "0a".repeat(32));
        assert!(before_hosts(&image).is_empty());
        for text in [
            "joe:HUNTER2@sha256:22",
            "joe:HUNTER2@sha256:",
            "joe:HUNTER2@host",
        ] {
            let spans = before_hosts(text);
            assert_eq!(spans.len(), 1, "{text}");
            assert_eq!(text.get(spans[0].clone()), Some("joe:HUNTER2"));
        }
    }
}
