//! The cookies that one service has set in one session (RFC 6265), and what a recorded request says with them.
//!
//! All requests go to one service, so neither domains nor `Secure` part cookies; paths do.

use std::str::FromStr;

use http::header::{COOKIE, SET_COOKIE};
use jiff::Timestamp;
use parity_schemas::fields::{FieldLines, FieldValue};

/// Cookies of one service in one session: as many as browsers keep of a host.
const MAX_COOKIES: usize = 64;
/// Bytes of a name and a value: longer ones are no cookie to a browser, either.
const MAX_COOKIE: usize = 4_096;

/// What becomes of the cookies of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cookies {
    /// They are sent as they were recorded.
    Off,
    /// A request that was recorded with cookies gets those that the service has set in its session.
    #[default]
    Replace,
    /// Every request gets them, also one that was recorded without any.
    All,
}

/// No such word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` says nothing of cookies: write replace, all or off")]
pub struct CookiesError(String);

impl FromStr for Cookies {
    type Err = CookiesError;

    fn from_str(text: &str) -> Result<Self, CookiesError> {
        match text {
            "off" => Ok(Self::Off),
            "replace" => Ok(Self::Replace),
            "all" => Ok(Self::All),
            other => Err(CookiesError(other.to_owned())),
        }
    }
}

/// What a service has set.
#[derive(Default)]
pub(super) struct Jar(Vec<Cookie>);

struct Cookie {
    name: Box<str>,
    /// `None` if the service has removed it.
    value: Option<Box<str>>,
    path: Box<str>,
}

impl Jar {
    /// Bytes of memory that it takes.
    pub(super) fn held(&self) -> usize {
        let held = |cookie: &Cookie| {
            let value = cookie.value.as_ref().map_or(0, |value| value.len());
            size_of::<Cookie>() + cookie.name.len() + value + cookie.path.len()
        };
        self.0.iter().map(held).sum()
    }

    /// Takes what an answer sets. `path` is that of its request.
    pub(super) fn take(&mut self, headers: &FieldLines, path: &str) {
        for line in headers.get_all(&SET_COOKIE) {
            let Some(line) = line.as_str() else {
                continue;
            };
            let Some((name, value)) = set(line) else {
                continue;
            };
            let mut cookie = Cookie {
                name: name.into(),
                value: Some(value.into()),
                path: default_path(path).into(),
            };
            let mut age = None;
            let mut expires = None;
            for attribute in line.split(';').skip(1) {
                let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
                let (name, value) = (name.trim(), value.trim());
                if name.eq_ignore_ascii_case("path") && value.starts_with('/') {
                    cookie.path = value.into();
                } else if name.eq_ignore_ascii_case("max-age") {
                    age = value.parse::<i64>().ok();
                } else if name.eq_ignore_ascii_case("expires") {
                    expires = moment(value);
                }
            }
            let is_over = |time: Timestamp| time <= Timestamp::now();
            if age.map_or_else(|| expires.is_some_and(is_over), |age| age <= 0) {
                cookie.value = None;
            }
            let same = |other: &Cookie| other.name == cookie.name && other.path == cookie.path;
            if let Some(known) = self.0.iter_mut().find(|other| same(other)) {
                *known = cookie;
            } else {
                if self.0.len() == MAX_COOKIES {
                    self.0.remove(0);
                }
                self.0.push(cookie);
            }
        }
    }

