//! Which recorded routes belong to an operation of an API description.
//!
//! A description calls a segment of a path `{userId}`, and a route calls it `{id}` if its values look like ids, or by the
//! value if they do not (`/users/alice`). So a placeholder of an operation stands for any one segment of a route. A route
//! belongs to one operation only, the one that fits it most closely: `/users/me` is no user. The text of an operation may
//! stand for no other: a request that a `[[route]]` named `/users/{name}` may have been to `/users/me` or not, so it is
//! not counted for `/users/me`.

use std::cmp::Reverse;
use std::collections::HashMap;

use parity_schemas::evidence::RouteEvidence;
use parity_schemas::noise::Excused;
use parity_schemas::tally::Counts;

use crate::noise::excused::Found;

/// The counts of each operation of which anything was received: of all its routes together, and what does not count of them.
pub(super) fn cover<'a>(
    operations: &'a [String],
    seen: &[RouteEvidence],
    noise: &Found<'_>,
) -> HashMap<&'a str, (Counts, Excused)> {
    let sum = |routes: Vec<&RouteEvidence>| {
        let (mut counts, mut excused) = (Counts::default(), Excused::default());
        for route in routes {
            let (before, more) = (counts.compared(), route.counts.compared());
            excused = excused.with(before, noise.of(&route.route), more);
            counts.merge(&route.counts);
        }
        (counts, excused)
    };
    let covered = routes_of(operations, seen).into_iter();
    covered.map(|(name, routes)| (name, sum(routes))).collect()
}

/// The recorded routes that each judged name stands for: those of an operation, or the route itself.
pub(super) struct Parts<'a>(HashMap<&'a str, Vec<&'a RouteEvidence>>);

impl<'a> Parts<'a> {
    /// Those of what was recorded.
    pub(super) fn of(operations: &'a [String], seen: &'a [RouteEvidence]) -> Self {
        let routes = seen.iter().map(|route| (route.route.as_str(), vec![route]));
        // An operation may be called like one of its routes.
        Self(routes.chain(routes_of(operations, seen)).collect())
    }

    /// None if nothing of it was ever received.
    pub(super) fn get(&self, name: &str) -> &[&'a RouteEvidence] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }
}

/// A route of each operation that has one among these.
pub(super) fn closest<'a, 'b>(
    operations: &'a [String],
    routes: impl Iterator<Item = &'b str>,
) -> HashMap<&'a str, &'b str> {
    routes
        .filter_map(|route| Some((closest_to(operations, route)?, route)))
        .collect()
}

/// The operation that a route belongs to; of several that fit as well, the first in the order of their names.
fn closest_to<'a>(operations: &'a [String], route: &str) -> Option<&'a str> {
    let fitting = operations
        .iter()
        .filter_map(|operation| Some((fit(operation, route)?, operation.as_str())));
    let closest = fitting.max_by_key(|(exact, operation)| (*exact, Reverse(*operation)));
    closest.map(|(_, operation)| operation)
}

/// The routes of each operation of which anything was received.
fn routes_of<'a, 'b>(
    operations: &'a [String],
    seen: &'b [RouteEvidence],
) -> HashMap<&'a str, Vec<&'b RouteEvidence>> {
    let mut covered: HashMap<&str, Vec<&RouteEvidence>> = HashMap::new();
    if operations.is_empty() {
        return covered;
    }
    for route in seen {
        if let Some(operation) = closest_to(operations, &route.route) {
            covered.entry(operation).or_default().push(route);
        }
    }
    covered
}

/// How many segments of a route are just those of the operation; `None` if it does not belong to it.
fn fit(operation: &str, route: &str) -> Option<usize> {
    let (wanted_method, wanted) = operation.split_once(' ')?;
    let (method, path) = route.split_once(' ')?;
    if method != wanted_method && method != "*" {
        return None;
    }
    let (mut wanted, mut path) = (wanted.split('/'), path.split('/'));
    let mut exact = 0;
    loop {
        match (wanted.next(), path.next()) {
            (None, None) => return Some(exact),
            // What is too long for a name ends so.
            (Some(_), Some(rest)) if rest.starts_with("{*") => return Some(exact),
            (Some(wanted), Some(segment)) if wanted == segment => exact += 1,
            (Some(wanted), Some(segment)) if stands_for(wanted, segment) => {}
            _ => return None,
        }
    }
}

/// Whether a segment with a placeholder, which may have text around it as in `report.{format}`, stands for this one.
fn stands_for(wanted: &str, segment: &str) -> bool {
    let Some((before, rest)) = wanted.split_once('{') else {
        return false;
    };
    let after = rest.rsplit_once('}').map_or("", |(_, after)| after);
    let is_placeholder = segment.starts_with('{') && segment.ends_with('}');
    let is_long_enough = segment.len() > before.len() + after.len();
    is_placeholder || (is_long_enough && segment.starts_with(before) && segment.ends_with(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(operations: &[&str], routes: &[&str]) -> Vec<(String, u64)> {
        let operations: Vec<String> = operations.iter().map(|&name| name.to_owned()).collect();
        let seen: Vec<RouteEvidence> = routes
            .iter()
            .map(|&route| RouteEvidence {
                route: route.to_owned(),
                counts: Counts {
                    received: 1,
                    ..Counts::default()
                },
                ..RouteEvidence::default()
            })
            .collect();
        let covered = cover(&operations, &seen, &Found::default());
        let mut counts: Vec<(String, u64)> = covered
            .into_iter()
            .map(|(operation, (counts, _))| (operation.to_owned(), counts.received))
            .collect();
        counts.sort();
        counts
    }

    #[test]
    fn a_placeholder_stands_for_one_segment_and_the_closest_operation_takes_the_route() {
        let operations = [
            "GET /users/{userId}",
            "GET /users/me",
            "GET /users/{userId}/orders",
        ];
        let routes = [
            "GET /users/{id}",
            "GET /users/alice",
            "GET /users/me",
            "POST /users/{id}",
            "GET /users/",
            "GET /users",
            "GET /users/{id}/orders/{id}",
        ];
        assert_eq!(
            covered(&operations, &routes),
            [
                ("GET /users/me".to_owned(), 1),
                ("GET /users/{userId}".to_owned(), 2)
            ]
        );
    }

    #[test]
    fn what_a_route_names_more_widely_is_not_taken_for_one_path() {
        assert!(covered(&["GET /users/me"], &["GET /users/{name}"]).is_empty());
        assert!(covered(&["GET /a/b"], &["GET /{*rest}", "_other", "OPTIONS *"]).len() <= 1);
    }

    #[test]
    fn text_around_a_placeholder_counts() {
        let operations = ["GET /report.{format}"];
        assert_eq!(
            covered(
                &operations,
                &["GET /report.csv", "GET /report.", "GET /other.csv"]
            )
            .len(),
            1
        );
        assert_eq!(covered(&operations, &["GET /{id}"]).len(), 1);
    }
}
