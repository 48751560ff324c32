//! Paths that a service may take for the path of a GraphQL endpoint.
//!
//! Routers forgive: one drops a slash at the end, another reads `/GraphQL`, `/%67raphql`, `/x/../graphql` or `/graphql;v=1` as
//! `/graphql`. A mutation sent there is a mutation. Nobody knows what the candidate's router does, so what differs from an
//! endpoint only in such a way is treated like it: what is sent follows the [[route]] of the endpoint, and is read as GraphQL.
//! It keeps a label of its own, because the legacy may answer it with 404.

use http::Method;

use super::spelled::{folded, folded_rule};
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
            segments: folded_rule(&rule.segments),
        });
        Self(near.collect())
    }

    /// If a GraphQL service may take a request at this path: the rule that holds for it. `exact` is the rule that matches the path as it is written; one without placeholders is said of this writing.
    ///
    /// Most services also read the document from the target of a GET at the path of a POST, and serve HEAD as GET.
    pub(super) fn of(&self, method: &Method, path: &str, exact: Option<usize>) -> Option<Holds> {
        if self.0.is_empty() || !matches!(*method, Method::GET | Method::HEAD | Method::POST) {
            return None;
        }
        let path = folded(path);
        let met = |near: &&Near| matches(&near.segments, &path);
        // By POST only what is written otherwise is new here: a rule for GET alone says nothing of it.
        let is_beside = |near: &&Near| {
            let same = near.method.as_ref().is_none_or(|wanted| wanted == method);
            near.is_endpoint && (same || *method != Method::POST)
        };
        if !self.0.iter().filter(is_beside).any(|near| met(&near)) {
            return None;
        }
        let is_literal = |at: &usize| self.0.get(*at).is_some_and(|near| near.is_literal);
        if let Some(exact) = exact.filter(is_literal) {
            return Some(Holds(Some(exact)));
        }
        let holds = |near: &Near| {
            let same = near.method.as_ref().is_none_or(|wanted| wanted == method);
            same && !near.is_operation && met(&near)
        };
        Some(Holds(self.0.iter().position(holds)))
    }
}

fn matches(wanted: &[Segment], path: &[String]) -> bool {
    let mut actual = path.iter();
    for segment in wanted {
        let matched = match segment {
            Segment::Rest => return true,
            Segment::Any => actual.next().is_some(),
            Segment::Literal(wanted) => actual.next().is_some_and(|text| **wanted == **text),
        };
        if !matched {
            return false;
        }
    }
    actual.next().is_none()
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
                "/api/graphql.json",
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

    #[test]
    fn without_an_endpoint_no_path_is_like_one() {
        let mut resolver = resolver(&[("POST /graphql", PLAIN)]);
        assert!(!resolver.resolve(&Method::GET, "/GraphQL").policy().graphql);
    }
}
