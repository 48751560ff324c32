//! Where rules, known differences and routes stand in the file, for whoever tells a reader which line is to blame.
//!
//! Only the file is read, and what is wrong with it is left to the commands: nothing here is a reason to fail.

use std::collections::HashMap;
use std::path::Path;

use parity_comparator::rules::first_moment;
use parity_schemas::route::{RoutePolicy, RouteRule, means};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use super::problem::{Origin, Problem};
use super::settings::entries::{known, route};
use super::{Layers, read_file};

/// The lines of a file.
#[derive(Default)]
pub(crate) struct Lines {
    rules: HashMap<String, Origin>,
    routes: Vec<(String, Origin)>,
    /// Rules and known differences that have expired.
    pub(crate) ended: Vec<Problem>,
    /// Those that will within a week.
    pub(crate) ending: Vec<Problem>,
}

impl Lines {
    /// The lines of a file; none if it cannot be read.
    pub(crate) fn of(path: &Path, now: Timestamp) -> Self {
        let mut problems = Vec::new();
        let file = read_file(path, &mut problems);
        let layers = Layers::of_file(file, problems);
        let rules = layers.rules.iter();
        let routes = layers.routes.iter().filter_map(|entry| {
            let text = entry.text(&route::MATCH)?;
            let rule = RouteRule::parse(text, RoutePolicy::default()).ok()?;
            Some((rule.label().to_owned(), entry.origin_of(&route::MATCH)))
        });
        let mut ended: Vec<Problem> = Vec::new();
        for rule in &layers.rules {
            let (config, origin) = (&rule.config, rule.origin_of("expires"));
            ended.extend(is_over(
                "rule",
                &config.id,
                config.expires.as_deref(),
                origin,
                now,
            ));
        }
        for entry in &layers.known {
            let id = entry.text(&known::ID).unwrap_or_default();
            let (text, origin) = (
                entry.text(&known::EXPIRES),
                entry.origin_of(&known::EXPIRES),
            );
            ended.extend(is_over("known difference", id, text, origin, now));
        }
        Self {
            rules: rules
                .map(|rule| (rule.config.id.clone(), rule.origin_of("id")))
                .collect(),
            routes: routes.collect(),
            ended,
            ending: layers.ends_soon(now),
        }
    }

    /// Where a rule stands, if it is one of the file and not of a profile.
    pub(crate) fn rule(&self, id: &str) -> Option<&Origin> {
        self.rules.get(id)
    }

    /// Where the `[[route]]` stands that a name is of.
    pub(crate) fn route(&self, name: &str) -> Option<&Origin> {
        let mut routes = self.routes.iter();
        routes
            .find(|(label, _)| means(label, name))
            .map(|(_, origin)| origin)
    }
}

fn is_over(
    what: &str,
    id: &str,
    expires: Option<&str>,
    origin: Origin,
    now: Timestamp,
) -> Option<Problem> {
    let text = expires?;
    let is_over = first_moment(text).is_ok_and(|expires| expires <= now);
    is_over.then(|| {
        let message = format!(
            "{what} `{}` expired on {}: what it covered counts; remove it, or decide anew until when it holds",
            visible(id),
            visible(text)
        );
        Problem::new(origin, message)
    })
}
