//! What a call is answered: by a file of answers, or by a real service.
//!
//! The file is TOML, with one `[[answer]]` a route: `match`, `status`, `headers`, `body`. The first that matches applies. All that is wrong
//! with it is told at once.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use parity_schemas::exchange::ByteHold;
use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::spelling;
use toml_edit::{Document, Item, Table};

use crate::config::problem::{Origin, Places, Problem, Problems, read_named_file};

/// A larger file is surely none of answers.
const MAX_FILE_BYTES: u64 = 16 << 20;
const KEYS: [&str; 4] = ["match", "status", "headers", "body"];
/// Fields that are made anew for each answer.
const MADE_ANEW: [HeaderName; 3] = [
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
];

/// An answer as it is sent.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Its bytes, if they are not those of the file.
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    pub(crate) hold: ByteHold,
}

impl Answer {
    /// One of our own, in words.
    pub(crate) fn told(status: StatusCode, words: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        Self {
            status,
            headers,
            body: Bytes::from(format!("parity: {words}\n")),
            hold: ByteHold::default(),
        }
    }
}

/// The answers of a file.
pub(crate) struct Canned(Vec<(RouteRule, Arc<Answer>)>);

impl Canned {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Problems> {
        let of_file = |problem| Problems(vec![problem]);
        let bytes = read_named_file(
            &path.to_path_buf(),
            &Origin::Flag("--answers"),
            MAX_FILE_BYTES,
        )
        .map_err(of_file)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            of_file(Problem::new(
                Origin::Flag("--answers"),
                format!("{} is not UTF-8 text", path.display()),
            ))
        })?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Problems> {
        let mut reading = Reading {
            path: path.into(),
            places: Places::of(text),
            problems: Vec::new(),
        };
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                reading.report(error.span().map(|span| span.start), error.message());
                return Err(Problems(reading.problems));
            }
        };
        let mut answers: Vec<(RouteRule, Arc<Answer>)> = Vec::new();
        for (key, item) in document.as_table() {
            match item.as_array_of_tables() {
                Some(tables) if key == "answer" => {
                    for table in tables {
                        let Some((rule, answer)) = reading.answer(table) else {
                            continue;
                        };
                        if let Some((first, _)) =
                            answers.iter().find(|(first, _)| first.covers(&rule))
                        {
                            let message = format!(
                                "match: `{}` never applies: `{}` before it takes its calls",
                                rule.label(),
                                first.label()
                            );
                            reading.report(table.span().map(|span| span.start), message);
                        }
                        answers.push((rule, Arc::new(answer)));
                    }
                }
                _ => reading.report(
                    item.span().map(|span| span.start),
                    format!("`{key}` is not known; a file of answers has [[answer]] alone"),
                ),
            }
        }
        if answers.is_empty() && reading.problems.is_empty() {
            reading.report(
                Some(0),
                "there is no [[answer]]: each call would be answered 404",
            );
        }
        if reading.problems.is_empty() {
            Ok(Self(answers))
        } else {
            Err(Problems(reading.problems))
        }
    }

    /// The answer to a call; `None` if the file has none.
    pub(crate) fn to(&self, method: &Method, path: &str) -> Option<Arc<Answer>> {
        let mut answers = self.0.iter();
        answers
            .find(|(rule, _)| rule.matches(method, path))
            .map(|(_, answer)| Arc::clone(answer))
    }
}

