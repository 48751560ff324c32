//! Which route a request is of: by the operator's list, else by its segments.
//!
//! What is safe to send is decided here, too, once for each request: a path that a service may take for that of a closed route or of a
//! GraphQL endpoint gets the policy of those, and keeps its own label.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;

use super::closed::ClosedPaths;
use super::near::NearPaths;
use super::operations::{self, OperationRule};
use super::{MAX_INTERNED, MAX_LABEL_BYTES, Route, RoutePolicy, RouteRule};
use crate::ident::is_value_in_path;
use crate::secret::{Trail, is_secret_name};

/// Names requests. Each worker has its own, so that naming a request takes no lock.
pub struct RouteResolver {
    rules: Arc<[RouteRule]>,
    /// Of each rule, what is said of its operations.
    operations: Vec<Option<Arc<[OperationRule]>>>,
    near: NearPaths,
    pub(super) closed: ClosedPaths,
    /// Whether what no route decides is shadowed whatever its method.
    unsafe_methods: bool,
    interned: HashMap<Box<str>, Arc<Route>>,
    scratch: String,
}

impl RouteResolver {
    /// With the operator's routes, in the order in which they are tried.
    pub fn new(rules: Arc<[RouteRule]>) -> Self {
        let of_endpoint = |rule: &RouteRule| operations::of_endpoint(&rules, rule);
        Self {
            operations: rules.iter().map(of_endpoint).collect(),
            near: NearPaths::new(&rules),
            closed: ClosedPaths::new(&rules),
            rules,
            unsafe_methods: false,
            interned: HashMap::new(),
            scratch: String::new(),
        }
    }

    /// Shadows requests whatever their method, where no route says otherwise.
    #[must_use]
    pub fn with_unsafe_methods(mut self, allowed: bool) -> Self {
        self.unsafe_methods = allowed;
        self
    }

    /// The route of a request; `path` is without the query.
    pub fn resolve(&mut self, method: &Method, path: &str) -> Arc<Route> {
        self.resolve_sent(method, path, path)
    }

    /// The same where services get other bytes: `sent` is the path with those that a URL must not contain percent-encoded. It is what
    /// they read, so it says what is safe to send; `path` has the name.
    pub fn resolve_sent(&mut self, method: &Method, path: &str, sent: &str) -> Arc<Route> {
        let applies = |rule: &RouteRule| rule.operation.is_none() && rule.matches(method, path);
        let exact = self.rules.iter().position(applies);
        let near = self.near.of(method, sent, exact);
        let place = near.map_or(exact, |near| near.0);
        let rule = place.and_then(|place| self.rules.get(place));
        let operations = place.and_then(|place| self.operations.get(place)?.as_ref());
        // What is only near is not what the rule names.
        let named = rule.filter(|_| place == exact);
        self.scratch.clear();
        match named {
            Some(rule) => self.scratch.push_str(&rule.label),
            None => write_label(&mut self.scratch, method, path),
        }
        let mut policy = rule.map_or_else(RoutePolicy::default, |rule| rule.policy);
        policy.graphql |= near.is_some();
        if self.closed.forbids(method, sent, exact) {
            policy.shadow = Some(false);
        } else if self.unsafe_methods {
            policy.shadow.get_or_insert(true);
        }
        if let Some(route) = self.interned.get(self.scratch.as_str())
            && route.policy == policy
            && route.configured == named.is_some()
            && route.operations.as_ref() == operations
        {
            return Arc::clone(route);
        }
        let route = Arc::new(Route {
            label: self.scratch.as_str().into(),
            policy,
            configured: named.is_some(),
            operations: operations.cloned(),
        });
        if self.interned.len() < MAX_INTERNED {
            self.interned
                .insert(route.label.clone(), Arc::clone(&route));
        }
        route
    }
}

fn write_label(label: &mut String, method: &Method, path: &str) {
    // Extension methods are the client's text: unbounded in number, so they share one name.
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    label.push_str(if known.contains(method) {
        method.as_str()
    } else {
        "OTHER"
    });
    label.push(' ');
    if !path.starts_with('/') {
        // `OPTIONS *` and authority-form.
        label.push_str(if path == "*" { "*" } else { "{authority}" });
        return;
    }
    let mut trail = Trail::default();
    for segment in path.split('/').skip(1) {
        if label.len() + segment.len() > MAX_LABEL_BYTES {
            label.push_str("/{*rest}");
            return;
        }
        label.push('/');
        let hidden = trail.hides(segment, is_secret_name);
        label.push_str(if hidden || is_value_in_path(segment) {
            "{id}"
        } else {
            segment
        });
    }
}
