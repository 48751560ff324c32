//! The law for names: a suggested `rename` makes two names one where the values are equal, and nothing else.

use super::*;

const CSV: &str = "200\ncontent-type: text/csv\n\n";
const NAMED_CSV: &str = "200\ncontent-type: text/csv; header=present\n\n";
const XML: &str = "200\ncontent-type: application/xml\n\n";
const FORM: &str = "200\ncontent-type: application/x-www-form-urlencoded\n\n";

/// A head, what is renamed in legacy and candidate, and what is planted: another value, another name, and a value under a
/// third name while the new one has another.
struct Case {
    head: &'static str,
    legacy: &'static str,
    candidate: &'static str,
    path: &'static str,
    to: &'static str,
    planted: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        head: "",
        legacy: r#"{"userName":"ada","n":1}"#,
        candidate: r#"{"user_name":"ada","n":1}"#,
        path: "/userName",
        to: "user_name",
        planted: &[
            r#"{"user_name":"eve","n":1}"#,
            r#"{"user_name":null,"n":1}"#,
            r#"{"username":"ada","n":1}"#,
            r#"{"user-name":"ada","n":1}"#,
            r#"{"login":"ada","n":1}"#,
            r#"{"user_name":"eve","login":"ada","n":1}"#,
            r#"{"user_name":"ada","username":"ada","n":1}"#,
            r#"{"n":1}"#,
            r#"{"user_name":"ada","n":2}"#,
        ],
    },
    Case {
        head: "",
        legacy: r#"{"items":[{"itemId":7,"q":1},{"itemId":8,"q":2}]}"#,
        candidate: r#"{"items":[{"item_id":7,"q":1},{"item_id":8,"q":2}]}"#,
        path: "/items/*/itemId",
        to: "item_id",
        planted: &[
            r#"{"items":[{"item_id":7,"q":1},{"item_id":9,"q":2}]}"#,
            r#"{"items":[{"item_id":8,"q":1},{"item_id":7,"q":2}]}"#,
            r#"{"items":[{"item_id":7,"q":1},{"item-id":8,"q":2}]}"#,
            r#"{"items":[{"item_id":7,"q":1},{"q":2}]}"#,
        ],
    },
    Case {
        head: "",
        legacy: r#"{"a/~b":{"xY":[1,{"y":"z"}]}}"#,
        candidate: r#"{"a/~b":{"x_y":[1,{"y":"z"}]}}"#,
        path: "/a~1~0b/xY",
        to: "x_y",
        planted: &[r#"{"a/~b":{"x_y":[1,{"y":"q"}]}}"#],
    },
    Case {
        head: XML,
        legacy: "<order><custName>Ada</custName><n>1</n></order>",
        candidate: "<order><cust_name>Ada</cust_name><n>1</n></order>",
        path: "/order/custName",
        to: "cust_name",
        planted: &[
            "<order><cust_name>Eve</cust_name><n>1</n></order>",
            "<order><custname>Ada</custname><n>1</n></order>",
            "<order><cust_name>Eve</cust_name><other>Ada</other><n>1</n></order>",
        ],
    },
    Case {
        head: FORM,
        legacy: "userName=ada&n=1",
        candidate: "user_name=ada&n=1",
        path: "/userName",
        to: "user_name",
        planted: &[
            "user_name=eve&n=1",
            "username=ada&n=1",
            "user_name=eve&x=ada&n=1",
        ],
    },
    Case {
        head: CSV,
        legacy: "id,cust,n\n1,Ada,5\n2,,6\n3,Cyd,7\n",
        candidate: "id,customer,n\n1,Ada,5\n2,,6\n3,Cyd,7\n",
        path: "/*/cust",
        to: "customer",
        planted: &[
            "id,customer,n\n1,Ada,5\n2,,6\n3,Eve,7\n",
            "id,customer,n\n1,,5\n2,Ada,6\n3,Cyd,7\n",
            "id,client,n\n1,Ada,5\n2,,6\n3,Cyd,7\n",
            "id,customer,client,n\n1,Eve,Ada,5\n2,Eve,,6\n3,Eve,Cyd,7\n",
            "id,n\n1,5\n2,6\n3,7\n",
            "id,n,customer\n1,5,Ada\n2,6,\n3,7,Cyd\n",
        ],
    },
    Case {
        head: NAMED_CSV,
        legacy: "cust,n\nAda,5\nBob,6\nCyd,7\n",
        candidate: "n,customer\n5,Ada\n6,Bob\n7,Cyd\n",
        path: "/*/cust",
        to: "customer",
        planted: &[
            "n,customer\n5,Ada\n6,Bob\n7,Eve\n",
            "n,client\n5,Ada\n6,Bob\n7,Cyd\n",
        ],
    },
];

