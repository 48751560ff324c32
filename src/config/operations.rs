//! What is said of single GraphQL operations, by a `[[route]]`, a `[[rule]]` or a `[[known]]`.
//!
//! Only a `[[route]]` with `graphql = true` tells operations apart, so without one nothing would apply. And what would open
//! more than it names is refused: the name of a mutation is the client's, so who allows one says which fields it may ask for.

use parity_schemas::graphql::{Labelled, is_name};
use parity_schemas::route::{RoutePolicy, RouteRule, split_operation};

use super::Layers;
use super::file::TableEntry;
use super::problem::{Origin, Problem};
use super::settings::entries::{EntryKey, known, route};

impl Layers {
    /// Reads which fields a mutation may ask for, and reports what a `[[route]]` says of an operation that can never apply or
    /// would allow more than it names.
    pub(super) fn of_operation(&mut self, entry: &TableEntry, rule: RouteRule) -> RouteRule {
        let mut wrong = |key: &EntryKey, message: &str, hint: &str| {
            let problem = Problem::new(entry.origin_of(key), format!("{}: {message}", key.name));
            self.problems.push(problem.hint(hint));
        };
        let names_fields = entry.is_given(&route::FIELDS);
        let Some((endpoint, operation)) = rule.operation() else {
            if names_fields {
                wrong(
                    &route::FIELDS,
                    "only the [[route]] of one mutation of a GraphQL endpoint has them",
                    "write the mutation behind the path, such as match = \"POST /graphql mutation Quote\"",
                );
            }
            return rule;
        };
        for key in [&route::GRAPHQL, &route::SHADOW_QUERIES] {
            if entry.is_given(key) {
                wrong(
                    key,
                    "is said of an endpoint, and not of one of its operations",
                    &format!("write it in the [[route]] with match = \"{endpoint}\""),
                );
            }
        }
        let policy = rule.policy();
        let allowing = [
            (&route::SHADOW, policy.shadow),
            (&route::RECHECK, policy.recheck),
        ];
        let allowing = allowing
            .into_iter()
            .find(|(_, allowed)| *allowed == Some(true))
            .map(|(key, _)| key);
        let kind = Labelled::of(operation);
        match (kind, allowing) {
            (Labelled::Batch, _) => wrong(
                &route::MATCH,
                "a batch has no [[route]] of its own: it is sent if each of its operations may be",
                "name the operations, each in a [[route]]",
            ),
            (Labelled::Subscription, Some(key)) => wrong(
                key,
                "no subscription is sent to the candidate: its answer has no end",
                "leave it out",
            ),
            (Labelled::Unknown, Some(key)) => wrong(
                key,
                "what cannot be read may be any mutation",
                &format!(
                    "if all of them are safe, write {} = true in the [[route]] with match = \"{endpoint}\"",
                    key.name
                ),
            ),
            (Labelled::Mutation, Some(key)) if !names_fields => wrong(
                key,
                "a client may give this name to any mutation",
                "write beside it which fields of the type Mutation it may ask for, such as fields = [\"quote\"]",
            ),
            _ => {}
        }
        if !names_fields {
            return rule;
        }
        let fields = entry.list(&route::FIELDS).to_vec();
        if kind != Labelled::Mutation {
            wrong(
                &route::FIELDS,
                &format!("`{operation}` is no mutation, and only those are told apart by them"),
                "leave it out",
            );
        } else if fields.is_empty() {
            wrong(
                &route::FIELDS,
                "there is none",
                "name the fields of the type Mutation that it may ask for, such as [\"quote\"]",
            );
        }
        for field in fields.iter().filter(|field| !is_name(field)) {
            wrong(
                &route::FIELDS,
                &format!("`{field}` is no name of a field"),
                "write it as the schema has it, without alias, arguments and what it selects",
            );
        }
        rule.asking_for(fields)
    }

    /// Reports what is said of operations by a `[[route]]` or a `[[known]]` that can never apply.
    pub(super) fn look_at_operations(&mut self, routes: &[RouteRule], places: &[Origin]) {
        for (rule, place) in routes.iter().zip(places) {
            let Some((endpoint, operation)) = rule.operation() else {
                continue;
            };
            let Some(of_endpoint) = graphql_endpoint(routes, endpoint) else {
                let problem = nothing_told_apart(place.clone(), "match", rule.label());
                self.problems.extend(problem);
                continue;
            };
            let is_left_out = rule.policy().shadow == Some(false);
            let kind = Labelled::of(operation);
            if of_endpoint.policy().shadow == Some(true)
                && is_left_out
                && matches!(kind, Labelled::Mutation | Labelled::Persisted)
            {
                let message = format!(
                    "shadow: `{endpoint}` sends every mutation, also what this one does under another name"
                );
                let hint = format!(
                    "leave shadow = true out of the [[route]] with match = \"{endpoint}\", and write one with shadow = true for each mutation that may be sent"
                );
                self.problems
                    .push(Problem::new(place.clone(), message).hint(hint));
            }
        }
        for entry in &self.known {
            let Some(wanted) = entry.text(&known::ROUTE) else {
                continue;
            };
            // What is no route at all is reported with the other mistakes of the entry.
            let Ok(rule) = RouteRule::parse(wanted, RoutePolicy::default()) else {
                continue;
            };
            if let Some((endpoint, _)) = rule.operation()
                && graphql_endpoint(routes, endpoint).is_none()
            {
                let id = entry.text(&known::ID).unwrap_or("without id");
                let who = format!("known difference `{id}`: route");
                let problem =
                    nothing_told_apart(entry.origin_of(&known::ROUTE), &who, rule.label());
                self.problems.extend(problem);
            }
        }
    }
}

/// The `[[route]]` that has this label and tells operations apart.
pub(super) fn graphql_endpoint<'r>(routes: &'r [RouteRule], label: &str) -> Option<&'r RouteRule> {
    let endpoint = routes.iter().find(|route| route.label() == label)?;
    endpoint.policy().graphql.then_some(endpoint)
}

/// That no request has the route `wanted`, which is an operation of something that is no GraphQL endpoint. `who` says what
/// names it.
pub(super) fn nothing_told_apart(place: Origin, who: &str, wanted: &str) -> Option<Problem> {
    let (endpoint, _) = split_operation(wanted)?;
    let message = format!(
        "{who}: no request has the route `{wanted}`: operations are only told apart on a GraphQL endpoint"
    );
    let hint = format!("declare a [[route]] with `match = \"{endpoint}\"` and `graphql = true`");
    Some(Problem::new(place, message).hint(hint))
}
