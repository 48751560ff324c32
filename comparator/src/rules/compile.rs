//! From the text of rules to checked rules, and their hash.

use std::collections::HashMap;

use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use sha2::{Digest, Sha256};

use super::pattern::Pattern;
use super::{Action, Explanations, Rule, RuleConfig, RuleError};
use crate::notation::number::Decimal;

/// Version of what is equal by default. It is part of the rules hash, so evidence gathered under other semantics is
/// never added to new evidence. Raise it with every change that could turn a match into a mismatch or back.
pub(super) const COMPARATOR_VERSION: u32 = 3;

/// Rules are walked with every differing value; a thousand is far above what people can still review.
const MAX_RULES: usize = 1_000;
/// Digits of a tolerance: enough for every real one, and keeps its arithmetic cheap.
const MAX_TOLERANCE_BYTES: usize = 64;

/// What a rule can do.
pub const ACTIONS: &[&str] = &[
    "ignore",
    "accept",
    "unordered",
    "key",
    "tolerance",
    "as",
    "mask",
];
/// What `as` can read.
pub const TYPES: &[&str] = &["timestamp", "uuid", "number"];

pub(super) fn compile(configs: &[RuleConfig], now: Timestamp) -> Result<Vec<Rule>, Vec<RuleError>> {
    let mut errors = Vec::new();
    if configs.len() > MAX_RULES {
        errors.push(RuleError {
            rule: MAX_RULES,
            key: "id",
            message: format!(
                "{} rules are more than the {MAX_RULES} that are allowed",
                configs.len()
            ),
            hint: Some("use `*` and `**` in paths to say more with fewer rules".to_owned()),
        });
        return Err(errors);
    }
    let mut first_by_id = HashMap::new();
    let mut rules = Vec::with_capacity(configs.len());
    for (index, config) in configs.iter().enumerate() {
        let mut check = Check {
            index,
            config,
            errors: &mut errors,
        };
        if let Some(first) = first_by_id.get(config.id.as_str()) {
            let first: &usize = first;
            check.error(
                "id",
                format!("rule {} already has the id `{}`", first + 1, config.id),
                Some("give each rule its own id: hits are counted under it".to_owned()),
            );
        } else {
            first_by_id.insert(config.id.as_str(), index);
        }
        rules.extend(check.rule(now));
    }
    if errors.is_empty() {
        Ok(rules)
    } else {
        Err(errors)
    }
}

struct Check<'a> {
    index: usize,
    config: &'a RuleConfig,
    errors: &'a mut Vec<RuleError>,
}

