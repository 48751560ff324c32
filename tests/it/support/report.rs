//! The document of `parity report`, as tests read it.

use std::collections::BTreeMap;

use serde_json::Value;

/// `parity.report/v1`.
pub(crate) struct Report(pub Value);

impl Report {
    pub(crate) fn count(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or(0)
    }

    /// Reasons of `not_compared` with their counts.
    pub(crate) fn not_compared(&self) -> BTreeMap<String, u64> {
        serde_json::from_value(self.0["not_compared"].clone()).unwrap_or_default()
    }

    /// `match + mismatch + Σ not_compared`.
    pub(crate) fn settled(&self) -> u64 {
        self.count("match") + self.count("mismatch") + self.not_compared().values().sum::<u64>()
    }

    /// Mismatches over all groups; one mismatch is in one group at least.
    pub(crate) fn grouped(&self) -> u64 {
        let groups = self.0["groups"].as_array().into_iter().flatten();
        groups.filter_map(|group| group["count"].as_u64()).sum()
    }

    /// Mismatches over all sets of groups: each is in one, unless all of its differences are transient.
    pub(crate) fn in_sets(&self) -> u64 {
        let sets = self.0["sets"].as_array().into_iter().flatten();
        let classes = sets.filter_map(|set| set["classes"].as_object());
        classes
            .flat_map(|classes| classes.values())
            .filter_map(Value::as_u64)
            .sum()
    }

    /// `route part pattern kind explanation` of every group, also of those that coincide with another, sorted.
    pub(crate) fn groups(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut groups = Vec::new();
        for group in list(&self.0["groups"]) {
            for member in std::iter::once(&group).chain(&list(&group["also"])) {
                groups.push(format!(
                    "{} {} {} {} {}",
                    text(&group["route"]),
                    text(&member["part"]),
                    text(&member["pattern"]),
                    text(&member["kind"]),
                    text(&member["explanation"])
                ));
            }
        }
        groups.sort();
        groups
    }
}
