//! The `[[substitute]]` tables: what a replay puts in the place of recorded cookies and tokens.
//!
//! Their form is checked for every command that reads the file. The values are read by the replay alone, so that a mirror with the
//! same file needs none of its secrets.

use std::path::PathBuf;

use anyhow::{Result, bail};
use parity_mirror::replay::{Part, Substitution, ValueFrom};
use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::visible::visible;

use super::Layers;
use super::file::TableEntry;
use super::problem::{MAX_SECRET_BYTES, Origin, Problem, read_named_file};
use super::settings::entries::{EntryKey, substitute};

/// What stands for the value in `as`.
const PLACE: &str = "{}";

/// One table, checked.
#[derive(Clone)]
pub(crate) struct Substitute {
    /// How it is told: where it puts what, and the place of the table.
    pub(crate) name: String,
    pub(crate) put: Part,
    pub(crate) source: Source,
    around: (String, String),
    to: Vec<RouteRule>,
    legacy: bool,
    candidate: bool,
}

/// Where the value comes from.
#[derive(Clone)]
pub(crate) enum Source {
    Answers { from: RouteRule, take: Part },
    File(PathBuf, Origin),
    Environment(String, Origin),
}

impl Substitute {
    /// With the value of its file or variable.
    pub(crate) fn read(&self) -> Result<Substitution> {
        let value = match &self.source {
            Source::Answers { from, take } => ValueFrom::Answers {
                from: vec![from.clone()],
                take: take.clone(),
            },
            Source::File(path, origin) => {
                let read = read_named_file(path, origin, MAX_SECRET_BYTES);
                let bytes = read.map_err(|problem| anyhow::anyhow!("{problem}"))?;
                let what = format!("{origin}: {}", path.display());
                ValueFrom::Operator(secret(bytes, &what)?)
            }
            Source::Environment(name, origin) => {
                let what = format!("{origin}: the environment variable {name}");
                let Some(value) = std::env::var_os(name) else {
                    bail!("{what} is not set; [[substitute]] takes its value from there");
                };
                ValueFrom::Operator(secret(value.into_encoded_bytes(), &what)?)
            }
        };
        Ok(Substitution {
            put: self.put.clone(),
            value,
            around: self.around.clone(),
            to: self.to.clone(),
            legacy: self.legacy,
            candidate: self.candidate,
        })
    }
}

/// The text of a secret. An error does not tell it.
fn secret(bytes: Vec<u8>, what: &str) -> Result<String> {
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{what} is no text in UTF-8");
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("{what} is empty; [[substitute]] takes its value from there");
    }
    if text.contains(char::is_control) {
        bail!("{what} has line ends or control characters; it must be one line");
    }
    Ok(text.to_owned())
}

impl Layers {
    /// All of them, in the order of the file. What is wrong is reported.
    pub(super) fn substitutes(&mut self) -> Vec<Substitute> {
        let entries = std::mem::take(&mut self.substitutes);
        let mut read = Vec::with_capacity(entries.len());
        for entry in &entries {
            read.extend(self.substitute(entry));
        }
        read
    }

    fn substitute(&mut self, entry: &TableEntry) -> Option<Substitute> {
        let put = self.part(entry, &substitute::PUT);
        let source = self.source(entry);
        let around = self.around(entry);
        let to: Vec<_> = entry
            .list(&substitute::TO)
            .iter()
            .map(String::as_str)
            .collect();
        let read: Vec<_> = to
            .iter()
            .filter_map(|route| self.requests(entry, &substitute::TO, route))
            .collect();
        let is_complete = read.len() == to.len();
        let service = entry.text(&substitute::SERVICE);
        if service.is_some_and(|word| ![substitute::LEGACY, substitute::CANDIDATE].contains(&word))
        {
            self.wrong(
                entry,
                &substitute::SERVICE,
                "there is no such service",
                "write legacy or candidate, or leave it out for both",
            );
        }
        if !entry.is_given(&substitute::PUT) {
            let problem = Problem::new(entry.origin.clone(), "a [[substitute]] needs `put`");
            let hint = "write for example put = \"header:authorization\"";
            self.problems.push(problem.hint(hint));
        }
        let put = put?;
        Some(Substitute {
            name: format!("{put} at {}", entry.origin),
            put,
            source: source?,
            around: around?,
            to: is_complete.then_some(read)?,
            legacy: service != Some(substitute::CANDIDATE),
            candidate: service != Some(substitute::LEGACY),
        })
    }

