//! Routes of GraphQL operations: `POST /graphql query Orders`.
//!
//! The operation stands behind the path, which has no space. What is said of the route, a rule for example, is meant for
//! all of its operations. A `[[route]]` may be for one of them; what it does not say is as for the others. Those without
//! one count under the cap for routes: clients choose their names.

use std::collections::HashMap;
use std::sync::Arc;

use super::{MAX_INTERNED, Route, RoutePolicy, RouteRule, split_operation};
use crate::graphql::{Access, Operation, Part};

/// What a `[[route]]` says of one operation.
#[derive(Debug, PartialEq)]
pub(super) struct OperationRule {
    operation: Box<str>,
    fields: Option<Box<[Box<str>]>>,
    policy: RoutePolicy,
}

/// What is said of the operations of this endpoint; `None` if nothing is.
pub(super) fn of_endpoint(
    rules: &[RouteRule],
    endpoint: &RouteRule,
) -> Option<Arc<[OperationRule]>> {
    let of_it = rules.iter().filter_map(|rule| {
        let (own, operation) = rule.operation()?;
        (own == endpoint.label()).then(|| OperationRule {
            operation: operation.into(),
            fields: rule.fields.clone(),
            policy: rule.policy,
        })
    });
    let of_it: Arc<[OperationRule]> = of_it.collect();
    (!of_it.is_empty()).then_some(of_it)
}

impl Route {
    /// What is said of one part of a request. A mutation that asks for other fields than its `[[route]]` lists is another
    /// one with the same name.
    pub fn policy_of(&self, part: &Part) -> RoutePolicy {
        let mut rules = self.operation_rules().iter();
        let own = rules.find(|rule| {
            let fields = rule.fields.as_deref();
            *rule.operation == *part.label()
                && fields.is_none_or(|fields| part.asks_only_for(fields))
        });
        let Some(own) = own else {
            let is_closed = self.may_be_closed(part);
            return RoutePolicy {
                shadow: if is_closed {
                    Some(false)
                } else {
                    self.policy.shadow
                },
                ..self.policy
            };
        };
        RoutePolicy {
            shadow: own.policy.shadow.or(self.policy.shadow),
            sample: own.policy.sample.or(self.policy.sample),
            recheck: own.policy.recheck.or(self.policy.recheck),
            ..self.policy
        }
    }

    /// Whether a part may be an operation with `shadow = false`, though not by its name: it cannot be read, it has no document, or one that
    /// only the service has, under that name or none.
    fn may_be_closed(&self, part: &Part) -> bool {
        let is_told = !matches!(part.access(), Access::Unknown | Access::Untold);
        let name = part.stored_name();
        let mut rules = self.operation_rules().iter();
        !is_told
            && rules.any(|rule| {
                let own = rule.operation.split(' ').nth(1);
                rule.policy.shadow == Some(false) && (name.is_none() || name == own)
            })
    }

    /// Whether some operation has this `shadow`, whatever the others have.
    pub fn is_some_operation_shadowed(&self, shadow: bool) -> bool {
        let mut rules = self.operation_rules().iter();
        rules.any(|rule| rule.policy.shadow == Some(shadow))
    }

    fn operation_rules(&self) -> &[OperationRule] {
        self.operations.as_deref().unwrap_or_default()
    }
}

/// Names the routes of operations. Each worker has its own.
#[derive(Default)]
pub struct OperationRoutes {
    interned: HashMap<Box<str>, Arc<Route>>,
    scratch: String,
}

