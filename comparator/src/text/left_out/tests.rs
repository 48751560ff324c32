//! Pairs of texts, and what rules leave of their differences.

use parity_schemas::time::Timestamp;

use super::pieces::MAX_PIECES;
use super::*;
use crate::rules::config::parse;

fn rules(text: &str) -> Rules {
    let tables = text.split('|').enumerate();
    let tables = tables.map(|(at, keys)| {
        let keys = keys.trim().replace("; ", "\n");
        format!("[[rule]]\nid = \"{at}\"\n{keys}\n")
    });
    let configs = parse(&tables.collect::<String>()).expect("rules");
    Rules::compile(&configs, Timestamp::from_micros(0)).expect("they are right")
}

/// The rules that excuse all in which two texts differ; `None` if they differ.
fn excused(rules: &Rules, one: &str, two: &str) -> Option<Vec<u16>> {
    let scope = rules.scope(None, Timestamp::from_micros(0));
    LeftOut::of([one, two], &scope, rules)?.excused()
}

const SECOND: &str = "column = '2'; action = 'ignore'";
const ABOUT_3: &str = "line = '^up '; column = '2'; action = 'tolerance'; absolute = '3'";
const TOKEN: &str = "element = 'input[name=t]'; attribute = 'value'; action = 'ignore'";

#[test]
fn only_what_rules_name_may_differ() {
    let date = "characters = '3-4'; action = 'ignore'";
    let built = "line = '^# built'; action = 'ignore'";
    let third = "line = '3'; action = 'ignore'";
    for (text, one, two, expected) in [
        // A column, and the white space around it.
        (SECOND, "a 1 c\nb 2 d\n", "a 9 c\nb 2 d\n", Some(&[0][..])),
        (SECOND, "a   1 c\n", "a 999 c\n", Some(&[0])),
        (SECOND, "a 1   c\n", "a 999 c\n", Some(&[0])),
        (SECOND, "a 1 c  d\n", "a 9 c d\n", None),
        (SECOND, "a 1 c\n", "a 9 d\n", None),
        (SECOND, "a 1 c\n", "b 9 c\n", None),
        (SECOND, "a 1\n", "a\n", None),
        (SECOND, "a 1 2\n", "a 1\n", None),
        (SECOND, "a 1 c\n", "a 9 c\na 9 c\n", None),
        (SECOND, "a 1 c\nb 2 d\n", "b 2 d\na 1 c\n", None),
        (SECOND, "  a 1 c\n", "a 1 c\n", None),
        (SECOND, "a 1 \n", "a 2\n", None),
        (SECOND, "a 1\r\nb 2\r\n", "a 3\r\nb 4\r\n", Some(&[0])),
        (SECOND, "a 1\r\n", "a 3\n", Some(&[0])),
        (SECOND, "a 1\r\nb\n", "a 3\nb\n", None),
        (
            "column = '1'; action = 'ignore'",
            "   7 x\n",
            "1234 x\n",
            Some(&[0]),
        ),
        (
            "column = '4000000000'; action = 'ignore'",
            "a b\n",
            "a c\n",
            None,
        ),
        // Characters.
        (date, "a 12 c\n", "a 99 c\n", Some(&[0])),
        (date, "a 12 c\n", "b 99 c\n", None),
        (date, "a 12\n", "a 9\n", Some(&[0])),
        (date, "a 12\n", "a \n", None),
        (
            date,
            "\u{e4}\u{df}12x\n",
            "\u{e4}\u{df}\u{f6}\u{fc}x\n",
            Some(&[0]),
        ),
        // Whole lines, by what they hold or by their number.
        (built, "# built 1\nx\n", "# built 2\nx\n", Some(&[0])),
        (built, "# built 1\nx\n", "x\n", Some(&[0])),
        (built, "# built 1\nx\n", "# built 2\ny\n", None),
        (built, "x\n# built 1", "x", Some(&[0])),
        (built, "a # built 1\n", "a # built 2\n", None),
        (built, "# built 1\nx\n", "# built 2 x\n", None),
        (third, "a\nb\nc\n", "a\nb\nd\n", Some(&[0])),
        (third, "a\nb\nc\n", "a\nc\nb\n", None),
        (third, "a\nb\n", "a\nb\nd\n", Some(&[0])),
        (third, "a\nb\n", "a\nb\nd\ne\n", None),
    ] {
        check(text, one, two, expected);
    }
}

