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
mod resolver;
mod rule;
mod spelled;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use operations::{OperationRoutes, means};
pub use reach::label_of_requests;
pub use resolver::RouteResolver;
pub use rule::{RouteError, RouteRule, split_operation};

use operations::OperationRule;
use rule::Segment;

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
