//! What a rule says as it is written.

use super::*;

#[test]
fn every_key_is_read_into_the_field_of_its_name() {
    let text: String = KEYS
        .iter()
        .map(|key| match (key.name, key.is_list()) {
            (name, true) => format!("{name} = [\"one\", \"two\"]\n"),
            (name, false) => format!("{name} = \"its {name}\"\n"),
        })
        .collect();
    let its = |name: &str| Some(format!("its {name}"));
    let expected = RuleConfig {
        id: "its id".to_owned(),
        route: its("route"),
        part: its("part"),
        path: "its path".to_owned(),
        line: its("line"),
        column: its("column"),
        characters: its("characters"),
        element: its("element"),
        attribute: its("attribute"),
        action: "its action".to_owned(),
        explanations: vec!["one".to_owned(), "two".to_owned()],
        kind: its("kind"),
        field: its("field"),
        fields: vec!["one".to_owned(), "two".to_owned()],
        absolute: its("absolute"),
        relative: its("relative"),
        within: its("within"),
        factor: its("factor"),
        pattern: its("pattern"),
        r#type: its("type"),
        to: its("to"),
        reason: its("reason"),
        owner: its("owner"),
        expires: its("expires"),
    };
    assert_eq!(parse(&format!("[[rule]]\n{text}")), Ok(vec![expected]));
    assert_eq!(
        parse("rule = [{ id = \"a\", path = \"/x\", action = \"mask\" }]"),
        Ok(vec![RuleConfig::new("a", "/x", "mask")])
    );
    assert_eq!(parse("# nothing"), Ok(Vec::new()));
}

#[test]
fn every_key_that_cannot_be_read_is_reported_with_its_rule() {
    let text = r#"
[[rule]]
id = "a"
pth = "/x"
action = 7 # seven
[[rule]]
zzz = true
explanations = "null_vs_empty"
[[rule]]
explanations = ["null_vs_empty", 1]
"#;
    let Err(TextError::Rules(errors)) = parse(text) else {
        panic!("four mistakes");
    };
    let found: Vec<_> = errors
        .iter()
        .map(|error| (error.rule, &*error.key, error.message.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (0, "pth", "unknown key `pth` in [[rule]]"),
            (0, "action", "`action` is integer, not text in quotes"),
            (1, "zzz", "unknown key `zzz` in [[rule]]"),
            (
                1,
                "explanations",
                "`explanations` is string, not a list of text in quotes"
            ),
            (
                2,
                "explanations",
                "`explanations` is array, not a list of text in quotes"
            ),
        ]
    );
    assert_eq!(errors[0].hint.as_deref(), Some("did you mean `path`?"));
    assert_eq!(
        errors[1].hint.as_deref(),
        Some(
            "use one of ignore, accept, unordered, key, tolerance, scale, parts, as, rename, mask"
        )
    );
    assert_eq!(
        errors[3].hint.as_deref(),
        Some("write `explanations = [\"null_vs_empty\"]`")
    );
    let hint = errors[2].hint.as_deref().unwrap_or_default();
    assert!(hint.starts_with("use one of id, route, "), "{hint}");
    assert_eq!(
        TextError::Rules(errors).to_string(),
        "rule 1: unknown key `pth` in [[rule]]; \
         rule 1: `action` is integer, not text in quotes; \
         rule 2: unknown key `zzz` in [[rule]]; \
         rule 2: `explanations` is string, not a list of text in quotes; \
         rule 3: `explanations` is array, not a list of text in quotes"
    );
}

#[test]
fn what_was_meant_without_quotes_is_known_and_yet_a_mistake() {
    for (key, value) in [
        ("relative", "0.001"),
        ("absolute", "1"),
        ("expires", "2027-03-01"),
        ("id", "7"),
    ] {
        let text = format!("{key} = {value} # as it is\n");
        let document = Document::parse(text.as_str()).expect("TOML");
        let (rule, errors) = RuleConfig::read(document.as_table(), 3);
        let hints: Vec<_> = errors
            .iter()
            .map(|error| (error.rule, &*error.key, error.hint.clone()))
            .collect();
        let hint = format!("write `{key} = \"{value}\"`");
        assert_eq!(hints, [(3, key, Some(hint))]);
        let quoted = format!("[[rule]]\n{key} = \"{value}\"\n");
        assert_eq!(parse(&quoted), Ok(vec![rule]));
    }
}

#[test]
fn what_is_more_than_rules_is_refused() {
    for (text, refused) in [
        ("[[rule]]\nid = ", TextError::NotToml(String::new())),
        ("[[rules]]\n", TextError::NotRules("rules".to_owned())),
        ("[rule]\n", TextError::NotRules("rule".to_owned())),
        ("rule = [1]\n", TextError::NotRules("rule".to_owned())),
    ] {
        match (parse(text), refused) {
            (Err(TextError::NotToml(message)), TextError::NotToml(_)) => {
                assert!(!message.is_empty());
            }
            (found, refused) => assert_eq!(found, Err(refused), "{text}"),
        }
    }
}
