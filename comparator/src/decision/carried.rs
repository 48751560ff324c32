//! What is said of counts that come from earlier rules.

use parity_schemas::evidence::RouteDecision;
use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::time::Timestamp;

use super::words::{number, plural};

/// What evidence has from some earlier rules, and what it lacks of them, in one sentence without a full stop. `moment`
/// writes a time.
pub fn carried(carried: &CarriedRules, moment: impl Fn(Timestamp) -> String) -> String {
    let kept = format!(
        "{} on {} are counted",
        plural(carried.requests, "request", "requests"),
        plural(carried.routes, "route", "routes"),
    );
    let expired: Vec<String> = carried
        .expired
        .iter()
        .map(|rule| {
            let by = if rule.by_reader {
                ", by the configuration that was read here and not by that of the mirror"
            } else {
                ""
            };
            format!("`{}` expired on {}{by}", rule.id, moment(rule.expires))
        })
        .collect();
    let mut text = if expired.is_empty() {
        format!(
            "{kept} that were received under earlier rules `{}` ({} to {}), since the change of rules does not touch them",
            carried.rules_hash,
            moment(carried.from),
            moment(carried.to)
        )
    } else {
        format!(
            "{}: {kept} as before, since nothing was excused there by that",
            expired.join(", ")
        )
    };
    if carried.matches > 0 {
        let mismatches = plural(carried.matches, "mismatch", "mismatches");
        let routes = plural(carried.decided_again.len() as u64, "route", "routes");
        text.extend([
            "; of them, ",
            &mismatches,
            " of ",
            &routes,
            " became matches by the new rules",
        ]);
    }
    if let Some(first) = carried.anew.first() {
        text.extend([
            "; ",
            &plural(carried.requests_anew, "request", "requests"),
            " of ",
            &plural(carried.routes_anew, "route", "routes"),
            " are not: ",
            &first.route,
            ": ",
            &first.why,
        ]);
        match carried.routes_anew.saturating_sub(1) {
            0 => {}
            more => text.extend([", and ", &plural(more, "route", "routes"), " more"]),
        }
        let which = if carried.anew.iter().any(|anew| anew.unserved) {
            "each of them that is served"
        } else {
            "each of them"
        };
        text.extend([
            "; for a pass ",
            which,
            " is required, because its count began anew with the present rules",
        ]);
    }
    text
}

/// Routes without a request since that are told one by one.
pub(super) const MAX_GONE: usize = 5;

/// Why a route of which nothing came since its count began anew is open.
pub(super) fn gone(route: &RouteDecision, why: &str) -> String {
    let settled = match route.needed {
        0 => String::new(),
        needed => format!("; {} matching ones would settle it", number(needed)),
    };
    format!(
        "{}: no request since its count began anew ({why}){settled}. If it is not served any more, decide with --since on what \
         came later",
        route.route
    )
}

/// That there are more of them.
pub(super) fn more_gone(more: u64) -> Option<String> {
    (more > 0).then(|| {
        format!(
            "the counts of {} began anew, too, and no request of them is known since",
            plural(more, "more route", "more routes")
        )
    })
}

/// How many routes began anew that are not named and of which nothing may have come since: those without a request are named
/// before the others.
pub(super) fn not_named(carried: &[CarriedRules], is_gone: impl Fn(&str) -> bool) -> u64 {
    let unnamed = carried.iter().map(|rules| {
        let last = rules.anew.last();
        let all_gone = last.is_some_and(|last| !last.unserved && is_gone(&last.route));
        let unnamed = rules.routes_anew.saturating_sub(rules.anew.len() as u64);
        if all_gone { unnamed } else { 0 }
    });
    unnamed.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parity_schemas::tally::Counts;

    use super::*;

    #[test]
    fn it_is_told_what_is_counted_and_what_starts_anew() {
        let mut rules = CarriedRules {
            rules_hash: "abc".to_owned(),
            ..CarriedRules::default()
        };
        rules.keep("GET /a", 1_200, 0, &BTreeSet::new());
        let said = |rules: &CarriedRules| carried(rules, |time| time.as_micros().to_string());
        assert_eq!(
            said(&rules),
            "1,200 requests on 1 route are counted that were received under earlier rules `abc` (0 to 0), since the change of rules does not touch them"
        );
        rules.keep("GET /b", 10, 3, &BTreeSet::from(["g".to_owned()]));
        let five = Counts {
            received: 5,
            ..Counts::default()
        };
        rules.begin_anew("GET /c".to_owned(), &five, "`x` was removed".to_owned());
        rules.begin_anew("GET /d".to_owned(), &five, "`y` was removed".to_owned());
        let said = said(&rules);
        assert!(said.starts_with("1,210 requests on 2 routes"), "{said}");
        for words in [
            "; of them, 3 mismatches of 1 route became matches by the new rules",
            "; 10 requests of 2 routes are not: GET /c: `x` was removed, and 1 route more; for a pass each of them is required, \
             because its count began anew with the present rules",
        ] {
            assert!(said.contains(words), "{said}");
        }
    }
}
