//! Finds what lets somebody into a network: the key in the code of a wireless network (`WIFI:S:name;T:WPA;P:SECRET;;`), and
//! the community of SNMP in the configuration of a router (`snmp-server community SECRET RO`).

use std::ops::Range;

/// How the code of a wireless network begins, in any case.
const WIFI: &str = "wifi:";
/// Longest code that is read: a name and a key have 32 and 63 characters.
const MAX_BYTES: usize = 256;
/// What stands before a community.
const COMMUNITY: [&str; 2] = ["snmp-server community ", "set snmp community "];

/// The spans of all of them.
pub(super) fn keys(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for at in positions(text, WIFI) {
        let from = at + WIFI.len();
        spans.extend(text.get(from..).and_then(|rest| key_of_wifi(rest, from)));
    }
    for before in COMMUNITY {
        for at in positions(text, before) {
            let from = at + before.len();
            let rest = text.get(from..).unwrap_or_default();
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            spans.extend((length > 0).then_some(from..from + length));
        }
    }
    spans
}

/// Where a text has these small letters, in any case.
fn positions<'t>(text: &'t str, wanted: &'t str) -> impl Iterator<Item = usize> + 't {
    let parts = text.as_bytes().windows(wanted.len()).enumerate();
    let found = parts.filter(|(_, part)| part.eq_ignore_ascii_case(wanted.as_bytes()));
    found.map(|(at, _)| at)
}

/// The value of the field `P`. A backslash keeps a semicolon from ending it.
fn key_of_wifi(code: &str, from: usize) -> Option<Range<usize>> {
    let code = code.get(..code.floor_char_boundary(MAX_BYTES))?;
    let code = code.split(['\n', '\r']).next()?;
    let (mut begin, mut escaped) = (0, false);
    for (at, sign) in code.char_indices().chain([(code.len(), ';')]) {
        if sign == ';' && !escaped {
            let field = code.get(begin..at)?;
            if let Some(key) = field
                .strip_prefix(['P', 'p'])
                .and_then(|it| it.strip_prefix(':'))
            {
                return (!key.is_empty()).then(|| from + at - key.len()..from + at);
            }
            begin = at + 1;
        }
        escaped = sign == '\\' && !escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_networks_are_found_and_nothing_beside_them() {
        for (text, key) in [
            ("WIFI:S:net;T:WPA;P:HUNTER2;;", Some("HUNTER2")),
            ("wifi:P:a\\;b;S:P\\;x;;", Some("a\\;b")),
            ("WIFI:S:x;P:HUNTER2", Some("HUNTER2")),
            ("WIFI:S:x;T:nopass;;", None),
            ("WIFI:S:x;P:;;", None),
            ("wifi: P: is for people", None),
            ("snmp-server community HUNTER2 RO", Some("HUNTER2")),
            ("snmp-server community ", None),
            ("a community of 3", None),
        ] {
            let found = keys(text);
            let found: Vec<&str> = found
                .into_iter()
                .filter_map(|span| text.get(span))
                .collect();
            assert_eq!(found, Vec::from_iter(key), "{text}");
        }
    }
}
