//! What is said of counts that come from earlier rules.

use parity_schemas::evidence::RouteDecision;
use parity_schemas::evidence::carried::{CarriedRules, StartedAnew};
use parity_schemas::time::Timestamp;

use super::words::{number, plural};

/// Whether evidence has comparisons that were made under earlier rules. Then all requests together may rest on routes that a change
/// of rules left alone, so each of those that begin anew must be proven on its own. Without any, what is counted is only what came
/// since: then a route is missed until something of it is compared, and is like any other after that.
pub(super) fn has_comparisons(carried: &[CarriedRules]) -> bool {
    carried.iter().any(CarriedRules::has_comparisons)
}

/// What evidence has from earlier rules, and what it lacks of them, a sentence without a full stop for each. `moment` writes a time.
pub fn carried(
    all: &[CarriedRules],
    moment: impl Fn(Timestamp) -> String,
) -> impl Iterator<Item = String> {
    let must_be_proven = has_comparisons(all);
    all.iter()
        .map(move |rules| of_rules(rules, must_be_proven, &moment))
}

fn of_rules(
    carried: &CarriedRules,
    must_be_proven: bool,
    moment: &impl Fn(Timestamp) -> String,
) -> String {
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
    let mut text = if carried.routes == 0 && expired.is_empty() {
        format!(
            "nothing is counted that was received under earlier rules `{}` ({} to {})",
            carried.rules_hash,
            moment(carried.from),
            moment(carried.to)
        )
    } else if expired.is_empty() {
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
        let any = |is: fn(&StartedAnew) -> bool| carried.anew.iter().any(is);
        let which = match (any(|anew| anew.unserved), any(|anew| anew.never_compared)) {
            (_, true) => "each of them that was compared and is served",
            (true, false) => "each of them that is served",
            (false, false) => "each of them",
        };
        let must = if must_be_proven {
            " is required, because its count began anew with the present rules"
        } else {
            " must be compared again, because its count began anew with the present rules"
        };
        text.extend(["; for a pass ", which, must]);
    }
    text
}

/// Routes without a request since that are told one by one.
pub(super) const MAX_GONE: usize = 5;

/// Why a route of which nothing came since its count began anew is open.
pub(super) fn gone(route: &RouteDecision, why: &str) -> String {
    let settled = match route.needed {
        0 => String::new(),
        1 => "; one that is compared would do".to_owned(),
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
        let all_gone = last.is_some_and(|last| last.is_missed() && is_gone(&last.route));
        let unnamed = rules.routes_anew.saturating_sub(rules.anew.len() as u64);
        if all_gone { unnamed } else { 0 }
    });
    unnamed.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::carried::DecidedAgain;
    use parity_schemas::tally::Counts;

    use super::*;

    #[test]
    fn it_is_told_what_is_counted_and_what_starts_anew() {
        let mut rules = CarriedRules {
            rules_hash: "abc".to_owned(),
            ..CarriedRules::default()
        };
        let compared = |count| Counts {
            received: count,
            matched: count,
            ..Counts::default()
        };
        rules.keep(&compared(1_200), None);
        let said = |rules: &CarriedRules| {
            let told = |time: Timestamp| time.as_micros().to_string();
            let all: Vec<String> = carried(std::slice::from_ref(rules), told).collect();
            all.join("")
        };
        assert_eq!(
            said(&rules),
            "1,200 requests on 1 route are counted that were received under earlier rules `abc` (0 to 0), since the change of rules does not touch them"
        );
        let again = DecidedAgain {
            route: "GET /b".to_owned(),
            matches: 3,
            ..DecidedAgain::default()
        };
        rules.keep(&compared(10), Some(again));
        let five = compared(5);
        rules.begin_anew("GET /c".to_owned(), &five, "`x` was removed".to_owned());
        rules.begin_anew("GET /d".to_owned(), &five, "`y` was removed".to_owned());
        let none = CarriedRules {
            routes: 0,
            compared: None,
            ..rules.clone()
        };
        let anew = said(&none);
        assert!(anew.starts_with("nothing is counted that was"), "{anew}");
        assert!(
            anew.contains("; for a pass each of them must be compared again"),
            "{anew}"
        );
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