impl OperationRoutes {
    /// The route of an operation of `route`, with what is said of it. Whether it may be asked again is said of all parts
    /// of the request, because all of them would be sent.
    pub fn of(&mut self, route: &Route, operation: &Operation) -> Arc<Route> {
        self.scratch.clear();
        self.scratch.push_str(route.label());
        self.scratch.push(' ');
        self.scratch.push_str(operation.label());
        let policy = policy(route, operation);
        if let Some(known) = self.interned.get(self.scratch.as_str())
            && known.policy == policy
        {
            return Arc::clone(known);
        }
        let mut rules = route.operation_rules().iter();
        let route = Arc::new(Route {
            label: self.scratch.as_str().into(),
            policy,
            configured: rules.any(|rule| *rule.operation == *operation.label()),
            operations: None,
        });
        if self.interned.len() < MAX_INTERNED {
            self.interned
                .insert(route.label.clone(), Arc::clone(&route));
        }
        route
    }
}

fn policy(route: &Route, operation: &Operation) -> RoutePolicy {
    if route.operations.is_none() {
        return route.policy;
    }
    let parts = operation.parts();
    let named = parts.iter().find(|part| part.label() == operation.label());
    let rechecks = parts.iter().map(|part| route.policy_of(part).recheck);
    // What forbids it goes before what says nothing, and that before what allows it.
    let recheck = rechecks.min_by_key(|recheck| match recheck {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    });
    RoutePolicy {
        recheck: recheck.flatten(),
        ..named.map_or(route.policy, |named| route.policy_of(named))
    }
}

