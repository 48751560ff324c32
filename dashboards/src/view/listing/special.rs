//! What is special about the requests of each group, beside the others of its route.

use std::collections::HashMap;

use parity_comparator::causes::special;
use parity_schemas::attributes::AttributeCounts;
use parity_schemas::report::{GroupReport, RouteReport};

/// The attributes of the requests of each route.
pub(in crate::view) struct Routes<'a>(HashMap<&'a str, &'a AttributeCounts>);

impl<'a> Routes<'a> {
    pub(in crate::view) fn of(routes: &'a [RouteReport]) -> Self {
        let routes = routes.iter();
        let attributes = routes.map(|route| (route.route.as_str(), &route.attributes));
        Self(attributes.collect())
    }

    /// Says it of one group.
    pub(in crate::view) fn tell(&self, group: &mut GroupReport) {
        if let Some(route) = self.0.get(group.route.as_str()) {
            group.special = special(&group.attributes, group.count, route);
        }
    }
}
