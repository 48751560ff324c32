//! Routes: `METHOD /path/{template}`.
//!
//! A route comes from the operator's `[[route]]` list (first match wins), else from classifying each path segment:
//! values ([`crate::ident`]) and segments after a secret name become `{id}`. This keeps no state, so the same request
//! gets the same route on every instance and after every restart, and tallies of different instances can be added up.
//! How many different routes may be *counted* is a limit of the tally, not of this module.

mod closed;
mod foreign;
mod near;
mod operations;
mod reach;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use http::Method;

use crate::graphql::operation_label;
use crate::ident::is_value_in_path;
use crate::secret::{Trail, is_secret_name};

pub use operations::{OperationRoutes, means, split_operation};
pub use reach::label_of_requests;

use closed::ClosedPaths;
use near::NearPaths;
use operations::OperationRule;

/// Longer templates end in `{*rest}`: a label is stored with every tally and shown in every table.
const MAX_LABEL_BYTES: usize = 200;
/// Routes that one resolver caches; further ones are created for each request. Ten thousand is more than any service
/// has, and bounds the memory that a scanner with random paths can use.
const MAX_INTERNED: usize = 10_000;

/// The label under which the record counts routes beyond its cap together.
pub const OTHER: &str = "_other";

/// One route, shared by all exchanges that belong to it.
#[derive(Debug, PartialEq)]
pub struct Route {
    label: Box<str>,
    policy: RoutePolicy,
    configured: bool,
    /// What is said of some of its operations.
    operations: Option<Arc<[OperationRule]>>,
}

/// The configuration of one route; `None` means the general setting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoutePolicy {
    /// Whether they are shadowed whatever their method (`true`), or never (`false`).
    pub shadow: Option<bool>,
    /// Share of them that is shadowed, 0..=1.
    pub sample: Option<f64>,
    /// Whether both services may be asked again when their answers differ, whatever the method (`true`), or never
    /// (`false`).
    pub recheck: Option<bool>,
    /// Whether they are GraphQL: counted by operation, and their errors compared apart from their data.
    pub graphql: bool,
    /// Whether GraphQL requests that only read are shadowed, whatever their method.
    pub shadow_queries: bool,
}

impl Route {
    /// A route with this label and no policy of its own.
    pub fn new(label: impl Into<Box<str>>) -> Self {
        Self {
            label: label.into(),
            policy: RoutePolicy::default(),
            configured: false,
            operations: None,
        }
    }

    /// Whether a `[[route]]` of the configuration names it: there are few of those, whatever clients ask for.
    pub fn is_configured(&self) -> bool {
        self.configured
    }

    /// `GET /users/{id}`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its configuration.
    pub fn policy(&self) -> &RoutePolicy {
        &self.policy
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// A `[[route]]` of the configuration, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteRule {
    method: Option<Method>,
    segments: Vec<Segment>,
    label: Box<str>,
    policy: RoutePolicy,
    /// Only these requests of the GraphQL endpoint.
    operation: Option<Box<str>>,
    /// Of a mutation: only where it asks for no other fields of the root.
    fields: Option<Box<[Box<str>]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(Box<str>),
    Any,
    Rest,
}

/// The text of a route does not read as `METHOD /path`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No space, or no slash behind it.
    #[error(
        "`{0}` is not METHOD /path; write for example `GET /users/{{id}}`, or `* /path` for every method"
    )]
    Form(String),
    /// The method has a character that no method has.
    #[error("`{0}` is not an HTTP method")]
    Method(String),
    /// A brace that is not around a whole segment.
    #[error(
        "segment `{0}`: a placeholder is a whole segment, `{{name}}`, or `{{*name}}` as the last one"
    )]
    Placeholder(String),
    /// A placeholder as other routers write it.
    #[error("segment `{0}`: a placeholder is written in braces; write `{1}`")]
    Foreign(String, String),
    /// Something behind the path that is no operation.
    #[error(
        "`{0}` behind the path is no GraphQL operation as a report names it, such as `query Orders`; a blank in a path is written %20"
    )]
    Operation(String),
    /// A query or fragment in the path.
    #[error("`{0}` has a query or fragment; a route matches the path alone")]
    Query(String),
}

impl RouteRule {
    /// The same for all requests of it, whatever share was configured.
    #[must_use]
    pub fn unsampled(mut self) -> Self {
        self.policy.sample = None;
        self
    }

