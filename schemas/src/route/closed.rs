//! Routes that forbid shadowing hold under every spelling of their path.
//!
//! A server reads `/%6cogout`, `//logout`, `/./logout`, `/Logout` or `/logout;a=b` as `/logout`, and answers HEAD as GET. Nobody knows what the
//! candidate's router does, so what differs from a forbidden route only in such a way is forbidden, too: for the shadow, and for a
//! rollout, which sends nothing to the candidate that may not be shadowed. Only a route without placeholders that is for this very spelling says
//! otherwise. The order of the routes counts as it does for the exact ones.
//!
//! A request costs nothing more where no route forbids anything.

use http::Method;

use super::near::{folded, folded_rule};
use super::{RouteRule, Segment};

/// What forbids shadowing, among all rules. Empty if none does.
#[derive(Default)]
pub(super) struct ClosedPaths(Vec<Folded>);

struct Folded {
    is_closed: bool,
    is_literal: bool,
    is_operation: bool,
    method: Option<Method>,
    segments: Vec<Segment>,
}

impl ClosedPaths {
    pub(super) fn new(rules: &[RouteRule]) -> Self {
        let is_closed =
            |rule: &RouteRule| rule.policy.shadow == Some(false) && rule.operation.is_none();
        if !rules.iter().any(is_closed) {
            return Self::default();
        }
        let folded = rules.iter().map(|rule| Folded {
            is_closed: is_closed(rule),
            is_literal: rule
                .segments
                .iter()
                .all(|segment| matches!(segment, Segment::Literal(_))),
            is_operation: rule.operation.is_some(),
            method: rule.method.clone(),
            segments: folded_rule(&rule.segments),
        });
        Self(folded.collect())
    }

    /// Whether a request is of a forbidden route, however its path is written. `exact` is the rule that matches it as it is written.
    pub(super) fn forbids(&self, method: &Method, path: &str, exact: Option<usize>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        if let Some(rule) = exact.and_then(|at| self.0.get(at))
            && (rule.is_literal || rule.is_closed)
        {
            return rule.is_closed;
        }
        let first = if is_plain(path) {
            self.first(method, || path.split('/').filter(|step| !step.is_empty()))
        } else {
            let steps = folded(path);
            self.first(method, || steps.iter().map(String::as_str))
        };
        first.is_some_and(|rule| rule.is_closed)
    }

    /// The first rule for what a path means.
    fn first<'a, I: Iterator<Item = &'a str>>(
        &self,
        method: &Method,
        steps: impl Fn() -> I,
    ) -> Option<&Folded> {
        let is_method = |rule: &Folded| match &rule.method {
            None => true,
            Some(wanted) => wanted == method || (*method == Method::HEAD && *wanted == Method::GET),
        };
        let mut rules = self.0.iter();
        rules.find(|rule| !rule.is_operation && is_method(rule) && rule.is_met(steps()))
    }
}

impl Folded {
    fn is_met<'a>(&self, mut steps: impl Iterator<Item = &'a str>) -> bool {
        for segment in &self.segments {
            let is_met = match segment {
                Segment::Rest => return true,
                Segment::Any => steps.next().is_some(),
                Segment::Literal(wanted) => steps.next() == Some(wanted),
            };
            if !is_met {
                return false;
            }
        }
        steps.next().is_none()
    }
}

/// Whether folding changes nothing but empty steps, so that no copy is needed.
fn is_plain(path: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'/');
    path.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::super::{RoutePolicy, RouteResolver};
    use super::*;

    fn resolver(rules: &[(&str, Option<bool>)]) -> RouteResolver {
        let rules = rules.iter().map(|(text, shadow)| {
            let policy = RoutePolicy {
                shadow: *shadow,
                ..RoutePolicy::default()
            };
            RouteRule::parse(text, policy).expect("a route")
        });
        RouteResolver::new(rules.collect())
    }

    #[test]
    fn a_forbidden_route_is_forbidden_in_every_spelling() {
        let mut resolver = resolver(&[
            ("GET /logout", Some(false)),
            ("GET /users/{id}/Close", Some(false)),
            ("* /{*all}", Some(true)),
        ]);
        let mut shadow = |method: &Method, path: &str| {
            let route = resolver.resolve(method, path);
            route.policy().shadow
        };
        for path in [
            "/logout",
            "/%6cogout",
            "/%256cogout",
            "//logout",
            "/logout/",
            "/./logout",
            "/a/../logout",
            "/%2e/logout",
            "/%2Flogout",
            "/LOGOUT",
            "/logout;a=b",
            "/logout%20",
            "\\logout",
            "/users/7/close",
            "/users/7/Close",
            "/users//7/%43lose",
        ] {
            for method in [Method::GET, Method::HEAD] {
                assert_eq!(shadow(&method, path), Some(false), "{method} {path}");
            }
            assert_eq!(shadow(&Method::POST, path), Some(true), "{path}");
        }
        for path in [
            "/",
            "/log",
            "/logout/now",
            "/users/close",
            "/a/logout",
            "/logout.html",
        ] {
            assert_eq!(shadow(&Method::GET, path), Some(true), "{path}");
        }
    }

    #[test]
    fn a_route_for_this_very_spelling_or_before_it_says_otherwise() {
        let mut resolver = resolver(&[
            ("GET /users/{id}", None),
            ("GET /users/me", Some(false)),
            ("GET /logout", Some(false)),
            ("HEAD /logout", Some(true)),
            ("GET /Logout", Some(true)),
        ]);
        for (method, path, expected) in [
            // As the exact routes: the first one holds.
            (Method::GET, "/users/me", None),
            (Method::GET, "/users/%6de", None),
            (Method::HEAD, "/logout", Some(true)),
            (Method::GET, "/Logout", Some(true)),
            (Method::GET, "/LOGOUT", Some(false)),
            (Method::HEAD, "/LOGOUT", Some(false)),
        ] {
            let route = resolver.resolve(&method, path);
            assert_eq!(route.policy().shadow, expected, "{method} {path}");
        }
        // Where everything is sent, too.
        let forbidden = RoutePolicy {
            shadow: Some(false),
            ..RoutePolicy::default()
        };
        let rule = RouteRule::parse("POST /pay", forbidden).expect("a route");
        let mut resolver = RouteResolver::new([rule].into()).with_unsafe_methods(true);
        for (path, expected) in [("/%70ay", false), ("/payed", true)] {
            let route = resolver.resolve(&Method::POST, path);
            assert_eq!(route.policy().shadow, Some(expected), "{path}");
        }
    }
}
