//! What `parity diff` prints for people: the unified diff, `--stat`, `--all`.

use crate::support::process::{Ended, Place};
use crate::support::root;

/// A diff of two files of these names.
pub(crate) fn diff(files: [(&str, &[u8]); 2], more: &[&str]) -> Ended {
    diff_in(&Place::new(), files, more)
}

/// The same in a place that has other files already.
pub(crate) fn diff_in(place: &Place, files: [(&str, &[u8]); 2], more: &[&str]) -> Ended {
    for (name, bytes) in files {
        place.write(name, bytes);
    }
    place.run(&[&["diff", files[0].0, files[1].0], more].concat())
}

/// The output after the names of the files.
fn check(files: [(&str, &str); 2], more: &[&str], expected: &[&str]) {
    let ended = diff(files.map(|(name, text)| (name, text.as_bytes())), more);
    let text: Vec<&str> = ended.stdout.lines().skip(2).collect();
    assert_eq!(text, expected, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!((ended.code, &*ended.stderr), (1, ""));
}

fn json(legacy: &str, candidate: &str, more: &[&str], expected: &[&str]) {
    check([("a.json", legacy), ("b.json", candidate)], more, expected);
}

#[test]
fn every_kind_of_finding_has_its_form() {
    json(
        r#"{"price":12.50,"n":9007199254740993,"gone":{"a":[1,2]},"tags":null,"list":[1,2,3],"same":1.0}"#,
        r#"{"price":12.51,"n":9007199254740992,"new":"x","tags":[],"list":[3,1,2],"same":1}"#,
        &[],
        &[
            "@@ /price @@ has another value",
            "- 12.50",
            "+ 12.51",
            "@@ /n @@ has another value",
            "- 9007199254740993",
            "+ 9007199254740992",
            "  equal_double: the same double: one side went through floating point",
            "@@ /gone @@ is missing in the candidate",
            "- {\"a\": [1, 2]}",
            "@@ /tags @@ has another type",
            "- null",
            "+ []",
            "  null_vs_empty: null on one side, empty on the other",
            "@@ /list @@ is in another order",
            "+ 3",
            "  1",
            "  2",
            "- 3",
            "@@ /new @@ is only in the candidate",
            "+ \"x\"",
            "equal: 1 × the same number in other digits: /same",
            "mismatch: 6 differences (1 missing, 1 extra, 1 type, 2 value, 1 order)",
        ],
    );
    json(
        r#"[{"id":1,"a":1},{"id":2,"a":1}]"#,
        r#"[{"id":9,"a":0},{"id":1,"a":1},{"id":2,"a":2}]"#,
        &[],
        &[
            "@@ /1/a (candidate: /2/a) @@ has another value",
            "- 1",
            "+ 2",
            "@@ /0 @@ is only in the candidate",
            "+ {\"id\": 9, \"a\": 0}",
            "mismatch: 2 differences (1 extra, 1 value)",
        ],
    );
    json(
        "[1]",
        "[NaN]",
        &[],
        &[
            "@@ (whole document) @@ is not what it claims to be",
            "- [1]",
            "+ invalid JSON at byte 1: expected a value, at `NaN]`",
            "mismatch: 1 difference (decode)",
        ],
    );
}

#[test]
fn strings_of_several_lines_and_texts_are_unified_diffs() {
    json(
        r#"{"t":"one\ntwo\nthree"}"#,
        r#"{"t":"one\n2\nthree"}"#,
        &[],
        &[
            "@@ /t @@ has another value",
            "@@ -1,3 +1,3 @@",
            " one",
            "-two",
            "+2",
            " three",
            "\\ No newline at end of file",
            "mismatch: 1 difference (value)",
        ],
    );
    check(
        [("a.txt", "a\nb\nc\n"), ("b.txt", "a\nB\nc\n")],
        &["--stat"],
        &[
            " 1 ██████████ value  (whole document)  case_only  1 line removed, 1 added",
            "1 pattern",
            "mismatch: 1 difference (value)",
        ],
    );
    check(
        [("a.txt", "a\r\nb\r\n"), ("b.txt", "a\nb\n")],
        &[],
        &[
            "@@ (whole document) @@ has another value",
            "- 2 lines end in CRLF, 0 in LF",
            "+ 0 lines end in CRLF, 2 in LF",
            "  only the line ends differ",
            "  whitespace_only: equal but for white space",
            "mismatch: 1 difference (value)",
        ],
    );
    check(
        [("a.txt", "<p>one</p>"), ("b.txt", "<p>two</p>")],
        &[],
        &[
            "@@ (whole document) @@ has another value",
            "- <p>one</p>",
            "+ <p>two</p>",
            "mismatch: 1 difference (value)",
        ],
    );
}

#[test]
fn two_changes_far_apart_in_a_large_text_are_both_shown() {
    let text = |changed: &[usize]| -> String {
        let line = |number| {
            format!(
                "{} {number}\n",
                if changed.contains(&number) {
                    "new"
                } else {
                    "old"
                }
            )
        };
        (0..20_000).map(line).collect()
    };
    let ended = diff(
        [
            ("a.log", text(&[]).as_bytes()),
            ("b.log", text(&[5, 19_990]).as_bytes()),
        ],
        &[],
    );
    for line in ["-old 5", "+new 5", "-old 19990", "+new 19990"] {
        assert!(
            ended.stdout.lines().any(|shown| shown == line),
            "{}",
            ended.stdout
        );
    }
}

#[test]
fn bytes_are_shown_where_they_differ() {
    let mut changed = [7; 40];
    changed[20] = b'x';
    let ended = diff([("a.bin", &[7; 40]), ("b.bin", &changed)], &[]);
    let row = "+ 00000010  07 07 07 07 78 07 07 07 07 07 07 07 07 07 07 07  |....x...........|";
    assert!(ended.stdout.contains(row), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("the first 20 bytes are the same"),
        "{}",
        ended.stdout
    );
}

/// An array of objects with a price each, and the same with the price of each changed.
pub(crate) fn prices(count: usize) -> [String; 2] {
    [0, 1].map(|change| {
        let item = |index| format!("{{\"id\":{index},\"price\":{}}}", 2 * index + change);
        let items: Vec<String> = (0..count).map(item).collect();
        format!("{{\"items\":[{}]}}", items.join(","))
    })
}

#[test]
fn findings_of_one_cause_are_folded_and_all_shows_them() {
    let [legacy, candidate] = prices(300);
    json(
        &legacy,
        &candidate,
        &[],
        &[
            "@@ /items/0/price @@ has another value",
            "- 0",
            "+ 1",
            "@@ /items/1/price @@ has another value",
            "- 2",
            "+ 3",
            "@@ /items/2/price @@ has another value",
            "- 4",
            "+ 5",
            "… and 297 more at /items/*/price  has another value",
            "mismatch: 300 differences (value)",
        ],
    );
    let files = [
        ("a.json", legacy.as_bytes()),
        ("b.json", candidate.as_bytes()),
    ];
    let all = diff(files, &["--all"]).stdout;
    assert_eq!(all.matches("@@ has another value").count(), 300);
    let document = diff(files, &["--output", "json"]).json();
    assert_eq!(document["findings"].as_array().map(Vec::len), Some(300));
    assert_eq!(document["truncated"], false);
    assert_eq!(document["groups"][0]["count"], 300);
    assert_eq!(document["groups"][0]["pattern"], "/items/*/price");
}

/// What docs/report.md shows: 300 prices, a number that went through floating point, and one in other digits.
pub(crate) fn sample() -> [String; 2] {
    let document = |prices: [&str; 3], last: &str, total: &str, sequence: &str| {
        let prices = prices.into_iter().chain(std::iter::repeat_n(last, 297));
        let items: Vec<String> = prices
            .map(|price| format!("{{\"price\":{price}}}"))
            .collect();
        let items = items.join(",");
        format!("{{\"items\":[{items}],\"total\":{total},\"sequence\":{sequence}}}")
    };
    [
        document(
            ["12.49", "8.25", "99.95"],
            "1.11",
            "7.0",
            "9007199254740993",
        ),
        document(["12.51", "8.27", "99.97"], "1.13", "7", "9007199254740992"),
    ]
}

#[test]
fn the_documentation_shows_just_that() {
    let [legacy, candidate] = sample();
    let files = [
        ("old.json", legacy.as_bytes()),
        ("new.json", candidate.as_bytes()),
    ];
    let ended = diff(files, &[]);
    let page = std::fs::read_to_string(root().join("docs/report.md")).expect("readable");
    let shown = page
        .split_once("$ parity diff old.json new.json\n")
        .and_then(|(_, rest)| Some(rest.split_once("```")?.0));
    assert_eq!(shown, Some(&*ended.stdout));
}

#[test]
fn the_keys_of_a_map_are_folded_and_many_causes_are_cut() {
    let map = |change: usize| {
        let members: Vec<String> = (0..500)
            .map(|key| format!("\"k{key}\":{}", key + change))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    json(
        &map(0),
        &map(1),
        &["--stat"],
        &[
            " 500 ██████████ value  /*",
            "1 pattern",
            "mismatch: 500 differences (value)",
        ],
    );
    // Thirty objects of thirty fields: their keys are names, not values, and they are more than a page.
    let records = |change: usize| {
        let record = |name| {
            let fields: Vec<String> = (0..30)
                .map(|key| format!("\"f{key}\":{}", key + change))
                .collect();
            format!("\"r{name}\":{{{}}}", fields.join(","))
        };
        let records: Vec<String> = (0..30).map(record).collect();
        format!("{{{}}}", records.join(","))
    };
    let [one, two] = [records(0), records(1)];
    let files = [("a.json", one.as_bytes()), ("b.json", two.as_bytes())];
    let text = diff(files, &[]).stdout;
    assert!(text.lines().count() < 150, "{text}");
    let note = "… and 860 differences of 860 patterns that are not listed";
    assert!(text.contains(note), "{text}");
    let stat = diff(files, &["--stat"]).stdout;
    assert!(
        stat.contains("… and 800 patterns more with 800 differences"),
        "{stat}"
    );
    assert_eq!(
        diff(files, &["--stat", "--all"])
            .stdout
            .matches("██████████")
            .count(),
        900
    );
}

#[test]
fn a_hundred_thousand_differences_are_counted_and_more_are_said_to_be_cut() {
    let [legacy, candidate] = prices(100_001);
    let ended = diff(
        [
            ("a.json", legacy.as_bytes()),
            ("b.json", candidate.as_bytes()),
        ],
        &[],
    );
    assert!(ended.stdout.lines().count() < 20, "{}", ended.stdout);
    let last = ended.stdout.lines().last();
    let cut = "mismatch: at least 100,000 differences (value); the comparison stops there";
    assert_eq!(last, Some(cut));
}

#[test]
fn long_values_are_shown_where_they_differ_in_the_width_there_is() {
    let place = Place::new();
    let value = |last: &str| format!("[\"{}{last}\"]", "x".repeat(3_000));
    place.write("a.json", value("1"));
    place.write("b.json", value("2"));
    for columns in [50, 100] {
        let environment = [("COLUMNS", columns.to_string())];
        let environment = environment
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let ended = place.run_with(&["diff", "a.json", "b.json"], &environment, "");
        let values = ended
            .stdout
            .lines()
            .filter(|line| line.starts_with(['-', '+']));
        for (line, ends) in values
            .skip(2)
            .zip(["x1\" (3,003 characters)", "x2\" (3,003 characters)"])
        {
            assert!(
                line.ends_with(ends) && line.chars().count() <= columns,
                "{line}"
            );
        }
    }
}

#[test]
fn a_long_path_is_cut_in_the_middle_and_shown_whole_on_demand() {
    let value = |last: u8| format!("{{\"first{}\":[{{\"last\":{last}}}]}}", "x".repeat(300));
    let [one, two] = [1, 2].map(value);
    let files = [("a.json", one.as_bytes()), ("b.json", two.as_bytes())];
    let text = diff(files, &[]).stdout;
    assert!(
        text.contains("@@ /firstxxx") && text.contains("x/0/last @@"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() < 160),
        "{text}"
    );
    let whole = format!("@@ /first{}/0/last @@", "x".repeat(300));
    assert!(diff(files, &["--all"]).stdout.contains(&whole));
}

#[test]
fn what_is_missing_is_laid_out_up_to_a_limit() {
    let list: Vec<String> = (0..50)
        .map(|index| format!("{{\"index\":{index}}}"))
        .collect();
    let legacy = format!("{{\"list\":[{}]}}", list.join(","));
    let ended = diff([("a.json", legacy.as_bytes()), ("b.json", b"{}")], &[]);
    assert!(
        ended.stdout.contains("- [\n-   {\"index\": 0},\n"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("  … 40 more lines\n"),
        "{}",
        ended.stdout
    );
}
