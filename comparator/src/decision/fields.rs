//! How much of the answers rules leave to compare: what of it is told, and what a `min_fields` demands.
//!
//! Rules never make a decision wrong, they make it say less: of answers of which every field is ignored each matches. So
//! little that is left is told with each outcome, and a demand keeps the gate open. It holds for each route of which anything
//! was compared, required or not: matches that rest on nothing also stand for all requests together. What differs in spite of
//! the rules differs, so nothing here prevents a fail.

use parity_schemas::evidence::{RouteDecision, Thresholds};
use parity_schemas::field_share::{ENOUGH_SAMPLED, FieldShare};
use parity_schemas::tally::Counts;

use super::words::{number, percent, plural};

/// A route, and what was counted of it.
pub(super) type Route<'a> = (&'a RouteDecision, Option<&'a Counts>);

/// Less than this share is told with each outcome: more than half of what clients get is not compared.
const LITTLE: f64 = 0.5;
/// Routes that are named.
const MAX_NAMED: usize = 5;

/// Why a route does not have the share of fields that is demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldsWanting {
    /// Rules leave less to compare.
    TooLittle,
    /// Too few of its answers were sampled.
    TooFew,
}

/// Why these counts do not have the share of fields that is demanded; `None` if they have, or if nothing was compared.
pub fn fields_wanting(counts: &Counts, thresholds: &Thresholds) -> Option<FieldsWanting> {
    let verdicts = counts.matched + counts.mismatch;
    if thresholds.min_fields <= 0.0 || verdicts == 0 {
        return None;
    }
    match FieldShare::of(&counts.fields) {
        Some(share) if share.sampled >= ENOUGH_SAMPLED.min(verdicts) => {
            // What is compared roughly may be compared as good as not at all: no count tells how much a tolerance excuses.
            (share.exact < thresholds.min_fields).then_some(FieldsWanting::TooLittle)
        }
        _ => Some(FieldsWanting::TooFew),
    }
}

/// What rules leave of a route, in words, without a verb.
fn left(name: &str, share: &FieldShare) -> String {
    format!(
        "{} % of {}",
        share.percent(),
        fields_of(name, share.of_bodies)
    )
}

fn fields_of(name: &str, of_bodies: bool) -> String {
    let of = if of_bodies { "the bodies of " } else { "" };
    format!("the fields of {of}{name}")
}

/// The same where little is left; else what of it is compared exactly.
fn least(name: &str, share: &FieldShare) -> String {
    if share.left < LITTLE {
        return left(name, share);
    }
    let fields = fields_of(name, share.exact_of_bodies);
    format!("{} % of {fields} exactly", share.exact_percent())
}

/// What rules leave of a route, in one sentence without a full stop.
pub fn fields_left(name: &str, share: &FieldShare) -> String {
    let sampled = plural(share.sampled, "answer", "answers");
    let exact = share.exact_percent();
    let roughly = if exact == share.percent() {
        String::new()
    } else if share.exact_of_bodies && !share.of_bodies {
        format!(", but exactly only {exact} % of those of its bodies")
    } else {
        format!(", but exactly only {exact} %")
    };
    format!(
        "rules leave {} to compare ({sampled} sampled){roughly}",
        left(name, share)
    )
}

/// Whether rules leave little of a route.
pub(super) fn is_little(route: &RouteDecision) -> bool {
    let own = route.counts.as_ref();
    let share = own.and_then(|own| FieldShare::of(&own.counts.fields));
    !route.unserved && share.is_some_and(|share| share.exact < LITTLE)
}

/// Whether rules leave enough of a route, but have too little of it compared exactly.
pub(super) fn is_roughly(route: &RouteDecision) -> bool {
    let own = route.counts.as_ref();
    let share = own.and_then(|own| FieldShare::of(&own.counts.fields));
    is_little(route) && share.is_some_and(|share| share.left >= LITTLE)
}

/// Routes of which rules leave little, the least first, in one sentence. Without those that `open` tells.
pub(super) fn little(
    routes: &[Route<'_>],
    thresholds: &Thresholds,
    with_wanting: bool,
) -> Option<String> {
    let told = routes.iter().filter(|route| is_little(route.0));
    let told = told.filter(|route| with_wanting || wanting(**route, thresholds).is_none());
    let mut shares: Vec<(FieldShare, &str)> = told
        .filter_map(|route| {
            let own = route.0.counts.as_ref()?;
            Some((FieldShare::of(&own.counts.fields)?, route.0.route.as_str()))
        })
        .collect();
    least_first(&mut shares);
    let named = shares.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(|(share, name)| least(name, share)).collect();
    let more = match shares.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", and little of {} more", number(more as u64)),
    };
    (!named.is_empty()).then(|| {
        format!(
            "a match says little where rules leave little to compare: {}{more}",
            named.join(", ")
        )
    })
}

/// Why a route does not have the share of fields that is demanded.
fn wanting((route, counts): Route<'_>, thresholds: &Thresholds) -> Option<FieldsWanting> {
    let counts = counts.filter(|_| !route.unserved)?;
    fields_wanting(counts, thresholds)
}

/// What would settle each route that does not have the share of fields that is demanded, the least share first.
pub(super) fn open(routes: &[Route<'_>], thresholds: &Thresholds) -> Vec<String> {
    let wanted = percent(thresholds.min_fields);
    let (mut little, mut unknown) = (Vec::new(), Vec::new());
    for route in routes {
        let (Some(why), Some(counts)) = (wanting(*route, thresholds), route.1) else {
            continue;
        };
        let name = route.0.route.as_str();
        match (why, FieldShare::of(&counts.fields)) {
            (FieldsWanting::TooLittle, Some(share)) => little.push((share, name)),
            (_, share) => unknown.push((name, counts.matched + counts.mismatch, share)),
        }
    }
    least_first(&mut little);
    unknown.sort_by_key(|(name, ..)| *name);
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(little.iter().take(MAX_NAMED).map(|(share, name)| {
        format!(
            "{}, at least {wanted} % wanted; fewer or narrower rules would settle it",
            fields_left(name, share)
        )
    }));
    sentences.extend(unknown.iter().take(MAX_NAMED).map(|(name, verdicts, share)| {
        let sampled = share.map_or(0, |share| share.sampled);
        format!(
            "{name}: it is not known which share of the fields rules leave to compare: {} of {} compared answers were sampled, \
             at least {} wanted; more requests would settle it",
            number(sampled),
            number(*verdicts),
            ENOUGH_SAMPLED.min(*verdicts)
        )
    }));
    let more = little.len().saturating_sub(MAX_NAMED) + unknown.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        sentences.push(format!(
            "{} do not have {wanted} % of their fields compared exactly either",
            plural(more as u64, "more route", "more routes")
        ));
    }
    sentences
}

fn least_first(shares: &mut [(FieldShare, &str)]) {
    shares.sort_by(|(one, name), (two, other)| {
        let shares = one.exact.total_cmp(&two.exact);
        shares.then_with(|| name.cmp(other))
    });
}
