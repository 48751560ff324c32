//! Questions to an admin port and their answers, each with a limit in bytes and in time, and why there is none, in words.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use parity_schemas::documents::ErrorCode;
use parity_schemas::documents::ErrorDocument;
use parity_schemas::visible::visible_up_to;

use super::address::Base;
use super::lines::{Asked as Answer, Line, Lines};
use crate::fetching::{Missed, Within};

/// Largest answer that is read from a store: a report of ten thousand groups has about half of it.
const MAX_ANSWER: usize = 64 << 20;
/// Largest answer of what is in memory, a status or metrics: they have some kilobytes, and a few hundred with many routes.
const MAX_SHORT_ANSWER: usize = 4 << 20;
/// Longest error that is told.
const MAX_ERROR_CHARS: usize = 300;
/// How long a status may take, which is in memory.
pub(super) const SHORT: Duration = Duration::from_secs(5);
/// How long a report may take, which is read from a store.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nothing answers there.
    Unreachable(String),
    /// It answered that it has none: its status, and its words.
    Answered(StatusCode, String),
    /// No whole answer came in time.
    TooLong(String),
}

impl Refused {
    /// In words.
    pub(crate) fn told(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Answered(_, why) | Self::TooLong(why) => why,
        }
    }
}

/// An admin port, whatever is there.
pub(super) struct Port {
    lines: Lines,
    base: Base,
}

impl Port {
    /// Trusts certificates of this file besides those of the system.
    pub(super) fn at(base: &Base, ca_file: Option<&Path>) -> Result<Self> {
        Ok(Self {
            lines: Lines::to(&base.0, ca_file)?,
            base: base.clone(),
        })
    }

    /// Where it is, for people.
    pub(super) fn name(&self) -> &str {
        &self.base.0
    }

    /// As `Host` names it.
    pub(super) const fn authority(&self) -> &HeaderValue {
        self.lines.authority()
    }

    /// A connection that has answered before; `None` if none is kept.
    pub(super) fn take(&self) -> Option<Line> {
        self.lines.take()
    }

    /// Keeps a connection for the next question.
    pub(super) fn keep(&self, line: Line) {
        self.lines.keep(line);
    }

    /// That no connection lives long enough.
    pub(super) fn hung_up(&self) -> Refused {
        Refused::Unreachable(format!(
            "{} closes each connection without an answer; the address of the admin port is --admin",
            self.base.0
        ))
    }

    /// A new connection, of which nothing is known.
    pub(super) async fn open(&self) -> Result<Line, Refused> {
        let opened = self.lines.open().await;
        opened.map_err(|missed| self.missed(missed, Within::of(SHORT)))
    }

    /// That it refuses, in its own words.
    pub(super) fn refuses(&self, status: StatusCode, body: &Bytes) -> Refused {
        Refused::Unreachable(format!(
            "{} refuses ({status}): {}",
            self.base.0,
            words(body)
        ))
    }

    /// The answer; `None` if the connection had ended before.
    pub(super) async fn send(
        &self,
        line: &mut Line,
        (method, path): (&Method, &str),
        headers: &HeaderMap,
        limit: Duration,
    ) -> Result<Option<(StatusCode, Bytes)>, Refused> {
        let within = Within::of(limit);
        let asked = line.ask(method, path, headers, within).await;
        Ok(match asked.map_err(|missed| self.missed(missed, within))? {
            Answer::Answered(status, body) => Some((status, body)),
            Answer::NotSent => None,
        })
    }

    fn missed(&self, missed: Missed, within: Within) -> Refused {
        match missed {
            Missed::NoAnswer(cause) => Refused::Unreachable(format!(
                "{} does not answer: {cause}; the address of the admin port is --admin",
                self.base.0
            )),
            Missed::NotWhole(cause) => Refused::Unreachable(format!(
                "the answer of {} broke off or has over {} MiB: {cause}",
                self.base.0,
                within.bytes >> 20
            )),
            Missed::TooLate => Refused::TooLong(format!(
                "{} did not answer in {} s",
                self.base.0,
                within.time.as_secs()
            )),
        }
    }
}

impl Within {
    /// What an answer may take that may take this long.
    const fn of(time: Duration) -> Self {
        let bytes = if time.as_secs() > SHORT.as_secs() {
            MAX_ANSWER
        } else {
            MAX_SHORT_ANSWER
        };
        Self { bytes, time }
    }
}

/// Whether an answer is an error of parity with this code.
pub(super) fn is_error(body: &Bytes, code: ErrorCode) -> bool {
    let document: Option<ErrorDocument> = serde_json::from_slice(body).ok();
    document.is_some_and(|document| document.code == code)
}

/// What an error says, in one line of bounded length.
pub(super) fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let told = document
        .as_ref()
        .and_then(|document| document["error"].as_str());
    visible_up_to(told.unwrap_or(&text).trim(), MAX_ERROR_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_says_is_short_and_visible() {
        assert_eq!(words(br#"{"error":"no\u001b[2J"}"#), "no\\u{1b}[2J");
        assert_eq!(words(b"plain\xff\n"), "plain\u{fffd}");
        assert!(words(&[b'x'; 5_000]).chars().count() <= MAX_ERROR_CHARS + 1);
    }
}
