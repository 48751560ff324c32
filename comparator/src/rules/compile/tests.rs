//! What the configuration gets told.

use super::*;
use crate::rules::Rules;

fn config(id: &str, path: &str, action: &str) -> RuleConfig {
    RuleConfig::new(id, path, action)
}

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn errors(configs: &[RuleConfig]) -> Vec<(usize, String, String)> {
    let errors = Rules::compile(configs, time("2026-06-01T00:00:00Z")).expect_err("wrong rules");
    errors
        .into_iter()
        .map(|error| {
            let hint = error
                .hint
                .as_ref()
                .map(|hint| format!(" [{hint}]"))
                .unwrap_or_default();
            (error.rule, error.key.to_string(), format!("{error}{hint}"))
        })
        .collect()
}

fn accept(id: &str, action: &str, explanations: &[&str]) -> RuleConfig {
    let mut config = config(id, "/x", action);
    config.explanations = explanations.iter().map(|word| (*word).to_owned()).collect();
    config
}

#[test]
fn every_error_is_reported_at_once_with_its_key() {
    let mut expired = config("old", "/a", "ignore");
    expired.expires = Some("2026-06-01".to_owned());
    let mut typo = config("a", "x.y", "ignroe");
    typo.route = Some("users".to_owned());
    let mut both = config("b", "/x", "tolerance");
    both.absolute = Some("0.1".to_owned());
    both.relative = Some("0.1".to_owned());
    let mut r#type = config("c", "/x", "as");
    r#type.r#type = Some("timestmp".to_owned());
    let mut status = config("d", "", "unordered");
    status.part = Some("status".to_owned());
    // Whether its path is right cannot be said, so that is all there is to say of it.
    let mut heder = config("h", "x-request-id", "ignore");
    heder.part = Some("heder".to_owned());
    let found = errors(&[
        expired,
        typo,
        both,
        r#type,
        status,
        config("a", "/y", "key"),
        config("", "/z", "mask"),
        config("e", "/z", "accept"),
        accept("f", "mask", &["same_instant"]),
        accept("g", "accept", &["same_instant", "same_instnat"]),
        heder,
        config("i", "/x", ""),
        config("", "/z", "mask"),
    ]);
    let keys: Vec<_> = found
        .iter()
        .map(|(rule, key, _)| (*rule, key.as_str()))
        .collect();
    assert_eq!(
        keys,
        [
            (0, "expires"),
            (1, "route"),
            (1, "path"),
            (1, "action"),
            (2, "absolute"),
            (3, "type"),
            (4, "action"),
            (5, "id"),
            (5, "field"),
            (6, "id"),
            (7, "explanations"),
            (8, "explanations"),
            (9, "explanations"),
            (10, "part"),
            (11, "action"),
            (12, "id"),
        ]
    );
    assert_eq!(
        found[3].2,
        "`ignroe` is not an action [did you mean `ignore`?]"
    );
    assert_eq!(
        found[5].2,
        "`timestmp` is not a type [did you mean `timestamp`?]"
    );
    assert_eq!(
        found[13].2,
        "`heder` is not a part [did you mean `header`?]"
    );
    assert!(
        found[14]
            .2
            .starts_with("the rule has no action [add `action`: ignore, ")
    );
}

#[test]
fn a_rule_ceases_at_its_date() {
    let mut rule = config("a", "/x", "ignore");
    rule.expires = Some("2026-07-01".to_owned());
    let rules = Rules::compile(&[rule], time("2026-06-01T00:00:00Z")).expect("rules");
    assert_eq!(
        rules.scope(None, time("2026-06-30T23:59:59.999999Z")).body,
        [0]
    );
    assert!(
        rules
            .scope(None, time("2026-07-01T00:00:00Z"))
            .body
            .is_empty()
    );
}

