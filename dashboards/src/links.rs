//! Links from our pages to where else somebody looks: Grafana, traces, logs.
//!
//! A template is an address of the configuration with names in braces, such as `https://traces.example/{trace_id}`. Only the
//! configuration says where a link leads: the scheme is http or https, a name never stands in the host, and every value is
//! percent-encoded, so that captured text is never more than a part of a path, a query or a fragment. A template whose values
//! are not all known on a page gives no link there.

use std::str::FromStr;

use axum::http::Uri;
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::is_hidden;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in an address as it is: all others of a name or value are escaped.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A part of an address, escaped.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// What a template may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    TraceId,
    FromMs,
    ToMs,
    Route,
    Group,
    Migration,
    CandidateVersion,
}

const NAMES: [(&str, Name); 7] = [
    ("trace_id", Name::TraceId),
    ("from_ms", Name::FromMs),
    ("to_ms", Name::ToMs),
    ("route", Name::Route),
    ("group", Name::Group),
    ("migration", Name::Migration),
    ("candidate_version", Name::CandidateVersion),
];
/// What stands in the place of every name to see whether a template is an address.
const ANY: &str = "0";

/// An address with names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTemplate(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Name),
}

/// The links of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// To dashboards.
    pub grafana: Option<LinkTemplate>,
    /// To the trace of a request.
    pub trace: Option<LinkTemplate>,
    /// To logs.
    pub logs: Option<LinkTemplate>,
}

/// What is known on a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// Of the request.
    pub(crate) trace_id: Option<&'a str>,
    /// The begin of what is shown.
    pub(crate) from: Timestamp,
    /// Its end.
    pub(crate) to: Timestamp,
    /// The only route.
    pub(crate) route: Option<&'a str>,
    /// The only group.
    pub(crate) group: Option<&'a str>,
    /// What is shown.
    pub(crate) migration: &'a str,
    /// The version that it is of; empty if it has no name.
    pub(crate) candidate_version: &'a str,
}

/// A link to elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// What it leads to.
    pub(crate) name: &'static str,
    /// The address.
    pub(crate) to: String,
}

impl Links {
    /// Those of a page on which this is known.
    pub(crate) fn at(&self, known: &Known<'_>) -> Vec<Elsewhere> {
        let all = [
            ("Grafana", &self.grafana),
            ("trace", &self.trace),
            ("logs", &self.logs),
        ];
        let found = all.into_iter().filter_map(|(name, template)| {
            let to = template.as_ref()?.filled(known)?;
            Some(Elsewhere { name, to })
        });
        found.collect()
    }
}

impl LinkTemplate {
    /// The address; `None` if a value that it asks for is not known.
    fn filled(&self, known: &Known<'_>) -> Option<String> {
        let mut address = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => address.push_str(text),
                Part::Value(name) => address.push_str(&escaped(&name.of(known)?)),
            }
        }
        Some(address)
    }

    /// With this text for every name.
    fn with(&self, value: &str) -> String {
        let parts = self.0.iter();
        let texts = parts.map(|part| match part {
            Part::Text(text) => text,
            Part::Value(_) => value,
        });
        texts.collect()
    }
}

impl Name {
    fn of(self, known: &Known<'_>) -> Option<String> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let millis = |time: Timestamp| Some(time.as_micros().div_euclid(1_000).to_string());
        match self {
            Self::TraceId => text(known.trace_id?),
            Self::FromMs => millis(known.from),
            Self::ToMs => millis(known.to),
            Self::Route => text(known.route?),
            Self::Group => text(known.group?),
            Self::Migration => text(known.migration),
            // No version is a version, too.
            Self::CandidateVersion => Some(known.candidate_version.to_owned()),
        }
    }
}

