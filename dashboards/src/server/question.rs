//! What HTTP requests ask of the record.

mod lists;

use std::sync::Arc;

use parity_schemas::audit::AuditAction;
use parity_schemas::browse::{Order, Tab};
use parity_schemas::route::OTHER;
use parity_schemas::time::Timestamp;
use parity_schemas::value;
use parity_schemas::visible::meant;
use parity_sink::MismatchFilter;
use parity_sink::read::{AuditFilter, DecisionFilter, MAX_CHANGES, MAX_DECISIONS, MAX_MISMATCHES};

use super::parameters::Parameters;
use super::site::Site;
use crate::question::{Form, MIGRATION, ONLY_FLAGS, PARTS, Part, Question, values};
use crate::view::{Browsing, place};

pub(super) use lists::{GroupAsking, GroupsAsking, ListAsking};

/// What is asked of the report, the gate and the page.
#[derive(Debug, Default)]
pub(super) struct Asking(Question);

impl Parameters for Asking {
    fn known() -> Vec<String> {
        let parts = PARTS.iter().map(Part::parameter);
        std::iter::once(MIGRATION.to_owned()).chain(parts).collect()
    }

    fn is_repeated(name: &str) -> bool {
        part(name).is_some_and(|part| part.form == Form::Repeated)
    }

    fn why_not(name: &str) -> Option<String> {
        let flag = name.replace('_', "-");
        let (_, why) = ONLY_FLAGS.iter().find(|(only, _)| *only == flag)?;
        Some(format!("{name} is only a flag of `parity gate`: {why}"))
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(part) = part(name) {
            return part.read(&mut self.0, value);
        }
        self.0.selection.migration = Some(value.to_owned());
        Ok(())
    }
}

impl Asking {
    /// The question to the record of this site.
    pub(super) fn of(mut self, site: &Site) -> Question {
        let migration = &mut self.0.selection.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        self.0.known = (site.known)();
        self.0.selection.dated = Arc::clone(&site.dated);
        self.0
    }
}

/// What is asked of a screen: what of the record, and what of the screen.
#[derive(Debug, Default)]
pub(super) struct ScreenAsking {
    asking: Asking,
    /// What other screens are asked, too, as it was given.
    pub(super) scope: Vec<(String, String)>,
    /// What of the list of groups.
    pub(super) browsing: Browsing,
    /// The group from which somebody came to a mismatch.
    pub(super) group: Option<String>,
    /// Whether two bodies stand side by side.
    pub(super) is_split: bool,
    /// Where a list of mismatches begins.
    pub(super) after: Option<(Timestamp, uuid::Uuid)>,
}

/// Parameters of one screen.
const OF_SCREENS: [&str; 8] = [
    "tab", "order", "of_route", "find", "page", "group", "split", "after",
];

impl Parameters for ScreenAsking {
    fn known() -> Vec<String> {
        let own = OF_SCREENS.iter().map(|name| (*name).to_owned());
        Asking::known().into_iter().chain(own).collect()
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        Asking::why_not(name)
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        // A form sends what is empty, too.
        if value.is_empty() {
            return Ok(());
        }
        // A route may be called as another one is shown, so it is kept as it was given.
        let given = value;
        // Forms and pages spell out what nobody would see.
        let meant = meant(value);
        let value = &*meant;
        let text = || Some(value.to_owned());
        let browsing = &mut self.browsing;
        match name {
            "tab" => browsing.tab = word(value, Tab::ALL)?,
            "order" => browsing.order = word(value, Order::ALL)?,
            "of_route" => browsing.of_route = Some(given.to_owned()),
            "find" => browsing.find = text(),
            "page" => browsing.page = values::limit(value, MAX_PAGES)?,
            "group" => self.group = Some(fingerprint(value)?),
            "split" => self.is_split = value::switch(value)?,
            "after" => self.after = Some(after(value)?),
            _ => {
                self.asking.read(name, value)?;
                self.scope.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(())
    }
}

/// Hexadecimal digits of a fingerprint.
const FINGERPRINT: usize = 16;

/// The fingerprint of a group, or the name of those that have none of their own.
fn fingerprint(text: &str) -> Result<String, String> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text == OTHER || (text.len() == FINGERPRINT && text.bytes().all(is_digit)) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is no fingerprint; that is {FINGERPRINT} hexadecimal digits, as in the address of a group's page"
    ))
}

