//! Suggested rules as text that can stand in a parity.toml: what is no rule is a comment.
//!
//! It quotes captured text, and goes into a file. So each line of a comment is visible text without a line break, and the rule
//! itself is written by the code that writes TOML.
//!
//! A lossy rule may excuse a fault that is near in the same way, so whoever copies everything must not get it: it is a comment, too,
//! until somebody has decided on it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use parity_comparator::RuleConfig;
use parity_schemas::suggested::{Effect, NoisePlace, SuggestedRule, Suggestions, Unruled};
use parity_schemas::verdict::Part;
use parity_schemas::visible::{visible, visible_value};

use super::MAX_VALUE_CHARS;
use crate::view::words::{grouped, plural, shown};

/// Routes named of one rule; more are counted.
const MAX_ROUTES: usize = 3;
/// What to do with lossy rules.
const HOW_TO_DECIDE: &str = "each is commented out: read what it would hide, and delete the # before its lines if that is meant. `--lossy ID` does so \
    for one rule";
/// Lines of groups without a rule; the groups of more are counted. The JSON document has all.
const MAX_UNRULED: usize = 40;

/// All of it. Those lossy rules stand there as rules whose ids are `decided`.
pub fn suggested(found: &Suggestions, decided: &[String]) -> String {
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
                "they cover a difference of at least {}; of at least {} of these they cover all, and the others still differ",
                plural(found.covered_at_least, "mismatch", "mismatches"),
                grouped(found.excused_at_least)
            ),
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
            if *effect == Effect::Lossy {
                comment(&mut out, HOW_TO_DECIDE);
            }
        }
        for rule in of_it {
            out.push('\n');
            out.push_str(&about(rule));
            let is_open = *effect == Effect::Lossy && !decided.contains(&rule.rule.id);
            let mark = if is_open { "#" } else { "" };
            for line in as_toml(rule).lines() {
                let _infallible = writeln!(out, "{mark}{line}");
            }
        }
    }
    if !found.unruled.is_empty() {
        out.push('\n');
        comment(&mut out, "no rule is suggested for these:");
        let lines = folded(&found.unruled);
        for alike in lines.iter().take(MAX_UNRULED) {
            comment(&mut out, &format!("  {}", without_rule(alike)));
        }
        let more: usize = lines.iter().skip(MAX_UNRULED).map(Vec::len).sum();
        let more = more as u64;
        if more > 0 {
            let more = plural(more, "more group", "more groups");
            comment(&mut out, &format!("  … and {more}; --output json has all"));
        }
    }
    if !found.noise_places.is_empty() {
        out.push('\n');
        comment(&mut out, "where the legacy differs from itself, too:");
        let places = found.noise_places.iter();
        for noise in places.clone().take(MAX_UNRULED) {
            comment(&mut out, &format!("  {}", noise_place(noise)));
        }
        let more = places.skip(MAX_UNRULED).count() as u64;
        if more > 0 {
            let more = plural(more, "more place", "more places");
            comment(&mut out, &format!("  … and {more}; --output json has all"));
        }
    }
    out
}

fn noise_place(noise: &NoisePlace) -> String {
    format!(
        "{}: {} {}, in {}: {}",
        shown(&noise.route),
        place(noise.part, &noise.pattern),
        noise.kind.meaning(),
        plural(noise.count, "mismatch", "mismatches"),
        noise.why
    )
}

fn place(part: Part, pattern: &str) -> String {
    match (part, pattern) {
        (part, "") => part.to_string(),
        (Part::Body, path) => shown(path),
        (part, path) => format!("{part} {}", shown(path)),
    }
}

/// One rule with its comment, to stand in a file.
pub fn suggested_rule(suggested: &SuggestedRule) -> String {
    about(suggested) + &as_toml(suggested)
}

fn as_toml(suggested: &SuggestedRule) -> String {
    format!("[[rule]]\n{}", RuleConfig::from(&suggested.rule).to_toml())
}

/// What is said of a rule.
fn about(suggested: &SuggestedRule) -> String {
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
    let (on, _) = named(routes);
    let groups = plural(suggested.fingerprints.len() as u64, "group", "groups");
    comment(&mut out, &format!("covers: {covered} in {groups} on {on}"));
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
        let still = match &rule.factor {
            Some(factor) => format!("still will unless it is exactly {factor} times"),
            None => "still will".to_owned(),
        };
        comment(
            &mut out,
            &format!("exceptions: {others} there in another way, and {still}"),
        );
    }
    if *effect == Effect::Lossy && !suggested.alone_on.is_empty() {
        let (named, it) = named(&suggested.alone_on);
        comment(
            &mut out,
            &format!(
                "would hide: nothing else differs on {named}, so if this is a fault, {it} would look right"
            ),
        );
    }
    if suggested.noise_like > 0 {
        let groups = plural(
            suggested.noise_like,
            "group is noise or looks like it",
            "groups are noise or look like it",
        );
        comment(
            &mut out,
            &format!("noise: of these {groups}: the legacy itself differs there"),
        );
    }
    comment(
        &mut out,
        &format!("excuses from now on, {}", suggested.reach),
    );
    comment(&mut out, &format!("{effect}: {}", effect.meaning()));
    out
}