fn with(head: &str, body: &str) -> String {
    format!("{head}{body}")
}

#[test]
fn a_rename_excuses_the_same_value_under_one_other_name_and_nothing_beside_it() {
    let many = ["GET /a", "GET /b", "GET /c", "GET /d", "GET /e", "GET /f"];
    for case in CASES {
        let [legacy, candidate] = [case.legacy, case.candidate].map(|body| with(case.head, body));
        for routes in [&many[..1], &many[..4], &many] {
            let suggested = suggested(&seen_on(routes, &legacy, &candidate));
            assert!(suggested.unruled.is_empty(), "{legacy}: {suggested:?}");
            let rules = configs(&suggested);
            for rule in &rules {
                let said = (rule.action.as_str(), rule.path.as_str(), rule.to.as_deref());
                assert_eq!(said, ("rename", case.path, Some(case.to)), "{legacy}");
            }
            for route in routes {
                let covered = compare(&rules, route, &legacy, &candidate);
                assert!(covered.verdict == Verdict::Match, "{legacy} {rules:?}");
                for planted in case.planted {
                    let planted = with(case.head, planted);
                    let wrong = compare(&rules, route, &legacy, &planted);
                    assert!(wrong.verdict == Verdict::Mismatch, "{planted} {rules:?}");
                    assert!(!wrong.findings.is_empty(), "{planted}");
                }
                // A client of the legacy never sees the new name.
                let back = compare(&rules, route, &candidate, &legacy);
                assert!(back.verdict == Verdict::Mismatch, "{legacy} {rules:?}");
            }
        }
    }
}

#[test]
fn headers_are_renamed_by_their_value() {
    let with = |head: &str| format!("200\n{head}\n\n1");
    let legacy = with("x-request-trace: 4bf92f3577b34da6");
    let candidate = with("x-trace: 4bf92f3577b34da6");
    let suggested = suggested(&seen_on(&["GET /a"], &legacy, &candidate));
    let rules = configs(&suggested);
    let [rule] = &*rules else {
        panic!("{suggested:?}");
    };
    assert_eq!(
        (rule.action.as_str(), rule.path.as_str(), rule.to.as_deref()),
        ("rename", "x-request-trace", Some("x-trace"))
    );
    assert!(compare(&rules, "GET /a", &legacy, &candidate).verdict == Verdict::Match);
    for planted in [
        "x-trace: 4bf92f3577b34da7",
        "x-other: 4bf92f3577b34da6",
        "x-trace: 4bf92f3577b34da7\nx-other: 4bf92f3577b34da6",
    ] {
        let wrong = compare(&rules, "GET /a", &legacy, &with(planted));
        assert!(wrong.verdict == Verdict::Mismatch, "{planted}");
    }
}

