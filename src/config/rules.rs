//! The rules of a configuration: its own, and those of the profiles that it names.

use std::sync::Arc;

use parity_comparator::rules::{PROFILES, Profile, RuleConfig, Rules};
use parity_schemas::spelling;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;

use super::Layers;
use super::problem::Problem;
use super::settings::top;

impl Layers {
    /// The rules, compiled; `now` decides which have expired.
    pub(crate) fn rules(&mut self, now: Timestamp) -> Option<Arc<Rules>> {
        let entries = std::mem::take(&mut self.rules);
        let mut rules: Vec<RuleConfig> = entries.iter().map(|entry| entry.config.clone()).collect();
        for profile in self.profiles() {
            rules.extend(profile.rules());
        }
        let errors = match Rules::compile(&rules, now) {
            Ok(rules) => return self.problems.is_empty().then(|| Arc::new(rules)),
            Err(errors) => errors,
        };
        for error in errors {
            let origin = match entries.get(error.rule) {
                Some(entry) if entry.is_reported(&error.key) => continue,
                Some(entry) => entry.origin_of(&error.key),
                // The rules of profiles come last. They are right, but a rule of the file may have the id of one.
                None => self.origin(&top::PROFILES),
            };
            let name = match rules.get(error.rule).map(|rule| rule.id.as_str()) {
                None | Some("") => "without id",
                Some(id) => id,
            };
            self.problems.push(Problem {
                origin,
                message: format!("rule `{name}`: {}", error.message),
                hint: error.hint,
            });
        }
        None
    }

    /// Rules of the file that have a date: who reads a record excuses nothing by one that has expired.
    pub(super) fn dated_rules(&self) -> Arc<[RuleText]> {
        let rules = self.rules.iter().map(|rule| &rule.config);
        let dated = rules.filter(|rule| rule.expires.is_some());
        dated.map(RuleConfig::text).collect()
    }

    /// What rules of the file say that excuse so much that little is left to compare: none of it is a mistake for certain.
    pub(crate) fn broad_rules(&self) -> Vec<Problem> {
        let broad = self.rules.iter().filter_map(|entry| {
            let what = entry.config.excuses_everything()?;
            let message = format!("rule `{}` excuses {what}", entry.config.id);
            let hint = match &entry.config.route {
                Some(route) => format!(
                    "on {route} a wrong value is never found there; name the fields that may differ"
                ),
                None => "on no route a wrong value is found there; name the fields that may differ"
                    .to_owned(),
            };
            Some(Problem::new(entry.origin_of("path"), message).hint(hint))
        });
        broad.collect()
    }

    fn profiles(&mut self) -> Vec<Profile> {
        let mut profiles = Vec::new();
        for name in self.list(&top::PROFILES) {
            match Profile::named(&name) {
                // Named twice is meant once.
                Some(profile) if profiles.contains(&profile) => {}
                Some(profile) => profiles.push(profile),
                None => {
                    let known: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
                    let hint = spelling::hint(&name, &known);
                    let message = format!("{}: `{name}` is not a profile", top::PROFILES.key);
                    let problem = Problem::new(self.origin(&top::PROFILES), message).hint(hint);
                    self.problems.push(problem);
                }
            }
        }
        profiles
    }
}
