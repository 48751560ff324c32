//! Redacts method, path, query and header values.
//!
//! A header or query value is recorded only if its name is on the operator's list, and then it is redacted like any
//! other text. A name that looks like a token is none, and hidden, too; so is that of a cookie. A path segment is hidden
//! if it follows a secret name, is a card number, or looks like a token.

use std::borrow::Cow;

use http::Method;
use parity_schemas::secret::Trail;
use parity_schemas::verdict::{Part, Tolerated};

use super::accounts::may_be_secret;
use super::escapes::percent_decoded;
use super::{Redactor, cards, sessions, webhooks};
use crate::rules::Scope;

/// Header fields that hold URLs.
const ADDRESSES: [&str; 5] = ["content-location", "link", "location", "referer", "refresh"];

/// What stands for an extension method.
pub(super) const OTHER_METHOD: &str = "OTHER";

/// The method as it may be recorded. An extension method is text that the client chose, so it is not.
pub(super) fn method(method: &Method) -> &str {
    const KNOWN: [Method; 9] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    if KNOWN.contains(method) {
        method.as_str()
    } else {
        OTHER_METHOD
    }
}

impl Redactor {
    pub(super) fn tolerated(
        &self,
        tolerated: &Tolerated,
        doubtful: bool,
        scope: &Scope,
    ) -> Tolerated {
        Tolerated {
            path: self.pointer(tolerated.part, &tolerated.path, doubtful, scope),
            ..tolerated.clone()
        }
    }

    /// The value of a header or trailer field as it may be recorded.
    pub(super) fn header_value(
        &self,
        part: Part,
        path: &str,
        value: &str,
        scope: &Scope,
    ) -> String {
        if self.hides_header(part, path, scope) {
            return self.hash(value.as_bytes());
        }
        let names = self.field_names(part, path, scope);
        if names.iter().any(|name| ADDRESSES.contains(name)) {
            return self.addresses(value);
        }
        self.string(value).into_owned()
    }

    /// Whether the value of a header field, or of a part of it, must be hidden. A field with two names is shown only if both
    /// may be.
    pub(super) fn hides_header(&self, part: Part, path: &str, scope: &Scope) -> bool {
        self.field_names(part, path, scope).iter().any(|path| {
            let name = path.split('/').next().unwrap_or(path);
            let masked = scope.masks.iter().any(|rule| {
                let rule = self.rules.get(*rule);
                rule.part == part && rule.pattern.covers_header(path)
            });
            masked || !self.keep_headers.contains(name)
        })
    }

    /// Whether what stands in the place of the name of a field or of a cookie is no name: a secret, or what looks like a token. It is as secret
    /// as the token without a name in a query.
    pub(super) fn is_no_name(&self, name: &str) -> bool {
        let plain = percent_decoded(name);
        // A word may stand before it: `x-550e8400-…`.
        let mut ends = plain.match_indices(['-', '_', '.']);
        self.key(&plain).is_some()
            || may_be_secret(&plain)
            || sessions::is_id(&plain)
            || ends.any(|(at, _)| plain.get(at + 1..).is_some_and(sessions::is_id))
    }

    /// The same of a cookie with this value.
    pub(super) fn is_no_cookie(&self, name: &str, value: &str) -> bool {
        self.is_no_name(name) || may_be_value(&percent_decoded(name), value)
    }

