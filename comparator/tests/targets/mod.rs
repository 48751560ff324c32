//! The laws that fuzzing tries to break: one function for each target, from any bytes to a panic where a law fails.
//!
//! They are here, not in `fuzz/`, so that an ordinary test on a stable compiler runs them too (`fuzz_targets.rs`) and
//! they do not break unnoticed between two fuzzing sessions. An input with a [`SEPARATOR`] is split into the two sides
//! of a comparison as it is. Any other input is read as a sequence of choices ([`source`]) from which documents are
//! built, so that mutations of the bytes are mutations of the structure.

mod decode;
mod json;
mod laws;
mod oracle;
mod rules;
mod source;
mod xml;
mod yaml;

pub(crate) use decode::decode;
pub(crate) use json::json;
pub(crate) use rules::rules;
pub(crate) use xml::xml;
pub(crate) use yaml::yaml;

use parity_comparator::Limits;

/// Separates the parts of an input that is used as it is.
pub(crate) const SEPARATOR: &[u8] = b"\n---8<---\n";

/// The parts between separators; `None` unless there are `N`.
fn parts<const N: usize>(data: &[u8]) -> Option<[&[u8]; N]> {
    let mut found = [&[][..]; N];
    let mut rest = data;
    let (last, others) = found.split_last_mut()?;
    for part in others {
        let at = rest
            .windows(SEPARATOR.len())
            .position(|window| window == SEPARATOR)?;
        *part = &rest[..at];
        rest = &rest[at + SEPARATOR.len()..];
    }
    *last = rest;
    Some(found)
}

/// The limits for an input: every other one gets limits so low that small inputs reach them.
fn limits(data: &[u8]) -> Limits {
    if data.len().is_multiple_of(2) {
        return Limits::default();
    }
    Limits {
        decoded_bytes: 1 << 16,
        work: 64,
        findings: 3,
        tolerated: 2,
        value_bytes: 8,
        text_diff_bytes: 32,
        ..Limits::default()
    }
}
