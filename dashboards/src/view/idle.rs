//! Rules that excused nothing: a slip in a path, a mended difference, or an excuse for what never came.
//!
//! The counts name only rules with hits. The others are known from the recorded text of the rules, so nothing is said where an
//! older program counted, or where the text was too long. A rule has had its chance when a request was compared on its route.
//! Where mismatches by earlier rules became matches, one of the rules did that without a hit, so nothing is said of any there.

use std::collections::HashSet;

use parity_schemas::report::{IdleRule, Report};
use parity_sink::read::TermsFilter;
use parity_sink::{Reader, StoreError};

/// Those of a report.
pub(super) fn rules(reader: &Reader, report: &Report) -> Result<Vec<IdleRule>, StoreError> {
    let Some(window) = report.window else {
        return Ok(Vec::new());
    };
    let found = reader.terms(&TermsFilter {
        migration: report.migration.clone(),
        rules_hash: report.rules_hash.clone(),
        ..TermsFilter::default()
    })?;
    // The latest has the names as they are now; the hash does not cover them.
    let Some(latest) = found.terms.first() else {
        return Ok(Vec::new());
    };
    let begun = found.terms.iter().map(|terms| terms.time).min();
    let since = begun.map_or(window.from, |begun| begun.max(window.from));
    let hit: HashSet<&str> = report.rules.iter().map(|rule| rule.id.as_str()).collect();
    let idle = latest.rules.rules.iter();
    let idle = idle.filter(|rule| !hit.contains(rule.id.as_str()));
    let anew = || report.carried.iter().flat_map(|rules| &rules.decided_again);
    let idle = idle.filter(|rule| {
        let only = rule.route.as_ref();
        !anew().any(|route| route.matches > 0 && only.is_none_or(|only| *only == route.route))
    });
    let idle = idle.map(|rule| {
        let routes = report.routes.iter();
        let of_it = routes.filter(|route| {
            let only = rule.route.as_ref();
            only.is_none_or(|only| *only == route.route)
        });
        IdleRule {
            id: rule.id.clone(),
            since,
            compared: of_it.map(|route| route.compared).sum(),
        }
    });
    Ok(idle.filter(|rule| rule.compared > 0).collect())
}
