//! The register of known differences: the `[[known]]` tables.
//!
//! An entry excuses differences, so one that cannot be meant is an error: without an owner or a reason, with a name that no
//! group can have, for everything at once, or the same as another one. That a day has come is no error for whoever reads a
//! record: an entry that has expired is read, and excuses nothing.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use parity_comparator::known::{ends_soon, is_everywhere, place_of};
use parity_comparator::rules::first_moment;
use parity_schemas::known::KnownEntry;
use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::spelling;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;
use parity_schemas::visible::visible;

use super::Layers;
use super::file::{File, TableEntry};
use super::problem::{Origin, Problem, Problems};
use super::settings::entries::{EntryKey, known};
use super::value;

/// Hex digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 16;
/// What to write as a date.
const DATE: &str = "write a date such as 2027-03-01, or a time such as 2027-03-01T12:00:00Z";

/// What a configuration says of differences that somebody has decided on: the register, and rules that have a date.
pub(crate) type Differences = (Arc<[KnownEntry]>, Arc<[RuleText]>);

/// What two entries must not share, and where it stood first.
#[derive(Default)]
struct Taken {
    ids: HashMap<String, Origin>,
    fingerprints: HashMap<String, Origin>,
    places: HashMap<String, Origin>,
}

impl Layers {
    /// The register, in the order of the file. With `now`, an entry that has expired is a problem.
    pub(super) fn known(&mut self, now: Option<Timestamp>) -> Arc<[KnownEntry]> {
        let mut taken = Taken::default();
        let entries = std::mem::take(&mut self.known);
        let mut register = Vec::with_capacity(entries.len());
        for entry in &entries {
            let read = Reader {
                entry,
                layers: self,
            }
            .read(now);
            self.refuse_twice(entry, &read, &mut taken);
            register.push(read);
        }
        register.into()
    }

    fn refuse_twice(&mut self, entry: &TableEntry, read: &KnownEntry, taken: &mut Taken) {
        let mut twice = |key: &EntryKey, what: &str, other: Option<Origin>| {
            if let Some(other) = other {
                let message = format!("{what} is also in the [[known]] at {other}");
                let hint = "one difference has one entry, or nobody knows which of them holds";
                let problem = Problem::new(entry.origin_of(key), message);
                self.problems.push(problem.hint(hint));
            }
        };
        if !read.id.is_empty() {
            let other = first(&mut taken.ids, read.id.clone(), entry.origin_of(&known::ID));
            twice(&known::ID, &format!("id `{}`", visible(&read.id)), other);
        }
        for fingerprint in &read.fingerprints {
            let origin = entry.origin_of(&known::FINGERPRINTS);
            let other = first(&mut taken.fingerprints, fingerprint.clone(), origin);
            twice(
                &known::FINGERPRINTS,
                &format!("fingerprint `{fingerprint}`"),
                other,
            );
        }
        if read.fingerprints.is_empty() && names_something(read) {
            let place = format!(
                "{:?}",
                (
                    &read.route,
                    read.part,
                    &read.path,
                    read.kind,
                    read.explanation
                )
            );
            let other = first(&mut taken.places, place, entry.origin.clone());
            twice(&known::ID, "just the same", other);
        }
    }

    /// What the configuration says of differences that somebody has decided on: the register, and rules that have a date.
    pub(crate) fn register(mut self) -> Result<Differences, Problems> {
        let dated = self.dated_rules();
        let known = self.known(None);
        if self.problems.is_empty() {
            Ok((known, dated))
        } else {
            Err(self.into_problems())
        }
    }

    /// The register of a text, and what is wrong with the whole text as far as it can be told without a command. What has
    /// expired is wrong, too.
    pub(crate) fn known_of(path: &Path, text: &str) -> (Arc<[KnownEntry]>, Vec<Problem>) {
        let mut problems = Vec::new();
        let file = File::read(path, text, &mut problems);
        let mut layers = Self::of_file(file, problems);
        let register = layers.known(Some(Timestamp::now()));
        (register, layers.problems)
    }

