//! Finds the secrets in addresses of webhooks: whoever knows such an address may write to the channel behind it, so its path
//! is a password, although no name in it says so.
//!
//! Only the services whose addresses are known to be secrets count; `https://discord.com/api/users/1` is an ordinary address.

use std::ops::Range;

/// Begins of such addresses in small letters, and how many segments behind them tell only where they lead.
const ADDRESSES: [(&str, usize); 8] = [
    ("api.telegram.org/", 0),
    ("discord.com/api/webhooks/", 1),
    ("discordapp.com/api/webhooks/", 1),
    (".webhook.office.com/", 1),
    ("outlook.office.com/webhook/", 0),
    ("hooks.slack.com/services/", 0),
    ("hooks.slack.com/workflows/", 0),
    ("hooks.slack.com/triggers/", 0),
];

/// The secret ends of the addresses of webhooks in a text. The search goes on behind what was found, so each byte is read
/// once for each begin, whatever the text repeats.
pub(super) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    if !text.contains('/') {
        return spans;
    }
    let lower = text.to_ascii_lowercase();
    for (begin, kept) in ADDRESSES {
        let mut at = 0;
        while let Some(found) = lower.get(at..).and_then(|rest| rest.find(begin)) {
            let path = at + found + begin.len();
            let rest = text.get(path..).unwrap_or_default();
            let length = rest.find(ends_address).unwrap_or(rest.len());
            let rest = rest.get(..length).unwrap_or_default();
            let parts = rest.split_inclusive('/').take(kept);
            let from = path + parts.map(str::len).sum::<usize>();
            at = path + length;
            if from < at {
                spans.push(from..at);
            }
        }
    }
    spans
}

fn ends_address(sign: char) -> bool {
    sign.is_whitespace() || matches!(sign, '"' | '\'' | '`' | '<' | '>' | '\\' | ')' | ']' | '}')
}