    /// Reads `METHOD /path/{placeholder}/{*rest}`; `*` stands for every method. Behind that may stand an operation, as
    /// reports name it.
    pub fn parse(text: &str, policy: RoutePolicy) -> Result<Self, RouteError> {
        let form = || RouteError::Form(text.to_owned());
        let (method, path) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(form)?;
        let path = path.trim();
        let (path, operation) = match path.split_once(char::is_whitespace) {
            None => (path, None),
            Some((path, rest)) => {
                let error = || RouteError::Operation(rest.trim().to_owned());
                (path, Some(operation_label(rest).ok_or_else(error)?))
            }
        };
        let rest = path.strip_prefix('/').ok_or_else(form)?;
        if path.contains(['?', '#']) {
            return Err(RouteError::Query(path.to_owned()));
        }
        let method = match method {
            "*" => None,
            name => Some(
                Method::from_bytes(name.to_ascii_uppercase().as_bytes())
                    .map_err(|_| RouteError::Method(name.to_owned()))?,
            ),
        };
        let count = rest.split('/').count();
        if let Some((segment, ours)) = foreign::translated(rest) {
            return Err(RouteError::Foreign(segment, ours));
        }
        let segments = rest
            .split('/')
            .enumerate()
            .map(|(index, segment)| Segment::parse(segment, index + 1 == count))
            .collect::<Result<_, _>>()?;
        let mut label = format!("{} {path}", method.as_ref().map_or("*", Method::as_str));
        if let Some(operation) = &operation {
            label.push(' ');
            label.push_str(operation);
        }
        Ok(Self {
            method,
            segments,
            label: label.into(),
            policy,
            operation: operation.map(Into::into),
            fields: None,
        })
    }

