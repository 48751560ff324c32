//! What HTTP requests ask of the record.

mod gate;
mod lists;
mod records;

use parity_schemas::browse::{Order, Tab};
use parity_schemas::route::OTHER;
use parity_schemas::time::Timestamp;
use parity_schemas::value;
use parity_schemas::visible::meant;

use super::parameters::Parameters;
use super::site::Site;
use crate::question::{Form, MIGRATION, ONLY_FLAGS, PARTS, Part, Question, values};
use crate::view::Browsing;
use records::after;

pub(super) use gate::{GateAsking, Given, HookAsking, TOKEN};
pub(super) use lists::{After, GroupAsking, GroupsAsking, ListAsking};
pub(super) use records::{AuditQuestion, DecisionQuestion, MismatchQuestion, OfPage};

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
        let register = (site.register)();
        self.0.known = register.known;
        self.0.selection.dated = register.dated;
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

/// The part of a question that a parameter gives.
fn part(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.parameter() == name)
}

#[cfg(test)]
mod tests;
