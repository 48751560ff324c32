//! Checks a JSON value against a JSON Schema, as far as ours go. A keyword that is not known here is a failure of the test, so
//! nothing is taken for checked that is not.

use serde_json::Value;

/// Keywords that say nothing of what is valid.
const SILENT: [&str; 9] = [
    "$schema",
    "$ref",
    "$defs",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
];

/// What is wrong with a value, each with its place; `whole` is the document that references are looked up in.
pub(crate) fn wrong(whole: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(whole, schema, value, "", &mut found);
    found
}

fn is_valid(whole: &Value, schema: &Value, value: &Value) -> bool {
    wrong(whole, schema, value).is_empty()
}

#[expect(clippy::too_many_lines, reason = "one arm for each keyword")]
fn check(whole: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = match schema {
        Value::Bool(true) => return,
        Value::Object(schema) => schema,
        other => {
            found.push(format!("{at}: nothing is valid by {other}"));
            return;
        }
    };
    if let Some(to) = schema.get("$ref") {
        let to = to
            .as_str()
            .and_then(|to| to.strip_prefix('#'))
            .expect("a pointer");
        let named = whole
            .pointer(to)
            .unwrap_or_else(|| panic!("no schema at {to}"));
        check(whole, named, value, at, found);
    }
    for (keyword, rule) in schema {
        if SILENT.contains(&keyword.as_str()) || keyword.starts_with("x-") {
            continue;
        }
        let list = || rule.as_array().expect("a list");
        let is_right = match keyword.as_str() {
            "type" => match rule {
                Value::Array(types) => types.iter().any(|one| is_of(one, value)),
                one => is_of(one, value),
            },
            "const" => rule == value,
            "enum" => list().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= rule.as_f64().expect("a number")),
            "maximum" => value
                .as_f64()
                .is_none_or(|number| number <= rule.as_f64().expect("a number")),
            "minItems" => value
                .as_array()
                .is_none_or(|all| all.len() as u64 >= rule.as_u64().expect("a count")),
            "maxItems" => value
                .as_array()
                .is_none_or(|all| all.len() as u64 <= rule.as_u64().expect("a count")),
            "anyOf" => list().iter().any(|one| is_valid(whole, one, value)),
            "oneOf" => {
                list()
                    .iter()
                    .filter(|one| is_valid(whole, one, value))
                    .count()
                    == 1
            }
            "allOf" => list().iter().all(|one| is_valid(whole, one, value)),
            "required" => value.as_object().is_none_or(|members| {
                list()
                    .iter()
                    .all(|name| members.contains_key(name.as_str().expect("a name")))
            }),
            "properties" => {
                let members = value.as_object();
                for (name, rule) in rule.as_object().expect("an object") {
                    if let Some(member) = members.and_then(|members| members.get(name)) {
                        check(whole, rule, member, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let declared = schema.get("properties").and_then(Value::as_object);
                for (name, member) in value.as_object().into_iter().flatten() {
                    if !declared.is_some_and(|declared| declared.contains_key(name)) {
                        check(whole, rule, member, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "propertyNames" => value.as_object().is_none_or(|members| {
                members
                    .keys()
                    .all(|name| is_valid(whole, rule, &Value::from(name.as_str())))
            }),
            "items" => {
                let first = schema
                    .get("prefixItems")
                    .and_then(Value::as_array)
                    .map_or(0, Vec::len);
                for (number, one) in value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate()
                    .skip(first)
                {
                    check(whole, rule, one, &format!("{at}/{number}"), found);
                }
                true
            }
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten();
                for (number, (rule, one)) in list().iter().zip(items).enumerate() {
                    check(whole, rule, one, &format!("{at}/{number}"), found);
                }
                true
            }
            "uniqueItems" => true,
            unknown => panic!("{at}: the keyword {unknown} is not checked here"),
        };
        if !is_right {
            let text = value.to_string();
            let shown: String = text.chars().take(200).collect();
            found.push(format!("{at}: {shown} is not right by {keyword} {rule}"));
        }
    }
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn what_is_wrong_is_found() {
    use serde_json::json;
    let whole = json!({"$defs": {"word": {"enum": ["a", "b"]}}});
    for (schema, right, wrong_one) in [
        (json!({"type": "string"}), json!("x"), json!(1)),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (
            json!({"type": "integer", "minimum": 0}),
            json!(0),
            json!(-1),
        ),
        (json!({"type": "integer"}), json!(1), json!(1.5)),
        (json!({"$ref": "#/$defs/word"}), json!("a"), json!("c")),
        (
            json!({"properties": {"a": {"type": "null"}}}),
            json!({"a": null, "b": 1}),
            json!({"a": 1}),
        ),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
        (
            json!({"additionalProperties": false}),
            json!({}),
            json!({"a": 1}),
        ),
        (json!({"items": {"const": 1}}), json!([1, 1]), json!([1, 2])),
        (
            json!({"prefixItems": [{"const": 1}], "items": {"const": 2}}),
            json!([1, 2]),
            json!([1, 1]),
        ),
        (
            json!({"oneOf": [{"const": 1}, {"type": "integer"}]}),
            json!(2),
            json!(1),
        ),
        (
            json!({"anyOf": [{"const": 1}, {"const": 2}]}),
            json!(2),
            json!(3),
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"maximum": 2}]}),
            json!(2),
            json!(3),
        ),
    ] {
        assert_eq!(
            wrong(&whole, &schema, &right),
            <Vec<String>>::new(),
            "{schema}"
        );
        assert!(!wrong(&whole, &schema, &wrong_one).is_empty(), "{schema}");
    }
}
