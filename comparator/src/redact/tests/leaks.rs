//! Wherever the secret name is, its value is not in the record.

use super::*;

const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=x";

/// The record of two answers, as text; they must differ.
fn recorded(rules: &[RuleConfig], media: &str, legacy: &[u8], candidate: &[u8]) -> String {
    let fields = [("content-type", media)];
    let exchange = exchange(
        "/users/1",
        &fields,
        legacy,
        answer(&fields, legacy),
        answer(&fields, candidate),
    );
    let record = record(&redactor(&RedactConfig::default(), rules), &exchange);
    assert!(!record.findings.is_empty(), "{record:?}");
    serde_json::to_string(&record).expect("a record")
}

/// Neither side's secret is in the record, whichever side has it.
fn never_leaves(rules: &[RuleConfig], media: &str, legacy: &[u8], candidate: &[u8]) {
    for (one, two) in [(legacy, candidate), (candidate, legacy)] {
        let text = recorded(rules, media, one, two);
        assert!(
            !text.contains("hunter"),
            "{media} {}: {text}",
            String::from_utf8_lossy(one)
        );
    }
}

fn part(head: &str, body: &str) -> String {
    format!("--x\r\n{head}\r\n\r\n{body}\r\n--x--\r\n")
}

#[test]
fn names_that_a_cut_path_lost_are_secret() {
    let deep = |value: &str| {
        format!(
            "{}{value}{}",
            "{\"attributes\":".repeat(100),
            "}".repeat(100)
        )
    };
    let long = |value: &str| format!("{{\"{}\":{value}}}", "k".repeat(1_100));
    let other = r#""other""#;
    for wrap in [&deep as &dyn Fn(&str) -> String, &long] {
        for (legacy, candidate) in [
            (r#"{"password":"hunter2"}"#, r#"{"password":"hunter3"}"#),
            (r#"{"password":"hunter2"}"#, other),
        ] {
            never_leaves(
                &[],
                "application/json",
                wrap(legacy).as_bytes(),
                wrap(candidate).as_bytes(),
            );
        }
    }
    let rules = [mask(Part::Body, &format!("/{}/iban", "k".repeat(1_100)))];
    let [legacy, candidate] = [r#"{"iban":"hunter2"}"#, r#"{"iban":"hunter3"}"#].map(long);
    never_leaves(
        &rules,
        "application/json",
        legacy.as_bytes(),
        candidate.as_bytes(),
    );
}

#[test]
fn keys_with_brackets_are_as_secret_as_what_is_in_them() {
    for (media, legacy, candidate) in [
        (FORM, "user[password]=hunter2", "user[password]=hunter3"),
        (
            FORM,
            "user%5Bpassword%5D%5B%5D=hunter2&a=1",
            "user%5bpassword%5d%5b%5d=hunter3&user[password][]=hunter4",
        ),
        (FORM, "password%FF=hunter2", "a=1"),
        (
            "application/json",
            r#"{"user[password]":"hunter2"}"#,
            r#"{"user[password]":["hunter3"]}"#,
        ),
    ] {
        never_leaves(&[], media, legacy.as_bytes(), candidate.as_bytes());
    }
}

#[test]
fn text_within_events_and_parts_is_redacted_as_text() {
    for (legacy, candidate) in [
        ("password=hunter2", "password=hunter3"),
        (r#"{"password":"hunter2",}"#, r#"{"password":"hunter3",}"#),
        (
            r#"{"a":["password=hunter2"]}"#,
            r#"{"a":["token: hunter3"]}"#,
        ),
        (r#"{"password":"hunter2"}"#, "[DONE]"),
        (
            r#"{"sha256":"password=hunter2"}"#,
            r#"{"part-headers":{"accept":"password=hunter3"}}"#,
        ),
    ] {
        let event = |data: &str| format!("data: {data}\n\n");
        never_leaves(
            &[],
            "text/event-stream",
            event(legacy).as_bytes(),
            event(candidate).as_bytes(),
        );
        let note = |text: &str| part("Content-Disposition: form-data; name=note", text);
        never_leaves(
            &[],
            PARTS,
            note(legacy).as_bytes(),
            note(candidate).as_bytes(),
        );
    }
}

#[test]
fn hashes_of_parts_are_keyed_and_their_headers_listed() {
    let body = |byte: u8, header: &str| {
        let head = format!(
            "--x\r\nContent-Type: image/{header}\r\nX-Internal: {header}\r\nContent-Disposition: form-data; name=f; filename={header}\r\n\r\n"
        );
        [head.as_bytes(), &[byte], b"\r\n--x--"].concat()
    };
    let text = recorded(&[], PARTS, &body(0xff, "one"), &body(0xfe, "two"));
    assert!(!text.contains("sha256:"), "{text}");
    assert!(text.contains(" (1 bytes)"), "{text}");
    assert!(text.contains("image/one"), "{text}");
    assert!(!text.contains("filename="), "{text}");
}

#[test]
fn fields_of_parts_are_as_secret_as_their_names() {
    for head in [
        "Content-Disposition: form-data; name=\"password\"",
        "Content-Disposition: form-data; filename=\"; name=x\"; name=\"user[password][]\"",
        "Content-Disposition: form-data; name=\"a\"; name*=utf-8''password",
        "Content-Type: application/json\r\nContent-Disposition: form-data; name=password",
        "X-Password: hunter2",
    ] {
        let [legacy, candidate] = ["\"hunter2\"", "\"hunter3\""].map(|value| {
            let value = if head.starts_with("X-") { "a" } else { value };
            part(head, value)
        });
        let other = part("Content-Type: text/plain", "b");
        never_leaves(&[], PARTS, legacy.as_bytes(), other.as_bytes());
        if legacy != candidate {
            never_leaves(&[], PARTS, legacy.as_bytes(), candidate.as_bytes());
        }
    }
}

#[test]
fn bodies_that_one_side_cannot_read_or_has_not_are_no_way_out() {
    let field = part("Content-Disposition: form-data; name=password", "hunter2");
    for (media, legacy, candidate) in [
        (PARTS, field.as_str(), ""),
        (PARTS, field.as_str(), "no parts"),
        (
            PARTS,
            field.as_str(),
            "--x\r\nContent-Disposition: form-data; name=password\r\n\r\nhunter3",
        ),
        (PARTS, field.trim_end_matches("--\r\n"), "no parts"),
        (FORM, "user%5Bpassword%5D=hunter2", ""),
    ] {
        never_leaves(&[], media, legacy.as_bytes(), candidate.as_bytes());
    }
    let text = recorded(&[], PARTS, field.as_bytes(), b"no parts");
    assert!(
        text.contains("the closing boundary of a multipart body is missing"),
        "{text}"
    );
}

#[test]
fn samples_of_events_hide_what_is_written_over_several_lines() {
    never_leaves(
        &[],
        "text/event-stream",
        b"data: {\"password\":\ndata: \"hunter2\"}\n\n",
        b"data: {\"password\":\ndata: \"hunter3\"}\n\n",
    );
}

#[test]
fn samples_of_parts_show_what_is_harmless() {
    for head in [
        "Content-Disposition: form-data; name=note",
        "Content-Disposition: form-data; name=\"note\"; filename=\"a b; c.txt\"\r\nContent-Type: text/plain",
        "Content-Disposition: form-data; filename*=UTF-8''a%20b; name*0=\"no\"; name*1=te",
    ] {
        let [legacy, candidate] = ["one", "two"].map(|value| part(head, value));
        let text = recorded(&[], PARTS, legacy.as_bytes(), candidate.as_bytes());
        assert!(text.contains(r#"\"text\":{\"note\":\"one\"}"#), "{text}");
    }
}

#[test]
fn what_is_harmless_stays_as_it_was() {
    for (media, body) in [
        (
            "text/html",
            "<!DOCTYPE html>\n<html><body class=x><p>Hello &amp; welcome<br>\n<a href=\"/x?page=2\">next</a><ul><li>one<li>3</ul></body></html>\n",
        ),
        (
            "image/svg+xml",
            "<?xml version=\"1.0\"?>\n<order id=\"7\"><total currency='EUR'>13.50</total><note/></order>\n",
        ),
        (
            "text/html",
            "<!doctype html>\n<html lang=en><head><meta charset=\"utf-8\"><title>Orders</title><!-- of today --><link rel=stylesheet href=/a.css></head>\n<body><nav>Home &gt; Orders > 3</nav><p>if a < b then a -> b, x >= 2</p><table><tr><th>id</th><th>name</th></tr><tr><td>3</td><td>Ada</td></tr></table><form action='/x?page=2'><input type=text name=\"q\" value=\"red\" required><select name=s><option value=1 selected>one</option></select><textarea name=t>x</textarea><br/></form></div></body></html>\n",
        ),
        (
            "image/svg+xml",
            "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE order SYSTEM \"order.dtd\">\n<!-- of today, <b>3</b> --><o:order xmlns:o=\"urn:x\" o:id=\"7\"><![CDATA[a < b & c]]><note a='x > y'>1 &lt; 2 &amp; 3 &#x41;, a > b</note><empty/></o:order>\n",
        ),
        (
            "application/graphql",
            "query Q($id: ID!, $n: Int = 3, $in: [In!]! = [{a: 1}]) { user(id: $id, n: $n, in: $in) @include(if: true) { ...F name old: age(in: [1, 2], unit: YEAR, note: \"a b\") } } fragment F on User { id } # of today",
        ),
        (
            "application/graphql",
            "type User implements Node & X { id: ID! name(first: Int = 3): [String!]! @deprecated(reason: \"old\") } union U = A | B enum E { A B }",
        ),
        (
            "application/graphql",
            "query Q($id: ID!) { user(id: $id) { name age(in: 3) } }",
        ),
        (
            "text/plain",
            "10:30 GET /users/42 took 12 ms; 3 of 7 (42 %)\nkey: value, a=b\n",
        ),
        ("text/csv; header=absent", "user,age\nada,36\n"),
        (
            "text/plain",
            "Sold 3 of 7, by card, in the shop\nsee /users/42/orders?page=2 and docs/api/users.md\nmail ada@example.org at 10:30\nid | name\n1 | Ada\n",
        ),
        (
            "application/json",
            r#"{"status":"UP","components":[{"name":"auth-service","status":"UP","details":{"latency":3}},{"name":"db","status":"UP"}]}"#,
        ),
        (
            "application/json",
            r#"[{"op":"replace","path":"/user/name","value":"Ada 3"},{"op":"add","path":"/tags/0","value":{"a":["x"]}}]"#,
        ),
        (
            "application/json",
            r#"{"errors":[{"code":422,"field":"password","error":"too_short","message":"Password must not be so short."},{"field":"age","value":3,"message":"must be 18"}]}"#,
        ),
        (
            "application/json",
            r#"{"token_type":"bearer","expires_in":3600,"scope":"read","event":"password_changed","user":3,"at":"10:30"}"#,
        ),
        (
            "application/json",
            r#"{"columns":["id","name"],"rows":[[1,"Ada"],[3,"Bob"]],"tags":["a","auth","b"],"links":{"self":"/auth/login","next":"/tokens?page=3"}}"#,
        ),
        (
            "application/json",
            r#"{"query":"query Q($id: ID!) { user(id: $id) { token name } }","variables":{"id":3},"operationName":"Q"}"#,
        ),
        (
            "image/svg+xml",
            "<users><user><name>Ada</name><age>3</age></user><user><age>36</age><name>Bob</name></user></users>",
        ),
        (
            "application/json",
            r#"{"key":"color","value":"red","max_tokens":12,"primary_key":7,"note":"see https://x.example/a?page=2","t":"10:30","text":"[INFO] {name} < 3","u":"3fa85f64-5717-4562-b3fc-2c963f66afa6"}"#,
        ),
    ] {
        let other = body.replacen('3', "4", 1).replacen("red", "blue", 1);
        let text = recorded(&[], media, body.as_bytes(), other.as_bytes());
        let record: serde_json::Value = serde_json::from_str(&text).expect("a record");
        assert_eq!(record["sample"]["legacy"]["body"], body, "{media}");
    }
}

#[test]
fn xml_is_recorded_as_the_json_that_is_compared() {
    let xml = |secret: &str, note: &str| {
        format!("<user id='7'><password><new>{secret}</new></password><note>{note}</note></user>")
    };
    let (legacy, candidate) = (xml("hunter2hunter2", "a"), xml("hunter3hunter3", "b"));
    let text = recorded(&[], "text/xml", legacy.as_bytes(), candidate.as_bytes());
    assert!(!text.contains("hunter"), "{text}");
    let record: serde_json::Value = serde_json::from_str(&text).expect("a record");
    let body = record["sample"]["legacy"]["body"].as_str().expect("a text");
    assert!(
        body.starts_with(r#"{"user":{"@id":"7","password":"#),
        "{body}"
    );
    let findings = record["findings"].as_array().expect("a list");
    let note = findings
        .iter()
        .find(|finding| finding["path"] == "/user/note");
    let note = note.expect("the note is told");
    assert_eq!(
        (&note["legacy"], &note["candidate"]),
        (&r#""a""#.into(), &r#""b""#.into())
    );
    assert_eq!(findings.len(), 2, "{text}");
}