    /// The name of a header or trailer field as it may be recorded.
    pub(super) fn field_name<'t>(&self, name: &'t str) -> Cow<'t, str> {
        if self.is_no_name(name) {
            Cow::Owned(self.hash(name.as_bytes()))
        } else {
            Cow::Borrowed(name)
        }
    }

    /// The path of a header or trailer field, or of a cookie, with what is no name replaced.
    pub(super) fn field_path(&self, path: &str, replacement: impl Fn(&str) -> String) -> String {
        let shown = |name: &str| {
            if self.is_no_name(name) {
                replacement(name)
            } else {
                name.to_owned()
            }
        };
        match path.split_once('/') {
            // The name of a cookie may have a slash.
            Some((field, cookie)) => format!("{}/{}", shown(field), shown(cookie)),
            None => shown(path),
        }
    }

    /// Redacts the URLs in a field, each with its path and query like those of a request.
    pub(super) fn addresses(&self, value: &str) -> String {
        let ends = |character: char| character.is_whitespace() || "<>\"".contains(character);
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while !rest.is_empty() {
            let length = rest.find(ends).unwrap_or(rest.len());
            let piece = rest.get(..length).unwrap_or_default();
            let listed = piece.find([',', ';']);
            // In a URL with a host, these characters may belong to the credentials.
            let length = listed
                .filter(|at| !piece.get(..*at).is_some_and(|begin| begin.contains("//")))
                .unwrap_or(length);
            let (address, after) = rest.split_at(length);
            let end = after.chars().next().map_or(0, char::len_utf8);
            let (end, after) = after.split_at(end);
            rest = after;
            if !webhooks::secrets(address).is_empty() {
                out.push_str(&self.hash(address.as_bytes()));
                out.push_str(end);
                continue;
            }
            let (address, fragment) = split(address, '#');
            let (address, query) = split(address, '?');
            let (host, path) = match address.find("://") {
                Some(at) => {
                    let authority = at + 3;
                    let slash = address.get(authority..).and_then(|rest| rest.find('/'));
                    address.split_at(slash.map_or(address.len(), |slash| authority + slash))
                }
                None => ("", address),
            };
            out.push_str(&self.text(host, 0));
            out.push_str(&self.path(path));
            if let Some(query) = query {
                out.push('?');
                out.push_str(&self.query(query));
            }
            if let Some(fragment) = fragment {
                out.push('#');
                out.push_str(&self.hash(fragment.as_bytes()));
            }
            out.push_str(end);
        }
        out
    }

    /// Redacts a query: only the values of listed names are kept. `;` separates parameters as well as `&`, because some
    /// servers treat it so.
    pub(super) fn query(&self, query: &str) -> String {
        let mut out = String::with_capacity(query.len());
        for part in query.split_inclusive(['&', ';']) {
            let field = part.trim_end_matches(['&', ';']);
            let end = part.get(field.len()..).unwrap_or_default();
            match field.split_once('=') {
                Some((name, value)) => self.parameter(name, value, &mut out),
                // A value that has no name.
                None if field.is_empty() => {}
                None => out.push_str(&self.hash(percent_decoded(field).as_bytes())),
            }
            out.push_str(end);
        }
        out
    }

    fn parameter(&self, name: &str, value: &str, out: &mut String) {
        let plain_name = percent_decoded(name);
        // In a query a plus is a blank.
        if self.key(&plain_name).is_some()
            || may_be_secret(&plain_name.replace('+', " "))
            || (!self.keep_query.contains(&plain_name) && may_be_value(&plain_name, value))
        {
            out.push_str(&self.hash(plain_name.as_bytes()));
        } else {
            out.push_str(name);
        }
        out.push('=');
        if value.bytes().all(|byte| byte == b'=') {
            out.push_str(value);
            return;
        }
        let plain = percent_decoded(value);
        let listed = self.keep_query.contains(&plain_name);
        if listed && !self.secret_names.contains(&plain_name) && self.string(&plain) == plain {
            out.push_str(value);
        } else {
            out.push_str(&self.hash(plain.as_bytes()));
        }
    }

    /// Redacts a path: segments that follow a secret name, card numbers and tokens.
    pub(super) fn path(&self, path: &str) -> String {
        let mut trail = Trail::default();
        let segments: Vec<String> = path
            .split('/')
            .map(|segment| {
                let plain = percent_decoded(segment);
                let hidden = trail.hides(segment, |name| self.secret_names.contains(name))
                    || cards::any(&plain)
                    || self.string(&plain) != plain;
                if hidden && !plain.is_empty() {
                    self.hash(plain.as_bytes())
                } else {
                    segment.to_owned()
                }
            })
            .collect();
        segments.join("/")
    }
}

/// Whether what stands before the sign of equality is no name: a token, or a value in Base64 whose last signs are its padding.
fn may_be_value(name: &str, after: &str) -> bool {
    /// Two words of eight. Shorter names are names; of the longer ones that have no value a quarter is hidden without need.
    const MIN_PADDED_BYTES: usize = 16;
    let is_padded = after.bytes().all(|byte| byte == b'=')
        && name.len() >= MIN_PADDED_BYTES
        && (name.len() + 1 + after.len()).is_multiple_of(4);
    is_padded || sessions::is_id(name)
}

fn split(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}
