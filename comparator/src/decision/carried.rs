//! What is said of counts that come from earlier rules.

use parity_schemas::evidence::carried::CarriedRules;
use parity_schemas::time::Timestamp;

use super::words::plural;

/// What evidence has from some earlier rules, and what it lacks of them, in one sentence without a full stop. `moment`
/// writes a time.
pub fn carried(carried: &CarriedRules, moment: impl Fn(Timestamp) -> String) -> String {
    let mut text = format!(
        "{} on {} are counted that were received under earlier rules `{}` ({} to {}), since the change of rules does not touch them",
        plural(carried.requests, "request", "requests"),
        plural(carried.routes, "route", "routes"),
        carried.rules_hash,
        moment(carried.from),
        moment(carried.to)
    );
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
        text.push_str("; for a pass each of them is required, because its count began anew with the present rules");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
        rules.begin_anew("GET /c".to_owned(), 5, "`x` was removed".to_owned());
        rules.begin_anew("GET /d".to_owned(), 5, "`y` was removed".to_owned());
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
