//! Suggested rules as text that can stand in a parity.toml: what is no rule is a comment.
//!
//! It quotes captured text, and goes into a file. So each line of a comment is visible text without a line break, and the rule
//! itself is written by the code that writes TOML.

use std::fmt::Write;

use parity_comparator::RuleConfig;
use parity_schemas::suggested::{Effect, SuggestedRule, Suggestions, Unruled};
use parity_schemas::verdict::Part;
use parity_schemas::visible::{visible, visible_value};

use super::MAX_VALUE_CHARS;
use crate::view::words::{grouped, plural, shown};

/// Routes named of one rule; more are counted.
const MAX_ROUTES: usize = 3;
/// Groups without a rule that are listed; more are counted. The JSON document has all.
const MAX_UNRULED: usize = 40;

/// All of it.
pub fn suggested(found: &Suggestions) -> String {
    let mut out = String::new();
    let rules = plural(found.rules.len() as u64, "rule", "rules");
    comment(
        &mut out,
        &format!(
            "{rules} suggested for migration {}, {} of which count as differing",
            found.migration,
            plural(found.differing, "request", "requests")
        ),
    );
    if !found.rules.is_empty() {
        comment(
            &mut out,
            &format!(
                "with all of them, at least {} would be equal",
                plural(found.excused_at_least, "mismatch", "mismatches")
            ),
        );
    }
    if found.noise > 0 {
        let places = plural(found.noise, "group is", "groups are");
        comment(
            &mut out,
            &format!("{places} proven noise: it does not count, so it needs no rule"),
        );
    }
    for effect in Effect::ALL {
        let mut of_it = found
            .rules
            .iter()
            .filter(|rule| rule.effect == *effect)
            .peekable();
        if of_it.peek().is_some() {
            out.push('\n');
            comment(&mut out, &format!("--- {effect}: {} ---", effect.meaning()));
        }
        for rule in of_it {
            out.push('\n');
            out.push_str(&suggested_rule(rule));
        }
    }
    if !found.unruled.is_empty() {
        out.push('\n');
        comment(&mut out, "no rule is suggested for these:");
        for unruled in found.unruled.iter().take(MAX_UNRULED) {
            comment(&mut out, &format!("  {}", without_rule(unruled)));
        }
        let more = found.unruled.len().saturating_sub(MAX_UNRULED) as u64;
        if more > 0 {
            let more = plural(more, "more group", "more groups");
            comment(&mut out, &format!("  … and {more}; --output json has all"));
        }
    }
    out
}

/// One rule with its comment.
pub fn suggested_rule(suggested: &SuggestedRule) -> String {
    let mut out = String::new();
    let SuggestedRule {
        rule,
        effect,
        at_least,
        at_most,
        routes,
        ..
    } = suggested;
    let covered = match (at_least, at_most) {
        (least, most) if least == most => plural(*least, "mismatch", "mismatches"),
        (least, most) => format!("{} to {} mismatches", grouped(*least), grouped(*most)),
    };
    let mut named: Vec<String> = routes
        .iter()
        .take(MAX_ROUTES)
        .map(|route| shown(route))
        .collect();
    if routes.len() > MAX_ROUTES {
        named.push(format!("{} more", routes.len() - MAX_ROUTES));
    }
    let groups = plural(suggested.fingerprints.len() as u64, "group", "groups");
    comment(
        &mut out,
        &format!("covers: {covered} in {groups} on {}", named.join(", ")),
    );
    if let Some(example) = &suggested.example {
        let side = |value: &Option<String>| {
            value.as_deref().map_or("(absent)".to_owned(), |value| {
                visible_value(value, MAX_VALUE_CHARS)
            })
        };
        let (legacy, candidate) = (side(&example.legacy), side(&example.candidate));
        comment(
            &mut out,
            &format!("example: {}: {legacy} → {candidate}", shown(&example.path)),
        );
    }
    if suggested.exceptions > 0 {
        let others = plural(
            suggested.exceptions,
            "other group differs",
            "other groups differ",
        );
        comment(
            &mut out,
            &format!("exceptions: {others} there in another way, and still will"),
        );
    }
    comment(
        &mut out,
        &format!("excuses from now on, {}", suggested.reach),
    );
    comment(&mut out, &format!("{effect}: {}", effect.meaning()));
    out.push_str("[[rule]]\n");
    out.push_str(&RuleConfig::from(rule).to_toml());
    out
}

fn without_rule(unruled: &Unruled) -> String {
    let place = match (unruled.part, unruled.pattern.as_str()) {
        (part, "") => part.to_string(),
        (Part::Body, path) => shown(path),
        (part, path) => format!("{part} {}", shown(path)),
    };
    format!(
        "{}: {place} {}, in {}: {}",
        shown(&unruled.route),
        unruled.kind.meaning(),
        plural(unruled.count, "mismatch", "mismatches"),
        unruled.why
    )
}

/// One line, whatever the text holds.
fn comment(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "# {}", visible(text));
}