impl FromStr for LinkTemplate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(odd) = text
            .chars()
            .find(|one| one.is_whitespace() || is_hidden(*one))
        {
            let code = odd.escape_unicode();
            return Err(format!(
                "the address has the character {code}; write it percent-encoded, such as %20 for a space"
            ));
        }
        let template = Self(parts(text)?);
        let host = text
            .split_once("://")
            .map(|(scheme, rest)| (scheme, rest.split(['/', '?', '#']).next().unwrap_or(rest)));
        let Some((scheme, host)) = host else {
            return Err(format!(
                "`{text}` is no address; begin it with https:// or http://"
            ));
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(format!(
                "`{scheme}` is no scheme for a link; write https or http"
            ));
        }
        if host.contains(['{', '}']) {
            return Err(format!(
                "`{host}` has a name in the host; only the path and what follows may have one"
            ));
        }
        if host.contains('@') {
            return Err(
                "the address has a user or a password, and everybody who sees the page would see it; leave it out"
                    .to_owned(),
            );
        }
        let filled = template.with(ANY);
        let is_address = filled.parse::<Uri>().is_ok_and(|uri| {
            let authority = uri.authority();
            authority.is_some_and(|authority| {
                // A port that is no number is none for the parser.
                let port = authority.as_str().strip_prefix(authority.host());
                let has_port = port.is_some_and(|port| !port.is_empty());
                !authority.host().is_empty() && has_port == authority.port_u16().is_some()
            })
        });
        if !is_address {
            return Err(format!(
                "`{text}` is no address; write for example https://grafana.example/d/parity-overview?from={{from_ms}}&to={{to_ms}}"
            ));
        }
        Ok(template)
    }
}

/// A template in its parts.
fn parts(text: &str) -> Result<Vec<Part>, String> {
    let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    let braces = "a brace of the address itself is written %7B or %7D";
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let named = brace
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        let Some((name, behind)) = named else {
            return Err(format!(
                "`{brace}` has a brace without its other one; {braces}"
            ));
        };
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let Some((_, name)) = found else {
            let hint = spelling::hint(name, &known);
            return Err(format!("`{{{name}}}` is not known; {hint}; {braces}"));
        };
        parts.push(Part::Value(*name));
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known<'static> {
        Known {
            trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736"),
            from: Timestamp::from_micros(1_000_999),
            to: Timestamp::from_micros(2_000_000),
            route: Some("GET /items/{id}"),
            group: None,
            migration: "a&b=\"<c>",
            candidate_version: "",
        }
    }

    fn filled(text: &str) -> Option<String> {
        let template: LinkTemplate = text
            .parse()
            .unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
        template.filled(&known())
    }

    #[test]
    fn a_template_is_filled_with_escaped_values_or_not_at_all() {
        for (text, expected) in [
            ("https://g.example", Some("https://g.example")),
            (
                "https://g.example:3000/d/x?from={from_ms}&to={to_ms}&var-route={route}",
                Some(
                    "https://g.example:3000/d/x?from=1000&to=2000&var-route=GET%20%2Fitems%2F%7Bid%7D",
                ),
            ),
            (
                "http://[::1]:16686/trace/{trace_id}#x",
                Some("http://[::1]:16686/trace/4bf92f3577b34da6a3ce929d0e0e4736#x"),
            ),
            (
                "HTTPS://g.example/{migration}/{candidate_version}",
                Some("HTTPS://g.example/a%26b%3D%22%3Cc%3E/"),
            ),
            ("https://g.example/?g={group}", None),
        ] {
            assert_eq!(filled(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_of_ours_is_refused_with_what_to_write() {
        for (text, told) in [
            (
                "javascript:alert({trace_id})",
                "is no address; begin it with https://",
            ),
            (
                "javascript://x/%0aalert(1)",
                "`javascript` is no scheme for a link; write https or http",
            ),
            ("data:text/html,x", "is no address"),
            ("//g.example/", "is no address"),
            ("/d/x", "is no address"),
            ("", "is no address"),
            ("https://", "is no address"),
            ("https:///x", "is no address"),
            ("https://{route}/", "has a name in the host"),
            ("https://g.example{route}/", "has a name in the host"),
            ("https://user:secret@g.example/", "has a user or a password"),
            ("https://g.example/{trace}", "did you mean `trace_id`?"),
            ("https://g.example/{", "a brace without its other one"),
            ("https://g.example/}", "a brace without its other one"),
            ("https://g.example/a b", "percent-encoded"),
            ("https://g.example/\u{202e}", "percent-encoded"),
            ("https://g.example:port/", "is no address"),
        ] {
            let wrong = text.parse::<LinkTemplate>().expect_err(text);
            assert!(wrong.contains(told), "{text}: {wrong}");
            assert!(!wrong.contains("secret"), "{wrong}");
        }
    }
}