    /// Rules and known differences that end within a week, a sentence each.
    pub(crate) fn ends_soon(&self, now: Timestamp) -> Vec<Problem> {
        let entries = self.known.iter().filter_map(|entry| {
            let id = entry.text(&known::ID).unwrap_or_default();
            let origin = entry.origin_of(&known::EXPIRES);
            ending(
                "known difference",
                id,
                entry.text(&known::EXPIRES),
                &origin,
                now,
            )
        });
        self.rules_end_soon(now)
            .into_iter()
            .chain(entries)
            .collect()
    }

    /// The rules among them.
    pub(crate) fn rules_end_soon(&self, now: Timestamp) -> Vec<Problem> {
        let rules = self.rules.iter().filter_map(|rule| {
            let (config, origin) = (&rule.config, rule.origin_of("expires"));
            ending("rule", &config.id, config.expires.as_deref(), &origin, now)
        });
        rules.collect()
    }
}

/// Says that something ends soon, if it does.
fn ending(
    what: &str,
    id: &str,
    expires: Option<&str>,
    origin: &Origin,
    now: Timestamp,
) -> Option<Problem> {
    let text = expires?;
    ends_soon(first_moment(text).ok(), now).then(|| {
        let message = format!(
            "{what} `{}` expires on {}, within a week: decide anew, or what it covers counts from then on",
            visible(id),
            visible(text)
        );
        Problem::new(origin.clone(), message)
    })
}

/// Where a name stood first, if this is not the first place.
fn first<K: Eq + Hash>(taken: &mut HashMap<K, Origin>, name: K, origin: Origin) -> Option<Origin> {
    if let Some(other) = taken.get(&name) {
        return Some(other.clone());
    }
    taken.insert(name, origin);
    None
}

/// Whether an entry without fingerprints names less than everything of an answer.
fn names_something(entry: &KnownEntry) -> bool {
    let place = entry
        .path
        .as_deref()
        .is_some_and(|path| !is_everywhere(path));
    place || entry.explanation.is_some() || entry.part == Some(Part::Status)
}

/// Reads one table.
struct Reader<'a> {
    entry: &'a TableEntry,
    layers: &'a mut Layers,
}

