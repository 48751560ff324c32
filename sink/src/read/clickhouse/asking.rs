//! What of the tallies a question about a history selects, as SQL.

use super::{ClickHouseReader, time};
use crate::read::history::HistoryFilter;

/// When a bucket began, as a number that is the same for all of its intervals.
pub(super) const BUCKET: &str = "intDiv(toUnixTimestamp64Micro(t.interval_start) - ?, ?)";

/// What is selected, and how it is cut into buckets.
pub(super) struct Asking<'a> {
    pub(super) filter: &'a HistoryFilter,
    /// From the first time on, and before the second.
    pub(super) spans: Vec<(i64, i64)>,
    /// When the first bucket begins.
    pub(super) base: i64,
    /// How long each is.
    pub(super) micros: i64,
}

impl<'a> Asking<'a> {
    /// One span that is not cut.
    pub(super) fn once(filter: &'a HistoryFilter, span: (i64, i64)) -> Self {
        Self {
            filter,
            spans: vec![span],
            base: 0,
            micros: 1,
        }
    }

    /// That an interval begins in one of the spans.
    fn in_spans(&self) -> String {
        let spans = self.spans.iter().map(|(from, to)| {
            let [from, to] = [from, to].map(|at| time(*at));
            format!("t.interval_start >= {from} AND t.interval_start < {to}")
        });
        let spans: Vec<String> = spans.collect();
        format!("({})", spans.join(" OR "))
    }

    pub(super) fn versions(&self) -> String {
        let selection = &self.filter.selection;
        let mut sql = String::new();
        if selection.legacy_version.is_some() {
            sql.push_str(" AND t.legacy_version = ?");
        }
        if selection.candidate_version.is_some() {
            sql.push_str(" AND t.candidate_version = ?");
        }
        sql
    }

    /// With the values of [`Asking::versions`] behind the migration.
    pub(super) fn bound(&self, question: clickhouse::query::Query) -> clickhouse::query::Query {
        let selection = &self.filter.selection;
        let mut question = question.bind(selection.migration());
        let versions = [&selection.legacy_version, &selection.candidate_version];
        for version in versions.into_iter().flatten() {
            question = question.bind(version);
        }
        question
    }

    /// A query; `tail` follows its conditions. `of_route` if only the asked route counts: the range is that of all.
    pub(super) fn of(
        &self,
        reader: &ClickHouseReader,
        select: &str,
        of_route: bool,
        tail: &str,
    ) -> clickhouse::query::Query {
        let route = self.filter.route.as_ref().filter(|_| of_route);
        let sql = format!(
            "{select} WHERE t.migration = ?{} AND {}{} {tail} \
             SETTINGS do_not_merge_across_partitions_select_final = 1",
            self.versions(),
            self.in_spans(),
            if route.is_some() {
                " AND t.route = ?"
            } else {
                ""
            }
        );
        let question = self.bound(reader.server.client().query(&sql));
        match route {
            Some(route) => question.bind(route),
            None => question,
        }
    }

    /// Binds the values of [`BUCKET`].
    pub(super) fn buckets(&self, question: clickhouse::query::Query) -> clickhouse::query::Query {
        question.bind(self.base).bind(self.micros)
    }
}
