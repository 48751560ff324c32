//! The rules of a configuration: its own, and those of the profiles that it names.

use std::sync::Arc;

use parity_comparator::rules::{PROFILES, Profile, RuleConfig, Rules};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

use super::Layers;
use super::file::{Entry, Raw};
use super::needs::{entry_origin, entry_text};
use super::problem::{Problem, closest};

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
                        None => self.origin("profiles"),
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
        let text = |key| entry_text(entry, key).map(str::to_owned);
        let part = match entry_text(entry, "part").map(str::parse::<Part>) {
            None => Part::Body,
            Some(Ok(part)) => part,
            Some(Err(error)) => {
                let problem = Problem::new(entry_origin(entry, "part"), error.to_string());
                self.problems
                    .push(problem.hint("write status, header, trailer or body"));
                Part::Body
            }
        };
        RuleConfig {
            id: text("id").unwrap_or_default(),
            route: text("route"),
            part,
            path: text("path").unwrap_or_default(),
            action: text("action").unwrap_or_default(),
            explanations: entry_list(entry, "explanations"),
            finding: text("kind"),
            field: text("field"),
            absolute: text("absolute"),
            relative: text("relative"),
            kind: text("type"),
            reason: text("reason"),
            owner: text("owner"),
            expires: text("expires"),
        }
    }

    fn profiles(&mut self) -> Vec<Profile> {
        let mut profiles = Vec::new();
        for name in self.list("profiles", Vec::new()) {
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
                    let message = format!("profiles: `{name}` is no profile");
                    let problem = Problem::new(self.origin("profiles"), message).hint(hint);
                    self.problems.push(problem);
                }
            }
        }
        profiles
    }
}

fn entry_list(entry: &Entry, key: &str) -> Vec<String> {
    match entry.values.get(key).map(|written| &written.value) {
        Some(Raw::List(items)) => items.clone(),
        _ => Vec::new(),
    }
}