struct Reading<'t> {
    path: Arc<Path>,
    places: Places<'t>,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn report(&mut self, offset: Option<usize>, message: impl Into<String>) {
        let origin = self.places.at(&self.path, offset.unwrap_or(0));
        self.problems.push(Problem::new(origin, message));
    }

    fn answer(&mut self, table: &Table) -> Option<(RouteRule, Answer)> {
        let before = self.problems.len();
        for (key, item) in table {
            if !KEYS.contains(&key) {
                let origin = self
                    .places
                    .at(&self.path, item.span().map_or(0, |span| span.start));
                let problem = Problem::new(origin, format!("`{key}` is no key of an [[answer]]"));
                self.problems.push(problem.hint(spelling::hint(key, &KEYS)));
            }
        }
        let rule = self.rule(table);
        let status = self.status(table);
        let headers = self.headers(table);
        let body = self.text(table, "body").unwrap_or_default();
        let answer = Answer {
            status: status?,
            headers,
            body: Bytes::from(body),
            hold: ByteHold::default(),
        };
        let rule = rule?;
        (self.problems.len() == before).then_some((rule, answer))
    }

    fn rule(&mut self, table: &Table) -> Option<RouteRule> {
        let Some(wanted) = self.text(table, "match") else {
            self.report(
                table.span().map(|span| span.start),
                "an [[answer]] needs `match`, for example match = \"POST /totals\"",
            );
            return None;
        };
        match RouteRule::parse(&wanted, RoutePolicy::default()) {
            Ok(rule) => Some(rule),
            Err(error) => {
                self.report(offset(table.get("match")), format!("match: {error}"));
                None
            }
        }
    }

    fn status(&mut self, table: &Table) -> Option<StatusCode> {
        let Some(item) = table.get("status") else {
            return Some(StatusCode::OK);
        };
        let status = item
            .as_integer()
            .and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        // What is below is no answer, but the promise of one.
        let status = status.filter(|status| !status.is_informational());
        if status.is_none() {
            self.report(
                offset(Some(item)),
                "status: a number from 200 to 999 is needed",
            );
        }
        status
    }

    fn headers(&mut self, table: &Table) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(item) = table.get("headers") else {
            return headers;
        };
        let Some(lines) = item.as_array() else {
            self.report(
                offset(Some(item)),
                "headers: a list of \"name: value\" is needed",
            );
            return headers;
        };
        for line in lines {
            let at = line.span().map(|span| span.start);
            let read = line
                .as_str()
                .and_then(|line| line.split_once(':'))
                .and_then(|(name, value)| {
                    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
                    Some((name, HeaderValue::from_str(value.trim()).ok()?))
                });
            match read {
                // The value is not told: it may be a secret.
                None => self.report(at, "headers: this is no \"name: value\""),
                Some((name, _)) if MADE_ANEW.contains(&name) => {
                    self.report(
                        at,
                        format!("headers: `{name}` is made for each answer; leave it out"),
                    );
                }
                Some((name, value)) => {
                    headers.append(name, value);
                }
            }
        }
        headers
    }

    fn text(&mut self, table: &Table, key: &str) -> Option<String> {
        let item = table.get(key)?;
        let text = item.as_str().map(str::to_owned);
        if text.is_none() {
            self.report(offset(Some(item)), format!("{key}: a text is needed"));
        }
        text
    }
}

fn offset(item: Option<&Item>) -> Option<usize> {
    item.and_then(Item::span).map(|span| span.start)
}

/// What an answer is sent by: the version is that of the connection.
pub(crate) fn response(answer: &Answer) -> http::Response<http_body_util::Full<Bytes>> {
    let mut response = http::Response::new(http_body_util::Full::new(answer.body.clone()));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers.clone();
    *response.version_mut() = Version::HTTP_11;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Vec<String> {
        match Canned::parse(Path::new("answers.toml"), text) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn the_first_answer_that_matches_applies() {
        let text = "[[answer]]\nmatch = \"GET /users/me\"\nstatus = 204\n[[answer]]\nmatch = \"GET /users/{id}\"\nheaders = [\"x-a: 1\", \"x-a: 2\"]\nbody = \"{}\"\n";
        let Ok(canned) = Canned::parse(Path::new("a"), text) else {
            panic!("{:?}", wrong(text));
        };
        let status = |path: &str| {
            canned
                .to(&Method::GET, path)
                .map(|answer| (answer.status.as_u16(), answer.headers.len()))
        };
        assert_eq!(status("/users/me"), Some((204, 0)));
        assert_eq!(status("/users/7"), Some((200, 2)));
        assert_eq!(status("/users"), None);
        assert!(canned.to(&Method::POST, "/users/7").is_none());
    }

    #[test]
    fn all_that_is_wrong_is_told_with_its_line_and_no_value_of_a_header() {
        let told = wrong(
            "answers = 1\n[[answer]]\nstatus = 99\nbody = 1\n[[answer]]\nmatch = \"GET users\"\nheaders = [\"secret hunter2\", \"content-length: 3\"]\nbdy = \"\"\n",
        );
        let places: Vec<&str> = told
            .iter()
            .filter_map(|line| line.split(':').nth(1))
            .collect();
        assert_eq!(told.len(), 8, "{told:#?}");
        assert!(
            places.iter().all(|line| line.parse::<u32>().is_ok()),
            "{told:#?}"
        );
        assert!(!told.join("").contains("hunter2"), "{told:#?}");
    }

    #[test]
    fn what_never_applies_is_told() {
        for (text, words) in [
            ("", "no [[answer]]"),
            ("[[answer]\n", ""),
            (
                "[[answer]]\nmatch = \"GET /{a}\"\n[[answer]]\nmatch = \"GET /{b}\"\n",
                "never applies",
            ),
        ] {
            let told = wrong(text);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains(words), "{told:?}");
        }
    }
}
