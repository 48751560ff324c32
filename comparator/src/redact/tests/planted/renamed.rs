//! Secrets under a name that only the other side has: a rule says that the two are one, so both are hidden on both sides.

use super::*;

/// A harmless name, that no rule of redaction knows.
const HARMLESS: &str = "label7";
/// The secrets of the two sides.
const SECRETS: [&str; 2] = ["ZqKlmnbvcxwrt", "ZqPlmnbvcxwrz"];

/// Bodies that hold a name and a value, each with its media type and the path of what holds the name.
#[rustfmt::skip]
const BODIES: &[(&str, &str, Write)] = &[
    ("application/json", "/", |n, s| format!(r#"{{"a":1,"{n}":"{s}"}}"#).into()),
    ("application/json", "/", |n, s| format!(r#"{{"a":1,"{}":"{s}"}}"#, escaped(n)).into()),
    ("application/json", "/", |n, s| format!(r#"{{"{n}":{{"deep":["{s}",1],"{s}":2}}}}"#).into()),
    ("application/json", "/", |n, s| format!(r#"{{"{n}":["{s}"]}}"#).into()),
    ("application/json", "/**/", |n, s| format!(r#"{{"a":[{{"b":{{"{n}":"{s}"}}}}]}}"#).into()),
    ("application/json", "/a/*/", |n, s| format!(r#"{{"a":[{{"{n}":"{s}"}}]}}"#).into()),
    ("application/x-ndjson", "/*/", |n, s| format!("{{\"a\":1}}\n{{\"{n}\":\"{s}\"}}\n").into()),
    ("application/yaml", "/", |n, s| format!("a: 1\n{n}: {s}\n").into()),
    ("application/xml", "/a/", |n, s| format!("<a><{n}>{s}</{n}><b>1</b></a>").into()),
    ("application/xml", "/a/", |n, s| format!("<a><w:{n} xmlns:w='u' t='1'>{s}</w:{n}></a>").into()),
    ("application/xml", "/a/@", |n, s| format!("<a {n}=\"{s}\"/>").into()),
    // Compared and recorded as text.
    ("application/xml", "/a/", |n, s| format!("<!DOCTYPE a [<!ELEMENT a ANY>]><a><{n}>{s}</{n}></a>").into()),
    ("text/csv", "/*/", |n, s| format!("user,{n}\nada,{s}\n").into()),
    ("text/csv", "/*/", |n, s| format!("1,2\nuser,{n}\nada,{s}\n").into()),
    ("application/x-www-form-urlencoded", "/", |n, s| format!("a=1&{}={s}", percent(n)).into()),
    ("application/x-www-form-urlencoded", "/", |n, s| format!("{n}=1&{n}={s}").into()),
    ("multipart/form-data; boundary=x", "/*/text/", |n, s| part(&format!("Content-Disposition: form-data; name=\"{n}\""), s)),
    ("multipart/form-data; boundary=x", "/*/json/", |n, s| part(&format!("Content-Disposition: form-data; name={n}\r\nContent-Type: application/json"), &format!(r#"{{"a":"{s}"}}"#))),
    ("text/event-stream", "/*/data/", |n, s| format!("data: {{\"{n}\":\"{s}\"}}\n\n").into()),
    ("application/grpc+json", "/", |n, s| framed(&format!(r#"{{"{n}":"{s}"}}"#))),
];

fn rename(part: &str, path: &str, to: &str) -> RuleConfig {
    RuleConfig {
        part: Some(part.to_owned()),
        to: Some(to.to_owned()),
        ..RuleConfig::new(&format!("{path} to {to}"), path, "rename")
    }
}

/// The names of legacy and candidate, of which one is secret, with the operator's names and the masks that say so.
fn pairs(holder: &str) -> Vec<([String; 2], Vec<RuleConfig>)> {
    let own = |names: [&str; 2]| names.map(str::to_owned);
    let mut pairs = Vec::new();
    for secret in ["password", "accessToken", "iban"] {
        pairs.push((own([secret, HARMLESS]), Vec::new()));
        pairs.push((own([HARMLESS, secret]), Vec::new()));
    }
    for masked in ["label7", "other9"] {
        let mask = mask(Part::Body, &format!("{holder}{masked}"));
        pairs.push((own(["label7", "other9"]), vec![mask]));
    }
    pairs
}

#[test]
fn a_secret_name_hides_what_has_another_name_on_the_other_side() {
    let config = RedactConfig {
        mask_keys: vec!["iban".to_owned()],
        ..RedactConfig::default()
    };
    let mut leaks = Vec::new();
    for (media, holder, write) in BODIES {
        for ([from, to], masks) in pairs(holder) {
            let mut rules = vec![rename(
                "body",
                &format!("{holder}{from}"),
                &format!("{}{to}", attribute(holder)),
            )];
            rules.extend(masks);
            let redactor = redactor(&config, &rules);
            let [one, two] = SECRETS;
            let (legacy, candidate) = (write(&from, one), write(&to, two));
            // A body that differs in nothing but the status is recorded, too, and one under the name of the other side.
            for (legacy, candidate) in [
                (&legacy, &candidate),
                (&legacy, &Vec::new()),
                (&Vec::new(), &candidate),
                (&candidate, &legacy),
            ] {
                let record = stored(&redactor, media, legacy, candidate);
                if holds(&record, one) || holds(&record, two) {
                    let body = String::from_utf8_lossy(legacy);
                    leaks.push(format!("{media} {from} to {to}: {body}\n{record}"));
                }
            }
        }
    }
    assert_none(&leaks);
}

/// What stands before the name of an attribute of XML.
fn attribute(holder: &str) -> &str {
    if holder.ends_with('@') { "@" } else { "" }
}

/// Masks and secret names below the old name hold below the new one.
#[test]
fn what_is_secret_below_the_old_name_is_secret_below_the_new_one() {
    let rules = [
        rename("body", "/owner", "holder"),
        rename("body", "/owner/code", "number"),
        mask(Part::Body, "/owner/note"),
        mask(Part::Body, "/owner/code"),
    ];
    let redactor = redactor(&RedactConfig::default(), &rules);
    let body = |owner: &str, code: &str, value: &str| {
        format!(r#"{{"{owner}":{{"note":"{value}","{code}":"{value}","name":"Ada {value}kept"}}}}"#)
    };
    let record = stored(
        &redactor,
        "application/json",
        body("owner", "code", "ZqKlm").as_bytes(),
        body("holder", "number", "ZqPlm").as_bytes(),
    );
    for value in ["ZqKlm", "ZqPlm"] {
        assert!(!record.contains(&format!("\\\"{value}\\\"")), "{record}");
        assert!(record.contains(&format!("Ada {value}kept")), "{record}");
    }
}

/// What stands beside a value names it under its new name, too.
#[test]
fn a_member_that_names_a_value_names_it_by_another_name() {
    let rules = [
        rename("body", "/*/path", "at"),
        rename("body", "/*/value", "amount"),
    ];
    let redactor = redactor(&RedactConfig::default(), &rules);
    let body = |[path, value]: [&str; 2], secret: &str| {
        format!(r#"[{{"op":"add","{path}":"/user/password","{value}":"{secret}"}}]"#)
    };
    let [one, two] = SECRETS;
    let (legacy, candidate) = (body(["path", "value"], one), body(["at", "amount"], two));
    let record = stored(
        &redactor,
        "application/json",
        legacy.as_bytes(),
        candidate.as_bytes(),
    );
    assert!(!holds(&record, one) && !holds(&record, two), "{record}");
}

/// A name is as secret as the other one only where the rule says so.
#[test]
fn the_same_name_elsewhere_and_on_other_routes_is_kept() {
    let body = |name: &str, value: &str| {
        format!(r#"{{"login":{{"{name}":"{value}"}},"label7":"a label","n":1}}"#)
    };
    let told = |rule: RuleConfig| {
        let redactor = redactor(&RedactConfig::default(), &[rule]);
        let (legacy, candidate) = (body("password", "ZqKlm"), body("label7", "ZqPlm"));
        stored(
            &redactor,
            "application/json",
            legacy.as_bytes(),
            candidate.as_bytes(),
        )
    };
    let record = told(rename("body", "/login/password", HARMLESS));
    assert!(record.contains("a label"), "{record}");
    assert!(
        !record.contains("ZqPlm") && !record.contains("ZqKlm"),
        "{record}"
    );
    let elsewhere = RuleConfig {
        route: Some("GET /orders".to_owned()),
        ..rename("body", "/login/password", HARMLESS)
    };
    let record = told(elsewhere);
    assert!(
        record.contains("ZqPlm") && !record.contains("ZqKlm"),
        "{record}"
    );
}

/// In a text there are no places, so the other name of a secret field is secret in it wherever it stands, in any case of letters.
#[test]
fn the_other_name_of_a_secret_is_secret_in_texts_within_bodies_and_fields() {
    let config = RedactConfig {
        keep_headers: vec!["x-shown".to_owned()],
        keep_query: vec!["note".to_owned(), "q".to_owned()],
        ..RedactConfig::default()
    };
    let redactor = redactor(&config, &[rename("body", "/**/note", "password")]);
    let texts: [Write; 4] = [
        |n, s| format!(r#"{{"{n}":"{s}"}}"#).into(),
        |n, s| format!("wrong login: {n}={s}").into(),
        |n, s| format!("a=1&{n}={s}").into(),
        |n, s| format!("<a><{n}>{s}</{n}></a>").into(),
    ];
    let holders: [(&str, Write); 7] = [
        ("application/json", |_, t| {
            serde_json::json!({"blob": t}).to_string().into()
        }),
        ("application/json", |_, t| {
            serde_json::json!({"errors": [{"message": t}], "data": null})
                .to_string()
                .into()
        }),
        ("application/json", |_, t| {
            serde_json::json!({"a": serde_json::json!({"b": t}).to_string()})
                .to_string()
                .into()
        }),
        ("application/xml", |_, t| {
            format!("<r><blob>{}</blob></r>", entities(t)).into()
        }),
        ("application/xml", |_, t| {
            format!("<r blob=\"{}\"/>", entities(t)).into()
        }),
        ("text/csv", |_, t| {
            format!("user,blob\nada,\"{}\"\n", t.replace('"', "\"\"")).into()
        }),
        ("application/x-www-form-urlencoded", |_, t| {
            format!("a=1&blob={}", percent(t)).into()
        }),
    ];
    let [one, two] = SECRETS;
    let mut leaks = Vec::new();
    for text in texts {
        let written = |name, secret| String::from_utf8(text(name, secret)).expect("a text");
        for name in ["note", "NOTE", "Note"] {
            let sides = [written(name, one), written("password", two)];
            for (media, hold) in &holders {
                // Markup in a field of a table that is recorded as a text is not read, whatever the name is.
                if *media == "text/csv" && sides[0].starts_with('<') {
                    continue;
                }
                let [legacy, candidate] = sides.each_ref().map(|text| hold("", text));
                let record = stored(&redactor, media, &legacy, &candidate);
                if holds(&record, one) || holds(&record, two) {
                    leaks.push(format!("{media} {name} {}\n{record}", sides[0]));
                }
            }
            let [legacy, candidate] = sides
                .each_ref()
                .map(|text| answer(&[("x-shown", text)], b""));
            let target = format!(
                "/users/1?{}={two}&q={}",
                name.to_lowercase(),
                percent(&sides[0])
            );
            let exchange = exchange(&target, &[], b"", legacy, candidate);
            let record = super::super::record(&redactor, &exchange);
            let record = serde_json::to_string(&record).expect("a record");
            if holds(&record, one) || holds(&record, two) {
                leaks.push(format!("field {name} {}\n{record}", sides[0]));
            }
        }
    }
    assert_none(&leaks);
}

/// A rule is exact about the name; what it makes secret is so in any case of letters.
#[test]
fn a_member_in_other_letters_is_as_secret_and_other_names_are_kept() {
    let redactor = redactor(
        &RedactConfig::default(),
        &[rename("body", "/**/note", "password")],
    );
    let body = |name: &str, value: &str| {
        format!(
            r#"{{"a":{{"{name}":"{value}"}},"blob":"{{\"noted\":\"kept7\"}}","text":"footnote=kept8"}}"#
        )
    };
    let [one, two] = SECRETS;
    let (legacy, candidate) = (body("NOTE", one), body("password", two));
    let record = stored(
        &redactor,
        "application/json",
        legacy.as_bytes(),
        candidate.as_bytes(),
    );
    assert!(!holds(&record, one) && !holds(&record, two), "{record}");
    assert!(
        record.contains("kept7") && record.contains("footnote=kept8"),
        "{record}"
    );
}

/// The two names of a header, the rules, and which headers may be kept.
type Fields = ([&'static str; 2], Vec<RuleConfig>);

#[test]
fn a_header_with_two_names_is_shown_only_if_both_may_be() {
    let rename = |from, to| rename("header", from, to);
    let hidden: [Fields; 5] = [
        (
            ["x-api-key", "x-shown"],
            vec![rename("X-Api-Key", "X-Shown")],
        ),
        (
            ["x-shown", "authorization"],
            vec![rename("x-shown", "authorization")],
        ),
        (
            ["x-internal", "x-shown"],
            vec![rename("x-internal", "x-shown")],
        ),
        (
            ["x-shown", "x-also-shown"],
            vec![
                rename("x-shown", "x-also-shown"),
                mask(Part::Header, "x-shown"),
            ],
        ),
        (
            ["x-shown", "x-also-shown"],
            vec![
                rename("x-shown", "x-also-shown"),
                mask(Part::Header, "x-also-shown"),
            ],
        ),
    ];
    for (names, rules) in hidden {
        let record = with_fields(names, &rules);
        for secret in SECRETS {
            assert!(!holds(&record, secret), "{names:?}: {record}");
        }
    }
    let names = ["x-shown", "x-also-shown"];
    let record = with_fields(names, &[rename("x-shown", "x-also-shown")]);
    for shown in SECRETS {
        assert!(record.contains(shown), "{record}");
    }
}

/// An address under another name is redacted as an address.
#[test]
fn an_address_under_another_name_is_one() {
    let rule = rename("header", "location", "x-shown");
    let names = ["location", "x-shown"];
    let record = record_of_fields(
        names,
        &SECRETS.map(|secret| format!("/a?q={secret}")),
        &[rule],
    );
    for secret in SECRETS {
        assert!(!holds(&record, secret), "{record}");
    }
    assert!(record.contains("/a?q=hmac:"), "{record}");
}

#[test]
fn the_value_of_a_cookie_with_another_name_is_hidden() {
    let rule = rename("header", "set-cookie/theme", "look");
    let values = ["theme", "look"]
        .iter()
        .zip(SECRETS)
        .map(|(name, secret)| format!("{name}={secret}; Path=/"));
    let values: Vec<String> = values.collect();
    let record = record_of_fields(["set-cookie"; 2], &values, &[rule]);
    for secret in SECRETS {
        assert!(!holds(&record, secret), "{record}");
    }
    assert!(
        record.contains("set-cookie/theme") && record.contains("set-cookie/look"),
        "{record}"
    );
}

fn with_fields(names: [&str; 2], rules: &[RuleConfig]) -> String {
    record_of_fields(names, &SECRETS.map(str::to_owned), rules)
}

/// The record of two answers that have a header under two names.
fn record_of_fields(names: [&str; 2], values: &[String], rules: &[RuleConfig]) -> String {
    let config = RedactConfig {
        keep_headers: ["location", "x-shown", "x-also-shown"]
            .map(str::to_owned)
            .to_vec(),
        ..RedactConfig::default()
    };
    let mut answers = names
        .iter()
        .zip(values)
        .map(|(name, value)| answer(&[(name, value)], b""));
    let mut next = || answers.next().expect("two sides");
    let exchange = exchange("/users/1", &[], b"", next(), next());
    let record = record(&redactor(&config, rules), &exchange);
    assert!(!record.findings.is_empty());
    serde_json::to_string(&record).expect("a record")
}
