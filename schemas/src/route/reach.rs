//! Which requests can get to a route: what a check of the configuration asks, and no request ever does.
//!
//! A `[[route]]` behind one that takes all its requests, or a rule for a label that no request has, is no mistake of form.
//! It would just never apply, and nobody would notice.

use std::sync::Arc;

use http::Method;

use super::{MAX_LABEL_BYTES, RouteError, RoutePolicy, RouteResolver, RouteRule, Segment};

impl RouteRule {
    /// Whether every request that the other one matches is matched by this one, too.
    pub fn covers(&self, other: &Self) -> bool {
        // That of an endpoint is for its other operations, whatever comes first.
        if self.operation.is_some() || other.operation.is_some() {
            return self.label == other.label;
        }
        if self.method.is_some() && self.method != other.method {
            return false;
        }
        let mut others = other.segments.iter();
        for segment in &self.segments {
            let covered = match (segment, others.next()) {
                (Segment::Rest, _) => return true,
                (Segment::Any, Some(Segment::Any)) => true,
                (Segment::Any, Some(Segment::Literal(text))) => !text.is_empty(),
                (Segment::Literal(own), Some(Segment::Literal(text))) => own == text,
                _ => false,
            };
            if !covered {
                return false;
            }
        }
        others.next().is_none()
    }
}

/// The label of the requests for which `text` is written as a route: those of its method and path, with a value in the
/// place of each placeholder. It is `text` itself if that is how a report names them.
pub fn label_of_requests(routes: &Arc<[RouteRule]>, text: &str) -> Result<String, RouteError> {
    let rule = RouteRule::parse(text, RoutePolicy::default())?;
    let mut path = String::new();
    for segment in &rule.segments {
        path.push('/');
        match segment {
            Segment::Literal(text) => path.push_str(text),
            Segment::Any => path.push('1'),
            // Longer than a label may be, which is then cut here.
            Segment::Rest => path.push_str(&"x".repeat(MAX_LABEL_BYTES)),
        }
    }
    let method = rule.method.unwrap_or(Method::GET);
    let route = RouteResolver::new(Arc::clone(routes)).resolve(&method, &path);
    Ok(route.label().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(text: &str) -> RouteRule {
        RouteRule::parse(text, RoutePolicy::default()).expect("a route")
    }

    #[test]
    fn a_route_covers_another_if_it_takes_all_its_requests() {
        for (wide, narrow) in [
            ("* /{*rest}", "GET /users/{id}"),
            ("* /{*rest}", "GET /"),
            ("GET /users/{id}", "GET /users/{name}"),
            ("GET /users/{id}", "GET /users/me"),
            ("GET /files/{*rest}", "GET /files"),
            ("GET /files/{*rest}", "GET /files/{*path}"),
            ("* /users", "POST /users"),
            ("POST /graphql query A", "post  /graphql  query  A"),
        ] {
            assert!(route(wide).covers(&route(narrow)), "{wide} {narrow}");
        }
        for (one, other) in [
            ("GET /users/me", "GET /users/{id}"),
            ("GET /users/{id}", "* /users/{id}"),
            ("GET /users/{id}", "POST /users/me"),
            ("GET /users/{id}", "GET /users/"),
            ("GET /users/{id}", "GET /users/{*rest}"),
            ("GET /users/{id}", "GET /users"),
            ("GET /users", "GET /users/{id}"),
            ("POST /graphql", "POST /graphql query A"),
            ("POST /graphql query A", "POST /graphql query B"),
            ("POST /graphql query A", "POST /graphql"),
            ("* /graphql query A", "POST /graphql query A"),
        ] {
            assert!(!route(one).covers(&route(other)), "{one} {other}");
        }
    }

    #[test]
    fn what_a_report_calls_the_requests_of_a_route_is_known() {
        let declared: Arc<[RouteRule]> =
            Arc::new([route("GET /shops/{shop}/stock"), route("* /files/{*path}")]);
        for (text, label) in [
            ("GET /users/{id}", "GET /users/{id}"),
            ("GET /users/{userId}", "GET /users/{id}"),
            ("GET /users/42", "GET /users/{id}"),
            ("* /users", "GET /users"),
            ("GET /shops/{shop}/stock", "GET /shops/{shop}/stock"),
            ("GET /shops/north/stock", "GET /shops/{shop}/stock"),
            ("PUT /files/{id}", "* /files/{*path}"),
            ("GET /callback/{*rest}", "GET /callback/{*rest}"),
            ("GET /secrets/{id}/{id}", "GET /secrets/{id}/{id}"),
            ("GET /a/", "GET /a/"),
        ] {
            assert_eq!(label_of_requests(&declared, text).as_deref(), Ok(label));
        }
        assert!(label_of_requests(&declared, "/users").is_err());
    }
}
