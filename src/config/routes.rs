//! The `[[route]]` tables, and the routes that rules name.
//!
//! Every table is read by itself first. Then it is checked that each of them gets requests: the first one that matches a
//! request takes it. Last, that each rule's `route` is one that requests can have. What never applies is an error: it
//! looks like a decision, and nobody would notice that it is none.

use std::sync::Arc;

use parity_schemas::route::{RouteError, RoutePolicy, RouteRule, label_of_requests};

use super::Layers;
use super::file::TableEntry;
use super::operations::{graphql_endpoint, nothing_told_apart};
use super::problem::{Origin, Problem};
use super::settings::entries::{EntryKey, route};
use super::value;

impl Layers {
    /// The routes, in the order of the file.
    pub(super) fn routes(&mut self) -> Arc<[RouteRule]> {
        let mut routes = Vec::new();
        let mut places = Vec::new();
        let mut complete = true;
        for entry in std::mem::take(&mut self.routes) {
            match self.route(&entry) {
                Some(route) => {
                    routes.push(route);
                    places.push(entry.origin_of(&route::MATCH));
                }
                None => complete = false,
            }
        }
        self.refuse_hidden(&routes, &places);
        if complete {
            self.look_at_operations(&routes, &places);
        }
        let routes = routes.into();
        // A rule may name a route that could not be read.
        if complete {
            self.look_at_routes_of_rules(&routes);
        }
        routes
    }

    /// How a report calls a request, or the route of a rule: `GET /users/42?page=1` is one of `GET /users/{id}`.
    pub(crate) fn label_of(&mut self, request: &str) -> Result<String, RouteError> {
        let routes = self.routes();
        let line = request.trim();
        // The first line of a request may be given as it is.
        let line = line.rsplit_once(" HTTP/").map_or(line, |(line, _)| line);
        let line = line.split(['?', '#']).next().unwrap_or_default();
        let rule = RouteRule::parse(line, RoutePolicy::default())?;
        let mut named = self.rules.iter().map(|entry| entry.config.route.as_deref());
        let is_operation = rule.operation().is_some();
        if is_operation || named.any(|route| route == Some(rule.label())) {
            return Ok(rule.label().to_owned());
        }
        label_of_requests(&routes, line)
    }

    fn route(&mut self, entry: &TableEntry) -> Option<RouteRule> {
        let Some(wanted) = entry.text(&route::MATCH) else {
            let problem = Problem::new(entry.origin.clone(), "a [[route]] needs `match`");
            self.problems
                .push(problem.hint("write for example match = \"GET /users/{id}\""));
            return None;
        };
        let policy = RoutePolicy {
            shadow: self.route_value(entry, &route::SHADOW, value::switch),
            sample: self.route_value(entry, &route::SAMPLE, value::share),
            recheck: self.route_value(entry, &route::RECHECK, value::switch),
            graphql: self.route_switch(entry, &route::GRAPHQL),
            shadow_queries: self.route_switch(entry, &route::SHADOW_QUERIES),
        };
        self.look_at_queries(entry, &policy, wanted);
        let problem = |error| {
            let origin = entry.origin_of(&route::MATCH);
            Problem::new(origin, format!("match: {error}"))
        };
        let rule = RouteRule::parse(wanted, policy)
            .map_err(|error| self.problems.push(problem(error)))
            .ok()?;
        Some(self.of_operation(entry, rule))
    }

    fn route_switch(&mut self, route: &TableEntry, key: &EntryKey) -> bool {
        self.route_value(route, key, value::switch) == Some(true)
    }

