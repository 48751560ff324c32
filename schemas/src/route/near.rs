//! Paths that a service may take for the path of a GraphQL endpoint.
//!
//! Routers forgive: one drops a slash at the end, another reads `/GraphQL`, `/%67raphql`, `/x/../graphql` or `/graphql;v=1` as
//! `/graphql`. A mutation sent there is a mutation. Nobody knows what the candidate's router does, so what differs from an
//! endpoint only in such a way ([`super::spelled`], in any reading) is treated like it: what is sent follows the [[route]] of the endpoint,
//! and is read as GraphQL. So is what leads out of the root or is too long to be read. It keeps a label of its own, because the legacy may answer it with 404.
//! Of several endpoints that it may be, one where not everything is sent counts.

use http::Method;

use super::closed::are_met;
use super::spelled::{any_reading, folded_rule};
use super::{RouteRule, Segment};

/// The paths of all rules in the form in which such writings are equal. Empty if none is of a GraphQL endpoint.
#[derive(Default)]
pub(super) struct NearPaths(Vec<Near>);

/// The place of the rule that holds for a path, if any does.
#[derive(Clone, Copy)]
pub(super) struct Holds(pub(super) Option<usize>);

struct Near {
    is_endpoint: bool,
    /// Without placeholders.
    is_literal: bool,
    method: Option<Method>,
    is_operation: bool,
    /// Whether it says what is sent.
    shadow: Option<bool>,
    segments: Vec<Segment>,
}

impl NearPaths {
    pub(super) fn new(rules: &[RouteRule]) -> Self {
        let is_endpoint = |rule: &RouteRule| rule.policy.graphql && rule.operation.is_none();
        if !rules.iter().any(is_endpoint) {
            return Self::default();
        }
        let near = rules.iter().map(|rule| Near {
            is_endpoint: is_endpoint(rule),
            is_literal: rule
                .segments
                .iter()
                .all(|segment| matches!(segment, Segment::Literal(_))),
            method: rule.method.clone(),
            is_operation: rule.operation.is_some(),
            shadow: rule.policy.shadow,
            segments: folded_rule(&rule.segments),
        });
        Self(near.collect())
    }

    /// If a GraphQL service may take a request at this path: the rule that holds for it. `exact` is the rule that matches the path as it is written; one without placeholders is said of this writing.
    ///
    /// Most services also read the document from the target of a GET at the path of a POST, and serve HEAD as GET.
    pub(super) fn of(&self, method: &Method, path: &str, exact: Option<usize>) -> Option<Holds> {
        if self.0.is_empty() {
            return None;
        }
        // Some servers read methods without case.
        let is = |wanted: &Method| wanted.as_str().eq_ignore_ascii_case(method.as_str());
        let is_post = is(&Method::POST);
        if !is_post && !is(&Method::GET) && !is(&Method::HEAD) {
            return None;
        }
        let is_same = |near: &Near| near.method.as_ref().is_none_or(is);
        // By POST only what is written otherwise is new here: a rule for GET alone says nothing of it.
        let is_beside = |near: &Near| near.is_endpoint && (is_same(near) || !is_post);
        let is_literal = |at: &usize| self.0.get(*at).is_some_and(|near| near.is_literal);
        let exact = exact.filter(is_literal);
        let mut holds = None;
        any_reading(path, |steps| {
            let Some(steps) = steps else {
                holds.get_or_insert(Holds(None));
                return false;
            };
            let is_met = |near: &Near| are_met(&near.segments, steps);
            if !self.0.iter().any(|near| is_beside(near) && is_met(near)) {
                return false;
            }
            let is_held = |near: &Near| is_same(near) && !near.is_operation && is_met(near);
            let found = exact.or_else(|| self.0.iter().position(is_held));
            let found_rule = found.and_then(|at| self.0.get(at));
            let sends_all = found_rule.is_some_and(|near| near.shadow == Some(true));
            if holds.is_none() || !sends_all {
                holds = Some(Holds(found));
            }
            // Nothing is said that is more careful.
            !sends_all || exact.is_some()
        });
        holds
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Route, RoutePolicy, RouteResolver};
    use super::*;

    fn resolver(rules: &[(&str, RoutePolicy)]) -> RouteResolver {
        let rules = rules
            .iter()
            .map(|(text, policy)| RouteRule::parse(text, *policy).expect("a route"));
        RouteResolver::new(rules.collect())
    }

    const GRAPHQL: RoutePolicy = RoutePolicy {
        shadow: None,
        sample: None,
        recheck: None,
        graphql: true,
        shadow_queries: true,
    };
    const PLAIN: RoutePolicy = RoutePolicy {
        graphql: false,
        shadow_queries: false,
        ..GRAPHQL
    };