/// Pages of a list that can be asked for: more than any report has.
const MAX_PAGES: usize = 100_000;

impl ScreenAsking {
    /// The question to the record of this site.
    pub(super) fn question(&mut self, site: &Site) -> Question {
        std::mem::take(&mut self.asking).of(site)
    }
}

/// One of these words.
fn word<T: Copy + std::fmt::Display>(text: &str, all: &[T]) -> Result<T, String> {
    let mut each = all.iter();
    let found = each.find(|word| word.to_string() == text);
    found.copied().ok_or_else(|| {
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        format!("`{text}` is not known; use one of {}", words.join(", "))
    })
}

/// What is asked of the gate: a decision, and what becomes of it.
#[derive(Debug, Default)]
pub(super) struct GateAsking {
    asking: Asking,
    /// The parameters that the decision depends on, as they were given: equal ones ask for the same.
    given: Vec<(String, String)>,
    /// Only the short answer is wanted.
    pub(super) brief: bool,
}

impl Parameters for GateAsking {
    fn known() -> Vec<String> {
        let mut known = Asking::known();
        known.push(BRIEF.to_owned());
        known
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        match name {
            STORE => Some("store is no parameter here: a GET stores nothing; POST does".to_owned()),
            _ => Asking::why_not(name),
        }
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == BRIEF {
            self.brief = value::switch(value)?;
            return Ok(());
        }
        self.given.push((name.to_owned(), value.to_owned()));
        self.asking.read(name, value)?;
        self.asking.demands_something(name)
    }
}

