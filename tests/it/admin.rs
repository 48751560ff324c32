//! Who may look at the admin port and who may change something by it: tokens, forms, TLS.

mod audited;
mod encrypted;
mod forged;
mod roles;

use serde_json::Value;

use crate::support::client::{self, Answer};
use crate::support::process::Mirror;

const CHANGES: &str = "the-token-for-changes";
const LOOKS: &str = "the-token-for-looking";

fn post(mirror: &Mirror<'_>, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    client::send(mirror.admin, "POST", path, headers, body.as_bytes())
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// User and token, as a browser sends them.
fn basic(user: &str, token: &str) -> String {
    format!("Basic {}", base64(&format!("{user}:{token}")))
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut written = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut bits = 0_u32;
        for place in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(place).copied().unwrap_or_default());
        }
        for place in 0..4 {
            if place > chunk.len() {
                written.push('=');
            } else {
                let digit = bits >> (18 - 6 * place) & 63;
                written.push(char::from(DIGITS[digit as usize]));
            }
        }
    }
    written
}

/// What the forms of a page carry.
pub(crate) fn form(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("name=\"form\" value=\"")?;
    rest.split('"').next()
}

fn is_shadowing(status: &Answer) -> Value {
    status.json()["shadowing"].clone()
}
