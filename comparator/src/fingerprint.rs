//! Names for groups of findings.
//!
//! Findings with one cause look alike: besides what every [group](crate::groups) has in common, they have the same route,
//! pair of status codes and [shape](crate::noise::shape). The fingerprint is a hash of exactly these, so every instance and
//! every version of this program gives a group the same name. Values, which are secret, are not part of it.

use parity_schemas::tally::Group;
use parity_schemas::verdict::{Explanation, Finding};
use sha2::{Digest, Sha256};

use crate::groups::{FindingGroup, FindingGroups, GroupKey};

/// The group of each finding, in the same order; `pattern` returns what may be stored of a finding's pattern. The
/// caller must count an exchange once for each group, however many of its findings belong to it.
pub(crate) fn groups(
    route: &str,
    legacy_status: u16,
    candidate_status: u16,
    findings: &[Finding],
    pattern: impl Fn(&Finding) -> String,
) -> Vec<Group> {
    let FindingGroups { groups, group_of } = FindingGroups::for_records(findings, pattern);
    let named: Vec<Group> = groups
        .into_iter()
        .map(|FindingGroup { key, .. }| {
            let shape = key.shape.map(|shape| shape.to_string()).unwrap_or_default();
            Group {
                fingerprint: fingerprint(route, legacy_status, candidate_status, &key, &shape),
                part: key.part,
                pattern: key.pattern,
                kind: key.kind,
                explanation: key.explanation,
                shape,
                legacy_status,
                candidate_status,
            }
        })
        .collect();
    group_of
        .into_iter()
        .map(|position| named[position].clone())
        .collect()
}

fn fingerprint(
    route: &str,
    legacy_status: u16,
    candidate_status: u16,
    key: &GroupKey,
    shape: &str,
) -> String {
    let mut hasher = Sha256::new();
    hasher.update(legacy_status.to_be_bytes());
    hasher.update(candidate_status.to_be_bytes());
    for text in [
        route,
        key.part.as_str(),
        &key.pattern,
        key.kind.as_str(),
        key.explanation.map_or("", Explanation::as_str),
        shape,
    ] {
        // Length first, so that different tuples never have the same bytes.
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    crate::hex::encode(&hasher.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use parity_schemas::verdict::{Kind, Part, Side};

    use super::*;

    fn finding(path: &str, pattern: &str, value: &str) -> Finding {
        Finding {
            part: Part::Body,
            path: path.to_owned(),
            candidate_path: None,
            pattern: pattern.to_owned(),
            kind: Kind::Value,
            legacy: Side::value(value),
            candidate: Side::Absent,
            explanation: None,
            text_diff: None,
        }
    }

    #[test]
    fn a_group_is_its_place_and_kind_and_no_value() {
        let findings = [
            finding("/a/0", "/a/*", "1"),
            finding("/a/7", "/a/*", "2"),
            finding("/b", "/b", "1"),
            finding("/b", "/b", "\"x\""),
        ];
        let pattern = |finding: &Finding| finding.pattern.clone();
        let groups = groups("GET /x", 200, 200, &findings, pattern);
        assert_eq!(groups[0], groups[1]);
        assert_ne!(groups[0].fingerprint, groups[2].fingerprint);
        assert_ne!(groups[2].fingerprint, groups[3].fingerprint);
        assert_eq!(groups[2].shape, "integer→missing");
        assert_ne!(
            groups[0].fingerprint,
            super::groups("GET /y", 200, 200, &findings, pattern)[0].fingerprint
        );
        assert_ne!(
            groups[0].fingerprint,
            super::groups("GET /x", 200, 404, &findings, pattern)[0].fingerprint
        );
        // Stored in databases, so it must never change.
        assert_eq!(groups[0].fingerprint, "78ae0377c9668bc6");
    }
}