    /// The cookies of a request with these fields, once the service's own are among them; `None` if that changes nothing.
    pub(super) fn line(
        &self,
        headers: &FieldLines,
        path: &str,
        cookies: Cookies,
    ) -> Option<String> {
        let here = |cookie: &&Cookie| covers(&cookie.path, path);
        // Of one name, that of the longest path comes first.
        let mut all: Vec<_> = self.0.iter().filter(here).collect();
        all.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let has_any = headers.contains(&COOKIE);
        if all.is_empty() || !(has_any || cookies == Cookies::All) {
            return None;
        }
        let recorded = sent(headers);
        let mut lines = Vec::new();
        let mut replaced = Vec::new();
        for (name, value) in &recorded {
            // All that a recording hides is hidden together, and is no cookie.
            if name.is_empty() {
                if !value.starts_with(HIDDEN) {
                    lines.push(value.clone());
                }
                continue;
            }
            match all.iter().find(|cookie| *cookie.name == **name) {
                Some(cookie) => {
                    if let Some(value) = &cookie.value
                        && !replaced.contains(&name)
                    {
                        lines.push(format!("{name}={value}"));
                    }
                    replaced.push(name);
                }
                None => lines.push(format!("{name}={value}")),
            }
        }
        let mut added: Vec<&str> = Vec::new();
        for cookie in &all {
            let name = &*cookie.name;
            let is_known = recorded.iter().any(|(recorded, _)| *recorded == name);
            if !is_known && !added.contains(&name) {
                added.push(name);
                if let Some(value) = &cookie.value {
                    lines.push(format!("{name}={value}"));
                }
            }
        }
        let line = lines.join("; ");
        let before = headers.get(&COOKIE).map(FieldValue::lossy);
        (before.unwrap_or_default() != line).then_some(line)
    }
}

/// How a hidden value begins.
const HIDDEN: &str = "hmac:";

/// What a recording calls the cookies of a line that are not hidden; a line that has any is set as a whole, too.
pub(super) fn shown(line: &str) -> impl Iterator<Item = String> {
    let pairs = line
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .filter(|(_, value)| !value.starts_with(HIDDEN))
        .map(|(name, _)| format!("header/cookie/{name}"))
}

/// The cookies of a request; what is no pair has no name.
pub(super) fn sent(headers: &FieldLines) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for line in headers.get_all(&COOKIE) {
        for pair in line.lossy().split(';').map(str::trim) {
            if pair.is_empty() {
                continue;
            }
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            all.push((name.to_owned(), value.to_owned()));
        }
    }
    all
}

/// The line with another value of one cookie.
pub(super) fn with(sent: &[(String, String)], name: &str, value: &str) -> Option<String> {
    if value.contains([';', ',']) || value.contains(char::is_whitespace) {
        return None;
    }
    let others = sent.iter().filter(|(other, _)| other != name);
    let others = others.filter(|(name, value)| !(name.is_empty() && value.starts_with(HIDDEN)));
    let mut lines: Vec<_> = others
        .map(|(name, value)| {
            if name.is_empty() {
                value.clone()
            } else {
                format!("{name}={value}")
            }
        })
        .collect();
    lines.push(format!("{name}={value}"));
    Some(lines.join("; "))
}

/// Name and value of a line of `Set-Cookie`.
pub(super) fn set(line: &str) -> Option<(&str, &str)> {
    let pair = line.split(';').next().unwrap_or_default();
    let (name, value) = pair.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_sendable = |value: &str| !value.bytes().any(|byte| byte < b' ' || byte == 0x7f);
    let fits = name.len() + value.len() <= MAX_COOKIE;
    (is_name(name) && is_sendable(value) && fits).then_some((name, value))
}

/// Whether a cookie can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_odd = |byte: u8| byte <= b' ' || byte >= 0x7f || b";,=".contains(&byte);
    !name.is_empty() && !name.bytes().any(is_odd)
}

/// RFC 6265 §5.1.4: the path of a request up to its last slash.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(end) if end > 0 && path.starts_with('/') => path.get(..end).unwrap_or("/"),
        _ => "/",
    }
}

/// RFC 6265 §5.1.4: whether a cookie of this path goes to a request of that.
fn covers(cookie: &str, path: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

/// A time as `Expires` has it, also as old servers write it: `Thu, 01-Jan-1970 00:00:00 GMT`.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.replace('-', " ");
    // The day of the week is often wrong, and says nothing.
    let text = text.split_once(',').map_or(&*text, |(_, rest)| rest);
    let time = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim());
    time.ok()
}