    /// Only for a mutation that asks for none but these fields of the root: its name is the client's, so it alone does not
    /// tell what it does.
    #[must_use]
    pub fn asking_for(self, fields: Vec<String>) -> Self {
        Self {
            fields: Some(fields.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// `GET /users/{id}`; with `*` for every method.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What is done with its requests.
    pub fn policy(&self) -> &RoutePolicy {
        &self.policy
    }

    /// The label of the endpoint and the operation, if it is for one.
    pub fn operation(&self) -> Option<(&str, &str)> {
        self.operation
            .is_some()
            .then(|| split_operation(&self.label))?
    }

    /// The fields of the root that its mutation may ask for, if they are said.
    pub fn fields(&self) -> Option<&[Box<str>]> {
        self.fields.as_deref()
    }

    /// Whether a request is one of it, but for its operation; `path` is without the query.
    pub fn matches(&self, method: &Method, path: &str) -> bool {
        let is_method = self.method.as_ref().is_none_or(|wanted| wanted == method);
        is_method && self.matches_path(path)
    }

    fn matches_path(&self, path: &str) -> bool {
        let mut actual = path.strip_prefix('/').unwrap_or(path).split('/');
        for segment in &self.segments {
            let matched = match segment {
                Segment::Rest => return true,
                Segment::Any => actual.next().is_some_and(|text| !text.is_empty()),
                Segment::Literal(wanted) => actual.next() == Some(wanted),
            };
            if !matched {
                return false;
            }
        }
        actual.next().is_none()
    }
}

impl Segment {
    fn parse(text: &str, last: bool) -> Result<Self, RouteError> {
        let error = || RouteError::Placeholder(text.to_owned());
        match text
            .strip_prefix('{')
            .and_then(|inner| inner.strip_suffix('}'))
        {
            None if text.contains(['{', '}']) => Err(error()),
            None => Ok(Self::Literal(text.into())),
            Some(name) => match name.strip_prefix('*') {
                Some(rest) if last && !rest.is_empty() => Ok(Self::Rest),
                None if !name.is_empty() && !name.contains(['{', '}', '*']) => Ok(Self::Any),
                _ => Err(error()),
            },
        }
    }
}

/// Names requests. Each worker has its own, so that naming a request takes no lock.
pub struct RouteResolver {
    rules: Arc<[RouteRule]>,
    /// Of each rule, what is said of its operations.
    operations: Vec<Option<Arc<[OperationRule]>>>,
    near: NearPaths,
    closed: ClosedPaths,
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
        let applies = |rule: &RouteRule| rule.operation.is_none() && rule.matches(method, path);
        let exact = self.rules.iter().position(applies);
        let near = self.near.of(method, path, exact);
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
        if self.closed.forbids(method, path, exact) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn label(rules: &[&str], method: &str, path: &str) -> String {
        let rules = rules
            .iter()
            .map(|text| RouteRule::parse(text, RoutePolicy::default()).expect("valid route"))
            .collect();
        let method = Method::from_bytes(method.as_bytes()).expect("valid method");
        RouteResolver::new(rules).resolve(&method, path).to_string()
    }

    #[test]
    fn get_and_head_at_the_path_of_a_graphql_service_are_graphql_too() {
        let graphql = RoutePolicy {
            graphql: true,
            ..RoutePolicy::default()
        };
        let rules = [
            RouteRule::parse("POST /graphql", graphql),
            RouteRule::parse("GET /graphql", RoutePolicy::default()),
        ];
        let rules = rules.map(|rule| rule.expect("a route"));
        let mut resolver = RouteResolver::new(rules.into());
        let mut is_graphql =
            |method: Method, path: &str| resolver.resolve(&method, path).policy().graphql;
        assert!(is_graphql(Method::GET, "/graphql"));
        assert!(is_graphql(Method::HEAD, "/graphql"));
        assert!(!is_graphql(Method::OPTIONS, "/graphql"));
        assert!(!is_graphql(Method::GET, "/graphql/schema"));
    }

    #[test]
    fn segments_are_classified_one_by_one() {
        for (path, template) in [
            ("/", "/"),
            ("/users/42", "/users/{id}"),
            ("/users/42/", "/users/{id}/"),
            ("/api/v1/oauth2/token", "/api/v1/oauth2/token"),
            (
                "/orders/3fa85f64-5717-4562-b3fc-2c963f66afa6",
                "/orders/{id}",
            ),
            ("/blobs/deadbeef0", "/blobs/{id}"),
            ("/reports/2026-01-31", "/reports/{id}"),
            ("/orders/ord-10023/items", "/orders/{id}/items"),
            ("/accounts/acc_129/users/usr_7", "/accounts/{id}/users/{id}"),
            ("/v1.2/wizard/step-2/utf-8", "/v1.2/wizard/step-2/utf-8"),
            ("/s/dGhpc0lzQVRva2VuRm9yWW91", "/s/{id}"),
            (
                "/blog/this-is-a-long-slug-for-a-post",
                "/blog/this-is-a-long-slug-for-a-post",
            ),
            ("/search/caf%C3%A9", "/search/{id}"),
            ("/a//b", "/a//b"),
            (
                "/invite/token/opensesame/accept",
                "/invite/token/{id}/accept",
            ),
            ("/invite/token/./opensesame", "/invite/token/./{id}"),
            ("/invite/token//opensesame", "/invite/token//{id}"),
            (
                "/invite/token/x/../opensesame",
                "/invite/token/{id}/../{id}",
            ),
            ("/auth/login", "/auth/login"),
            ("/%70assword/opensesame", "/{id}/{id}"),
            ("/token/%2e/opensesame", "/token/{id}/{id}"),
            ("/secrets/app/opensesame", "/secrets/{id}/{id}"),
            ("/magic-link/Open7", "/magic-link/{id}"),
            ("/login/password,opensesame", "/login/{id}"),
            ("/cart;jsessionid=opensesame/items", "/{id}/items"),
            ("*", "*"),
        ] {
            assert_eq!(label(&[], "GET", path), format!("GET {template}"), "{path}");
        }
        assert_eq!(label(&[], "BREW", "/pot"), "OTHER /pot");
    }

    #[test]
    fn the_operators_routes_come_first_and_in_order() {
        let rules = ["GET /users/{name}", "GET /users/me", "* /files/{*path}"];
        for (method, path, expected) in [
            ("GET", "/users/ada", "GET /users/{name}"),
            ("GET", "/users/me", "GET /users/{name}"),
            ("GET", "/users/", "GET /users/"),
            ("POST", "/users/ada", "POST /users/ada"),
            ("PUT", "/files/a/b/c", "* /files/{*path}"),
            ("GET", "/users/ada/x", "GET /users/ada/x"),
        ] {
            assert_eq!(label(&rules, method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_is_no_route_is_refused_with_its_text() {
        for text in [
            "/users",
            "GET users",
            "G@T /",
            "GET /a{b}",
            "GET /{}",
            "GET /{*rest}/x",
            "GET /a?b=1",
            "GET /my path",
            "POST /graphql query Orders { a }",
            "POST /graphql persisted 1a2b",
            "POST /graphql unknown Orders",
            "POST /graphql Query Orders",
            "",
        ] {
            let error = RouteRule::parse(text, RoutePolicy::default())
                .expect_err(text)
                .to_string();
            assert!(error.contains('`'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn labels_are_bounded_and_do_not_depend_on_history(paths in prop::collection::vec("/?[ -~é]{0,300}", 1..8)) {
            let mut resolver = RouteResolver::new(Arc::new([]));
            for path in &paths {
                let warm = resolver.resolve(&Method::GET, path);
                let cold = RouteResolver::new(Arc::new([])).resolve(&Method::GET, path);
                prop_assert_eq!(&warm, &cold);
                let longest = MAX_LABEL_BYTES + "OPTIONS /{*rest}".len();
                prop_assert!(warm.label().len() <= longest);
            }
        }
    }
}
