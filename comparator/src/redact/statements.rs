//! Finds secrets in SQL: what statements put into columns with secret names. The names are in the statement itself, or in
//! the definition of the table, as in a dump.

use std::collections::HashSet;
use std::ops::Range;

use super::Redactor;

/// Longest begin of a statement in which its kind and table are looked for.
const MAX_BEGIN: usize = 256;

impl Redactor {
    /// The values that an SQL statement puts into columns, if one of these has a secret name: of `INSERT`, and the rows
    /// below a `COPY`.
    pub(super) fn in_statements(&self, text: &str) -> Vec<Range<usize>> {
        const VALUES: &str = "values";
        const COPY: &str = "from stdin";
        let mut spans = self.of_defined_tables(text);
        let mut from = 0;
        while let Some(close) = text
            .get(from..)
            .and_then(|rest| rest.find(')'))
            .map(|at| from + at)
        {
            let columns = text.get(from..close).unwrap_or_default();
            from = close + 1;
            let after = text.get(from..).unwrap_or_default();
            let values = after.trim_start();
            let begins = |word: &str| {
                let begin = values.get(..word.len());
                begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            };
            let copied = begins(COPY);
            let open = columns.rfind('(').map_or(0, |open| open + 1);
            let secret = (copied || begins(VALUES))
                && columns.get(open..).is_some_and(|columns| {
                    let names = columns
                        .split(',')
                        .map(|name| name.trim_matches(|sign: char| !sign.is_alphanumeric()));
                    names
                        .into_iter()
                        .any(|name| self.secret_names.contains(name))
                });
            if secret {
                let length = if copied { COPY.len() } else { VALUES.len() };
                let begin = text.len() - values.len() + length;
                let statement = text.get(begin..).unwrap_or_default();
                let last = if copied { "\n\\." } else { ";\n" };
                let end = begin + statement.find(last).unwrap_or(statement.len());
                spans.push(begin..end);
                from = end;
            }
        }
        spans
    }

    /// The values of `INSERT INTO t VALUES (…)`, if the text defines `t` with a column that has a secret name.
    fn of_defined_tables(&self, text: &str) -> Vec<Range<usize>> {
        const VALUES: &str = " values";
        let mut spans = Vec::new();
        let mut secret = HashSet::new();
        let mut start = 0;
        for statement in text.split_inclusive(";\n") {
            let from = start;
            start += statement.len();
            let begin = statement.get(..statement.floor_char_boundary(MAX_BEGIN));
            let begin = begin.unwrap_or_default().to_ascii_lowercase();
            if let Some(at) = begin.find("create table ") {
                let Some((table, _)) = begin.get(at..).and_then(|rest| rest.split_once('(')) else {
                    continue;
                };
                let columns = statement.split_once('(').map_or("", |(_, columns)| columns);
                if self.secret_names.any_word_of(columns) {
                    secret.extend(table_in(table));
                }
            } else if let Some((into, _)) = begin.split_once(VALUES)
                && into.contains("insert into ")
                && table_in(into).is_some_and(|table| secret.contains(&table))
            {
                spans.push(from + into.len() + VALUES.len()..start);
            }
        }
        spans
    }
}

/// The table that a statement is about: its last word, without its schema and quotes.
fn table_in(begin: &str) -> Option<String> {
    let table = begin.split_whitespace().next_back()?;
    let table = table.rsplit('.').next()?;
    Some(
        table
            .trim_matches(|sign: char| !sign.is_alphanumeric())
            .to_owned(),
    )
}
