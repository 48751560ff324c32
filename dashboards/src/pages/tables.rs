//! Tables that several screens have: of groups, and of stored mismatches.

use parity_schemas::record::Mismatch;
use uuid::Uuid;

use super::chart::Sparkline;
use super::group_address;
use super::shell::Shell;
use crate::view::{BrowsedGroup, GroupTimes, MismatchView, SeenAt};

/// Groups, for `groups_table.html`.
pub(super) struct GroupTable<'a> {
    pub(super) shell: &'a Shell,
    pub(super) rows: Vec<BrowsedGroup<'a>>,
    pub(super) times: &'a GroupTimes,
    /// Whether all are of one route, whose page it is.
    pub(super) is_of_route: bool,
}

impl GroupTable<'_> {
    pub(super) fn spark(&self, row: &BrowsedGroup<'_>) -> Sparkline {
        Sparkline::of(&self.times.bars(row.names()), row.counted())
    }

    pub(super) fn first(&self, row: &BrowsedGroup<'_>) -> SeenAt {
        self.times.first(row.names(), row.group.report.first_seen)
    }

    pub(super) fn last(&self, row: &BrowsedGroup<'_>) -> SeenAt {
        self.times.last(row.names(), row.group.report.last_seen)
    }

    pub(super) fn group(&self, row: &BrowsedGroup<'_>) -> String {
        let report = row.group.report;
        group_address(self.shell, &report.fingerprint, &report.route)
    }
}

/// Stored mismatches, the newest first, for `stored.html`.
pub(super) struct Stored<'a> {
    pub(super) shell: &'a Shell,
    pub(super) rows: &'a [Mismatch],
    /// The group that they are of; `None` of all of a route.
    pub(super) group: Option<&'a str>,
    /// Whether these are not the newest.
    pub(super) is_later: bool,
    /// The address of older ones, if there are some.
    pub(super) older: Option<String>,
}

impl Stored<'_> {
    pub(super) fn mismatch(&self, id: &Uuid) -> String {
        let of = [("group", self.group.unwrap_or_default())];
        self.shell.scope.with(&format!("/mismatches/{id}"), &of)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    pub(super) fn request(&self, mismatch: &Mismatch) -> String {
        MismatchView { mismatch }.request()
    }
}