impl Reader<'_> {
    fn read(mut self, now: Option<Timestamp>) -> KnownEntry {
        let read = KnownEntry {
            id: self.needed(&known::ID, "a name"),
            fingerprints: self.fingerprints(),
            route: self.checked(
                &known::ROUTE,
                "a route such as \"GET /users/{id}\"",
                |text| {
                    let all_methods = text.starts_with('*');
                    let parsed = RouteRule::parse(text, RoutePolicy::default());
                    match parsed {
                        Ok(_) if all_methods => Err("it names every method".to_owned()),
                        Ok(rule) => Ok(rule.label().to_owned()),
                        Err(error) => Err(error.to_string()),
                    }
                },
            ),
            part: self.word(&known::PART),
            path: self.checked(
                &known::PATH,
                "a path as reports show it, such as /items/*/price",
                |text| place_of(text).map_err(|error| error.to_string()),
            ),
            kind: self.word(&known::KIND),
            explanation: self.word(&known::EXPLANATION),
            owner: self.needed(&known::OWNER, "who answers for it"),
            reason: self.needed(&known::REASON, "why it is there"),
            ticket: self.entry.text(&known::TICKET).map(str::to_owned),
            expires: self.date(&known::EXPIRES),
            blocks: self
                .checked(&known::BLOCKS, "true or false", value::switch)
                .unwrap_or(true),
            rate: self.checked(&known::RATE, "a share of the requests", value::share),
            mended: self.date(&known::MENDED),
        };
        self.look_at_scope(&read);
        if let Some(now) = now {
            if read.expires.is_some_and(|expires| expires <= now) && read.mended.is_none() {
                let text = self.entry.text(&known::EXPIRES).unwrap_or_default();
                let hint = "remove the entry, or decide anew until when the difference is accepted";
                self.problem(
                    &known::EXPIRES,
                    &format!("expired on {text}"),
                    Some(hint.to_owned()),
                );
            }
            if read.mended.is_some_and(|mended| mended > now) {
                let text = self.entry.text(&known::MENDED).unwrap_or_default();
                let hint = "write when it was mended, or leave it out until then";
                self.problem(
                    &known::MENDED,
                    &format!("{text} has not come yet"),
                    Some(hint.to_owned()),
                );
            }
        }
        read
    }

    fn problem(&mut self, key: &EntryKey, message: &str, hint: Option<String>) {
        let id = self.entry.text(&known::ID).unwrap_or("without id");
        self.layers.problems.push(Problem {
            origin: self.entry.origin_of(key),
            message: format!("known difference `{id}`: {}: {message}", key.name),
            hint,
        });
    }

    fn needed(&mut self, key: &EntryKey, what: &str) -> String {
        let text = self.entry.text(key).unwrap_or_default().trim().to_owned();
        if text.is_empty() && (self.entry.text(key).is_some() || !self.entry.is_given(key)) {
            let hint = format!("write {} = \"…\": {what}", key.name);
            self.problem(key, "it is needed", Some(hint));
        }
        text
    }

    fn checked<T>(
        &mut self,
        key: &EntryKey,
        what: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.entry.text(key)?;
        read(text)
            .map_err(|error| self.problem(key, &error, Some(format!("write {what}"))))
            .ok()
    }

    fn word<T: FromStr>(&mut self, key: &EntryKey) -> Option<T> {
        let text = self.entry.text(key)?;
        let read = text.parse().ok();
        if read.is_none() {
            let words = key.words.map(|words| words()).unwrap_or_default();
            let hint = spelling::hint(text, &words);
            self.problem(key, &format!("`{text}` is not one"), Some(hint));
        }
        read
    }

    fn date(&mut self, key: &EntryKey) -> Option<Timestamp> {
        let text = self.entry.text(key)?;
        first_moment(text)
            .map_err(|error| self.problem(key, &error.to_string(), Some(DATE.to_owned())))
            .ok()
    }

    fn fingerprints(&mut self) -> Vec<String> {
        let given = self.entry.list(&known::FINGERPRINTS).to_vec();
        for name in &given {
            let digits = name
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if name.len() != FINGERPRINT_DIGITS || !digits {
                let hint =
                    "it has 16 digits of 0-9 and a-f; `parity known list` names those that count";
                self.problem(
                    &known::FINGERPRINTS,
                    &format!("`{name}` is no fingerprint"),
                    Some(hint.to_owned()),
                );
            }
        }
        given
    }

    /// An entry means some groups and not everything.
    fn look_at_scope(&mut self, read: &KnownEntry) {
        let scope = [
            &known::ROUTE,
            &known::PART,
            &known::PATH,
            &known::KIND,
            &known::EXPLANATION,
        ];
        let entry = self.entry;
        if entry.is_given(&known::FINGERPRINTS) {
            if let Some(key) = scope.into_iter().find(|key| entry.is_given(key)) {
                let hint = "a fingerprint is of one route and place; leave one of both out";
                let message = "it stands beside `fingerprints`";
                self.problem(key, message, Some(hint.to_owned()));
            }
            if read.fingerprints.is_empty() {
                let hint = "name one, or say by `path`, `explanation` and so on what it means";
                let message = "there is none";
                self.problem(&known::FINGERPRINTS, message, Some(hint.to_owned()));
            }
            return;
        }
        // Of one that cannot be read it is not known how much it means.
        let unread = (read.explanation.is_none() && entry.is_given(&known::EXPLANATION))
            || (read.part.is_none() && entry.is_given(&known::PART))
            || (read.path.is_none() && entry.is_given(&known::PATH));
        if !names_something(read) && !unread {
            let hint = "name `fingerprints`, or a `path`, an `explanation` or part = \"status\": what is known must not hide \
                        what is not";
            self.problem(&known::ID, "it means everything", Some(hint.to_owned()));
        }
    }
}