#[test]
fn names_of_several_places_are_one_rule() {
    let legacy = r#"{"a":{"userId":12},"b":[{"userId":13}],"c":{"userId":14}}"#;
    let candidate = r#"{"a":{"user_id":12},"b":[{"user_id":13}],"c":{"user_id":14}}"#;
    let found = suggested(&seen_on(&["GET /a", "GET /b"], legacy, candidate));
    let rules = configs(&found);
    let [rule] = &*rules else {
        panic!("{found:?}");
    };
    assert_eq!(
        (rule.path.as_str(), rule.route.as_deref()),
        ("/**/userId", None)
    );
    assert_eq!(found.rules[0].fingerprints.len(), 12);
    let planted = candidate.replace("14", "15");
    assert!(compare(&rules, "GET /a", legacy, candidate).verdict == Verdict::Match);
    assert!(compare(&rules, "GET /a", legacy, &planted).verdict == Verdict::Mismatch);
}

#[test]
fn columns_that_are_renamed_together_are_told_apart_by_their_values() {
    let legacy = with(CSV, "a,b\np,3\nq,4\nr,5\n");
    let candidate = with(CSV, "x,y\np,3\nq,4\nr,5\n");
    let rules = configs(&suggested(&seen_on(&["GET /a"], &legacy, &candidate)));
    let mut said: Vec<(&str, Option<&str>)> = rules
        .iter()
        .map(|rule| (rule.path.as_str(), rule.to.as_deref()))
        .collect();
    said.sort_unstable();
    assert_eq!(said, [("/*/a", Some("x")), ("/*/b", Some("y"))]);
    assert!(compare(&rules, "GET /a", &legacy, &candidate).verdict == Verdict::Match);
    let swapped = with(CSV, "y,x\np,3\nq,4\nr,5\n");
    assert!(compare(&rules, "GET /a", &legacy, &swapped).verdict == Verdict::Mismatch);
}

/// The groups of several pairs of answers on one route, which all of them name as they are stored.
fn seen_in(pairs: &[(&str, &str)]) -> Vec<Seen> {
    let route = "GET /a";
    let found = pairs
        .iter()
        .map(|(legacy, candidate)| compare(&[], route, legacy, candidate).findings);
    let found: Vec<Vec<Finding>> = found.collect();
    let stored: Vec<Mismatch> = found
        .iter()
        .map(|findings| stored(route, (200, 200), findings))
        .collect();
    let mut all: Vec<Seen> = Vec::new();
    for finding in found.iter().flatten() {
        let one = seen(route, (200, 200), finding);
        match all
            .iter_mut()
            .find(|other| other.fingerprints == one.fingerprints)
        {
            Some(other) => other.group.count += 3,
            None => all.push(one),
        }
    }
    for one in &mut all {
        one.name = Naming::read(&stored, &one.fingerprints);
    }
    all
}