/// Whether requests with this label are meant by `route`: it is their label, or they are operations of it.
pub fn means(route: &str, label: &str) -> bool {
    route == label || split_operation(label).is_some_and(|(own, _)| own == route)
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::route::RouteResolver;

    #[test]
    fn an_operation_is_counted_by_its_name_under_the_policy_of_its_route() {
        let policy = RoutePolicy {
            shadow: Some(true),
            ..RoutePolicy::default()
        };
        let route = Route {
            label: "POST /graphql".into(),
            policy,
            configured: true,
            operations: None,
        };
        let body = br#"{"query":"query Orders { a }"}"#;
        let operation = Operation::of_body(b"application/json", None, body);
        let mut routes = OperationRoutes::default();
        let first = routes.of(&route, &operation);
        assert_eq!(first.label(), "POST /graphql query Orders");
        assert_eq!(first.policy(), &policy);
        assert!(!first.is_configured());
        assert!(Arc::ptr_eq(&first, &routes.of(&route, &operation)));
    }

    /// All that a request has is sent again, so all of it must be allowed.
    #[test]
    fn a_request_is_asked_again_as_the_strictest_of_its_operations_says() {
        let rule = |text: &str, recheck| {
            let policy = RoutePolicy {
                recheck,
                graphql: text.ends_with("graphql"),
                ..RoutePolicy::default()
            };
            let rule = RouteRule::parse(text, policy).expect("a route");
            if text.contains("mutation") {
                rule.asking_for(vec!["quote".to_owned()])
            } else {
                rule
            }
        };
        let rules = [
            rule("POST /graphql", None),
            rule("POST /graphql mutation Quote", Some(true)),
            rule("POST /graphql query Often", Some(true)),
            rule("POST /graphql query Never", Some(false)),
        ];
        let mut resolver = RouteResolver::new(rules.into());
        let route = resolver.resolve(&Method::POST, "/graphql");
        let mut routes = OperationRoutes::default();
        for (documents, recheck) in [
            (&["mutation Quote { quote }"][..], Some(true)),
            (&["mutation Quote { pay }"], None),
            (&["mutation Quote { quote }"], Some(true)),
            (
                &["mutation Quote { quote }", "query Often { a }"],
                Some(true),
            ),
            (&["mutation Quote { quote }", "query Other { a }"], None),
            (&["mutation Quote { quote } mutation Quote { pay }"], None),
            (
                &[
                    "query Often { a }",
                    "query Other { a }",
                    "query Never { a }",
                ],
                Some(false),
            ),
        ] {
            let each = documents.iter();
            let each: Vec<_> = each
                .map(|text| format!("{{\"query\":\"{text}\"}}"))
                .collect();
            let body = match each.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(",")),
            };
            let operation = Operation::of_body(b"application/json", None, body.as_bytes());
            let policy = *routes.of(&route, &operation).policy();
            assert_eq!((policy.recheck, policy.graphql), (recheck, true), "{body}");
        }
    }

    #[test]
    fn what_may_be_a_closed_operation_is_closed() {
        let rule = |text: &str, shadow| {
            let policy = RoutePolicy {
                shadow: Some(shadow),
                graphql: text.ends_with("graphql"),
                ..RoutePolicy::default()
            };
            RouteRule::parse(text, policy).expect("a route")
        };
        let short = "1a2b3c4d5e6f";
        let hash = format!("{}1a2b", short.repeat(5));
        let stored = |more: &str| {
            format!(r#"{{{more}"extensions":{{"persistedQuery":{{"sha256Hash":"{hash}"}}}}}}"#)
        };
        let rules = [
            rule("POST /graphql", true),
            rule("POST /graphql mutation Pay", false),
        ];
        let mut resolver = RouteResolver::new(rules.into());
        let route = resolver.resolve(&Method::POST, "/graphql");
        let shadow = |route: &Route, body: &str| {
            let operation = Operation::of_body(b"application/json", None, body.as_bytes());
            let mut parts = operation.parts().iter();
            parts.all(|part| route.policy_of(part).shadow == Some(true))
        };
        for (body, is_open) in [
            (r#"{"query":"mutation Other { pay }"}"#, true),
            (r#"{"query":"query A { a }"}"#, true),
            (r#"{"query":"mutation Pay { pay }"}"#, false),
            (r#"{"Query":"mutation Pay { pay }"}"#, false),
            (
                r#"{"query":"query A { a }","QUERY":"mutation Pay { pay }"}"#,
                false,
            ),
            (r#"{"doc":"mutation Pay { pay }"}"#, false),
            (r#"{"query":"mutation Pay { pay"}"#, false),
            (&stored(r#""operationName":"Other","#), true),
            (&stored(r#""operationName":"Pay","#), false),
            (&stored(r#""operationname":"Other","#), false),
            (&stored(""), false),
        ] {
            assert_eq!(shadow(&route, body), is_open, "{body}");
        }
        // Who closes nothing, or opens it by its hash, has it as it was.
        let own = format!("POST /graphql persisted {short}");
        let rules = [
            rule("POST /graphql", true),
            rule("POST /graphql mutation Pay", false),
            rule(&own, true),
        ];
        let mut resolver = RouteResolver::new(rules.into());
        assert!(shadow(
            &resolver.resolve(&Method::POST, "/graphql"),
            &stored("")
        ));
        let mut resolver = RouteResolver::new([rule("POST /graphql", true)].into());
        let route = resolver.resolve(&Method::POST, "/graphql");
        assert!(shadow(&route, r#"{"Query":"mutation Pay { pay }"}"#));
    }

    #[test]
    fn a_route_means_its_operations_and_no_others() {
        assert_eq!(
            split_operation("POST /graphql query Orders"),
            Some(("POST /graphql", "query Orders"))
        );
        for plain in ["POST /graphql", "OPTIONS *", "_other", ""] {
            assert_eq!(split_operation(plain), None, "{plain}");
        }
        for (route, label, meant) in [
            ("POST /graphql", "POST /graphql", true),
            ("POST /graphql", "POST /graphql query Orders", true),
            (
                "POST /graphql query Orders",
                "POST /graphql query Orders",
                true,
            ),
            (
                "POST /graphql query Orders",
                "POST /graphql query OrdersV2",
                false,
            ),
            ("POST /graphql query Orders", "POST /graphql", false),
            ("POST /graph", "POST /graphql query Orders", false),
            ("POST /graphql query", "POST /graphql query Orders", false),
        ] {
            assert_eq!(means(route, label), meant, "{route} {label}");
        }
    }
}
