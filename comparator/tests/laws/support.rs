//! Documents of every shape, and how the tests compare them.

use std::fmt::Write as _;
use std::sync::Arc;

use parity_comparator::{Comparator, Comparison, DocumentKind, Limits, RuleConfig, Rules};
use parity_schemas::time::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn compare_with(
    rules: &[RuleConfig],
    legacy: &[u8],
    candidate: &[u8],
    kind: DocumentKind,
) -> Comparison {
    let now = Timestamp::from_micros(0);
    let rules = Rules::compile(rules, now).expect("the rules are right");
    Comparator::new(Arc::new(rules), Limits::default())
        .compare_documents(legacy, candidate, kind, now)
}

pub(crate) fn compare(legacy: &[u8], candidate: &[u8]) -> Comparison {
    compare_with(&[], legacy, candidate, DocumentKind::Json)
}

pub(crate) fn rule(id: &str, path: &str, action: &str, absolute: Option<&str>) -> RuleConfig {
    RuleConfig {
        absolute: absolute.map(str::to_owned),
        ..RuleConfig::new(id, path, action)
    }
}

pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        "[a-zA-Zäß😀\"\\\\/\n ]{0,12}".prop_map(Value::from),
    ]
}

pub(crate) fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            // Sometimes the key that identifies elements.
            prop::collection::btree_map("[a-zé\"~/]{0,4}|id|id", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A document of few distinct values, so that two of them have much in common, which is what alignment works on.
pub(crate) fn crowded() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        (0..4).prop_map(Value::from),
        Just(Value::Null),
        Just(Value::from("a"))
    ];
    scalar.prop_recursive(4, 40, 8, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            1 => prop::collection::btree_map("a|b|id", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Two documents of either sort.
pub(crate) fn pair() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![(document(), document()), (crowded(), crowded())]
}

/// The same document written differently: keys in reverse order, spaces, every character of strings escaped.
pub(crate) fn rewritten(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            out.push_str("{ ");
            for (index, (key, member)) in members.iter().rev().enumerate() {
                if index > 0 {
                    out.push_str(" ,\n");
                }
                escaped(key, out);
                out.push_str(" :\t");
                rewritten(member, out);
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push_str("[ ");
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push_str(" , ");
                }
                rewritten(element, out);
            }
            out.push(']');
        }
        Value::String(text) => escaped(text, out),
        Value::Number(number) => {
            // The same decimal with another exponent.
            let text = number.to_string();
            match text.as_str() {
                "0" => out.push_str("0.0"),
                text if text.contains(['e', '.']) => out.push_str(text),
                text => write!(out, "{text}0e-1").expect("memory"),
            }
        }
        other => out.push_str(&other.to_string()),
    }
}

pub(crate) fn escaped(text: &str, out: &mut String) {
    out.push('"');
    for unit in text.encode_utf16() {
        write!(out, "\\u{unit:04X}").expect("memory");
    }
    out.push('"');
}

/// Pointers to all scalars.
pub(crate) fn scalars(value: &Value, pointer: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                scalars(member, &format!("{pointer}/{key}"), out);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                scalars(element, &format!("{pointer}/{index}"), out);
            }
        }
        _ => out.push(pointer.to_owned()),
    }
}

/// A document like those that services send, whose elements are identified by more than their position.
pub(crate) fn service_document() -> impl Strategy<Value = Value> {
    let order = (any::<u32>(), "[a-z]{3,8}", prop::collection::vec("[a-z]{2,5}", 0..4))
        .prop_map(|(amount, name, tags)| json!({"amount": amount, "name": name, "tags": tags, "open": true}));
    (prop::collection::vec(order, 1..8), "[a-z]{5}", any::<u32>()).prop_map(
        |(orders, name, total)| {
            let orders: Vec<Value> = orders
                .into_iter()
                .enumerate()
                .map(|(index, mut order)| {
                    order["id"] = json!(format!("ord-{index}"));
                    order
                })
                .collect();
            json!({"orders": orders, "owner": {"name": name, "total": total}, "rates": [1, 2, 3]})
        },
    )
}
