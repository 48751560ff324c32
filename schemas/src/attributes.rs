//! Attributes of requests, which say what is special about those that differ: a query parameter, a client, an instance.
//!
//! Counts are kept in one map by `NAME=VALUE`, so that a store needs one column and adds them up as it adds up other counts.
//! Beside them stands [`COUNTED`], the number of requests whose attributes were counted: those of older programs, of groups
//! beyond the cap, and of a mirror that counts none, are not part of it. A query parameter is an attribute of its own
//! (`query=page`: it is present); of all others a request has one value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::route::OTHER;

/// Requests by `NAME=VALUE`.
pub type AttributeCounts = BTreeMap<String, u64>;

/// The number of requests whose attributes were counted. No name of an attribute, because it has no `=`.
pub const COUNTED: &str = "counted";
/// The process that counted.
pub const INSTANCE: &str = "instance";
/// The hour of the day, in UTC.
pub const HOUR: &str = "hour";
/// Parameters of the query, of which a request may have several.
pub const QUERY: &str = "query";
/// Attributes that are read from an exchange, by their place. Those of headers follow, see [`of_header`].
pub const READ: [&str; 8] = [
    "method",
    QUERY,
    "client",
    "content_type",
    "body_size",
    "status",
    "http",
    "candidate_instance",
];
/// Instead of a value that may be a secret, or is none of a few plain letters.
pub const HIDDEN: &str = "_hidden";

/// Most keys of a sum; more are added up as [`OTHER`] of their attribute. A tally has about a third of it.
pub const MAX_KEYS: usize = 512;

/// The name of the attribute that a request header is.
pub fn of_header(header: &str) -> String {
    format!("header {header}")
}

/// The key of a value.
pub fn key(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

/// Name and value of a key; `None` for [`COUNTED`].
pub fn split(key: &str) -> Option<(&str, &str)> {
    key.split_once('=')
}

/// Adds up two counts, by at most [`MAX_KEYS`] keys.
pub fn add_attributes(sum: &mut AttributeCounts, more: &AttributeCounts) {
    for (key, count) in more {
        if let Some(known) = sum.get_mut(key) {
            *known = known.saturating_add(*count);
            continue;
        }
        let full = sum.len() >= MAX_KEYS;
        let key = match split(key) {
            Some((name, _)) if full => self::key(name, OTHER),
            _ => key.clone(),
        };
        // Keys of our own may come on top; a record that somebody else wrote must not fill memory by its names.
        if full && sum.len() >= 2 * MAX_KEYS && !sum.contains_key(&key) {
            continue;
        }
        let known = sum.entry(key).or_default();
        *known = known.saturating_add(*count);
    }
}

/// What is special about the requests of a group: more of them have this value than of all others on the route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecialAttribute {
    /// `method`, `query` (a parameter), `client` (the name in `User-Agent`), `content_type` and `body_size` of the request,
    /// `status` of the legacy, `http`, `instance` (of the mirror), `candidate_instance`, `hour` (UTC), or `header NAME`.
    pub attribute: String,
    /// The value; of `query` the name of the parameter.
    pub value: String,
    /// Only of `query`: it is special that the parameter is absent.
    #[serde(default)]
    pub is_absent: bool,
    /// Requests of the group with it.
    pub having: u64,
    /// Requests of the group.
    pub of: u64,
    /// All other compared requests of the route with it.
    pub others_having: u64,
    /// All other compared requests of the route.
    pub others_of: u64,
}

impl SpecialAttribute {
    /// Its share in the group and in the others, in whole percents; nothing is rounded to all or none.
    pub fn percents(&self) -> (u64, u64) {
        (
            percent(self.having, self.of),
            percent(self.others_having, self.others_of),
        )
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    if part == 0 || whole == 0 {
        return 0;
    }
    if part >= whole {
        return 100;
    }
    let rounded = (u128::from(part) * 200 + u128::from(whole)) / (u128::from(whole) * 2);
    (rounded as u64).clamp(1, 99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_is_rounded_to_all_or_none() {
        for (part, whole, expected) in [
            (0, 0, 0),
            (0, 9, 0),
            (1, 1_000_000, 1),
            (1, 2, 50),
            (999_999, 1_000_000, 99),
            (7, 7, 100),
            (u64::MAX - 1, u64::MAX, 99),
        ] {
            assert_eq!(percent(part, whole), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn a_sum_has_a_limit_and_loses_no_count_of_its_attributes() {
        let mut sum = AttributeCounts::new();
        for page in 0..100 {
            let more = (0..50).map(|at| (key(QUERY, &format!("{page}-{at}")), 1));
            add_attributes(&mut sum, &more.collect());
        }
        assert_eq!(sum.len(), MAX_KEYS + 1);
        assert_eq!(sum.values().sum::<u64>(), 5_000);
        let strange = (0..10_000).map(|at| (format!("{at}=x"), 1)).collect();
        add_attributes(&mut sum, &strange);
        assert!(sum.len() <= 2 * MAX_KEYS);
    }
}