#[test]
fn rules_that_cookies_cannot_have_are_refused() {
    let cookie = |path: &str, action: &str| {
        let mut rule = config("a", path, action);
        rule.part = Some("header".to_owned());
        rule
    };
    let refused = |rule: RuleConfig| errors(&[rule]).remove(0);
    for attribute in ["expires", "Max-Age", "secure"] {
        let path = format!("set-cookie/session/{attribute}");
        let (_, key, message) = refused(cookie(&path, "ignore"));
        assert_eq!(key, "path");
        let hint = "write `set-cookie/session`, which is the cookie with its attributes";
        assert_eq!(
            message,
            format!("`{path}`: there is no path to the attribute {attribute} of a cookie [{hint}]")
        );
    }
    let mut tolerance = cookie("Set-Cookie", "tolerance");
    tolerance.absolute = Some("1".to_owned());
    let mut accept = cookie("set-cookie/*", "accept");
    accept.explanations = vec!["case_only".to_owned()];
    for rule in [tolerance, accept, cookie("set-cookie/sid", "unordered")] {
        let action = rule.action.clone();
        let (_, key, message) = refused(rule);
        assert_eq!(key, "action");
        assert_eq!(
            message,
            format!(
                "`{action}` has no meaning for cookies [a cookie can only be ignored or renamed]"
            )
        );
    }
    let right = ["ignore", "mask", "rename"].map(|action| {
        let mut rule = cookie("set-cookie/session", action);
        rule.id = action.to_owned();
        // Letter case counts.
        rule.to = (action == "rename").then(|| "Session".to_owned());
        rule
    });
    assert!(Rules::compile(&right, time("2026-06-01T00:00:00Z")).is_ok());
}

#[test]
fn what_may_be_chance_is_never_accepted() {
    let found = errors(&[accept("m", "accept", &["type_only", "moved"])]);
    let [(0, key, text)] = &*found else {
        panic!("{found:?}");
    };
    assert_eq!(key, "explanations");
    assert!(text.contains("`moved` cannot be accepted"), "{text}");
    assert!(text.contains("two rules with `ignore`"), "{text}");
    let found = errors(&[accept("o", "accept", &["other_name"])]);
    let [(0, _, text)] = &*found else {
        panic!("{found:?}");
    };
    assert!(
        text.contains("`other_name` cannot be accepted") && text.contains("`rename`"),
        "{text}"
    );
}

