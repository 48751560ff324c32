//! `parity diff` on formats other than JSON, and by rules that name no path: elements, columns, lines, and values in a page.

use crate::support::process::Place;

/// Two files under these rules: the exit code must be this, and all of the words must be told.
fn check(ending: &str, [one, two]: [&str; 2], rules: &str, code: i32, words: &[&str]) {
    let place = Place::new();
    let names = [format!("legacy.{ending}"), format!("candidate.{ending}")];
    place.write(&names[0], one);
    place.write(&names[1], two);
    place.write("rules.toml", rules);
    let ended = place.run(&["diff", &names[0], &names[1], "--rules", "rules.toml"]);
    let text = ended.stdout + &ended.stderr;
    assert_eq!(ended.code, code, "{one} {two} {text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

fn rule(keys: &str) -> String {
    format!("[[rule]]\nid = \"r\"\n{}\n", keys.replace("; ", "\n"))
}

#[test]
fn xml_is_compared_as_data_and_a_renamed_element_by_its_value() {
    let legacy = "<order nr=\"7\"><custName>Ada</custName><total>10.10</total></order>";
    let number = rule("path = '/order/total'; action = 'as'; type = 'number'");
    let renamed = rule("path = '/order/custName'; action = 'rename'; to = 'customer'");
    for (candidate, rules, code, words) in [
        (
            "<?xml version=\"1.0\"?>\n<order  nr='7'>\n  <custName>Ada</custName>\n  <total>10.10</total>\n</order>\n",
            "",
            0,
            &["match"][..],
        ),
        (
            "<order nr=\"7\"><custName>Ada</custName><total>10.1</total></order>",
            "",
            1,
            &["/order/total"],
        ),
        (
            "<order nr=\"7\"><custName>Ada</custName><total>10.1</total></order>",
            &number,
            0,
            &["by rule r"],
        ),
        (
            "<order nr=\"7\"><custName>Ada</custName><total>10.2</total></order>",
            &number,
            1,
            &["/order/total"],
        ),
        (
            "<order nr=\"8\"><custName>Ada</custName><total>10.1</total></order>",
            &number,
            1,
            &["/order/@nr"],
        ),
        (
            "<order nr=\"7\"><customer>Ada</customer><total>10.10</total></order>",
            &renamed,
            0,
            &["by rule r: /order/custName"],
        ),
        (
            "<order nr=\"7\"><customer>Eve</customer><total>10.10</total></order>",
            &renamed,
            1,
            &["/order/custName (candidate: /order/customer)", "\"Eve\""],
        ),
        (
            "<order nr=\"7\"><customer>Ada</customer><custName>Ada</custName><total>10.10</total></order>",
            &renamed,
            1,
            &[
                "/order/customer",
                "only in the candidate",
                "excused nothing here: r",
            ],
        ),
        (
            "<order nr=\"7\"><total>10.10</total></order>",
            &renamed,
            1,
            &["/order/custName", "missing"],
        ),
        (
            "<order><custName>Ada</order>",
            &renamed,
            1,
            &["not well-formed XML"],
        ),
    ] {
        check("xml", [legacy, candidate], rules, code, words);
    }
}

#[test]
fn tables_are_compared_by_column_and_a_renamed_column_by_its_values() {
    let legacy = "id,cust,total\n1,Ada,10.10\n2,Bob,7\n";
    let number = rule("path = '/*/total'; action = 'as'; type = 'number'");
    let renamed = rule("path = '/*/cust'; action = 'rename'; to = 'customer'");
    for (candidate, rules, code, words) in [
        (
            "id,cust,total\r\n1,\"Ada\",10.10\r\n2,Bob,7\r\n",
            "",
            0,
            &["match"][..],
        ),
        (
            "id,cust,total\n1,Ada,10.1\n2,Bob,7.0\n",
            "",
            1,
            &["/0/total", "/1/total"],
        ),
        (
            "id,cust,total\n1,Ada,10.1\n2,Bob,7.0\n",
            &number,
            0,
            &["2 × by rule r"],
        ),
        (
            "id,cust,total\n1,Ada,10.1\n2,Eve,7.0\n",
            &number,
            1,
            &["/1/cust"],
        ),
        (
            "id,customer,total\n1,Ada,10.10\n2,Bob,7\n",
            &renamed,
            0,
            &["by rule r"],
        ),
        (
            "id,customer,total\n1,Ada,10.10\n2,Eve,7\n",
            &renamed,
            1,
            &["/1/cust (candidate: /1/customer)"],
        ),
        (
            "id,total,customer\n1,10.10,Ada\n2,7,Bob\n",
            &renamed,
            1,
            &["id,total,customer"],
        ),
        (
            "id,total\n1,10.10\n2,7\n",
            &renamed,
            1,
            &["cust", "missing"],
        ),
    ] {
        check("csv", [legacy, candidate], rules, code, words);
    }
}

#[test]
fn lines_and_columns_of_a_text_are_compared_by_rule_and_the_rest_as_it_is() {
    let legacy = "total 8\n-rw-r--r-- 1 root root  123 a.txt\n-rw-r--r-- 1 root root 1234 b.txt\n";
    let sizes = rule("line = '^-'; column = '5'; action = 'ignore'");
    for (candidate, code, words) in [
        (
            "total 8\n-rw-r--r-- 1 root root  99 a.txt\n-rw-r--r-- 1 root root 777 b.txt\n",
            0,
            &["by rule r"][..],
        ),
        (
            "total 8\n-rw-r--r-- 1 root root  99 a.txt\n-rw-r--r-- 1 root root 777 c.txt\n",
            1,
            &[
                " -rw-r--r-- 1 root root  123 a.txt",
                "+-rw-r--r-- 1 root root 777 c.txt",
                "by rule r",
            ],
        ),
        (
            "total 9\n-rw-r--r-- 1 root root  123 a.txt\n-rw-r--r-- 1 root root 1234 b.txt\n",
            1,
            &["+total 9", "excused nothing here: r"],
        ),
        (
            "total 8\n-rw-r--r-- 1 root root  123 a.txt\n",
            1,
            &["b.txt"],
        ),
        ("", 1, &["missing"]),
    ] {
        check("txt", [legacy, candidate], &sizes, code, words);
    }
    let lines = |size: usize| -> String {
        let lines = (0..100_000).map(|at| format!("-rw {at} a b {size} x"));
        lines.collect::<Vec<String>>().join("\n")
    };
    check("txt", [&lines(1), &lines(22)], &sizes, 0, &["match"]);
    let changed = lines(22).replacen("99999 a", "99999 z", 1);
    check(
        "txt",
        [&lines(1), &changed],
        &sizes,
        1,
        &["+-rw 99999 z b 22 x", "(value)"],
    );
}

#[test]
fn a_token_in_a_page_is_excused_and_nothing_else_in_it() {
    let page = |token: &str, word: &str| {
        format!(
            "<!doctype html>\n<form><input type=hidden name=csrf value=\"{token}\">\n<button>{word}</button></form>\n"
        )
    };
    let token = rule("element = 'input[name=csrf]'; attribute = 'value'; action = 'ignore'");
    let legacy = page("t1", "Save");
    for (candidate, code, words) in [
        (page("t2", "Save"), 0, &["by rule r"][..]),
        (
            page("t2", "Store"),
            1,
            &[
                "+<button>Store</button>",
                " <form><input type=hidden name=csrf value=\"t1\">",
                "by rule r",
            ],
        ),
        (
            page("", "Save"),
            1,
            &["+<form><input type=hidden name=csrf value=\"\">"],
        ),
        (
            page("t2", "Save").replace("name=csrf", "name=other"),
            1,
            &["name=other"],
        ),
        (
            page("t2\"><b \u{1b}[31m \u{202e}", "Save"),
            1,
            &["\\u{202e}"],
        ),
        (
            page("t2", "Save").replace("<button", "<!-- <button"),
            1,
            &["<!-- <button"],
        ),
    ] {
        check("html", [&legacy, &candidate], &token, code, words);
    }
}

#[test]
fn slips_in_these_rules_are_told_with_their_line_and_what_to_write() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"a\"\npath = \"/x/*\"\naction = \"rename\"\n\n[[rule]]\nid = \"b\"\nlien = \"1\"\naction = \"ignore\"\n\n[[rule]]\nid = \"c\"\nelement = \"#csrf\"\nattribute = \"value\"\naction = \"ignore\"\n\n[[rule]]\nid = \"d\"\ncolumn = \"two\"\naction = \"ignore\"\n",
    );
    let ended = place.run(&["config", "check"]);
    let text = ended.stdout + &ended.stderr;
    assert_ne!(ended.code, 0, "{text}");
    for word in [
        "parity.toml:3:1: rule `a`: `/x/*` does not end with a name",
        "needs the name that the candidate uses",
        "parity.toml:8:1: unknown key `lien`",
        "did you mean `line`?",
        "parity.toml:13:1: rule `c`: `#csrf` is not a selector",
        "parity.toml:19:1: rule `d`: `two` is not a column",
    ] {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    place.write(
        "parity.toml",
        "[[rule]]\nid = \"all\"\nline = \".\"\naction = \"ignore\"\n",
    );
    let ended = place.run(&["config", "check"]);
    let text = ended.stdout + &ended.stderr;
    assert!(text.contains("every line of a text"), "{text}");
}
