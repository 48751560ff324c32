//! Routes of GraphQL operations: `POST /graphql query Orders`.
//!
//! The operation stands behind the path, which has no space. What is said of the route, a rule for example, is meant for
//! all of its operations. They are not configured, so they count under the cap for routes: clients choose their names.

use std::collections::HashMap;
use std::sync::Arc;

use super::{MAX_INTERNED, Route};
use crate::graphql::Operation;

/// Names the routes of operations. Each worker has its own.
#[derive(Default)]
pub struct OperationRoutes {
    interned: HashMap<Box<str>, Arc<Route>>,
    scratch: String,
}

impl OperationRoutes {
    /// The route of an operation of `route`, with the policy of `route`.
    pub fn of(&mut self, route: &Route, operation: &Operation) -> Arc<Route> {
        self.scratch.clear();
        self.scratch.push_str(route.label());
        self.scratch.push(' ');
        self.scratch.push_str(operation.label());
        if let Some(known) = self.interned.get(self.scratch.as_str()) {
            return Arc::clone(known);
        }
        let route = Arc::new(Route {
            label: self.scratch.as_str().into(),
            policy: route.policy,
            configured: false,
        });
        if self.interned.len() < MAX_INTERNED {
            self.interned
                .insert(route.label.clone(), Arc::clone(&route));
        }
        route
    }
}

/// Splits the label of an operation into that of its route and the operation.
pub fn split_operation(label: &str) -> Option<(&str, &str)> {
    let path = label.find(' ')? + 1;
    let end = path + label.get(path..)?.find(' ')?;
    Some((label.get(..end)?, label.get(end + 1..)?))
}

/// Whether requests with this label are meant by `route`: it is their label, or they are operations of it.
pub fn means(route: &str, label: &str) -> bool {
    route == label || split_operation(label).is_some_and(|(own, _)| own == route)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RoutePolicy;

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
