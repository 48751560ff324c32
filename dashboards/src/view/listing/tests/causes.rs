//! What is told once of many groups, and in which order.

use parity_schemas::severity::Severity;
use parity_schemas::verdict::Explanation;

use super::*;

#[test]
fn a_cause_covers_every_shape_and_no_noise() {
    let mut known = report(&[
        "50 /a integer→integer confirmed",
        "40 /a integer→decimal confirmed",
        "30 /b integer→integer confirmed",
        "20 /c uuid→uuid noise!",
    ]);
    for group in &mut known.groups {
        group.explanation = Some(Explanation::Rounded);
    }
    for noise in &mut known.noise {
        noise.group.explanation = Some(Explanation::Rounded);
    }
    let listing = Listing::of(&known, NoiseUse::Use);
    let causes = listing.causes();
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].fingerprints, ["0.0", "1.0", "2.0"]);
    let told = |cause: &CauseReport| (cause.findings, cause.at_least, cause.at_most);
    assert_eq!(told(&causes[0]), (120, 90, 120));
    let named = listing.by_cause();
    assert_eq!((named[0].1.len(), listing.rest.len()), (2, 0));

    // The sets of all mismatches tell how many have one of these groups.
    known.routes = vec![route(120)];
    known.sets = vec![
        set(&["0.0", "2.0"], 25),
        set(&["0.0"], 25),
        set(&["1.0"], 40),
        set(&["2.0"], 5),
        set(&["3.0"], 20),
    ];
    let listing = Listing::of(&known, NoiseUse::Use);
    assert_eq!(told(&listing.causes()[0]), (120, 95, 100));
}

/// Of explanations and wrong values in one report: what may break a client is first, and what a cause covers of an entry is
/// not told again with what is left of it.
#[test]
fn the_gravest_comes_first_and_an_entry_loses_what_a_cause_tells() {
    let mut known = report(&[
        "900 /at A confirmed",
        "400 /rows/at A confirmed",
        "50 /name A confirmed, /fee A confirmed",
        "40 /total A confirmed",
        "30 /list/fee A confirmed",
    ]);
    for (index, explanation) in [
        (0, Explanation::SameInstant),
        (1, Explanation::SameInstant),
        (3, Explanation::Rounded),
        (4, Explanation::CaseOnly),
    ] {
        known.groups[index].explanation = Some(explanation);
    }
    known.groups[2].also[0].explanation = Some(Explanation::CaseOnly);
    let listing = Listing::of(&known, NoiseUse::Use);
    let causes = listing.causes();
    let named: Vec<_> = causes
        .iter()
        .map(|cause| (cause.severity, cause.pattern.as_deref(), cause.at_least))
        .collect();
    assert_eq!(
        named,
        [
            (Severity::Near, Some("/**/fee"), 50),
            (Severity::Format, Some("/**/at"), 900)
        ]
    );
    assert_eq!(told(&listing.rest), ["50 /name A=50", "40 /total A=40"]);
    let all = told(&listing.counting);
    assert_eq!(all[0], "50 /name A=50 + /fee A=50");
    assert_eq!(all.last().map(String::as_str), Some("400 /rows/at A=400"));

    known.window = Some(window());
    let decided = Decided {
        decision: decision(),
        listing,
        report: known,
        absent: None,
    };
    let text = crate::terminal::report(&decided);
    let plain = anstream::adapter::strip_str(&text).to_string();
    let page = crate::pages::report(&decided, None, None).expect("a page");
    for (shown, wanted) in [
        (
            plain,
            [
                "DIFFERENCES (1 cause of 2 groups, 2 other groups; worst first)",
                "/name",
                "/**/fee",
                "/total",
                "ONLY SPELT IN ANOTHER WAY (1 cause of 2 groups; they count as differing)",
                "/**/at",
            ],
        ),
        (
            page,
            [
                "<h2>Differences</h2>",
                "/name",
                "/**/fee",
                "/total",
                "<h2>Only spelt in another way</h2>",
                "/**/at",
            ],
        ),
    ] {
        let at = wanted.map(|text| {
            shown
                .find(text)
                .unwrap_or_else(|| panic!("no {text} in\n{shown}"))
        });
        assert!(at.is_sorted(), "{shown}");
    }
}

/// A large report is listed while a person waits for the page. The limit is far above what it takes, even here, without
/// optimization: it refuses work that grows with the square.
#[test]
fn ten_thousand_groups_are_listed_at_once() {
    let lines: Vec<String> = (0..10_000)
        .map(|index| {
            let (section, row) = (index % 97, index / 97);
            format!(
                "{} /s{section}/*/f{row} integer→integer confirmed",
                index + 1
            )
        })
        .collect();
    let mut known = report(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, group) in known.groups.iter_mut().enumerate() {
        group.route = format!("GET /r{}", index % 61);
        group.explanation = [
            None,
            Some(Explanation::Rounded),
            Some(Explanation::SameInstant),
        ][index % 3];
    }
    known.sets = (0..10_000)
        .map(|index| SetEvidence {
            route: format!("GET /r{}", index % 61),
            ..set(
                &[
                    &format!("{index}.0"),
                    &format!("{}.0", (index + 61) % 10_000),
                ],
                1,
            )
        })
        .collect();
    let began = std::time::Instant::now();
    let listing = Listing::of(&known, NoiseUse::Use);
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");

    let covered: usize = listing
        .by_cause()
        .iter()
        .map(|(_, members)| members.len())
        .sum();
    assert_eq!(covered + listing.rest.len(), 10_000);
    // Of the third without an explanation, too many differ in another way at the same places.
    assert!((6_666..10_000).contains(&covered), "{covered}");
}

/// Answers that differ everywhere at once are a few entries of very many groups.
#[test]
fn entries_of_thousands_of_groups_are_listed_at_once() {
    let fields = |count: usize| {
        let fields: Vec<String> = (0..count)
            .map(|field| format!("/f{field} integer→integer confirmed"))
            .collect();
        fields.join(", ")
    };
    let mut known = report(&[
        &format!("500 {}", fields(4_000)),
        &format!("400 {}", fields(3_999)),
        "300 /f0 integer→integer confirmed",
    ]);
    known.groups[1].route = "GET /b".to_owned();
    let began = std::time::Instant::now();
    let listing = Listing::of(&known, NoiseUse::Use);
    let listed = listing.by_cause();
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");
    let covered: usize = listed.iter().map(|(_, members)| members.len()).sum();
    assert_eq!(covered, 2 * 3_999, "each field on both routes");
    assert_eq!(listing.rest.len(), 1, "the field of one route only");
}
