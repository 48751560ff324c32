//! What a replay says in the end of what it put in the place of recorded cookies and tokens.

use parity_dashboards::terminal::{grouped, plural};
use parity_mirror::replay::{Hidden, RuleUsed, Substituted};

use crate::config::Substitute;
use crate::config::substitutes::Source;

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