    fn wrong(&mut self, entry: &TableEntry, key: &EntryKey, message: &str, hint: &str) {
        let message = format!("{}: {message}", key.name);
        let problem = Problem::new(entry.origin_of(key), message);
        self.problems.push(problem.hint(hint));
    }

    fn part(&mut self, entry: &TableEntry, key: &EntryKey) -> Option<Part> {
        let read = entry.text(key)?.parse::<Part>();
        let wrong = |error| {
            let message = visible(&format!("{}: {error}", key.name));
            self.problems
                .push(Problem::new(entry.origin_of(key), message));
        };
        read.map_err(wrong).ok()
    }

    fn requests(&mut self, entry: &TableEntry, key: &EntryKey, text: &str) -> Option<RouteRule> {
        match RouteRule::parse(text, RoutePolicy::default()) {
            Ok(rule) if rule.operation().is_some() => {
                self.wrong(
                    entry,
                    key,
                    "operations of GraphQL are not told apart here",
                    "write METHOD /path alone",
                );
                None
            }
            Ok(rule) => Some(rule),
            Err(error) => {
                let hint = "`* /{*all}` is every request";
                self.wrong(entry, key, &visible(&error.to_string()), hint);
                None
            }
        }
    }

    fn source(&mut self, entry: &TableEntry) -> Option<Source> {
        let [from, take, file, env] = [
            &substitute::FROM,
            &substitute::TAKE,
            &substitute::FILE,
            &substitute::ENV,
        ];
        let of_answers = entry.is_given(from) || entry.is_given(take);
        let given = [of_answers, entry.is_given(file), entry.is_given(env)];
        if given.iter().filter(|given| **given).count() != 1 {
            let message = "a [[substitute]] takes its value from one place";
            let problem = Problem::new(entry.origin.clone(), message);
            let hint = "name `from` and `take` for values of answers, or `file`, or `env`";
            self.problems.push(problem.hint(hint));
            return None;
        }
        if let Some(path) = entry.text(file) {
            return Some(Source::File(path.into(), entry.origin_of(file)));
        }
        if let Some(name) = entry.text(env) {
            if name.is_empty() || name.contains(['=', '\0']) || name.starts_with("PARITY_") {
                let message = "this is no name of a variable for a value";
                let hint =
                    "name any variable whose name does not begin with PARITY_: those are settings";
                self.wrong(entry, env, message, hint);
                return None;
            }
            return Some(Source::Environment(name.to_owned(), entry.origin_of(env)));
        }
        if !of_answers {
            // A mistake that has been reported.
            return None;
        }
        for (given, other) in [(from, take), (take, from)] {
            if entry.is_given(given) && !entry.is_given(other) {
                let message = format!("needs `{}` beside it", other.name);
                let hint = "from = \"POST /login\" and take = \"body:/token\" belong together";
                self.wrong(entry, given, &message, hint);
            }
        }
        let wanted = entry.text(from).map(str::to_owned);
        let from = wanted.and_then(|text| self.requests(entry, from, &text));
        let part = self.part(entry, take);
        if part.as_ref().is_some_and(|part| !part.is_in_answers()) {
            let hint = "write header:NAME, cookie:NAME or body:/POINTER";
            self.wrong(entry, take, "answers have no such part", hint);
            return None;
        }
        Some(Source::Answers {
            from: from?,
            take: part?,
        })
    }

    fn around(&mut self, entry: &TableEntry) -> Option<(String, String)> {
        let text = entry.text(&substitute::AS).unwrap_or(PLACE);
        match text.split_once(PLACE) {
            Some((before, behind))
                if !behind.contains(PLACE) && !text.contains(char::is_control) =>
            {
                Some((before.to_owned(), behind.to_owned()))
            }
            _ => {
                let message = "it has no place for the value, or more than one";
                let hint = "write `{}` once, such as \"Bearer {}\"";
                self.wrong(entry, &substitute::AS, message, hint);
                None
            }
        }
    }
}
