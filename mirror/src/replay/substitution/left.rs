//! What a request would lack that stands alone: whoever sends just one can say so before it is sent.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::{Recorded, Substitutions, Value, ValueFrom, covers, shown_by_settings};
use crate::exchange::Side;

/// All cookies of a request whose names are not known.
const COOKIES: &str = "header/cookie";

impl Substitutions {
    /// The hidden parts of a request that at least one service would get no value for. No session has begun, so no value of an
    /// answer is there.
    pub fn left_hidden<'a>(&self, recorded: &'a Recorded) -> BTreeSet<&'a str> {
        let request = &recorded.request;
        let mut left = BTreeSet::new();
        for side in Side::ALL {
            let mut shown = shown_by_settings(&self.set, side);
            let mut draft = Draft::of(request);
            let rules = self.rules.iter();
            for rule in rules.filter(|rule| rule.is_for(side) && rule.wants(request)) {
                let ValueFrom::Operator(text) = &rule.value else {
                    continue;
                };
                let value = rule.written(Value::of_operator(text));
                if draft.put(&rule.put, &value, !rule.to.is_empty()) {
                    shown.push(rule.put.hidden_name());
                }
            }
            // Nobody knows which cookies there were; whoever sets one knows which are needed.
            let sets_cookies = shown.iter().any(|part| {
                let cookie = part.strip_prefix(COOKIES);
                cookie.is_some_and(|rest| rest.starts_with('/'))
            });
            let names = recorded.hidden.iter().map(|name| &**name);
            left.extend(
                names.filter(|name| !(covers(&shown, name) || (*name == COOKIES && sets_cookies))),
            );
        }
        left
    }
}