/// Some routes, and how they are called then.
fn named(routes: &[String]) -> (String, &'static str) {
    let named = routes.iter().take(MAX_ROUTES);
    let mut named: Vec<String> = named.map(|route| shown(route)).collect();
    if routes.len() > MAX_ROUTES {
        named.push(format!("{} more", routes.len() - MAX_ROUTES));
    }
    let called = if routes.len() == 1 { "it" } else { "they" };
    (named.join(", "), called)
}

/// Those that say the same of several routes together, in the order in which they come first.
fn folded(unruled: &[Unruled]) -> Vec<Vec<&Unruled>> {
    let mut lines: Vec<Vec<&Unruled>> = Vec::new();
    let mut place_of: HashMap<_, usize> = HashMap::new();
    for one in unruled {
        let said = (one.part, &one.pattern, one.kind, one.explanation, &one.why);
        let place = *place_of.entry(said).or_insert(lines.len());
        match lines.get_mut(place) {
            Some(line) => line.push(one),
            None => lines.push(vec![one]),
        }
    }
    lines
}

/// What is said of groups that are alike but for their routes.
fn without_rule(alike: &[&Unruled]) -> String {
    let Some(unruled) = alike.first() else {
        return String::new();
    };
    let routes: BTreeSet<&str> = alike.iter().map(|one| one.route.as_str()).collect();
    let counts = alike.iter().map(|one| one.count);
    let count = counts.fold(0, u64::saturating_add);
    let place = place(unruled.part, &unruled.pattern);
    let what = format!("{place} {}", unruled.kind.meaning());
    let what = match routes.len() {
        1 => format!("{}: {what}", shown(&unruled.route)),
        many => format!("{what}, on {many} routes"),
    };
    let mismatches = plural(count, "mismatch", "mismatches");
    format!("{what}, in {mismatches}: {}", unruled.why)
}

/// One line, whatever the text holds.
fn comment(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "# {}", visible(text));
}

#[cfg(test)]
mod tests {
    use parity_schemas::severity::Severity;
    use parity_schemas::verdict::Kind;

    use super::*;

    fn unruled(route: &str, pattern: &str, why: &str) -> Unruled {
        Unruled {
            route: route.to_owned(),
            part: Part::Header,
            pattern: pattern.to_owned(),
            kind: Kind::Missing,
            severity: Severity::Header,
            explanation: None,
            count: 250,
            fingerprints: Vec::new(),
            why: why.to_owned(),
        }
    }

    fn lines(unruled: Vec<Unruled>) -> Vec<String> {
        let found = Suggestions {
            unruled,
            ..Suggestions::default()
        };
        let text = suggested(&found, &[]);
        let lines = text
            .lines()
            .skip_while(|line| !line.ends_with("for these:"));
        lines.skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn what_is_said_of_several_routes_is_one_line() {
        let lost = "the candidate has lost it";
        let routes: Vec<String> = (0..6).map(|number| format!("GET /r{number}")).collect();
        let mut all = Vec::new();
        for route in &routes {
            all.push(unruled(route, "pragma", lost));
            all.push(unruled(route, "x-own\u{1b}\n", lost));
        }
        all.push(unruled("GET /r0", "pragma", "another reason"));
        assert_eq!(
            lines(all),
            [
                "#   header pragma is missing in the candidate, on 6 routes, in 1,500 mismatches: the candidate has lost it",
                "#   header x-own\\u{1b}\\u{a} is missing in the candidate, on 6 routes, in 1,500 mismatches: the candidate has lost it",
                "#   GET /r0: header pragma is missing in the candidate, in 250 mismatches: another reason",
            ]
        );
    }

    #[test]
    fn groups_of_lines_that_are_left_out_are_counted() {
        let places = (0..=MAX_UNRULED).flat_map(|number| {
            let at = format!("x-{number}");
            ["GET /a", "GET /b"].map(|route| unruled(route, &at, "why"))
        });
        let lines = lines(places.collect());
        assert_eq!(lines.len(), MAX_UNRULED + 1);
        assert_eq!(
            lines.last().map(String::as_str),
            Some("#   … and 2 more groups; --output json has all")
        );
    }
}
