//! Scalars, collections, and what is refused.

use super::*;

fn json(text: &str) -> Result<String, YamlError> {
    let documents = documents(text, 16, 10_000)?;
    let texts: Vec<_> = documents
        .iter()
        .map(|json| String::from_utf8_lossy(json).into_owned())
        .collect();
    Ok(texts.join("\n"))
}

#[test]
fn scalars_follow_the_core_schema() {
    for (yaml, expected) in [
        ("no", r#""no""#),
        ("true", "true"),
        ("'true'", r#""true""#),
        ("!!str 1", r#""1""#),
        ("~", "null"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("007", "7"),
        (".5", "0.5"),
        ("+1.50", "1.50"),
        ("1e3", "1e3"),
        (".inf", r#"{"!!float":".inf"}"#),
        ("+.INF", r#"{"!!float":".inf"}"#),
        ("-.Inf", r#"{"!!float":"-.inf"}"#),
        (".NaN", r#"{"!!float":".nan"}"#),
        ("'.inf'", r#"".inf""#),
        ("!!float .inf", r#"{"!!float":".inf"}"#),
        ("017", "17"),
        ("1:30", r#""1:30""#),
        ("1_000", r#""1_000""#),
        ("yes", r#""yes""#),
        ("!!int '3'", "3"),
        ("!!float 1", "1"),
        ("!!bool yes", r#"{"!!bool":"yes"}"#),
        ("!!binary aGk=", r#"{"!!binary":"aGk="}"#),
        ("! 12", r#""12""#),
        ("2026-01-01", r#""2026-01-01""#),
        ("!custom 1", r#"{"!custom":"1"}"#),
        ("|\n a\n b\n", r#""a\nb\n""#),
    ] {
        assert_eq!(json(yaml).as_deref(), Ok(expected), "{yaml}");
    }
}

#[test]
fn collections_aliases_and_several_documents() {
    assert_eq!(
        json("a: &x [1, {b: 2}]\nc: *x\n1: d").as_deref(),
        Ok(r#"{"a":[1,{"b":2}],"c":[1,{"b":2}],"1":"d"}"#)
    );
    assert_eq!(json("--- 1\n--- {}\n").as_deref(), Ok("1\n{}"));
    assert_eq!(
        json("a: !t {b: 1}\nc: &x !u [!v 2]\nd: *x\n!w e: !!seq []\n.inf: 1").as_deref(),
        Ok(
            r#"{"a":{"!t":{"b":1}},"c":{"!u":[{"!v":"2"}]},"d":{"!u":[{"!v":"2"}]},"!w e":[],"!!float .inf":1}"#
        )
    );
    assert!(json("? !t [a]\n: b").is_err());
    assert_eq!(json("").as_deref(), Ok(""));
}

#[test]
fn what_no_alias_stands_for_is_never_too_large() {
    // The inputs whose JSON is the longest for their length.
    for unit in [
        "-\n",
        "- []\n",
        "- ? \n",
        "- \"\\e\"\n",
        "- !a\n",
        "- &a\n",
        "- .inf\n",
    ] {
        let text = unit.repeat(70_000);
        assert!(documents(&text, 128, usize::MAX).is_ok(), "{unit:?}");
    }
}

#[test]
fn what_expands_without_end_is_stopped() {
    let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        lines.push(format!("a{level}: &a{level} [{aliases}]"));
    }
    let bomb = lines.join("\n");
    assert_eq!(json(&bomb), Err(YamlError::Limit(Reason::ResponseTooLarge)));
    // Even if the size of the documents is not limited.
    assert_eq!(
        documents(&bomb, 128, usize::MAX),
        Err(YamlError::Limit(Reason::ResponseTooLarge))
    );
    assert!(matches!(json("a: [1"), Err(YamlError::Syntax(_))));
    assert!(json(&"[".repeat(100_000)).is_err());
    assert!(json(&"- ".repeat(5_000)).is_err());
}
