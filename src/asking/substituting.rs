//! What is put in the place of recorded cookies and tokens, as the settings say.

use std::borrow::Cow;

use anyhow::Result;
use parity_comparator::decode;
use parity_comparator::redact::RedactConfig;
use parity_mirror::replay::{Cookies, Part, Substituted, Substitutions};
use parity_schemas::exchange::Capture;

use crate::config::MirrorSettings;
use crate::config::substitutes::Source;

/// Largest body that a value is looked for in, once it is decoded: answers with tokens are small.
const MAX_DECODED: usize = 8 << 20;

/// With the values of files and variables. What they are put into, and taken from, is hidden in the record.
pub(crate) fn substitutions(
    settings: &mut MirrorSettings,
    cookies: Cookies,
) -> Result<Substitutions> {
    let mut rules = Vec::with_capacity(settings.substitutes.len());
    for substitute in &settings.substitutes {
        rules.push(substitute.read()?);
        hide(&substitute.put, &mut settings.redact);
        if let Source::Answers { take, .. } = &substitute.source {
            hide(take, &mut settings.redact);
        }
    }
    Ok(Substitutions {
        done: Substituted::of(rules.len()),
        rules,
        cookies,
        set: [
            &settings.mirror.policy.legacy,
            &settings.mirror.policy.candidate,
        ]
        .map(|service| service.set.iter().map(|(name, _)| name.clone()).collect()),
        decode: decoded,
    })
}

fn decoded<'a>(answer: &'a Capture, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    decode::of_answer(&answer.headers, body, MAX_DECODED)
}

/// Makes sure that a value is not recorded where it stands, in whatever message.
fn hide(part: &Part, redact: &mut RedactConfig) {
    let mut mask = |name: &str| {
        if name.contains(char::is_alphanumeric) && !redact.mask_keys.iter().any(|key| key == name) {
            redact.mask_keys.push(name.to_owned());
        }
    };
    match part {
        Part::Header(name) => {
            let keeps = |kept: &String| !kept.trim().eq_ignore_ascii_case(name.as_str());
            redact.keep_headers.retain(keeps);
        }
        // Never recorded.
        Part::Cookie(_) => {}
        Part::Query(name) | Part::Form(name) => {
            mask(name);
            redact.keep_query.retain(|kept| **kept != **name);
        }
        Part::Body(pointer) => {
            // An element of an array has the name of the array.
            let steps = pointer
                .rsplit('/')
                .map(|step| step.replace("~1", "/").replace("~0", "~"));
            let mut names = steps.filter(|step| step.parse::<usize>().is_err());
            if let Some(name) = names.next() {
                mask(&name);
            }
        }
    }
}
