//! The rules of a configuration: its own, and those of the profiles that it names.

use std::sync::Arc;

use parity_comparator::rules::{PROFILES, Profile, RuleConfig, Rules};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::Layers;
use super::file::{Entry, Raw};
use super::needs::{entry_origin, entry_text};
use super::problem::{Problem, closest};
use super::settings::entries::{EntryKey, rule};
use super::settings::top;

impl Layers {
    /// The rules, compiled; `now` decides which have expired.
    pub(crate) fn rules(&mut self, now: Timestamp) -> Option<Arc<Rules>> {
        let entries = std::mem::take(&mut self.rules);
        let mut configs: Vec<RuleConfig> = entries.iter().map(|entry| self.rule(entry)).collect();
        for profile in self.profiles() {
            configs.extend(profile.rules());
        }
        match Rules::compile(&configs, now) {
            Ok(rules) if self.problems.is_empty() => return Some(Arc::new(rules)),
            Ok(_) => {}
            Err(errors) => {
                for error in errors {
                    // Behind the entries stand the rules of profiles, whose only fault can be that somebody else has
                    // their id.
                    let origin = match entries.get(error.rule) {
                        Some(entry) => entry_origin(entry, error.key),
                        None => self.origin(&top::PROFILES),
                    };
                    let name = match configs.get(error.rule).map(|config| config.id.as_str()) {
                        None | Some("") => "without id",
                        Some(id) => id,
                    };
                    let message = format!("rule `{name}`: {}", error.message);
                    self.problems.push(Problem {
                        origin,
                        message,
                        hint: error.hint,
                    });
                }
            }
        }
        None
    }

    fn rule(&mut self, entry: &Entry) -> RuleConfig {
        let text = |key: &EntryKey| entry_text(entry, key).map(str::to_owned);
        let part = match entry_text(entry, &rule::PART).map(str::parse::<Part>) {
            None => Part::Body,
            Some(Ok(part)) => part,
            Some(Err(error)) => {
                let problem = Problem::new(entry_origin(entry, rule::PART.name), error.to_string());
                self.problems
                    .push(problem.hint("write status, header, trailer or body"));
                Part::Body
            }
        };
        RuleConfig {
            id: text(&rule::ID).unwrap_or_default(),
            route: text(&rule::ROUTE),
            part,
            path: text(&rule::PATH).unwrap_or_default(),
            action: text(&rule::ACTION).unwrap_or_default(),
            explanations: entry_list(entry, &rule::EXPLANATIONS),
            finding: text(&rule::KIND),
            field: text(&rule::FIELD),
            absolute: text(&rule::ABSOLUTE),
            relative: text(&rule::RELATIVE),
            kind: text(&rule::TYPE),
            reason: text(&rule::REASON),
            owner: text(&rule::OWNER),
            expires: text(&rule::EXPIRES),
        }
    }

    fn profiles(&mut self) -> Vec<Profile> {
        let mut profiles = Vec::new();
        for name in self.list(&top::PROFILES) {
            match Profile::named(&name) {
                // Named twice is meant once.
                Some(profile) if profiles.contains(&profile) => {}
                Some(profile) => profiles.push(profile),
                None => {
                    let known = || PROFILES.iter().map(|profile| profile.name);
                    let hint = match closest(&name, known()) {
                        Some(word) => format!("did you mean `{word}`?"),
                        None => format!("known: {}", known().collect::<Vec<_>>().join(", ")),
                    };
                    let message = format!("{}: `{name}` is no profile", top::PROFILES.key);
                    let problem = Problem::new(self.origin(&top::PROFILES), message).hint(hint);
                    self.problems.push(problem);
                }
            }
        }
        profiles
    }
}

fn entry_list(entry: &Entry, key: &EntryKey) -> Vec<String> {
    match entry.values.get(key.name).map(|written| &written.value) {
        Some(Raw::List(items)) => items.clone(),
        _ => Vec::new(),
    }
}