impl Check<'_> {
    fn error(&mut self, key: &'static str, message: String, hint: Option<String>) {
        self.errors.push(RuleError {
            rule: self.index,
            key,
            message,
            hint,
        });
    }

    fn rule(&mut self, now: Timestamp) -> Option<Rule> {
        let config = self.config;
        if config.id.trim().is_empty() {
            self.error(
                "id",
                "the rule has no id".to_owned(),
                Some("name it, for example `updated-at`".to_owned()),
            );
        }
        let route = self.route();
        let pattern = self.pattern();
        let action = self.action();
        if let Some(action) = &action {
            self.action_fits_part(action);
        }
        let expires = self.expires(now);
        Some(Rule {
            id: config.id.as_str().into(),
            route,
            part: config.part,
            pattern: pattern?,
            action: action?,
            expires,
        })
    }

    fn route(&mut self) -> Option<Box<str>> {
        let route = self.config.route.as_deref()?;
        if let Err(error) = RouteRule::parse(route, RoutePolicy::default()) {
            self.error("route", error.to_string(), None);
            return None;
        }
        let (method, path) = route.trim().split_once(char::is_whitespace)?;
        Some(format!("{} {}", method.to_ascii_uppercase(), path.trim()).into())
    }

    fn pattern(&mut self) -> Option<Pattern> {
        let path = self.config.path.as_str();
        let parsed = match self.config.part {
            Part::Body => Pattern::body(path),
            Part::Header | Part::Trailer => Pattern::header(path),
            Part::Status if path.is_empty() => Pattern::body(path),
            Part::Status => Err((
                format!("`{path}`: the status has no path"),
                Some("remove `path`".to_owned()),
            )),
        };
        parsed
            .map_err(|(message, hint)| self.error("path", message, hint))
            .ok()
    }

    fn action(&mut self) -> Option<Action> {
        let config = self.config;
        let name = config.action.as_str();
        for (key, value, owner) in [
            ("field", &config.field, "key"),
            ("absolute", &config.absolute, "tolerance"),
            ("relative", &config.relative, "tolerance"),
            ("type", &config.kind, "as"),
            ("kind", &config.finding, "accept"),
        ] {
            if value.is_some() && name != owner && ACTIONS.contains(&name) {
                self.error(
                    key,
                    format!("`{key}` has no meaning for the action `{name}`"),
                    Some(format!("remove it, or use `action = \"{owner}\"`")),
                );
            }
        }
        if !config.explanations.is_empty() && name != "accept" && ACTIONS.contains(&name) {
            self.error(
                "explanations",
                format!("`explanations` has no meaning for the action `{name}`"),
                Some("remove it, or use `action = \"accept\"`".to_owned()),
            );
        }
        match name {
            "ignore" => Some(Action::Ignore),
            "accept" => self.accept(),
            "unordered" => Some(Action::Unordered),
            "mask" => Some(Action::Mask),
            "key" => match config.field.as_deref() {
                Some(field) if !field.is_empty() => Some(Action::Key(field.into())),
                _ => {
                    self.error(
                        "field",
                        "the action `key` needs the field that tells elements apart".to_owned(),
                        Some("add for example `field = \"id\"`".to_owned()),
                    );
                    None
                }
            },
            "tolerance" => self.tolerance(),
            "as" => self.kind(),
            _ => {
                self.error(
                    "action",
                    format!("`{name}` is not an action"),
                    Some(one_of(name, ACTIONS)),
                );
                None
            }
        }
    }

    fn accept(&mut self) -> Option<Action> {
        let config = self.config;
        let known: Vec<&str> = Explanation::ALL
            .iter()
            .map(|explanation| explanation.as_str())
            .collect();
        if config.explanations.is_empty() {
            self.error(
                "explanations",
                "the action `accept` needs the explanations that it accepts".to_owned(),
                Some("add for example `explanations = [\"null_vs_empty\"]`; a report says them of its groups".to_owned()),
            );
            return None;
        }
        let mut set = Explanations::default();
        let mut whole = true;
        for word in &config.explanations {
            if let Ok(explanation) = word.parse() {
                set.insert(explanation);
            } else {
                whole = false;
                self.error(
                    "explanations",
                    format!("`{word}` is not an explanation"),
                    Some(one_of(word, &known)),
                );
            }
        }
        let kind = match config.finding.as_deref().map(str::parse::<Kind>) {
            None => None,
            Some(Ok(kind)) => Some(kind),
            Some(Err(error)) => {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
                let word = config.finding.as_deref().unwrap_or_default();
                self.error("kind", error.to_string(), Some(one_of(word, &known)));
                return None;
            }
        };
        whole.then_some(Action::Accept(set, kind))
    }

    fn tolerance(&mut self) -> Option<Action> {
        let config = self.config;
        let (key, text) = match (&config.absolute, &config.relative) {
            (Some(absolute), None) => ("absolute", absolute),
            (None, Some(relative)) => ("relative", relative),
            (given, _) => {
                let message = if given.is_some() {
                    "both `absolute` and `relative` are given"
                } else {
                    "the action `tolerance` needs a bound"
                };
                self.error(
                    "absolute",
                    message.to_owned(),
                    Some("give one: `absolute = \"0.01\"` or `relative = \"1e-9\"`".to_owned()),
                );
                return None;
            }
        };
        let bound = Decimal::parse(text.as_bytes())
            .filter(|bound| !bound.is_negative() && text.len() <= MAX_TOLERANCE_BYTES);
        match (bound, key) {
            (Some(bound), "absolute") => Some(Action::Absolute(bound)),
            (Some(bound), _) => Some(Action::Relative(bound)),
            (None, _) => {
                self.error(
                    key,
                    format!("`{text}` is not a tolerance"),
                    Some("write a decimal of at least 0, for example \"0.01\"".to_owned()),
                );
                None
            }
        }
    }

    fn kind(&mut self) -> Option<Action> {
        match self.config.kind.as_deref() {
            Some("timestamp") => Some(Action::Timestamp),
            Some("uuid") => Some(Action::Uuid),
            Some("number") => Some(Action::Number),
            Some(other) => {
                self.error(
                    "type",
                    format!("`{other}` is not a type"),
                    Some(one_of(other, TYPES)),
                );
                None
            }
            None => {
                self.error(
                    "type",
                    "the action `as` needs a type".to_owned(),
                    Some(format!("add `type`: {}", TYPES.join(", "))),
                );
                None
            }
        }
    }

    fn action_fits_part(&mut self, action: &Action) {
        let part = self.config.part;
        let fits = match part {
            Part::Body => true,
            Part::Header | Part::Trailer => !matches!(action, Action::Key(_)),
            Part::Status => matches!(action, Action::Ignore),
        };
        if !fits {
            let hint = match part {
                Part::Status => "the status can only be ignored",
                _ => "use `unordered` for a header that is a list",
            };
            self.error(
                "action",
                format!("`{}` has no meaning for part `{part}`", self.config.action),
                Some(hint.to_owned()),
            );
        }
    }

    fn expires(&mut self, now: Timestamp) -> Option<Timestamp> {
        let text = self.config.expires.as_deref()?;
        let Ok(time) = parse_expiry(text) else {
            self.error(
                "expires",
                format!("`{text}` is not a date"),
                Some(
                    "write a date such as 2027-03-01, or a time such as 2027-03-01T12:00:00Z"
                        .to_owned(),
                ),
            );
            return None;
        };
        if time <= now {
            self.error(
                "expires",
                format!("expired on {text}"),
                Some(
                    "remove the rule, or decide anew until when it may hide a difference"
                        .to_owned(),
                ),
            );
        }
        Some(time)
    }
}

/// A date stands for its first moment in UTC.
fn parse_expiry(text: &str) -> Result<Timestamp, ()> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let date: jiff::civil::Date = text.parse().map_err(|_| ())?;
    let zoned = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| ())?;
    Ok(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
}

/// A hint that names the likely word, or all of them.
fn one_of(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word.to_ascii_lowercase(), candidate),
                candidate,
            )
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= 2.max(candidate.len() / 3));
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => format!("use one of {}", known.join(", ")),
    }
}

/// Hash of everything that decides what is equal. Rules are hashed in their order, which decides which of two rules
/// is applied to an array and which is credited with a hit.
pub(super) fn hash(rules: &[Rule]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(COMPARATOR_VERSION.to_le_bytes());
    for rule in rules
        .iter()
        .filter(|rule| !matches!(rule.action, Action::Mask))
    {
        // Length before content, so that no two lists of rules have the same bytes.
        for text in [
            rule.route.as_deref().unwrap_or("\0any"),
            rule.part.as_str(),
            &rule.pattern.canonical(),
            &format!("{:?}", rule.action),
            &rule
                .expires
                .map(|time| time.as_micros().to_string())
                .unwrap_or_default(),
        ] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    crate::hex::encode(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests;
