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

/// What is asked of a list.
#[derive(Debug, Default)]
pub(in crate::server) struct ListAsking {
    asking: Asking,
    after: usize,
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
                self.after = value.parse().map_err(|_| {
                    format!("`{value}` is no place; give the `next` of the page before as it was")
                })?;
            }
            _ => self.asking.read(name, value)?,
        }
        Ok(())
    }
}

impl ListAsking {
    /// The question to the record of this site, after how many, and how many.
    pub(in crate::server) fn of(self, site: &Site) -> (Question, usize, usize) {
        let limit = self.limit.unwrap_or(LISTED);
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
    /// The question to the record of this site, which groups, after how many, and how many.
    pub(in crate::server) fn of(self, site: &Site) -> (Question, Browsing, usize, usize) {
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
