//! Labels of pairs of values.

use parity_schemas::side::Excerpt;

use super::*;

fn finding(part: Part, kind: Kind, legacy: Side, candidate: Side) -> Finding {
    Finding {
        part,
        path: "/a".to_owned(),
        candidate_path: None,
        pattern: "/a".to_owned(),
        kind,
        legacy,
        candidate,
        explanation: None,
        text_diff: None,
    }
}

fn label(one: &str, two: &str) -> String {
    let side = |text: &str| match text {
        "" => Side::Absent,
        text => Side::value(text),
    };
    let finding = finding(Part::Body, Kind::Value, side(one), side(two));
    let shape = Shape::of(&finding);
    let label = shape.to_string();
    assert_eq!(label.parse::<Shape>().expect("its own label"), shape);
    label
}

const UUID: &str = "\"3f2a77de-5b1e-4c2b-9a1c-0d2f3e4a5b6c\"";

#[test]
fn values_have_the_shape_of_their_kind() {
    for (one, two, expected) in [
        (UUID, UUID, "uuid→uuid"),
        (UUID, "null", "uuid→null"),
        (UUID, "", "uuid→missing"),
        (
            UUID,
            "\"3F2A77DE-5B1E-4C2B-9A1C-0D2F3E4A5B6C\"",
            "uuid→upper-uuid",
        ),
        (
            UUID,
            "\"00000000-0000-0000-0000-000000000000\"",
            "uuid→nil-uuid",
        ),
        ("7", "1200", "integer→integer"),
        ("7", "7.5", "decimal→decimal"),
        ("true", "false", "boolean→boolean"),
        ("\"\"", "[]", "blank→empty-array"),
        ("{ }", "{\"a\":1}", "empty-object→object"),
        ("[1]", "\"7\"", "array→integer-text"),
        ("\"1.50\"", "\"-2\"", "decimal-text→integer-text"),
        (
            "\"2026-01-31T09:30:00Z\"",
            "\"2026-01-31T09:30:00.12Z\"",
            "instant-ms-utc→instant-ms-utc",
        ),
        (
            "\"2026-01-31T09:30:00.123456+01:00\"",
            "\"2026-01-31 09:30:00.123456789\"",
            "instant-us-offset→instant-ns-local",
        ),
        (
            "\"Sat, 31 Jan 2026 08:30:00 GMT\"",
            "\"2026-01-31\"",
            "worded-instant→date",
        ),
        (
            "\"d41d8cd98f00b204e9800998ecf8427e\"",
            "\"D41D8CD98F00B204\"",
            "hex32→upper-hex16",
        ),
        // Eight digits beside eight hexadecimal ones are such, too.
        ("\"d41d8cd9\"", "\"12345678\"", "hex8→hex8"),
        ("\"d41d8cd9\"", "\"12345e78\"", "hex8→hex8"),
        ("\"1.234567\"", "\"d41d8cd9\"", "decimal-text→hex8"),
        ("\"V1StGXR8_Z5jdHi6B-myT\"", "\"shipped\"", "word16→word4"),
        // What stands between separators by chance is no pattern.
        (
            "\"D0KspznaKiNptjl8GsoCw8AaXRJDfl-H\"",
            "\"Ek3spznaKiNptjl8GsoCw8AaXRJDfl_7\"",
            "word32→word32",
        ),
        (
            "\"D0KspznaKiNptjl8GsoCw8AaXRJDflaH\"",
            "\"Ek3spznaKiNptjl8GsoCw8AaXRJDflk7\"",
            "word32→word32",
        ),
        (
            "\"cart-D0KspznaKiNptjl8G-open\"",
            "\"cart-Ek3spznaKiNptjl8G-open\"",
            "pattern→pattern",
        ),
        ("\"Hello Ann\"", "\"Hello Bob\"", "text→text"),
        (
            "\"Order 17 of 2026-01-31\"",
            "\"Order 4711 of 2026-02-01\"",
            "pattern→pattern",
        ),
    ] {
        assert_eq!(label(one, two), expected, "{one} {two}");
        let mirrored = expected.parse::<Shape>().expect("a label").mirrored();
        assert_eq!(label(two, one), mirrored.to_string());
    }
}