#[test]
fn values_are_compared_by_their_rules_and_what_stands_around_them_as_it_is() {
    for (text, one, two, expected) in [
        // By value.
        (ABOUT_3, "up 10 s\nx 1\n", "up 13 s\nx 1\n", Some(&[0][..])),
        (ABOUT_3, "up 10 s\nx 1\n", "up 14 s\nx 1\n", None),
        (ABOUT_3, "up 10 s\nx 1\n", "up 10 s\nx 2\n", None),
        (ABOUT_3, "up 10 s\n", "up soon s\n", None),
        (
            "line = '^at '; column = '2'; action = 'as'; type = 'timestamp'",
            "at 2026-03-01T09:30:12.12Z\n",
            "at 2026-03-01T09:30:12.120Z\n",
            Some(&[0]),
        ),
        (
            "line = '^took'; action = 'parts'; pattern = '(\\d+) ms'",
            "took 1 ms\nrest 1 ms\n",
            "took 2 ms\nrest 1 ms\n",
            Some(&[0]),
        ),
        (
            "line = '^took'; action = 'parts'; pattern = '(\\d+) ms'",
            "took 1 ms\nrest 1 ms\n",
            "took 1 ms\nrest 2 ms\n",
            None,
        ),
        // A page.
        (
            TOKEN,
            "<p>a<input name=t value='1'>",
            "<p>a<input name=t value='2'>",
            Some(&[0]),
        ),
        (
            TOKEN,
            "<p>a<input name=t value='1'>",
            "<p>b<input name=t value='2'>",
            None,
        ),
        (
            TOKEN,
            "<input name=t value='1'>",
            "<input name=t value=''>",
            None,
        ),
        (TOKEN, "<input name=t value='1'>", "<input name=t>", None),
        (
            TOKEN,
            "<input name=t value='1'>",
            "<input name=u value='1'>",
            None,
        ),
        (
            TOKEN,
            "<input name=t value='1'>",
            "<input name=t value=\"2\">",
            None,
        ),
        (
            TOKEN,
            "<!--<input name=t value='1'>-->",
            "<!--<input name=t value='2'>-->",
            None,
        ),
        (
            TOKEN,
            "<input name=t value='1'><input name=t value='1'>",
            "<input name=t value='2'>",
            None,
        ),
    ] {
        check(text, one, two, expected);
    }
}

/// Compares two texts in both directions.
fn check(text: &str, one: &str, two: &str, expected: Option<&[u16]>) {
    let rules = rules(text);
    for (one, two) in [(one, two), (two, one)] {
        let found = excused(&rules, one, two);
        assert_eq!(found.as_deref(), expected, "{text}: {one:?} {two:?}");
    }
}

#[test]
fn rules_for_one_text_act_together() {
    let text = format!(
        "{SECOND} | line = '^#'; action = 'ignore' | action = 'parts'; pattern = 'id=(\\w+)'"
    );
    let rules = rules(&text);
    let one = "# a\nx 1 id=7\ny 2 z\n";
    for (two, expected) in [
        ("# b\nx 9 id=8\ny 2 z\n", Some(&[0, 1, 2][..])),
        ("x 1 id=7\ny 2 z\n", Some(&[1])),
        ("# a\nx 1 id=8\ny 2 z\n", Some(&[2])),
        ("# b\nx 9 id=8\ny 2 w\n", None),
        // The line is left out with the column in it.
        ("# b c d\nx 1 id=7\ny 2 z\n", Some(&[1])),
    ] {
        assert_eq!(excused(&rules, one, two).as_deref(), expected, "{two:?}");
    }
    // Columns beside each other share the white space between them.
    let rules = self::rules(&format!("{SECOND} | column = '3'; action = 'ignore'"));
    assert_eq!(
        excused(&rules, "a 1   2 d\n", "a 333 4 d\n"),
        Some(vec![0, 1])
    );
}

#[test]
fn a_reader_sees_what_no_rule_excuses() {
    let rules = rules(&format!(
        "{SECOND} | line = '^#'; action = 'ignore' | {TOKEN}"
    ));
    let scope = rules.scope(None, Timestamp::from_micros(0));
    let shown = |one: &str, two: &str| {
        LeftOut::of([one, two], &scope, &rules)?
            .shown()
            .map(|shown| shown.texts)
    };
    for (one, two, expected) in [
        (
            "# 1\na 1 b\nc 2 d\n",
            "# 2\na 5 b\nc 6 e\n",
            ["# 1\na 1 b\nc 2 d\n", "# 1\na 1 b\nc 6 e\n"],
        ),
        ("# 1\na 1 b\n", "a 5 b\nx\n", ["a 1 b\n", "a 1 b\nx\n"]),
        ("a 1 b\n", "x y z\na 5 b\n", ["a 1 b\n", "x y z\na 1 b\n"]),
        (
            "<input\nname=t\nvalue='1'>\nx\n",
            "<input\nname=t\nvalue='2'>\ny\n",
            [
                "<input\nname=t\nvalue='1'>\nx\n",
                "<input\nname=t\nvalue='1'>\ny\n",
            ],
        ),
    ] {
        assert_eq!(
            shown(one, two),
            Some(expected.map(str::to_owned)),
            "{one:?} {two:?}"
        );
    }
    assert_eq!(shown("a 1 b\n", "a 2 b\n"), None);
}

#[test]
fn large_and_hostile_texts_end() {
    let rules = rules(&format!(
        "line = '(a+)+$'; action = 'ignore' | {SECOND} | {TOKEN}"
    ));
    let long = "a".repeat(2 << 20);
    assert_eq!(excused(&rules, &long, &format!("{long}b")), None);
    let lines = |end: &str| -> String {
        let lines = (0..100_000).map(|line| format!("row {line}{end} x\n"));
        lines.collect::<Vec<String>>().concat()
    };
    assert_eq!(excused(&rules, &lines("1"), &lines("2")), Some(vec![1]));
    let mut other = lines("2");
    other.truncate(other.len() - 3);
    assert_eq!(excused(&rules, &lines("1"), &other), None);
    let many = "a b\n".repeat(MAX_PIECES);
    assert_eq!(excused(&rules, &many, &format!("{many}a c\n")), None);
    let page = "<input name=t value=1 ".repeat(100_000);
    assert_eq!(excused(&rules, &page, &format!("{page}>")), None);
}
