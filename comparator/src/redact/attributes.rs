//! Attributes of a request, in the only form in which they may be counted.
//!
//! They are read on the way of every request, so reading allocates nothing: each value is a slice of what was captured. Of a
//! query only the names of parameters are read, of headers only those on the list. What is read may be a secret. Before it is
//! counted it goes through [`AttributeConfig::shown`], once for each distinct value: that is the redactor of the record, and
//! it shows less. What the record would show changed, what is not a few plain letters, and what may be a token, the number of
//! a card or an account, is counted as [`HIDDEN`].

use http::HeaderName;
use http::Version;
use http::header::{CONTENT_TYPE, USER_AGENT};
use parity_schemas::attributes::{HIDDEN, READ, of_header};
use parity_schemas::exchange::{Exchange, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::secret::{holds_service_key, is_token};

use super::accounts::{has_only_ports, is_account};
use super::sessions::has_random_run;
use super::{Redactor, address, cards};

/// Longest value: names of tenants, instances and parameters are shorter.
const MAX_VALUE_BYTES: usize = 64;
/// A run of so many digits, with blanks and hyphens between them, may be the number of a card or an account.
const MAX_DIGITS: usize = 11;
/// Places of [`READ`] whose values are told apart here.
const QUERY_PLACE: usize = 1;
const CLIENT_PLACE: usize = 2;
const INSTANCE_PLACE: usize = 7;
/// What values may have besides letters and digits. `=`, quotes, `%` and the like belong to what holds other values.
const SIGNS: &[u8] = b" -_.:,/+[]()$";
/// The same of names of parameters: a blank is between words of a sentence, a colon between a user and a password.
const NAME_SIGNS: &[u8] = b"-_.[]$";
/// The same of names of products.
const PRODUCT_SIGNS: &[u8] = b" -_.";
/// Parameters that are read of a query: more are made by a program, and would only cost time.
const MAX_PARAMETERS: usize = 32;
/// Headers that may be listed. Each is counted for every route, so each costs a part of the record.
pub const MAX_HEADERS: usize = 8;
/// What an absent value is counted as.
const NONE: &str = "none";
/// Bodies below each size belong to its class, and those beyond to [`LARGEST`].
const SIZES: [(usize, &str); 6] = [
    (1, "empty"),
    (1 << 10, "below 1 KiB"),
    (10 << 10, "1 to 10 KiB"),
    (100 << 10, "10 to 100 KiB"),
    (1 << 20, "100 KiB to 1 MiB"),
    (10 << 20, "1 to 10 MiB"),
];
const LARGEST: &str = "10 MiB and more";
/// Browsers by what only they say of themselves: the later ones are named by the earlier ones, too.
const BROWSERS: [(&str, &str); 8] = [
    ("bot", "bot"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
];

const OTHER_BROWSER: &str = "other browser";

/// Which attributes are read besides those of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeConfig {
    /// Headers of requests, whose values are counted clear.
    pub headers: Vec<HeaderName>,
    /// The header by which the candidate says which of its instances answered.
    pub candidate_instance: Option<HeaderName>,
}

impl AttributeConfig {
    /// Names of all attributes, by the place that [`Self::each`] calls them by.
    pub fn names(&self) -> Vec<String> {
        let fixed = READ.iter().map(|name| (*name).to_owned());
        let headers = self.headers.iter().map(|name| of_header(name.as_str()));
        fixed.chain(headers).collect()
    }

    /// Calls `found` with the place and value of each attribute of an exchange. Values are as they were captured, if they are
    /// short: they may be kept only as [`Self::shown`].
    pub fn each(&self, exchange: &Exchange, mut each: impl FnMut(usize, &str)) {
        // What is long is not shown, and nobody needs to remember it.
        let mut found = |place: usize, value: &str| {
            let is_short = value.len() <= MAX_VALUE_BYTES;
            each(place, if is_short { value } else { HIDDEN });
        };
        let request = &exchange.request;
        found(0, address::method(&request.method));
        each_parameter(request.query(), |name| found(QUERY_PLACE, name));
        found(CLIENT_PLACE, client(&request.headers));
        found(3, content_type(&request.headers));
        found(4, size_class(request));
        found(5, Digits::of(exchange.legacy.status).as_str());
        found(6, version(request.origin.version));
        if let Some(name) = &self.candidate_instance {
            found(INSTANCE_PLACE, field(&exchange.candidate.headers, name));
        }
        for (at, name) in self.headers.iter().enumerate() {
            found(READ.len() + at, field(&request.headers, name));
        }
    }

    /// A value of [`Self::each`] as it may be counted.
    pub fn shown<'t>(&self, redactor: &Redactor, place: usize, value: &'t str) -> &'t str {
        if value.is_empty() {
            return NONE;
        }
        let header = match place {
            INSTANCE_PLACE => self.candidate_instance.as_ref(),
            _ => place
                .checked_sub(READ.len())
                .and_then(|at| self.headers.get(at)),
        };
        let is_hidden = value != NONE && header.is_some_and(|name| redactor.hides_counted(name));
        let signs = match place {
            QUERY_PLACE => NAME_SIGNS,
            CLIENT_PLACE => PRODUCT_SIGNS,
            _ => SIGNS,
        };
        if is_hidden || !is_plain(value, signs) || !redactor.shows_whole(value) {
            return HIDDEN;
        }
        if place == CLIENT_PLACE && !is_ours(value) {
            // The first word is the name; others are of a version or a machine, and would make many of one.
            return value.split(' ').next().unwrap_or_default();
        }
        value
    }
}