#[test]
fn what_has_several_names_or_none_that_is_stored_gets_no_rule() {
    let legacy = r#"{"userName":"ada"}"#;
    let (one, other) = (r#"{"user_name":"ada"}"#, r#"{"user-name":"ada"}"#);
    let several = seen_in(&[(legacy, one), (legacy, other)]);
    let suggestion = suggested(&several);
    assert!(suggestion.rules.is_empty(), "{suggestion:?}");
    let of_missing = |suggestion: &Suggested| {
        let mut unruled = suggestion.unruled.iter();
        let missing = unruled.find(|unruled| unruled.kind == Kind::Missing);
        missing.map(|unruled| unruled.why.clone())
    };
    let why = of_missing(&suggestion).expect("it is listed");
    assert!(why.contains("do not tell one name"), "{why}");
    // The stored answers have one name, and the counts say that others have another.
    let mut partly = seen_in(&[(legacy, one)]);
    for of in &mut partly {
        if of.group.kind == Kind::Missing {
            of.group.count *= 2;
        }
    }
    let suggestion = suggested(&partly);
    assert!(suggestion.rules.is_empty(), "{suggestion:?}");
    let why = of_missing(&suggestion).expect("it is listed");
    assert!(why.contains("in a part of the answers only"), "{why}");
    let mut gone = seen_in(&[(legacy, one)]);
    for of in &mut gone {
        of.name = Naming::Unknown;
    }
    let suggestion = suggested(&gone);
    assert!(suggestion.rules.is_empty(), "{suggestion:?}");
    assert_eq!(suggestion.unruled.len(), 2);
    // Two fields have had one value in all answers: it may be either.
    let same = "a,b\np,p\nq,q\nr,r\n";
    let tables = [with(CSV, same), with(CSV, "x,y\np,p\nq,q\nr,r\n")];
    let suggestion = suggested(&seen_in(&[(&tables[0], &tables[1])]));
    assert!(suggestion.rules.is_empty(), "{suggestion:?}");
}

#[test]
fn a_name_that_other_answers_contradict_gets_no_rule() {
    let mut seen = seen_in(&[(r#"{"userName":"ada"}"#, r#"{"user_name":"ada"}"#)]);
    for of in &mut seen {
        of.group.against = of.group.count;
    }
    let suggestion = suggested(&seen);
    assert!(suggestion.rules.is_empty(), "{suggestion:?}");
    assert_eq!(suggestion.unruled.len(), 2);
}

#[test]
fn a_wrong_value_in_few_answers_prevents_no_rename_and_is_found_under_it() {
    let legacy = r#"{"userName":"ada"}"#;
    let wrong = r#"{"user_name":"eve"}"#;
    let mut seen = seen_in(&[(legacy, r#"{"user_name":"ada"}"#), (legacy, wrong)]);
    for of in &mut seen {
        of.group.against = u64::from(of.group.explanation.is_some());
    }
    let suggestion = suggested(&seen);
    let rules = configs(&suggestion);
    assert_eq!(rules.len(), 1, "{suggestion:?}");
    let found = compare(&rules, "GET /a", legacy, wrong).findings;
    assert!(
        found.len() == 1 && found[0].candidate_path.as_deref() == Some("/user_name"),
        "{}",
        found.len()
    );
    // What the wrong value is told as now is listed, and gets no rule of its own.
    assert_eq!(suggestion.unruled.len(), 2, "{suggestion:?}");
    assert!(
        suggestion
            .unruled
            .iter()
            .all(|unruled| unruled.why == LOOK_AGAIN)
    );
}

#[test]
fn a_table_too_small_to_tell_gets_no_wider_rule_beside_a_rename() {
    let [legacy, candidate] = ["cust", "customer"].map(|name| {
        let large = with(CSV, &format!("id,{name}\n1,Ada\n2,\n3,Cyd\n"));
        let small = with(CSV, &format!("id,{name}\n1,\n"));
        [large, small]
    });
    let suggestion = suggested(&seen_in(&[
        (&legacy[0], &candidate[0]),
        (&legacy[1], &candidate[1]),
    ]));
    let rules = configs(&suggestion);
    assert_eq!(rules.len(), 1, "{suggestion:?}");
    assert_eq!(rules[0].action, "rename");
    assert_eq!(suggestion.unruled.len(), 2, "{suggestion:?}");
    for at in [0, 1] {
        let covered = compare(&rules, "GET /a", &legacy[at], &candidate[at]);
        assert!(covered.verdict == Verdict::Match, "{}", legacy[at]);
    }
}

#[test]
fn hidden_and_hostile_names_make_no_rule() {
    for (from, to) in [
        (r"user\u202eName", r"user\u202e_name"),
        (
            "2f1c0a9b-7f3e-4d7c-9a55-0d5c0e7b1a11",
            "2f1c0a9b7f3e4d7c9a550d5c0e7b1a11",
        ),
        // A rule cannot say this name.
        ("a/bC", "a/b_c"),
    ] {
        let [legacy, candidate] = [from, to].map(|name| format!("{{\"{name}\":\"ada\"}}"));
        let seen = seen_in(&[(&legacy, &candidate)]);
        assert!(!seen.is_empty());
        let suggestion = suggested(&seen);
        assert!(suggestion.rules.is_empty(), "{suggestion:?}");
    }
}
