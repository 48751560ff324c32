//! Random rules, edits of them, and pairs of answers that such rules are about.

use parity_schemas::exchange::{Body, Capture};
use parity_schemas::fields::FieldLines;
use parity_schemas::tally::Group;
use parity_schemas::verdict::Part;

use crate::rules::{RuleConfig, config, factor_of};

/// Splitmix: the same cases in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// What rules name. `s` is taken for a secret name and `h@h` for a secret (see the tests); `17` is data.
const KEYS: &[&str] = &["a", "b", "id", "list", "s", "h@h", "17", "x_y", "xY"];

/// A JSON value that can be written with repeated keys.
#[derive(Clone)]
pub(super) enum Value {
    Text(&'static str),
    List(Vec<Value>),
    Object(Vec<(&'static str, Value)>),
}

const SCALARS: &[&str] = &[
    "0",
    "1",
    "1.0",
    "1.4",
    "2",
    "2.4",
    "\"1\"",
    "\"1.3\"",
    "\"x\"",
    "\"X\"",
    "null",
    "true",
    "\"\"",
    "1.25",
    "125",
    "\"2026-01-01T00:00:00Z\"",
    "\"2026-01-01T01:00:00+01:00\"",
    "[]",
    "{}",
];

/// Another value that is equal under some rule.
fn near(text: &str) -> &'static str {
    match text {
        "1" => "1.4",
        "1.4" | "\"1\"" => "1",
        "1.25" => "125",
        "2" => "\"2\"",
        "\"x\"" => "\"X\"",
        "\"2026-01-01T00:00:00Z\"" => "\"2026-01-01T01:00:00+01:00\"",
        "null" => "\"\"",
        "[]" | "\"\"" => "null",
        _ => "\"1\"",
    }
}

impl Value {
    pub(super) fn any(random: &mut Random, depth: usize) -> Self {
        match random.below(if depth == 0 { 1 } else { 4 }) {
            0 => Self::Text(random.pick(SCALARS)),
            1 => Self::List(
                (0..random.below(4))
                    .map(|_| Self::any(random, depth - 1))
                    .collect(),
            ),
            2 => {
                // Elements like those of a service.
                let element = |at: usize, random: &mut Random| {
                    let id = ["1", "2", "3", "4"][at];
                    let more = (random.pick(KEYS), Self::any(random, depth - 1));
                    Self::Object(vec![("id", Self::Text(id)), more])
                };
                Self::List((0..random.below(4)).map(|at| element(at, random)).collect())
            }
            _ => {
                let mut members: Vec<(&str, Self)> = Vec::new();
                for _ in 0..random.below(4) {
                    let key = random.pick(KEYS);
                    let repeats = members.iter().any(|(known, _)| *known == key);
                    if !repeats || random.one_in(3) {
                        members.push((key, Self::any(random, depth - 1)));
                    }
                }
                Self::Object(members)
            }
        }
    }

    pub(super) fn change(&mut self, random: &mut Random) {
        match self {
            Self::List(elements) if !elements.is_empty() && !random.one_in(8) => {
                let at = random.below(elements.len());
                match random.below(6) {
                    0 => elements.rotate_left(1),
                    1 => drop(elements.remove(at)),
                    2 => elements.push(Self::any(random, 1)),
                    _ => elements[at].change(random),
                }
            }
            Self::Object(members) if !members.is_empty() && !random.one_in(8) => {
                let at = random.below(members.len());
                match random.below(8) {
                    0 => drop(members.remove(at)),
                    1 => members.push((random.pick(KEYS), Self::any(random, 1))),
                    2 => members.rotate_left(1),
                    3 => members[at].0 = random.pick(KEYS),
                    _ => members[at].1.change(random),
                }
            }
            Self::Text(text) if !random.one_in(3) => *text = near(text),
            _ => *self = Self::any(random, 1),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    element.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.extend(["\"", key, "\":"]);
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn capture(status: u16, headers: &[(&str, &str)], body: &str) -> Capture {
    let mut lines = FieldLines::default();
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().expect("a name");
        lines.push(name, value.as_bytes());
    }
    Capture {
        status,
        headers: lines,
        body: Body::from(body.as_bytes().to_vec()),
        trailers: None,
        hidden: None,
        head_elapsed: std::time::Duration::ZERO,
        elapsed: std::time::Duration::ZERO,
    }
}

/// Two answers that differ in a few places, or in none.
pub(super) fn answers(random: &mut Random) -> [Capture; 2] {
    let mut value = Value::any(random, 4);
    let mut texts = [String::new(), String::new()];
    value.write(&mut texts[0]);
    for _ in 0..random.below(4) {
        value.change(random);
    }
    value.write(&mut texts[1]);
    let kind = match random.below(20) {
        0 => "text/plain",
        1 => {
            // Older readers take these for others.
            let [one, two] = &mut texts;
            one.push_str("\n---\non: yes\n");
            two.push_str(if random.one_in(2) {
                "\n---\non: \"yes\"\n"
            } else {
                "\n---\non: yes\n"
            });
            "application/yaml"
        }
        2 => {
            texts[random.below(2)].push('x');
            "application/json"
        }
        _ => "application/json",
    };
    let side = |random: &mut Random, body: &str| {
        let status = if random.one_in(20) { 201 } else { 200 };
        let list = if random.one_in(10) {
            random.pick(&["2, 1", "1.4", ""])
        } else {
            "1, 2"
        };
        let coding = if random.one_in(40) {
            "unknown"
        } else {
            "identity"
        };
        capture(
            status,
            &[
                ("content-type", kind),
                ("x-list", list),
                ("content-encoding", coding),
            ],
            body,
        )
    };
    [side(random, &texts[0]), side(random, &texts[1])]
}

fn path(random: &mut Random) -> String {
    if random.one_in(16) {
        return random
            .pick(&["$[0]", "$.list[1]", "$..a", "$.list[0].id"])
            .to_owned();
    }
    let mut path = String::new();
    for _ in 0..random.below(4) {
        path.push('/');
        path.push_str(match random.below(8) {
            0 | 1 => "**",
            2 | 3 => "*",
            4 => random.pick(&["0", "1"]),
            _ => random.pick(KEYS),
        });
    }
    path
}

pub(super) fn rule(random: &mut Random, id: &str) -> RuleConfig {
    let mut rule = RuleConfig::new(
        id,
        "",
        random.pick(&[
            "ignore",
            "ignore",
            "ignore",
            "accept",
            "accept",
            "accept",
            "tolerance",
            "scale",
            "as",
            "unordered",
            "key",
        ]),
    );
    if rule.action == "key" && random.one_in(2) {
        "rename".clone_into(&mut rule.action);
    }
    match random.below(12) {
        0 => {
            rule.part = Some("status".to_owned());
            "ignore".clone_into(&mut rule.action);
        }
        1 => {
            rule.part = Some("header".to_owned());
            random
                .pick(&["x-list", "content-type", "*"])
                .clone_into(&mut rule.path);
            if matches!(rule.action.as_str(), "key" | "rename") {
                "ignore".clone_into(&mut rule.action);
            }
        }
        _ => rule.path = path(random),
    }
    match rule.action.as_str() {
        "accept" => {
            for _ in 0..=random.below(3) {
                rule.explanations
                    .push((*random.pick(&config::explanations())).to_owned());
            }
            if random.one_in(2) {
                rule.explanations.push(
                    random
                        .pick(&["null_vs_missing", "type_only", "case_only"])
                        .to_owned(),
                );
            }
            if random.one_in(4) {
                rule.kind = Some(
                    random
                        .pick(&["value", "type", "missing", "extra"])
                        .to_owned(),
                );
            }
        }
        "key" => rule.field = Some("id".to_owned()),
        "rename" => {
            let from = random.pick(&["xY", "a"]);
            rule.path = format!("{}/{from}", random.pick(&["", "/**", "/list/*"]));
            rule.to = Some(random.pick(&["x_y", "b"]).to_owned());
        }
        "tolerance" => rule.absolute = Some("0.5".to_owned()),
        "scale" => rule.factor = Some("100".to_owned()),
        "as" => {
            rule.r#type = Some(
                random
                    .pick(&["number", "number", "timestamp", "uuid"])
                    .to_owned(),
            );
        }
        _ => {}
    }
    if random.one_in(12) {
        rule.route = Some("GET /other".to_owned());
    }
    rule
}

/// The rule that somebody writes who has seen a group.
pub(super) fn about(random: &mut Random, group: &Group, id: &str) -> RuleConfig {
    let mut rule = RuleConfig::new(id, &group.pattern, "ignore");
    rule.part = Some(group.part.to_string());
    if group.part == Part::Body {
        let mut segments: Vec<&str> = group.pattern.split('/').skip(1).collect();
        if !segments.is_empty() && random.one_in(3) {
            let at = random.below(segments.len());
            segments[at] = random.pick(&["*", "**", "0", "a"]);
        }
        rule.path = segments.iter().flat_map(|segment| ["/", segment]).collect();
        let explanation = group.explanation;
        if let Some(explanation) =
            explanation.filter(|word| config::explanations().contains(&word.as_str()))
            && !random.one_in(4)
        {
            if let Some(factor) = factor_of(explanation) {
                "scale".clone_into(&mut rule.action);
                rule.factor = Some(factor);
                return rule;
            }
            "accept".clone_into(&mut rule.action);
            rule.explanations.push(explanation.to_string());
        }
    }
    rule
}

/// Some rules.
pub(super) fn rules(random: &mut Random) -> Vec<RuleConfig> {
    let count = random.below(4);
    (0..count)
        .map(|index| rule(random, &format!("old-{index}")))
        .collect()
}

/// The rules after an edit, by somebody who has seen these groups.
pub(super) fn edited(
    random: &mut Random,
    old: &[RuleConfig],
    groups: &[&Group],
) -> Vec<RuleConfig> {
    let mut new: Vec<RuleConfig> = old.iter().filter(|_| !random.one_in(4)).cloned().collect();
    for index in 0..random.below(3) {
        let at = random.below(new.len() + 1);
        let id = format!("new-{index}");
        let added = if groups.is_empty() || random.one_in(3) {
            rule(random, &id)
        } else {
            {
                let group = random.pick(groups);
                about(random, group, &id)
            }
        };
        new.insert(at, added);
    }
    if random.one_in(8) {
        new.reverse();
    }
    new
}
