//! Routes that forbid shadowing hold under every spelling of their path.
//!
//! A server reads `/%6cogout`, `//logout`, `/Logout` or `/logout;a=b` as `/logout`, and answers HEAD as GET. Nobody knows what the candidate's
//! router does, so what some service may take for a forbidden route ([`super::spelled`]) is forbidden, too: for the shadow, and for a rollout,
//! which sends nothing to the candidate that may not be shadowed. Only a route without placeholders that is for this very spelling says
//! otherwise. The order of the routes counts as it does for the exact ones; one whose path has capitals, a slash at the end or the like
//! allows only what is written as it is, because who merges slashes does not add that one. A path that leads out of the root is forbidden:
//! nobody knows what a proxy put before it. Some servers read methods without case.
//!
//! A request costs nothing more where no route forbids anything, and no copy where its path is of lower-case letters and digits.

use std::sync::Arc;

use http::Method;

use super::spelled::{any_reading, folded_rule, of_directory};
use super::{RouteRule, Segment};

/// What forbids shadowing, among all rules. Empty if none does.
#[derive(Default)]
pub(super) struct ClosedPaths {
    rules: Arc<[RouteRule]>,
    /// Those up to the last one that forbids.
    folded: Vec<Folded>,
}

struct Folded {
    /// Of the rule that it is.
    place: usize,
    is_closed: bool,
    /// It allows, and its path is more than its steps.
    is_exact: bool,
    is_operation: bool,
    method: Option<Method>,
    segments: Vec<Segment>,
}

impl ClosedPaths {
    pub(super) fn new(rules: &Arc<[RouteRule]>) -> Self {
        let Some(last) = rules.iter().rposition(is_closed) else {
            return Self::default();
        };
        let mut folded = Vec::new();
        for (place, rule) in rules.iter().enumerate().take(last + 1) {
            let segments = folded_rule(&rule.segments);
            let is_closed = is_closed(rule);
            let mut add = |segments| {
                folded.push(Folded {
                    place,
                    is_closed,
                    is_exact: !is_closed && segments != rule.segments,
                    is_operation: rule.operation.is_some(),
                    method: rule.method.clone(),
                    segments,
                });
            };
            let directory = of_directory(&segments).map(<[Segment]>::to_vec);
            add(segments);
            directory.filter(|_| is_closed).into_iter().for_each(add);
        }
        Self {
            folded,
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
        if is_head(method) && self.forbids_get(path) {
            return true;
        }
        let is_any_closed = || {
            let mut rules = self.folded.iter();
            rules.any(|rule| rule.is_closed && rule.is_of(method))
        };
        any_reading(path, |steps| {
            steps.map_or_else(is_any_closed, |steps| self.is_closed(method, path, steps))
        })
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
    fn is_closed(&self, method: &Method, path: &str, steps: &[&str]) -> bool {
        let is_written = |rule: &Folded| {
            let written = self.rules.get(rule.place);
            !rule.is_exact || written.is_some_and(|rule| rule.matches_path(path))
        };
        let first = self.folded.iter().find(|rule| {
            !rule.is_operation
                && rule.is_of(method)
                && are_met(&rule.segments, steps)
                && is_written(rule)
        });
        first.is_some_and(|rule| rule.is_closed)
    }
}

fn is_same(wanted: &Method, method: &Method) -> bool {
    wanted == method || wanted.as_str().eq_ignore_ascii_case(method.as_str())
}

fn is_head(method: &Method) -> bool {
    is_same(&Method::HEAD, method)
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
    /// Whether a request with this method may be one of it.
    fn is_of(&self, method: &Method) -> bool {
        self.method.as_ref().is_none_or(|wanted| {
            is_same(wanted, method) || (is_head(method) && *wanted == Method::GET)
        })
    }
}

/// Whether these are the steps of a folded route.
pub(super) fn are_met(segments: &[Segment], steps: &[&str]) -> bool {
    let mut steps = steps.iter();
    for segment in segments {
        let is_met = match segment {
            Segment::Rest => return true,
            Segment::Any => steps.next().is_some(),
            Segment::Literal(wanted) => steps.next().is_some_and(|step| **step == **wanted),
        };
        if !is_met {
            return false;
        }
    }
    steps.next().is_none()
}

#[cfg(test)]
mod tests;