#[test]
fn what_stands_for_a_whole_answer_may_not_be_noise() {
    let bytes = || {
        Side::Bytes(parity_schemas::side::Digest {
            length: 1,
            sha256: [0; 32],
        })
    };
    let line = |text: &str| Side::Line(Excerpt::whole(text));
    for (part, kind, one, two, expected) in [
        (
            Part::Status,
            Kind::Value,
            Side::value("200"),
            Side::value("500"),
            "status→status",
        ),
        (
            Part::Body,
            Kind::Decode,
            Side::Absent,
            Side::value("1"),
            "broken→broken",
        ),
        (Part::Body, Kind::Value, bytes(), bytes(), "bytes→bytes"),
        (
            Part::Body,
            Kind::Value,
            line("a 1"),
            line("a 2"),
            "text-body→text-body",
        ),
    ] {
        let shape = Shape::of(&finding(part, kind, one, two));
        assert_eq!(shape.to_string(), expected);
        assert!(!shape.may_be_noise(), "{expected}");
    }
    let order = finding(
        Part::Body,
        Kind::Order,
        Side::value("[1,2]"),
        Side::value("[2,1]"),
    );
    assert_eq!(Shape::of(&order).to_string(), "order→order");
    assert!(Shape::of(&order).may_be_noise());
}

#[test]
fn a_text_is_a_pattern_only_if_all_of_its_diff_is() {
    let body = |diff: &str| {
        let line = |text: &str| Side::Line(Excerpt::whole(text));
        let mut finding = finding(Part::Body, Kind::Value, line("at 1"), line("at 2"));
        finding.text_diff = Some(TextDiff::read(diff));
        Shape::of(&finding).to_string()
    };
    assert_eq!(
        body("@@ -1,2 +1,2 @@\n-at 1\n+at 2\n same\n"),
        "pattern→pattern"
    );
    assert_eq!(
        body("@@ -1,3 +1,3 @@\n-at 1\n+at 2\n same\n-paid\n+open\n"),
        "text-body→text-body"
    );
    assert_eq!(
        body("@@ -1,2 +1,2 @@\n-at 1\n+at 2\n…"),
        "text-body→text-body"
    );
}

#[test]
fn headers_are_texts_and_cookies_patterns() {
    let header = |one: &str, two: &str| {
        let finding = finding(
            Part::Header,
            Kind::Value,
            Side::value(one),
            Side::value(two),
        );
        Shape::of(&finding).to_string()
    };
    assert_eq!(header("17", "18"), "integer-text→integer-text");
    assert_eq!(
        header(
            "Sat, 31 Jan 2026 08:30:00 GMT",
            "Sat, 31 Jan 2026 08:30:01 GMT"
        ),
        "worded-instant→worded-instant"
    );
    assert_eq!(
        header(
            "sid=9f86d081884c7d65; Path=/; HttpOnly",
            "sid=1b4f0e9851971998; Path=/; HttpOnly"
        ),
        "pattern→pattern"
    );
    assert_eq!(
        header(
            "sid=9f86d081884c7d65; Path=/; HttpOnly",
            "sid=1b4f0e9851971998; Path=/"
        ),
        "text→text"
    );
}

#[test]
fn a_label_says_nothing_of_a_value_and_no_other_text_is_one() {
    let secret = "\"correct horse battery staple 12345\"";
    assert_eq!(label(secret, "\"x\""), "text→word1");
    for text in [
        "",
        "uuid",
        "uuid→",
        "→",
        "uuid→secret",
        "hexx→hex8",
        "instant-s→uuid",
    ] {
        assert!(text.parse::<Shape>().is_err(), "{text}");
    }
    let long = "x".repeat(10_000);
    assert_eq!(label(&format!("\"{long}\""), "null"), "word4096→null");
}

mod tokens;
