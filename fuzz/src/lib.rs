//! The laws that fuzzing tries to break, for the targets. They are the comparator's tests, where a stable compiler
//! drives them as well.

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

/// A configuration of rules, and two documents that are walked with it.
pub fn rules(data: &[u8]) {
    targets::rules(data);
}

/// Two YAML texts.
pub fn yaml(data: &[u8]) {
    targets::yaml(data);
}
