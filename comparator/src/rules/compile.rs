//! Checks what rules say, and makes the rules of it that a comparison is done by.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::str::FromStr;

use parity_schemas::route::{RoutePolicy, RouteRule};
use parity_schemas::spelling;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Part};

use super::action::{Action, Explanations, Fields, InText};
use super::config::{self, RuleConfig};
use super::parts::Parts;
use super::pattern::{self, Pattern};
use super::{Rule, RuleError, text};
use crate::explain::Nanoseconds;
use crate::notation::number::Decimal;

/// Rules are walked with every differing value; a thousand is far above what people can still review.
const MAX_RULES: usize = 1_000;
/// Length of a tolerance: enough for every real one, and its arithmetic stays cheap.
const MAX_TOLERANCE_BYTES: usize = 64;

pub(super) fn compile(configs: &[RuleConfig], now: Timestamp) -> Result<Vec<Rule>, Vec<RuleError>> {
    let mut errors = Vec::new();
    if configs.len() > MAX_RULES {
        errors.push(RuleError {
            rule: MAX_RULES,
            key: Cow::Borrowed("id"),
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
        match first_by_id.entry(config.id.as_str()) {
            _ if config.id.trim().is_empty() => check.error(
                "id",
                "the rule has no id".to_owned(),
                Some("name it, for example `updated-at`".to_owned()),
            ),
            Entry::Vacant(entry) => {
                entry.insert(index + 1);
            }
            Entry::Occupied(first) => check.error(
                "id",
                format!("rule {} already has the id `{}`", first.get(), config.id),
                Some("give each rule its own id: hits are counted under it".to_owned()),
            ),
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
            key: Cow::Borrowed(key),
            message,
            hint,
        });
    }

    fn rule(&mut self, now: Timestamp) -> Option<Rule> {
        let config = self.config;
        let route = self.route();
        let part = self.part();
        let pattern = part.and_then(|part| self.pattern(part));
        let mut action = self.action(part, pattern.as_ref());
        if let (Some(action), Some(part)) = (&action, part) {
            self.action_fits_part(action, part);
        }
        let place = self.in_text(part, action.as_ref());
        if let Some(place) = place {
            action = action.map(|action| Action::InText(Box::new(InText { place, action })));
        }
        let expires = self.expires(now);
        Some(Rule {
            id: config.id.as_str().into(),
            route,
            part: part?,
            pattern: pattern?,
            action: action?,
            expires,
            text: text::of(config),
        })
    }

    fn route(&mut self) -> Option<Box<str>> {
        let route = self.config.route.as_deref()?;
        match RouteRule::parse(route, RoutePolicy::default()) {
            Ok(read) => Some(read.label().into()),
            Err(error) => {
                self.error("route", error.to_string(), None);
                None
            }
        }
    }

    fn part(&mut self) -> Option<Part> {
        match self.config.part.as_deref() {
            None => Some(Part::Body),
            Some(word) => self.word("part", "a part", word, &config::parts()),
        }
    }

    /// Reads one of the known words. `what` says what it should be.
    fn word<T: FromStr>(
        &mut self,
        key: &'static str,
        what: &str,
        word: &str,
        known: &[&str],
    ) -> Option<T> {
        let read = word.parse().ok();
        if read.is_none() {
            let message = format!("`{word}` is not {what}");
            self.error(key, message, Some(spelling::hint(word, known)));
        }
        read
    }

    fn pattern(&mut self, part: Part) -> Option<Pattern> {
        let path = self.config.path.as_str();
        let parsed = match part {
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

    fn action(&mut self, part: Option<Part>, pattern: Option<&Pattern>) -> Option<Action> {
        let config = self.config;
        let name = config.action.as_str();
        for (key, given, its_action) in [
            ("explanations", !config.explanations.is_empty(), "accept"),
            ("kind", config.kind.is_some(), "accept"),
            ("field", config.field.is_some(), "key"),
            ("fields", !config.fields.is_empty(), "key"),
            ("absolute", config.absolute.is_some(), "tolerance"),
            ("relative", config.relative.is_some(), "tolerance"),
            ("within", config.within.is_some(), "tolerance"),
            ("factor", config.factor.is_some(), "scale"),
            ("pattern", config.pattern.is_some(), "parts"),
            ("type", config.r#type.is_some(), "as"),
            ("to", config.to.is_some(), "rename"),
        ] {
            if given && name != its_action && config::ACTIONS.contains(&name) {
                self.error(
                    key,
                    format!("`{key}` has no meaning for the action `{name}`"),
                    Some(format!("remove it, or use `action = \"{its_action}\"`")),
                );
            }
        }
        match name {
            "ignore" => Some(Action::Ignore),
            "accept" => self.accept(),
            "unordered" => Some(Action::Unordered),
            "mask" => Some(Action::Mask),
            "key" => self.key(),
            "tolerance" => self.tolerance(),
            "scale" => self.scale(),
            "parts" => self.parts(),
            "as" => self.r#type(),
            "rename" => self.rename(part?, pattern?),
            "" => {
                self.error(
                    "action",
                    "the rule has no action".to_owned(),
                    Some(format!("add `action`: {}", config::ACTIONS.join(", "))),
                );
                None
            }
            _ => {
                self.error(
                    "action",
                    format!("`{name}` is not an action"),
                    Some(spelling::hint(name, config::ACTIONS)),
                );
                None
            }
        }
    }

    fn accept(&mut self) -> Option<Action> {
        let explanations = self.explanations();
        let kind = match self.config.kind.as_deref() {
            None => None,
            Some(word) => Some(self.word("kind", "a kind of finding", word, &config::kinds())?),
        };
        Some(Action::Accept(explanations?, kind))
    }

    fn explanations(&mut self) -> Option<Explanations> {
        let words = &self.config.explanations;
        if words.is_empty() {
            self.error(
                "explanations",
                "the action `accept` needs the explanations that it accepts".to_owned(),
                Some("add for example `explanations = [\"null_vs_empty\"]`; a report names those of its groups".to_owned()),
            );
            return None;
        }
        let mut never = words.iter().filter_map(|word| word.parse().ok());
        if let Some(never) = never.find(|word: &Explanation| !word.can_be_accepted()) {
            let (why, hint) = if never.may_be_chance() {
                (
                    ", and may be chance",
                    "write two rules with `ignore`, for the old place and for the new one",
                )
            } else {
                ("", "write a rule with `rename` that says the new name")
            };
            self.error(
                "explanations",
                format!("`{never}` cannot be accepted: it is known only when all is compared{why}"),
                Some(hint.to_owned()),
            );
            return None;
        }
        let known = config::explanations();
        let read = |word: &String| self.word("explanations", "an explanation", word, &known);
        // All of them are read, so that every mistake is reported.
        let read: Vec<Option<Explanation>> = words.iter().map(read).collect();
        read.into_iter().collect()
    }

    fn key(&mut self) -> Option<Action> {
        let config = self.config;
        let fields: Fields = match (&config.field, &*config.fields) {
            (Some(field), []) => std::iter::once(field.as_str()).collect(),
            (None, fields) => fields.iter().map(String::as_str).collect(),
            (Some(_), _) => {
                self.error(
                    "fields",
                    "both `field` and `fields` are given".to_owned(),
                    Some("give one of them".to_owned()),
                );
                return None;
            }
        };
        if fields.iter().next().is_none() || fields.iter().any(str::is_empty) {
            let key = if config.fields.is_empty() {
                "field"
            } else {
                "fields"
            };
            self.error(
                key,
                "the action `key` needs the field that tells elements apart".to_owned(),
                Some(
                    "add for example `field = \"id\"`, or `fields = [\"order\", \"line\"]`"
                        .to_owned(),
                ),
            );
            return None;
        }
        Some(Action::Key(fields))
    }

    fn scale(&mut self) -> Option<Action> {
        let text = self.config.factor.as_deref().unwrap_or_default();
        let factor = Decimal::parse(text.as_bytes()).filter(|factor| {
            text.len() <= MAX_TOLERANCE_BYTES && !factor.is_negative() && !factor.is_zero()
        });
        match factor {
            Some(factor) if Some(&factor) != Decimal::parse(b"1").as_ref() => {
                Some(Action::Scale(factor))
            }
            _ => {
                let message = match &self.config.factor {
                    None => "the action `scale` needs a factor".to_owned(),
                    Some(text) => format!("`{text}` is not a factor"),
                };
                self.error(
                    "factor",
                    message,
                    Some("write a decimal above 0 that is not 1: `factor = \"100\"` if the legacy sends 12.5 and the candidate 1250".to_owned()),
                );
                None
            }
        }
    }

    fn parts(&mut self) -> Option<Action> {
        let Some(pattern) = self.config.pattern.as_deref() else {
            self.error(
                "pattern",
                "the action `parts` needs a regular expression".to_owned(),
                Some("add for example `pattern = 'in (\\d+) ms'`: what the groups capture may differ".to_owned()),
            );
            return None;
        };
        match Parts::new(pattern) {
            Ok(parts) => Some(Action::Parts(Box::new(parts))),
            Err(error) => {
                self.error(
                    "pattern",
                    format!("`{pattern}`: {error}"),
                    Some(
                        "put what may differ into round brackets, for example 'in (\\d+) ms'"
                            .to_owned(),
                    ),
                );
                None
            }
        }
    }

    fn within(&mut self, text: &str) -> Option<Action> {
        let bound = Nanoseconds::parse(text.as_bytes()).filter(|bound| bound.count().is_some());
        if bound.is_none() {
            self.error(
                "within",
                format!("`{text}` is not a duration"),
                Some("write for example `within = \"2s\"` or `within = \"500ms\"`".to_owned()),
            );
        }
        bound.map(Action::Within)
    }

    fn tolerance(&mut self) -> Option<Action> {
        let config = self.config;
        let given = [
            ("absolute", &config.absolute),
            ("relative", &config.relative),
            ("within", &config.within),
        ];
        let mut given = given
            .iter()
            .filter_map(|(key, text)| Some((*key, text.as_deref()?)));
        let (key, text) = match (given.next(), given.next()) {
            (Some(("within", text)), None) => return self.within(text),
            (Some(only), None) => only,
            (first, _) => {
                let message = if first.is_some() {
                    "more than one bound is given"
                } else {
                    "the action `tolerance` needs a bound"
                };
                self.error(
                    "absolute",
                    message.to_owned(),
                    Some("give one: `absolute = \"0.01\"` or `relative = \"1e-9\"`, for times `within = \"2s\"`".to_owned()),
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

    fn r#type(&mut self) -> Option<Action> {
        match self.config.r#type.as_deref() {
            Some("timestamp") => Some(Action::Timestamp),
            Some("uuid") => Some(Action::Uuid),
            Some("number") => Some(Action::Number),
            Some("json") => Some(Action::Json),
            Some(other) => {
                self.error(
                    "type",
                    format!("`{other}` is not a type"),
                    Some(spelling::hint(other, config::TYPES)),
                );
                None
            }
            None => {
                self.error(
                    "type",
                    "the action `as` needs a type".to_owned(),
                    Some(format!("add `type`: {}", config::TYPES.join(", "))),
                );
                None
            }
        }
    }

    fn action_fits_part(&mut self, action: &Action, part: Part) {
        let of_cookies = matches!(part, Part::Header | Part::Trailer)
            && pattern::is_of_cookies(&self.config.path);
        let what = if of_cookies {
            "cookies".to_owned()
        } else {
            format!("part `{part}`")
        };
        let (fits, hint) = match part {
            Part::Body => return,
            // A cookie is one value: without the rule it is the same or another one.
            Part::Header | Part::Trailer if of_cookies => (
                matches!(action, Action::Ignore | Action::Mask | Action::Rename(_)),
                "a cookie can only be ignored or renamed",
            ),
            Part::Header | Part::Trailer => (
                !matches!(action, Action::Key(_)),
                "use `unordered` for a header that is a list",
            ),
            Part::Status => (
                matches!(action, Action::Ignore),
                "the status can only be ignored",
            ),
        };
        if !fits {
            let message = format!("`{}` has no meaning for {what}", self.config.action);
            self.error("action", message, Some(hint.to_owned()));
        }
    }

    fn expires(&mut self, now: Timestamp) -> Option<Timestamp> {
        let text = self.config.expires.as_deref()?;
        let Ok(time) = first_moment(text) else {
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

/// The text is no date and no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date")]
pub struct NoDate(String);

/// A time, or the first moment in UTC of a date.
pub fn first_moment(text: &str) -> Result<Timestamp, NoDate> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let no_date = || NoDate(text.to_owned());
    let date: jiff::civil::Date = text.parse().map_err(|_| no_date())?;
    let zoned = date
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map_err(|_| no_date())?;
    Ok(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
}

mod named;

#[cfg(test)]
mod tests;
