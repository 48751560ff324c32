//! Texts with hashes in them.

use super::*;

const UNKNOWN: Told = Told::CannotTell(Untold::Hashed);

const ONE: &str = "settled in 95 ms, token=Kd83hfk29Fh2\nthanks\n";
const TOKEN: &str = "settled in 95 ms, token=Zu49Fjw8Dk1c\nthanks\n";
const BOTH: &str = "settled in 7 ms, token=Zu49Fjw8Dk1c\nthanks\n";

/// The keys of a rule, what the candidate answers, and what is told.
const CASES: &[(&str, &str, Told)] = &[
    (
        r#"path=""\naction="parts"\npattern='token=(\S+)'"#,
        TOKEN,
        Told::Equal,
    ),
    (
        r#"path=""\naction="parts"\npattern='token=(.*)'"#,
        TOKEN,
        Told::Equal,
    ),
    (
        r#"path=""\naction="parts"\npattern='token=(\S+)'"#,
        BOTH,
        Told::Differs,
    ),
    // Both clear pieces and hidden ones.
    (
        r#"path=""\naction="parts"\npattern='in (\d+) ms, token=(\S+)'"#,
        BOTH,
        Told::Equal,
    ),
    // It is found in some values only, or in the hash alone.
    (
        r#"path=""\naction="parts"\npattern='token=(\d+)'"#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"path=""\naction="parts"\npattern='token=(\w+)'"#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"path=""\naction="parts"\npattern='token=([0-9a-zA-Z]{12})$'"#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"path=""\naction="parts"\npattern='token=(hmac:[0-9a-f]+)'"#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"path=""\naction="parts"\npattern='hmac:([0-9a-f]+)'"#,
        TOKEN,
        UNKNOWN,
    ),
    // A clear piece is left out only if the hidden one is of some form.
    (
        r#"path=""\naction="parts"\npattern='in (\d+) ms, token=0x[0-9a-f]+|token=(\S+)'"#,
        BOTH,
        UNKNOWN,
    ),
    (
        r#"path=""\naction="parts"\npattern='in (\d+) ms, token=\w+'"#,
        BOTH,
        UNKNOWN,
    ),
    // Lines, columns and characters.
    (r#"line="1"\naction="ignore""#, BOTH, Told::Equal),
    (r#"line='^settled'\naction="ignore""#, BOTH, Told::Equal),
    (r#"line='token=\d'\naction="ignore""#, BOTH, UNKNOWN),
    (r#"line="2"\naction="ignore""#, BOTH, UNKNOWN),
    (
        r#"line="1"\ncolumn="5"\naction="ignore""#,
        TOKEN,
        Told::Equal,
    ),
    (
        r#"line="1"\ncolumn="5"\naction="ignore""#,
        BOTH,
        Told::Differs,
    ),
    (
        r#"line="1"\ncharacters="19-36"\naction="ignore""#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"line="1"\ncolumn="5"\naction="tolerance"\nabsolute="5""#,
        TOKEN,
        UNKNOWN,
    ),
    (
        r#"line="1"\ncolumn="5"\naction="as"\ntype="uuid""#,
        TOKEN,
        UNKNOWN,
    ),
];

#[test]
fn hidden_parts_of_a_text_are_told_of_if_a_rule_leaves_them_out_whatever_they_are() {
    for (keys, candidate, expected) in CASES.iter().copied() {
        let keys = keys.replace("\\n", "\n");
        let mismatch = redacted("text/plain", ONE, candidate);
        let sample = mismatch.sample.as_ref().expect("a sample");
        assert!(
            sample.legacy.body.contains("token=hmac:"),
            "{}",
            sample.legacy.body
        );
        assert!(!sample.legacy.body.contains("Kd83"));
        assert_eq!(told_of(&keys, &mismatch), expected, "{keys} {candidate}");
        // Where nothing but what is clear differs, equal hashes are equal values.
        let clear = redacted("text/plain", ONE, &ONE.replace("95", "7"));
        let told = told_of(&keys, &clear);
        if keys.contains("token=(\\S+)'") && !keys.contains("(\\d+)") {
            assert_eq!(told, Told::Differs, "{keys}");
        }
    }
}

#[test]
fn equal_hashes_hide_equal_values_and_others_are_never_taken_for_equal() {
    let timing = r#"path=""
action="parts"
pattern='in (\d+) ms'"#;
    let text = |ms: &str, token: &str| format!("settled in {ms} ms, token={token}\n");
    let same = redacted(
        "text/plain",
        &text("95", "Kd83hfk29Fh2"),
        &text("7", "Kd83hfk29Fh2"),
    );
    assert_eq!(told_of(timing, &same), Told::Equal);
    let other = redacted(
        "text/plain",
        &text("95", "Kd83hfk29Fh2"),
        &text("7", "Zu49Fjw8Dk1c"),
    );
    assert_eq!(told_of(timing, &other), UNKNOWN);
}

#[test]
fn strings_of_json_and_attributes_of_pages_are_told_of_like_texts() {
    let note = |ms: &str, token: &str| {
        format!(r#"{{"password":"{token}","note":"settled in {ms} ms, token={token}"}}"#)
    };
    let parts = "path=\"/note\"\naction=\"parts\"\npattern='token=(\\S+)$'";
    let json = |one: &str, two: &str| {
        let mut mismatch = redacted("application/json", one, two);
        mismatch.findings.retain(|finding| finding.path == "/note");
        mismatch.fingerprints = vec![mismatch.findings[0].fingerprint.clone()];
        mismatch
    };
    let token = json(&note("95", "Kd83hfk29Fh2"), &note("95", "Zu49Fjw8Dk1c"));
    assert_eq!(told_of(parts, &token), Told::Equal);
    let both = json(&note("95", "Kd83hfk29Fh2"), &note("7", "Zu49Fjw8Dk1c"));
    assert_eq!(told_of(parts, &both), Told::Differs);
    let digits = parts.replace("\\S", "\\d");
    assert_eq!(told_of(&digits, &token), UNKNOWN);
    // What is a hash as a whole may be of any type.
    let whole = redacted(
        "application/json",
        r#"{"password":"Kd83hfk29Fh2"}"#,
        r#"{"password":"Zu49Fjw8Dk1c"}"#,
    );
    for keys in [
        "action=\"as\"\ntype=\"number\"",
        "action=\"parts\"\npattern='(.*)'",
    ] {
        let keys = format!("path=\"/password\"\n{keys}");
        assert!(
            matches!(told_of(&keys, &whole), Told::CannotTell(_)),
            "{keys}"
        );
    }
    let page = |token: &str, word: &str| {
        format!(
            "<html><body><form><input type=\"hidden\" name=\"csrf_token\" value=\"{token}\"><p>{word}</p></form></body></html>"
        )
    };
    let csrf = "element='input[name=csrf_token]'\nattribute=\"value\"\naction=\"ignore\"";
    let token = redacted(
        "text/html",
        &page("Kd83hfk29Fh2", "a"),
        &page("Zu49Fjw8Dk1c", "a"),
    );
    assert_eq!(told_of(csrf, &token), Told::Equal);
    let both = redacted(
        "text/html",
        &page("Kd83hfk29Fh2", "a"),
        &page("Zu49Fjw8Dk1c", "b"),
    );
    assert_eq!(told_of(csrf, &both), Told::Differs);
    let lang = csrf.replace("csrf_token", "lang");
    assert_eq!(told_of(&lang, &both), UNKNOWN);
}

#[test]
fn what_is_hidden_for_its_own_form_may_be_a_card_or_a_key_of_several_words() {
    let text = |secret: &str| format!("settled with {secret} in 95 ms\n");
    let one = text("sk_live_4eC39HqLyjWDarjtT1zdp7dc");
    let two = text("sk_live_9fD40IrMzkXEbskuU2aeq8ed");
    let mismatch = redacted("text/plain", &one, &two);
    let word = "path=\"\"\naction=\"parts\"\npattern='with (\\S+) in'";
    assert_eq!(told_of(word, &mismatch), UNKNOWN);
    let any = "path=\"\"\naction=\"parts\"\npattern='(?s)with (.*) in 95'";
    assert_eq!(told_of(any, &mismatch), Told::Equal);
}
