//! What is asked of lists that are parts of a report: what of the record, and which piece of the list.

use parity_schemas::browse::{Order, Tab};
use parity_schemas::verdict::Kind;

use super::super::parameters::Parameters;
use super::super::site::Site;
use super::{Asking, word};
use crate::question::{Question, values};
use crate::view::Browsing;

/// Most entries of one answer: a group has some kilobytes.
pub(in crate::server) const MAX_LISTED: usize = 1_000;
/// Entries of one answer where nobody says how many: as many as a page has.
const LISTED: usize = 100;

/// Where a page of a list begins: behind this many entries, or rather behind the one of this name, wherever that is by now. So
/// entries that came before it meanwhile move nothing.
#[derive(Debug, Default)]
pub(in crate::server) struct After {
    count: usize,
    name: Option<String>,
}

impl After {
    /// `None` if it is no place.
    fn read(text: &str) -> Option<Self> {
        let (count, name) = match text.split_once('_') {
            Some((count, name)) => (count, Some(name.to_owned())),
            None => (text, None),
        };
        let count = count.parse().ok()?;
        Some(Self { count, name })
    }

    /// Which entry is the first, of those with these names.
    pub(in crate::server) fn first(&self, names: impl Iterator<Item = String>) -> usize {
        let Some(name) = &self.name else {
            return self.count;
        };
        let mut names = names;
        let found = names.position(|one| one == *name);
        found.map_or(self.count, |at| at + 1)
    }
}

/// What is asked of a list.
#[derive(Debug, Default)]
pub(in crate::server) struct ListAsking {
    asking: Asking,
    after: After,
    limit: Option<usize>,
}

impl Parameters for ListAsking {
    fn known() -> Vec<String> {
        let own = ["limit", "after"].map(str::to_owned);
        Asking::known().into_iter().chain(own).collect()
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        match name {
            "page" => Some(
                "there are no pages by number: give the `next` of an answer as after".to_owned(),
            ),
            _ => Asking::why_not(name),
        }
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "limit" => self.limit = Some(values::limit(value, MAX_LISTED)?),
            "after" => {
                self.after = After::read(value).ok_or_else(|| {
                    format!("`{value}` is no place; give the `next` of the page before as it was")
                })?;
            }
            _ => self.asking.read(name, value)?,
        }
        Ok(())
    }
}

impl ListAsking {
    #[cfg(test)]
    pub(in crate::server) fn into_after(self) -> After {
        self.after
    }

    /// The question to the record of this site, after which entry, and how many.
    pub(in crate::server) fn of(self, site: &Site) -> (Question, After, usize) {
        self.up_to(LISTED, site)
    }

    /// The same of what people write by hand: all of it, unless somebody wants less.
    pub(in crate::server) fn of_written(self, site: &Site) -> (Question, After, usize) {
        self.up_to(MAX_LISTED, site)
    }

    fn up_to(self, limit: usize, site: &Site) -> (Question, After, usize) {
        let limit = self.limit.unwrap_or(limit);
        (self.asking.of(site), self.after, limit)
    }
}

/// What is asked of the list of groups.
#[derive(Debug, Default)]
pub(in crate::server) struct GroupsAsking {
    list: ListAsking,
    browsing: Browsing,
}

impl Parameters for GroupsAsking {
    fn known() -> Vec<String> {
        let own = ["tab", "order", "route", "find", "kind"].map(str::to_owned);
        ListAsking::known().into_iter().chain(own).collect()
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        ListAsking::why_not(name)
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        let browsing = &mut self.browsing;
        match name {
            "tab" => browsing.tab = word(value, Tab::ALL)?,
            "order" => browsing.order = word(value, Order::ALL)?,
            "route" => browsing.of_route = Some(value.to_owned()),
            "find" => browsing.find = Some(value.to_owned()),
            "kind" => browsing.kind = Some(word(value, Kind::ALL)?),
            _ => self.list.read(name, value)?,
        }
        Ok(())
    }
}

impl GroupsAsking {
    /// The question to the record of this site, which groups, after which, and how many.
    pub(in crate::server) fn of(self, site: &Site) -> (Question, Browsing, After, usize) {
        let (question, after, limit) = self.list.of(site);
        (question, self.browsing, after, limit)
    }
}

/// What is asked of one group.
#[derive(Debug, Default)]
pub(in crate::server) struct GroupAsking {
    asking: Asking,
    route: Option<String>,
}

impl Parameters for GroupAsking {
    fn known() -> Vec<String> {
        let own = ["route".to_owned()];
        Asking::known().into_iter().chain(own).collect()
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        Asking::why_not(name)
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "route" => self.route = Some(value.to_owned()),
            _ => self.asking.read(name, value)?,
        }
        Ok(())
    }
}

impl GroupAsking {
    /// The question to the record of this site, and of which route the group is.
    pub(in crate::server) fn of(self, site: &Site) -> (Question, Option<String>) {
        (self.asking.of(site), self.route)
    }
}
