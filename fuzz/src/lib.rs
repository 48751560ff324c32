//! The laws that the fuzzing targets try to break. They are tests of the comparator, where a stable compiler runs them
//! as well.

#[path = "../../comparator/tests/targets/mod.rs"]
mod targets;

/// Whole answers with their encodings.
pub fn decode(data: &[u8]) {
    targets::decode(data);
}

/// Two JSON texts.
pub fn json(data: &[u8]) {
    targets::json(data);
}

/// A configuration of rules, and two documents that are compared with it.
pub fn rules(data: &[u8]) {
    targets::rules(data);
}

/// Two XML texts.
pub fn xml(data: &[u8]) {
    targets::xml(data);
}

/// Two YAML texts.
pub fn yaml(data: &[u8]) {
    targets::yaml(data);
}
