//! What is put in the place of recorded cookies and tokens, as the settings say.

use std::borrow::Cow;

use anyhow::Result;
use http::header::HOST;
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
        .map(|service| {
            let set = service.set.iter().map(|(name, _)| name.clone());
            let host = service.host.iter().map(|_| HOST);
            set.chain(host)
                .chain(service.remove.iter().cloned())
                .collect()
        }),
        decode: decoded,
    })
}

fn decoded<'a>(answer: &'a Capture, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    decode::of_answer(&answer.headers, body, MAX_DECODED)
}

/// Makes sure that a value is not recorded where it stands, in whatever message.
fn hide(part: &Part, redact: &mut RedactConfig) {
    let mut mask = |name: &str| {
        let names_a_key = name.contains(char::is_alphanumeric);
        if names_a_key && !redact.mask_keys.iter().any(|key| key == name) {
            redact.mask_keys.push(name.to_owned());
        }
        names_a_key
    };
    match part {
        Part::Header(name) => {
            let keeps = |kept: &String| !kept.trim().eq_ignore_ascii_case(name.as_str());
            redact.keep_headers.retain(keeps);
        }
        // Never recorded.
        Part::Cookie(_) => {}
        Part::Query(name) | Part::Form(name) => {
            if !mask(name) {
                redact.mask_places.push(pointer_of([&**name]));
            }
            redact.keep_query.retain(|kept| **kept != **name);
        }
        Part::Body(pointer) => {
            let steps = pointer.split('/').skip(1);
            let steps: Vec<String> = steps
                .map(|step| step.replace("~1", "/").replace("~0", "~"))
                .collect();
            // An element of an array has the name of the array.
            let mut names = steps.iter().rev();
            let name = names.find(|step| step.parse::<usize>().is_err());
            if !name.is_some_and(|name| mask(name)) {
                // No name leads to it: a list is the whole body, or what names it has no letters.
                redact
                    .mask_places
                    .push(pointer_of(steps.iter().map(|step| &**step)));
            }
        }
    }
}

/// The JSON Pointer of these steps.
fn pointer_of<'s>(steps: impl IntoIterator<Item = &'s str>) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}