impl Redactor {
    /// Whether the record shows a text as it is, wherever in it something may be that is a secret.
    fn shows_whole(&self, value: &str) -> bool {
        let of_pieces = |piece: &str| self.string(piece) == piece;
        self.string(value) == value
            && self.path(value) == value
            && value
                .split([' ', ',', ':', '/', '+', '(', ')'])
                .all(of_pieces)
            && !cards::any(value)
            && !holds_service_key(value)
    }

    /// Whether values of a header are never counted: its name is secret, or a rule masks it on some route.
    fn hides_counted(&self, header: &HeaderName) -> bool {
        self.secret_names.contains(header.as_str()) || self.rules.masks_header(header.as_str())
    }
}

/// A status code as text.
struct Digits([u8; 5]);

impl Digits {
    fn of(mut code: u16) -> Self {
        let mut digits = [b'0'; 5];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (code % 10) as u8;
            code /= 10;
        }
        Self(digits)
    }

    fn as_str(&self) -> &str {
        let text = std::str::from_utf8(&self.0).unwrap_or_default();
        text.trim_start_matches('0')
    }
}

/// Whether a value is a few plain letters, and no token and no number that names a card or an account.
fn is_plain(value: &str, signs: &[u8]) -> bool {
    let mut digits = 0;
    for byte in value.bytes() {
        digits = match byte {
            b'0'..=b'9' => digits + 1,
            b' ' | b'-' => digits,
            _ => 0,
        };
        let is_plain = byte.is_ascii_alphanumeric() || signs.contains(&byte);
        if !is_plain || digits > MAX_DIGITS {
            return false;
        }
    }
    value.len() <= MAX_VALUE_BYTES
        && !is_token(value)
        && !has_random_run(value)
        && !is_account(value)
        && !value.split([' ', ',', '/']).any(is_account)
        && has_only_ports(value)
}

/// What the grammar of fields lets stand around a value, and nothing else.
fn trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// Whether the family of a client is one of this list.
fn is_ours(family: &str) -> bool {
    family == OTHER_BROWSER || BROWSERS.iter().any(|(_, known)| *known == family)
}

fn field<'a>(headers: &'a FieldLines, name: &HeaderName) -> &'a str {
    let Some(value) = headers.get(name) else {
        return NONE;
    };
    value.as_str().map_or(HIDDEN, trimmed)
}

/// The names of parameters. What has no `=` is a value without a name, which a record never shows.
fn each_parameter(query: &str, mut found: impl FnMut(&str)) {
    if query.is_empty() {
        return;
    }
    for parameter in query.split(['&', ';']).take(MAX_PARAMETERS) {
        if let Some((name, _)) = parameter.split_once('=')
            && !name.is_empty()
        {
            found(name);
        }
    }
}

/// The family of a browser; of any other client what stands before its version, of which a part is shown.
fn client(headers: &FieldLines) -> &str {
    let Some(agent) = headers.get(&USER_AGENT) else {
        return NONE;
    };
    let Some(agent) = agent.as_str() else {
        return HIDDEN;
    };
    if agent.starts_with("Mozilla/") {
        let mut browsers = BROWSERS.iter();
        let known = browsers.find(|(mark, _)| agent.contains(mark));
        return known.map_or(OTHER_BROWSER, |(_, family)| family);
    }
    let product = agent.split(['/', '(']).next();
    trimmed(product.unwrap_or_default())
}

fn content_type(headers: &FieldLines) -> &str {
    let Some(value) = headers.get(&CONTENT_TYPE) else {
        return NONE;
    };
    let kind = value.as_str().map(|value| value.split(';').next());
    kind.flatten().map_or(HIDDEN, trimmed)
}

fn size_class(request: &Request) -> &'static str {
    let length = request.body.len();
    let mut classes = SIZES.iter();
    let class = classes.find(|(below, _)| length < *below);
    class.map_or(LARGEST, |(_, name)| name)
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 | Version::HTTP_10 => "1.0",
        Version::HTTP_11 => "1.1",
        Version::HTTP_2 => "2",
        _ => "3",
    }
}

#[cfg(test)]
mod tests;
