//! What a replay puts in the place of recorded cookies and tokens, and what it says of that in the end.

use std::borrow::Cow;

use anyhow::Result;
use parity_comparator::decode;
use parity_comparator::redact::RedactConfig;
use parity_dashboards::terminal::{grouped, plural};
use parity_mirror::replay::{Cookies, Hidden, Part, RuleUsed, Substituted, Substitutions};
use parity_schemas::exchange::Capture;

use crate::config::substitutes::Source;
use crate::config::{MirrorSettings, Substitute};

/// Largest body that a value is looked for in, once it is decoded: answers with tokens are small.
const MAX_DECODED: usize = 8 << 20;

/// With the values of files and variables. What they are put into, and taken from, is hidden in the record.
pub(in crate::commands) fn substitutions(
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

/// What became of each rule, and what was sent hidden.
pub(super) fn summary(substitutes: &[Substitute], done: &Substituted) -> Vec<String> {
    let mut lines = Vec::new();
    if done.cookies() > 0 {
        let requests = plural(done.cookies(), "request", "requests");
        lines.push(format!(
            "{requests} went to a service with cookies that it had set"
        ));
    }
    for (substitute, used) in substitutes.iter().zip(done.rules()) {
        lines.extend(of_rule(substitute, used));
    }
    if done.forgotten() > 0 {
        let sessions = plural(done.forgotten(), "session was", "sessions were");
        lines.push(format!(
            "warning: the values of {sessions} forgotten, because there were too many; their later requests went as recorded"
        ));
    }
    lines.extend(of_hidden(&done.hidden()));
    lines
}

fn of_rule(substitute: &Substitute, used: RuleUsed) -> Vec<String> {
    let name = &substitute.name;
    let mut lines = Vec::new();
    if used.put > 0 {
        let requests = plural(used.put, "request", "requests");
        lines.push(format!(
            "{name}: a value was put into {requests} to one service"
        ));
    } else {
        let why = match &substitute.source {
            Source::Answers { from, .. } if used.answers == 0 => format!(
                "no answer to `{}` came within a session; a write is only sent with --allow-unsafe or by a [[route]], and formats without sessions need --one-session",
                from.label()
            ),
            Source::Answers { from, take } if used.taken == 0 => format!(
                "none of {} to `{}` had a value at {take}",
                plural(used.answers, "answer", "answers"),
                from.label()
            ),
            _ if used.requests == 0 => {
                "no request that was sent has this part; `to` names requests that get it in any case".to_owned()
            }
            _ if used.refused > 0 => "the value cannot be put there".to_owned(),
            _ => "no request came after the value in its session".to_owned(),
        };
        lines.push(format!("warning: {name} never applied: {why}"));
    }
    if used.put > 0 && used.waiting > 0 {
        lines.push(format!(
            "{name}: {} went as recorded, because the service had given out no value in the session yet",
            plural(used.waiting, "request", "requests")
        ));
    }
    if used.put > 0 && used.refused > 0 {
        lines.push(format!(
            "warning: {name}: the value could not be put into {}",
            plural(used.refused, "request", "requests")
        ));
    }
    if used.put > 0 && used.answers > used.taken {
        lines.push(format!(
            "{name}: {} had no value",
            plural(used.answers - used.taken, "answer", "answers")
        ));
    }
    lines
}

fn of_hidden(hidden: &Hidden) -> Option<String> {
    if hidden.requests == 0 {
        return None;
    }
    let mut parts: Vec<_> = hidden.parts.iter().collect();
    parts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let mut names: Vec<_> = parts
        .iter()
        .map(|(name, count)| format!("{name} ({})", grouped(**count)))
        .collect();
    if hidden.others > 0 {
        names.push(format!("others ({})", grouped(hidden.others)));
    }
    Some(format!(
        "warning: {} sent without what the recording hides, because no [[substitute]] sets it: {}. Hidden header fields are left out, \
         and anything else is sent as `hmac:…`. Where that is a login, both services refuse it, and that they agree says little",
        plural(hidden.requests, "request was", "requests were"),
        names.join(", ")
    ))
}