#[test]
fn every_wrong_value_of_an_action_is_told_with_its_key() {
    let with = |action: &str, set: &dyn Fn(&mut RuleConfig)| {
        let mut config = config("r", "/x", action);
        set(&mut config);
        config
    };
    let some = |text: &str| Some(text.to_owned());
    for (rule, key, message) in [
        (with("scale", &|_| {}), "factor", "needs a factor"),
        (
            with("scale", &|rule| rule.factor = some("x")),
            "factor",
            "`x` is not a factor",
        ),
        (
            with("scale", &|rule| rule.factor = some("0")),
            "factor",
            "`0` is not a factor",
        ),
        (
            with("scale", &|rule| rule.factor = some("-2")),
            "factor",
            "`-2` is not a factor",
        ),
        (
            with("scale", &|rule| rule.factor = some("1.0")),
            "factor",
            "`1.0` is not a factor",
        ),
        (
            with("parts", &|_| {}),
            "pattern",
            "needs a regular expression",
        ),
        (
            with("parts", &|rule| rule.pattern = some("a(")),
            "pattern",
            "unclosed group",
        ),
        (
            with("parts", &|rule| rule.pattern = some("ab")),
            "pattern",
            "it has no group",
        ),
        (
            with("tolerance", &|rule| rule.within = some("2 s")),
            "within",
            "`2 s` is not a duration",
        ),
        (
            with("tolerance", &|rule| rule.within = some("-2s")),
            "within",
            "`-2s` is not a duration",
        ),
        (
            with("tolerance", &|rule| {
                rule.within = some("2s");
                rule.absolute = some("1");
            }),
            "absolute",
            "more than one bound",
        ),
        (
            with("key", &|rule| {
                rule.field = some("a");
                rule.fields = vec!["b".to_owned()];
            }),
            "fields",
            "both `field` and `fields`",
        ),
        (
            with("key", &|rule| {
                rule.fields = vec!["a".to_owned(), String::new()];
            }),
            "fields",
            "needs the field",
        ),
        (
            with("ignore", &|rule| rule.pattern = some("(a)")),
            "pattern",
            "no meaning",
        ),
    ] {
        let found = errors(&[rule]);
        let [(0, its, text)] = &*found else {
            panic!("{key}, {message}: {found:?}");
        };
        assert_eq!(its, key, "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn names_and_parts_of_a_text_are_checked_with_a_suggestion() {
    for (text, key, expected) in [
        (
            "path = '/a'; action = 'rename'",
            "to",
            "needs the name that the candidate uses [add for example",
        ),
        (
            "path = '/a'; action = 'rename'; to = ''",
            "to",
            "needs the name",
        ),
        (
            "path = ''; action = 'rename'; to = 'b'",
            "path",
            "does not end with a name",
        ),
        (
            "path = '/a/*'; action = 'rename'; to = 'b'",
            "path",
            "[end it with the name that the legacy uses",
        ),
        (
            "path = '$.a[0]'; action = 'rename'; to = 'b'",
            "path",
            "does not end with a name",
        ),
        (
            "path = '/a/b'; action = 'rename'; to = 'b'",
            "to",
            "`b` is the old name, too",
        ),
        (
            "path = '/a/b'; action = 'rename'; to = '/a/c'",
            "to",
            "[write the name alone: `to = \"c\"`]",
        ),
        (
            "path = '/a'; action = 'ignore'; to = 'b'",
            "to",
            "use `action = \"rename\"`",
        ),
        (
            "path = '/a'; action = 'renam'; to = 'b'",
            "action",
            "did you mean `rename`",
        ),
        (
            "part = 'status'; action = 'rename'; to = 'b'",
            "action",
            "has no meaning for part `status`",
        ),
        (
            "part = 'status'; action = 'rename'",
            "action",
            "has no meaning for part `status`",
        ),
        (
            "part = 'header'; path = 'x-a'; action = 'rename'; to = 'b c'",
            "to",
            "is not a header name",
        ),
        (
            "part = 'header'; path = 'x-a'; action = 'rename'; to = 'X-A'",
            "to",
            "is the old name, too",
        ),
        (
            "part = 'header'; path = '*'; action = 'rename'; to = 'x-a'",
            "path",
            "does not end with a name",
        ),
        (
            "part = 'header'; path = 'Set-Cookie'; action = 'rename'; to = 'b'",
            "path",
            "does not end with a name",
        ),
        (
            "part = 'header'; path = 'set-cookie/*'; action = 'rename'; to = 'b'",
            "path",
            "[end it with the name that the legacy uses, for example `set-cookie/session`]",
        ),
        (
            "part = 'header'; path = 'set-cookie/a'; action = 'rename'; to = 'Set-Cookie/b'",
            "to",
            "[write the name alone: `to = \"b\"`]",
        ),
        (
            "part = 'header'; path = 'set-cookie/a'; action = 'rename'; to = 'b=c'",
            "to",
            "is not the name of a cookie",
        ),
        (
            "part = 'header'; path = 'set-cookie/a'; action = 'rename'; to = 'a'",
            "to",
            "is the old name, too",
        ),
        (
            "part = 'header'; path = 'set-cookie/a'; action = 'rename'",
            "to",
            "needs the name",
        ),
        (
            "part = 'header'; path = 'x-a'; action = 'rename'; to = 'set-cookie'",
            "to",
            "`x-a` is a header, and `set-cookie` has cookies",
        ),
        (
            "line = '0'; action = 'ignore'",
            "line",
            "is no number of a line [write a number from 1",
        ),
        (
            "line = 'a('; action = 'ignore'",
            "line",
            "regular expression such as",
        ),
        (
            "line = 'a*'; action = 'ignore'",
            "line",
            "found in every line",
        ),
        (
            "column = 'two'; action = 'ignore'",
            "column",
            "[write the number of one column",
        ),
        (
            "characters = '9-3'; action = 'ignore'",
            "characters",
            "[write the first and the last",
        ),
        (
            "column = '1'; characters = '9'; action = 'ignore'",
            "characters",
            "[give one of them]",
        ),
        (
            "path = '/a'; line = '1'; action = 'ignore'",
            "path",
            "which has no fields [remove `path`, or `line`]",
        ),
        (
            "part = 'header'; path = 'x-a'; line = '1'; action = 'ignore'",
            "line",
            "for the body only",
        ),
        (
            "line = '1'; action = 'unordered'",
            "action",
            "no meaning for a part of a text [use ignore",
        ),
        (
            "line = '1'; action = 'mask'",
            "action",
            "no meaning for a part of a text",
        ),
        (
            "element = 'input'; action = 'ignore'",
            "attribute",
            "[add for example `attribute = \"value\"`]",
        ),
        (
            "element = 'meta[name=t]'; action = 'ignore'",
            "attribute",
            "\"content\"",
        ),
        (
            "attribute = 'value'; action = 'ignore'",
            "element",
            "needs the `element`",
        ),
        (
            "element = 'p'; attribute = 'a b'; action = 'ignore'",
            "attribute",
            "is not the name of an attribute",
        ),
        (
            "element = '#t'; attribute = 'value'; action = 'ignore'",
            "element",
            "[write a name with tests",
        ),
        (
            "element = 'p'; attribute = 'x'; line = '1'; action = 'ignore'",
            "line",
            "[write two rules]",
        ),
        (
            "elemnt = 'p'; action = 'ignore'",
            "elemnt",
            "did you mean `element`",
        ),
    ] {
        let table = format!("[[rule]]\nid = 'r'\n{}\n", text.replace("; ", "\n"));
        let found = match config::parse(&table) {
            Ok(configs) => errors(&configs),
            Err(config::TextError::Rules(wrong)) => wrong
                .iter()
                .map(|error| (0, error.key.to_string(), format!("{error}{:?}", error.hint)))
                .collect(),
            Err(other) => panic!("{text}: {other}"),
        };
        let told = found
            .iter()
            .any(|(_, at, message)| at == key && message.contains(expected));
        assert!(told && found.len() == 1, "{text}: {found:?}");
    }
}

#[test]
fn names_and_parts_of_a_text_are_in_the_hash() {
    let hash = |text: &str| {
        let table = format!("[[rule]]\nid = 'r'\n{}\n", text.replace("; ", "\n"));
        let configs = config::parse(&table).expect("a rule");
        let rules = Rules::compile(&configs, time("2026-06-01T00:00:00Z")).expect("a rule");
        rules.hash().to_owned()
    };
    let all = [
        "path = '/a'; action = 'rename'; to = 'b'",
        "path = '/a'; action = 'rename'; to = 'c'",
        "path = '/b'; action = 'rename'; to = 'c'",
        "action = 'ignore'",
        "line = '1'; action = 'ignore'",
        "line = '[1]'; action = 'ignore'",
        "line = '1'; action = 'as'; type = 'number'",
        "line = '1'; column = '1'; action = 'ignore'",
        "line = '1'; characters = '1'; action = 'ignore'",
        "column = '1'; action = 'ignore'",
        "element = 'a'; attribute = 'b'; action = 'ignore'",
        "element = 'a[b]'; attribute = 'b'; action = 'ignore'",
        "element = 'a[b=c]'; attribute = 'b'; action = 'ignore'",
        "element = 'a'; attribute = 'c'; action = 'ignore'",
    ];
    let hashes: std::collections::HashSet<String> = all.iter().map(|text| hash(text)).collect();
    assert_eq!(hashes.len(), all.len());
}