    #[test]
    fn what_a_router_may_take_for_the_endpoint_is_read_as_graphql() {
        for endpoint in [
            "POST /api/graphql",
            "* /api/graphql/",
            "POST /{tenant}/GraphQL",
        ] {
            let mut resolver = resolver(&[(endpoint, GRAPHQL)]);
            let mut resolve =
                |method: Method, path: &str| -> Arc<Route> { resolver.resolve(&method, path) };
            for path in [
                "/api/graphql",
                "/api/graphql/",
                "/api/graphql//",
                "/api/GraphQL",
                "/API/graphql",
                "//api//graphql",
                "/api/%67raphql",
                "/api/%2567raphql",
                "/api%2fgraphql",
                "/api/./graphql/.",
                "/api/x/../graphql",
                "/api/%2e%2e/api/graphql",
                "/api/graphql;v=1",
                "/api\\graphql",
                "/api/graphql.",
                "/api/graphql%20",
                "/api/graphql+",
                "/api/%EF%BD%87raphql",
                "/api/\u{ff47}raph\u{200b}ql",
                "/api/graphql%00",
                "/api/graphql%3Fx",
                "/api/graphql#x",
                "/api/graphql%01",
                "/api/graphql.json",
                "/api/graphql;x=/y",
                "//host/api/graphql",
                "/index.php/api/graphql",
                "/api/graphql/index.php",
                "/../api/graphql",
            ] {
                for method in [Method::GET, Method::HEAD, Method::POST] {
                    let route = resolve(method.clone(), path);
                    assert!(route.policy().graphql, "{endpoint}: {method} {path}");
                }
                assert!(!resolve(Method::PUT, path).policy().graphql || endpoint.starts_with('*'));
            }
            for path in [
                "/api/graphql/schema",
                "/api/graphq",
                "/api/graphql-schema.json",
                "/",
                "",
                "*",
            ] {
                assert!(
                    !resolve(Method::GET, path).policy().graphql,
                    "{endpoint}: {path}"
                );
            }
        }
    }

    #[test]
    fn what_is_sent_there_follows_the_route_of_the_endpoint() {
        let shadow = |shadow| RoutePolicy {
            shadow: Some(shadow),
            ..PLAIN
        };
        let mut resolver = resolver(&[
            ("POST /graphql", GRAPHQL),
            ("GET /graphql", shadow(false)),
            ("GET /graphql/", shadow(true)),
            ("* /{any}", shadow(true)),
        ]);
        for (method, path, shadow, is_graphql) in [
            (Method::POST, "/graphql", None, true),
            // Not what is said of any other path.
            (Method::POST, "/GraphQL", None, true),
            (Method::GET, "/graphql", Some(false), true),
            (Method::GET, "/GRAPHQL", Some(false), true),
            // That was said of this one.
            (Method::GET, "/graphql/", Some(true), true),
            (Method::POST, "/other", Some(true), false),
            (Method::DELETE, "/GraphQL", Some(true), false),
        ] {
            let route = resolver.resolve(&method, path);
            let policy = route.policy();
            assert_eq!(
                (policy.shadow, policy.graphql),
                (shadow, is_graphql),
                "{method} {path}"
            );
        }
        assert_eq!(
            resolver.resolve(&Method::POST, "/GraphQL").label(),
            "POST /GraphQL"
        );
    }

    /// What else it may be allows nothing that one endpoint does not.
    #[test]
    fn of_several_endpoints_that_a_path_may_mean_the_careful_one_counts() {
        let open = RoutePolicy {
            shadow: Some(true),
            ..GRAPHQL
        };
        let mut resolver =
            resolver(&[("POST /open/{x}/graphql", open), ("POST /graphql", GRAPHQL)]);
        for (path, shadow) in [
            ("/open/a/graphql", Some(true)),
            ("/open/a/GraphQL", Some(true)),
            // Where `;` ends a path, and where escaped dots climb.
            ("/open/%2e%2e/graphql", None),
            ("/graphql;/../open/a/graphql", None),
        ] {
            let policy = *resolver.resolve(&Method::POST, path).policy();
            assert!(policy.graphql, "{path}");
            assert_eq!(policy.shadow, shadow, "{path}");
        }
    }

    #[test]
    fn without_an_endpoint_no_path_is_like_one() {
        let mut resolver = resolver(&[("POST /graphql", PLAIN)]);
        assert!(!resolver.resolve(&Method::GET, "/GraphQL").policy().graphql);
    }
}
