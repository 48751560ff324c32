//! Routes that forbid shadowing hold under every spelling of their path.
//!
//! A server reads `/%6cogout`, `//logout`, `/Logout` or `/logout;a=b` as `/logout`, and answers HEAD as GET. Nobody knows what the candidate's
//! router does, so what some service may take for a forbidden route ([`super::spelled`]) is forbidden, too: for the shadow, and for a rollout,
//! which sends nothing to the candidate that may not be shadowed. Only a route without placeholders that is for this very spelling says
//! otherwise. The order of the routes counts as it does for the exact ones.
//!
//! A request costs nothing more where no route forbids anything, and no copy where its path is of lower-case letters and digits.

use std::sync::Arc;

use http::Method;

use super::spelled::{folded_rule, readings};
use super::{RouteRule, Segment};

/// What forbids shadowing, among all rules. Empty if none does.
#[derive(Default)]
pub(super) struct ClosedPaths {
    rules: Arc<[RouteRule]>,
    /// Those up to the last one that forbids.
    folded: Vec<Folded>,
}

struct Folded {
    is_closed: bool,
    is_operation: bool,
    method: Option<Method>,
    segments: Vec<Segment>,
}

impl ClosedPaths {
    pub(super) fn new(rules: &Arc<[RouteRule]>) -> Self {
        let Some(last) = rules.iter().rposition(is_closed) else {
            return Self::default();
        };
        let folded = rules.iter().take(last + 1).map(|rule| Folded {
            is_closed: is_closed(rule),
            is_operation: rule.operation.is_some(),
            method: rule.method.clone(),
            segments: folded_rule(&rule.segments),
        });
        Self {
            folded: folded.collect(),
            rules: Arc::clone(rules),
        }
    }

    /// Whether a request is of a forbidden route, however its path is written. `exact` is the rule that matches it as it is written.
    pub(super) fn forbids(&self, method: &Method, path: &str, exact: Option<usize>) -> bool {
        if self.folded.is_empty() {
            return false;
        }
        if let Some(rule) = exact.and_then(|at| self.rules.get(at)) {
            let is_closed = is_closed(rule);
            if is_closed || is_literal(rule) {
                return is_closed;
            }
        }
        if *method == Method::HEAD && self.forbids_get(path) {
            return true;
        }
        if is_plain(path) {
            return self.is_closed(method, || path.split('/').filter(|step| !step.is_empty()));
        }
        let forbids =
            |steps: Vec<String>| self.is_closed(method, || steps.iter().map(String::as_str));
        readings(path).any(forbids)
    }

    /// HEAD as the GET of the path as it is written.
    fn forbids_get(&self, path: &str) -> bool {
        let may_hold = |rule: &&RouteRule| {
            rule.operation.is_none()
                && (rule.matches(&Method::HEAD, path) || rule.matches(&Method::GET, path))
        };
        self.rules.iter().find(may_hold).is_some_and(is_closed)
    }

    /// Whether the first rule for what a path means forbids.
    fn is_closed<'a, I: Iterator<Item = &'a str>>(
        &self,
        method: &Method,
        steps: impl Fn() -> I,
    ) -> bool {
        let is_method = |rule: &Folded| match &rule.method {
            None => true,
            Some(wanted) => wanted == method || (*method == Method::HEAD && *wanted == Method::GET),
        };
        let mut rules = self.folded.iter();
        let first =
            rules.find(|rule| !rule.is_operation && is_method(rule) && rule.is_met(steps()));
        first.is_some_and(|rule| rule.is_closed)
    }
}

fn is_closed(rule: &RouteRule) -> bool {
    rule.policy.shadow == Some(false) && rule.operation.is_none()
}

/// Without placeholders.
fn is_literal(rule: &RouteRule) -> bool {
    let mut segments = rule.segments.iter();
    segments.all(|segment| matches!(segment, Segment::Literal(_)))
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
            "/logout+",
            "/+/logout",
            "/\u{ff4c}ogout",
            "/%EF%BD%8Cogout",
            "/logout\u{ff0e}",
            "/logout..;",
            "/logout.html",
            "/users/7/close+",
            "/users/+/close",
            "/users/%FF/close",
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
            "/logout-all",
            "/\u{65e5}\u{672c}",
        ] {
            assert_eq!(shadow(&Method::GET, path), Some(true), "{path}");
        }
    }

    #[test]
    fn an_escape_in_a_segment_and_the_end_of_a_path_have_every_reading() {
        let mut resolver = resolver(&[
            ("GET /admin/{id}/close", Some(false)),
            ("GET /logout", Some(false)),
            ("GET /Admin/open", Some(true)),
            ("* /{*all}", Some(true)),
        ]);
        let mut shadow = |method: &Method, path: &str| {
            let route = resolver.resolve(method, path);
            route.policy().shadow
        };
        for path in [
            "/admin/a%2Fb/close",
            "//admin/a%2Fb/close",
            "/admin/a%2Fb/clos%65",
            "/admin/a%252Fb/clos%65",
            "/Admin/a%2Fb/close",
            "/admin/a%2Fb/close/",
            "/admin/a%5Cb/close/",
            "/Admin/a\\b/close",
            "/admin/%2e%2e/close",
            "//admin/%2e%2e/close",
            "//admin/..%2f/close",
            "//admin/;v=1/close",
            "/x/%2e%2e/admin/a%2Fb/close",
            "/admin%2Fa%2Fclose",
            "/admin/a%2Fb/close%00.png",
            "/logout%00",
            "/logout%3Fx=1",
            "/logout%3fx=1",
            "/logout%23",
            "/logout%2523",
            "/logout%25%32%33x",
            "//Logout%2500",
            "/logout/%3Fx",
        ] {
            for method in [Method::GET, Method::HEAD] {
                assert_eq!(shadow(&method, path), Some(false), "{method} {path}");
            }
            assert_eq!(shadow(&Method::POST, path), Some(true), "{path}");
        }
        for path in [
            "/admin/open%2Fb",
            "/Admin/open",
            "/admin/a/closed%23",
            "/x%23/logout",
            "/x%3F/logout",
            "/%",
            "/logout%2",
            "/logout%24",
            "/\u{e4}%e4%ff",
        ] {
            assert_eq!(shadow(&Method::GET, path), Some(true), "{path}");
        }
    }

    /// Rules behind the last one that forbids are not read again, and still say what is of their very spelling.
    #[test]
    fn only_rules_up_to_the_last_forbidding_one_are_folded() {
        let rules = [
            ("GET /a", None),
            ("GET /b", Some(false)),
            ("GET /B", Some(true)),
            ("GET /c", None),
        ];
        let closed = resolver(&rules).closed;
        assert_eq!(closed.folded.len(), 2);
        assert!(!closed.forbids(&Method::GET, "/B", Some(2)));
        assert!(closed.forbids(&Method::GET, "/%62", None));
        assert!(resolver(&rules[2..]).closed.folded.is_empty());
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
