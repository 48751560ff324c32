//! The properties that fuzzing tries to break. They belong to the comparator's tests, which run them with a stable
//! compiler, too.

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

/// Two YAML texts.
pub fn yaml(data: &[u8]) {
    targets::yaml(data);
}
