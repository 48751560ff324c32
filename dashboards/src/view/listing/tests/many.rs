//! As many groups as a report may have: what is said of each takes no longer because there are others.

use std::time::{Duration, Instant};

use parity_schemas::attributes::{AttributeCounts, COUNTED};
use parity_schemas::verdict::Explanation;

use super::*;
use crate::markdown;
use crate::terminal;

/// Groups of one cause, each on a route of its own.
const GROUPS: usize = 5_000;
/// A compiler that does not optimize needs about a second for it on a slow machine, and with the square of the groups over a minute.
const WITHIN: Duration = Duration::from_secs(20);

fn counts(pairs: &[(&str, u64)]) -> AttributeCounts {
    let pairs = pairs.iter().map(|(key, count)| ((*key).to_owned(), *count));
    pairs.collect()
}

#[test]
fn thousands_of_groups_are_told_with_what_is_special_about_each_in_time() {
    let lines: Vec<String> = (0..GROUPS)
        .map(|_| "50 /price A confirmed".to_owned())
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut known = report(&lines);
    for (index, group) in known.groups.iter_mut().enumerate() {
        group.route = format!("GET /r{index}");
        group.explanation = Some(Explanation::Rounded);
        group.attributes = counts(&[
            (COUNTED, 50),
            ("query=debug", 50),
            ("client=curl", 50),
            ("hour=02", 50),
        ]);
        let mut of = route(50);
        of.route.clone_from(&group.route);
        of.attributes = counts(&[
            (COUNTED, 1_000),
            ("query=debug", 60),
            ("client=curl", 60),
            ("client=go", 940),
            ("hour=02", 60),
            ("hour=03", 940),
        ]);
        known.routes.push(of);
    }
    known.window = Some(window());
    let begun = Instant::now();
    let decided = Decided::of(known, decision(), None);
    let listed = begun.elapsed();
    let special = |group: &GroupReport| group.special.len();
    assert!(
        decided
            .report
            .groups
            .iter()
            .all(|group| special(group) == 3)
    );
    let texts = [terminal::report(&decided), markdown::report(&decided)];
    let told = begun.elapsed();
    for text in texts {
        assert!(text.contains("100 % of these"), "{}", text.len());
    }
    assert!(
        told < WITHIN,
        "listed after {listed:?}, told after {told:?}"
    );
}