impl Asking {
    /// Refuses what would let every candidate go on, and what a template that was not filled in would ask: nobody looks at the
    /// answers that a controller gets.
    fn demands_something(&self, name: &str) -> Result<(), String> {
        let Question {
            selection,
            thresholds,
            ..
        } = &self.0;
        let is_empty = |text: &Option<String>| {
            let text = text.as_deref();
            text.is_some_and(|text| text.trim().is_empty())
        };
        match name {
            "max_mismatch_rate" if thresholds.max_mismatch_rate >= 1.0 => Err(
                "`1` lets every candidate pass; write the share that may differ, for example 0.001".to_owned(),
            ),
            "candidate_version" if is_empty(&selection.candidate_version) => Err(
                "it is empty, so it names no build; write what --candidate-version of the mirror says, or leave it out for the latest"
                    .to_owned(),
            ),
            MIGRATION if is_empty(&selection.migration) => Err(
                "it is empty, so it names no migration; leave it out for that of this process".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

impl GateAsking {
    /// What is asked for, and the question to the record of this site.
    pub(super) fn of(self, site: &Site) -> (Given, Question) {
        (self.given, self.asking.of(site))
    }
}

/// Parameters as they were given.
pub(super) type Given = Vec<(String, String)>;

/// Only the short answer of the gate.
const BRIEF: &str = "brief";
/// The decision shall be stored.
const STORE: &str = "store";

/// What a webhook asks of the gate.
#[derive(Debug, Default)]
pub(super) struct HookAsking {
    gate: GateAsking,
    /// The decision shall be stored.
    pub(super) store: bool,
}

impl Parameters for HookAsking {
    fn known() -> Vec<String> {
        let mut known = Asking::known();
        known.push(STORE.to_owned());
        known
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        match name {
            TOKEN => Some("token belongs into the metadata: an address is logged".to_owned()),
            BRIEF => Some("brief is no parameter here: the answer is one line".to_owned()),
            _ => Asking::why_not(name),
        }
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == STORE {
            self.store = value::switch(value)?;
            return Ok(());
        }
        self.gate.read(name, value)
    }
}

impl HookAsking {
    /// What is asked for, and the question to the record of this site.
    pub(super) fn of(self, site: &Site) -> (Given, Question) {
        self.gate.of(site)
    }
}

/// Where a webhook, which cannot send headers, has the token.
pub(super) const TOKEN: &str = "token";

/// The part of a question that a parameter gives.
fn part(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.parameter() == name)
}

/// Records on a page by default: a screenful.
const PER_PAGE: usize = 50;

/// What is asked of the list of mismatches.
#[derive(Debug, Default)]
pub(super) struct MismatchQuestion {
    filter: MismatchFilter,
    limit: Option<usize>,
}

impl Parameters for MismatchQuestion {
    fn known() -> Vec<String> {
        [
            MIGRATION,
            "route",
            "fingerprint",
            "class",
            "candidate_version",
            "since",
            "until",
            "limit",
            "after",
        ]
        .map(str::to_owned)
        .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned());
        match name {
            "route" => self.filter.route = text(),
            "fingerprint" => self.filter.fingerprint = text(),
            "class" => self.filter.class = Some(values::class(value)?),
            "candidate_version" => self.filter.candidate_version = text(),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_MISMATCHES)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = text(),
        }
        Ok(())
    }
}

impl MismatchQuestion {
    /// Which of the record of this site, and how many.
    pub(super) fn of(mut self, site: &Site) -> (MismatchFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}

/// Where a page of a list begins.
fn after(text: &str) -> Result<(Timestamp, uuid::Uuid), String> {
    place(text).ok_or_else(|| {
        format!("`{text}` is no place; give the `next` of the page before as it was")
    })
}

/// What is asked of the list of decisions.
#[derive(Debug, Default)]
pub(super) struct DecisionQuestion {
    filter: DecisionFilter,
    limit: Option<usize>,
    /// What was asked besides the migration and the place, as it was given: the next page is asked for the same.
    pub(super) asked: Vec<(String, String)>,
}

impl Parameters for DecisionQuestion {
    fn known() -> Vec<String> {
        [
            MIGRATION,
            "outcome",
            "candidate_version",
            "since",
            "until",
            "limit",
            "after",
        ]
        .map(str::to_owned)
        .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "outcome" => self.filter.outcome = Some(values::outcome(value)?),
            "candidate_version" => self.filter.candidate_version = Some(value.to_owned()),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_DECISIONS)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = Some(meant(value).into_owned()),
        }
        remember(&mut self.asked, name, value);
        Ok(())
    }
}

impl DecisionQuestion {
    /// Which of the record of this site, and how many.
    pub(super) fn of(mut self, site: &Site) -> (DecisionFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}

/// Keeps a parameter for the link to the next page, which has its own place and says its migration itself.
fn remember(asked: &mut Vec<(String, String)>, name: &str, value: &str) {
    if name != "after" && name != MIGRATION {
        asked.push((name.to_owned(), value.to_owned()));
    }
}

/// What is asked of the list of changes.
#[derive(Debug, Default)]
pub(super) struct AuditQuestion {
    filter: AuditFilter,
    limit: Option<usize>,
    /// What was asked besides the migration and the place, as it was given: the next page is asked for the same.
    pub(super) asked: Vec<(String, String)>,
}

impl Parameters for AuditQuestion {
    fn known() -> Vec<String> {
        [MIGRATION, "action", "since", "until", "limit", "after"]
            .map(str::to_owned)
            .into()
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "action" => self.filter.action = Some(word(value, AuditAction::ALL)?),
            "since" => self.filter.since = Some(values::since(value)?),
            "until" => self.filter.until = Some(values::since(value)?),
            "limit" => self.limit = Some(values::limit(value, MAX_CHANGES)?),
            "after" => self.filter.before = Some(after(value)?),
            _ => self.filter.migration = Some(meant(value).into_owned()),
        }
        remember(&mut self.asked, name, value);
        Ok(())
    }
}

