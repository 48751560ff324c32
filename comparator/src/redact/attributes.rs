//! Attributes of a request, in the only form in which they may be counted.
//!
//! They are read on the way of every request, so nothing is allocated: each value is a slice of what was captured. Of a query
//! only the names of parameters are read, of headers only those on the list. A name or value that is not a few plain letters,
//! or that may be a token, a number of a card or an address, is counted as [`HIDDEN`].

use http::HeaderName;
use http::Version;
use http::header::{CONTENT_TYPE, USER_AGENT};
use parity_schemas::attributes::{HIDDEN, READ, of_header};
use parity_schemas::exchange::{Exchange, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::secret::is_token;

use super::sessions::has_random_run;

/// Longest value: names of tenants, instances and parameters are shorter.
const MAX_VALUE_BYTES: usize = 64;
/// A run of so many digits may be the number of a card or an account.
const MAX_DIGITS: usize = 11;
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

    /// Calls `found` with the place and value of each attribute of an exchange.
    pub fn each(&self, exchange: &Exchange, mut found: impl FnMut(usize, &str)) {
        let request = &exchange.request;
        found(0, plain(request.method.as_str()));
        each_parameter(request.query(), |name| found(1, name));
        found(2, client(&request.headers));
        found(3, content_type(&request.headers));
        found(4, size_class(request));
        found(5, plain(Digits::of(exchange.legacy.status).as_str()));
        found(6, version(request.origin.version));
        if let Some(name) = &self.candidate_instance {
            found(7, field(&exchange.candidate.headers, name));
        }
        for (at, name) in self.headers.iter().enumerate() {
            found(READ.len() + at, field(&request.headers, name));
        }
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

/// The text, if it says nothing that must stay hidden.
fn plain(text: &str) -> &str {
    if text.is_empty() {
        return NONE;
    }
    let mut digits = 0;
    for byte in text.bytes() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        let is_plain = byte.is_ascii_alphanumeric() || b" -_.:,/+[]()$".contains(&byte);
        if !is_plain || digits > MAX_DIGITS {
            return HIDDEN;
        }
    }
    if text.len() > MAX_VALUE_BYTES || is_token(text) || has_random_run(text) {
        return HIDDEN;
    }
    text
}

fn field<'a>(headers: &'a FieldLines, name: &HeaderName) -> &'a str {
    let Some(value) = headers.get(name) else {
        return NONE;
    };
    value.as_str().map_or(HIDDEN, |value| plain(value.trim()))
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
            found(plain(name));
        }
    }
}

/// The family of a browser; of any other client the name of the product.
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
        return known.map_or("other browser", |(_, family)| family);
    }
    let product = agent.split(['/', ' ']).next();
    plain(product.unwrap_or_default())
}

fn content_type(headers: &FieldLines) -> &str {
    let Some(value) = headers.get(&CONTENT_TYPE) else {
        return NONE;
    };
    let kind = value.as_str().map(|value| value.split(';').next());
    kind.flatten().map_or(HIDDEN, |kind| plain(kind.trim()))
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
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> FieldLines {
        let mut lines = FieldLines::default();
        for (name, value) in fields {
            lines.push(HeaderName::from_static(name), value.as_bytes());
        }
        lines
    }

    #[test]
    fn a_client_is_known_by_its_family() {
        for (agent, family) in [
            ("curl/8.5.0", "curl"),
            ("okhttp/4.12.0", "okhttp"),
            ("Go-http-client/1.1", "Go-http-client"),
            ("python-requests/2.31", "python-requests"),
            ("checkout-service", "checkout-service"),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:1.0) Gecko/20100101 Firefox/120.0",
                "Firefox",
            ),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36",
                "Chrome",
            ),
            (
                "Mozilla/5.0 AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0",
                "Edge",
            ),
            (
                "Mozilla/5.0 (Macintosh) Version/17.1 Safari/605.1.15",
                "Safari",
            ),
            ("Mozilla/5.0 (compatible; Googlebot/2.1)", "bot"),
            ("Mozilla/4.0", "other browser"),
            ("", "none"),
            ("xK9dQ2mZ7pL4vB8nR3tY/1", HIDDEN),
            ("<script>alert(1)</script>", HIDDEN),
        ] {
            assert_eq!(
                client(&headers(&[("user-agent", agent)])),
                family,
                "{agent}"
            );
        }
        assert_eq!(client(&headers(&[])), "none");
    }

    #[test]
    fn names_of_parameters_are_read_and_nothing_that_could_be_a_value() {
        for (query, expected) in [
            ("", &[][..]),
            ("page=2&sort=name", &["page", "sort"]),
            ("a[0]=1;b=2", &["a[0]", "b"]),
            // Values without a name.
            ("sesame", &[]),
            ("&=x&&", &[]),
            ("4111111111111111=1", &[HIDDEN]),
            ("ada@example.org=1", &[HIDDEN]),
            ("xK9dQ2mZ7pL4vB8nR3tY=1", &[HIDDEN]),
            ("%1b[31m=1", &[HIDDEN]),
        ] {
            let mut found = Vec::new();
            each_parameter(query, |name| found.push(name.to_owned()));
            assert_eq!(found, expected, "{query}");
        }
        let mut found = 0;
        each_parameter(&"a=1&".repeat(1_000), |_| found += 1);
        assert_eq!(found, MAX_PARAMETERS);
    }

    #[test]
    fn values_are_plain_and_short() {
        let long = "x ".repeat(MAX_VALUE_BYTES);
        for (text, expected) in [
            ("gold", "gold"),
            ("checkout-7d9f8c6b5-x2x9z", "checkout-7d9f8c6b5-x2x9z"),
            ("application/json", "application/json"),
            ("", NONE),
            ("a=b", HIDDEN),
            ("a\u{1b}[31m", HIDDEN),
            ("é", HIDDEN),
            ("123456789012", HIDDEN),
            ("9f86d081884c7d659a2feaa0", HIDDEN),
            (
                "550e8400-e29b-41d4-a716-44665544abcd",
                "550e8400-e29b-41d4-a716-44665544abcd",
            ),
            (long.trim(), HIDDEN),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
        assert_eq!(Digits::of(404).as_str(), "404");
        let typed = headers(&[("content-type", "application/json; charset=utf-8")]);
        assert_eq!(content_type(&typed), "application/json");
    }
}