    /// Reports what a [[route]] says of GraphQL that can never apply.
    fn look_at_queries(&mut self, entry: &TableEntry, policy: &RoutePolicy, wanted: &str) {
        let mut wrong = |key: &EntryKey, message: &str, hint: &str| {
            let problem = Problem::new(entry.origin_of(key), format!("{}: {message}", key.name));
            self.problems.push(problem.hint(hint));
        };
        // What is wrong with these keys of an operation is said elsewhere.
        if wanted.split_whitespace().nth(2).is_some() {
            return;
        }
        if policy.shadow_queries && !policy.graphql {
            wrong(
                &route::SHADOW_QUERIES,
                "whether a request is a query is only read where graphql = true",
                "write `graphql = true` beside it",
            );
        } else if policy.shadow_queries && policy.shadow.is_some() {
            wrong(
                &route::SHADOW_QUERIES,
                "has no effect beside `shadow`, which decides for all operations",
                "keep one of them: shadow = true sends mutations, too",
            );
        }
        let method = wanted.split_whitespace().next().unwrap_or_default();
        let has_operations = ["*", "GET", "HEAD", "POST"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(method));
        if policy.graphql && !has_operations {
            wrong(
                &route::GRAPHQL,
                &format!("GraphQL has no requests with {method}"),
                "match POST, GET, or `*` for both",
            );
        }
    }

    /// Reads a key of a [[route]] that is not text.
    fn route_value<T>(
        &mut self,
        route: &TableEntry,
        key: &EntryKey,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match read(route.text(key)?) {
            Ok(value) => Some(value),
            Err(error) => {
                let origin = route.origin_of(key);
                self.problems
                    .push(Problem::new(origin, format!("{}: {error}", key.name)));
                None
            }
        }
    }

    /// Reports each route that gets no request, because an earlier one takes them all.
    fn refuse_hidden(&mut self, routes: &[RouteRule], places: &[Origin]) {
        for (index, (route, place)) in routes.iter().zip(places).enumerate() {
            let mut earlier = routes.iter().zip(places).take(index);
            let Some((first, at)) = earlier.find(|(first, _)| first.covers(route)) else {
                continue;
            };
            let (label, first_label) = (route.label(), first.label());
            let (message, hint) = if route.covers(first) {
                (
                    format!(
                        "match: `{label}` matches the same requests as `{first_label}` at {at}"
                    ),
                    "keep one of them: the first one that matches a request applies",
                )
            } else {
                (
                    format!(
                        "match: `{label}` gets no request: `{first_label}` at {at} takes them all"
                    ),
                    "put it before that one: the first one that matches a request applies",
                )
            };
            self.problems
                .push(Problem::new(place.clone(), message).hint(hint));
        }
    }

    /// Reports each rule for a route that no request has.
    fn look_at_routes_of_rules(&mut self, routes: &Arc<[RouteRule]>) {
        for entry in &self.rules {
            let Some(wanted) = entry.config.route.as_deref() else {
                continue;
            };
            // What is no route at all is reported with the other mistakes of the rule.
            let (Ok(rule), Ok(label)) = (
                RouteRule::parse(wanted, RoutePolicy::default()),
                label_of_requests(routes, wanted),
            ) else {
                continue;
            };
            let wanted = rule.label();
            if let Some((endpoint, _)) = rule.operation() {
                if graphql_endpoint(routes, endpoint).is_none() {
                    let who = format!("rule `{}`", entry.config.id);
                    let place = entry.origin_of("route");
                    self.problems
                        .extend(nothing_told_apart(place, &who, wanted));
                }
                continue;
            }
            let declared = routes.iter().any(|route| route.label() == wanted);
            if declared || label == wanted {
                continue;
            }
            let message = format!(
                "rule `{}`: no request has the route `{wanted}`: a report calls its requests `{label}`",
                entry.config.id
            );
            let hint = if routes.iter().any(|route| route.label() == label) {
                format!("write `route = \"{label}\"`, as the [[route]] is called")
            } else {
                format!(
                    "write `route = \"{label}\"` if the report has that route, or declare a [[route]] with `match = \"{wanted}\"`"
                )
            };
            let problem = Problem::new(entry.origin_of("route"), message).hint(hint);
            self.problems.push(problem);
        }
    }
}