impl AuditQuestion {
    /// Which of the record of this site, and how many.
    pub(super) fn of(mut self, site: &Site) -> (AuditFilter, usize) {
        let migration = &mut self.filter.migration;
        migration.get_or_insert_with(|| site.migration.clone());
        (self.filter, self.limit.unwrap_or(PER_PAGE))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Uri;

    use super::super::parameters::asked;
    use super::*;

    fn refused<T: Parameters>(query: &str) -> String {
        let uri: Uri = format!("/x?{query}").parse().expect("a URI");
        asked::<T>(&uri).err().expect("refused")
    }

    #[test]
    fn what_is_wrong_with_a_parameter_is_told() {
        for (query, told) in [
            (
                "min_requests=1&max_dropped=1%25",
                "max_dropped: `1%` is not a share; write a number between 0 and 1, for example 0.25",
            ),
            (
                "max_latency=p99%3D1.5x+5ms",
                "max_latency: `p99=1.5x 5ms` is no limit of a latency; write QUANTILE=FACTORx, for example p99=1.5x, or with a \
                 time that is added p99=1.5x+5ms; in an address a `+` is a space: write `%2B`",
            ),
            (
                "since=2026-01-01T00:00:00+02:00",
                "since: `2026-01-01T00:00:00 02:00` is neither a time with an offset, such as 2026-01-31T09:30:00Z, nor an age, \
                 such as 15m, 2h or 7d; in an address a `+` is a space: write `%2B`",
            ),
            (
                "min_requests=many",
                "min_requests: `many` is not a whole number",
            ),
            (
                "max_dropt=1",
                "there is no parameter `max_dropt`; did you mean `max_dropped`?",
            ),
            (
                "max-dropped=1",
                "there is no parameter `max-dropped`; did you mean `max_dropped`?",
            ),
            (
                "since=1h&since=2h",
                "since is given more than once; give it once",
            ),
            (
                "wait=1m",
                "wait is only a flag of `parity gate`: a request is answered at once; ask again",
            ),
            (
                "dry_run=true",
                "dry_run is only a flag of `parity gate`: GET stores nothing, and POST is the way to have a decision stored",
            ),
        ] {
            assert_eq!(refused::<Asking>(query), told);
        }
        for (query, told) in [
            ("max_mismatch_rate=1", "lets every candidate pass"),
            ("max_mismatch_rate=1.0", "lets every candidate pass"),
            ("max_mismatch_rate=10e-1", "lets every candidate pass"),
            (
                "max_mismatch_rate=0.99999999999999999999",
                "lets every candidate pass",
            ),
            ("candidate_version=", "names no build"),
            ("candidate_version=%20%09", "names no build"),
            ("migration=", "names no migration"),
            ("require_route=", "is not a route"),
        ] {
            for refused in [refused::<GateAsking>(query), refused::<HookAsking>(query)] {
                assert!(refused.contains(told), "{query}: {refused}");
            }
        }
        // A report of it shows what there is.
        let uri: Uri = "/x?candidate_version=&max_mismatch_rate=1"
            .parse()
            .expect("a URI");
        assert!(asked::<Asking>(&uri).is_ok());
        assert_eq!(
            refused::<MismatchQuestion>("nonsense=1"),
            "there is no parameter `nonsense`; use one of migration, route, fingerprint, class, candidate_version, since, until, limit, after"
        );
        assert_eq!(
            refused::<MismatchQuestion>("limit=0"),
            "limit: `0` is not a number from 1 to 1000"
        );
        assert_eq!(
            refused::<MismatchQuestion>("class=odd"),
            "class: `odd` is not a class; use one of confirmed, unstable, unconfirmed, noise, transient"
        );
        assert_eq!(
            refused::<DecisionQuestion>("outcome=passed"),
            "outcome: `passed` is no outcome; did you mean `pass`?"
        );
        assert_eq!(
            refused::<DecisionQuestion>("after=x"),
            "after: `x` is no place; give the `next` of the page before as it was"
        );
    }

    #[test]
    fn what_may_be_repeated_is_read_each_time() {
        let uri: Uri = "/x?require_route=GET+%2Fa&require_route=GET%20/users/%7Bid%7D"
            .parse()
            .expect("a URI");
        let asked: Asking = asked(&uri).expect("it is right");
        assert_eq!(
            asked.0.thresholds.required_routes,
            ["GET /a", "GET /users/{id}"]
        );
    }
}
