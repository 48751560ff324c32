//! Which of the calls that wait is the partner of another one: one that is equal, else the nearest, and how certain that is.
//!
//! Without a common id two calls that differ are put together because they have the most in common. Where others have as much, it is a
//! guess, and told as one.

use std::collections::VecDeque;

use parity_schemas::route::Route;

use super::call::{Call, Side};
use super::judge::Judge;
use super::waiting::{Fit, Kin, Near, RANKED, Waiting, kin};

/// The first of these that is equal.
pub(super) fn equal_of(
    judge: &mut Judge,
    route: &Route,
    side: Side,
    call: &Call,
    queue: &VecDeque<Waiting>,
    near: &[Near],
) -> Option<usize> {
    let mut places = near.iter().map(|near| near.place);
    places.find(|place| {
        queue.get(*place).is_some_and(|waiting| {
            let (legacy, candidate) = in_order(side, call, &waiting.call);
            judge.is_equal(route, legacy, candidate)
        })
    })
}

/// The partner of a call that has had no equal one in time. `rivals` wait on its own side.
pub(super) fn partner_of(
    judge: &mut Judge,
    side: Side,
    waiting: &Waiting,
    (queue, rivals): (&VecDeque<Waiting>, &VecDeque<Waiting>),
    near: &[Near],
    ids_are_shared: bool,
) -> Option<(usize, Fit)> {
    let is_of_request = near.first()?.kin == Kin::Same;
    if !is_of_request {
        let route = judge.route(&waiting.call.request);
        if let Some(place) = equal_of(judge, &route, side, &waiting.call, queue, near) {
            return Some((place, Fit::Equal));
        }
    }
    let may_be = |kin| match kin {
        Kin::Same => true,
        Kin::Unknown => !is_of_request,
        Kin::Other => !is_of_request && !ids_are_shared,
    };
    // What the nearest of the own side has in common with it.
    let rival = |place: usize| {
        let partner = queue.get(place)?;
        let rivals = rivals.iter().take(RANKED).filter(|rival| {
            rival.number != waiting.number && may_be(kin(&rival.call, &partner.call))
        });
        rivals
            .map(|rival| rival.likeness.to(&partner.likeness))
            .max()
    };
    let possible: Vec<&Near> = near.iter().filter(|near| may_be(near.kin)).collect();
    let unrivalled = possible
        .iter()
        .find(|near| rival(near.place).is_none_or(|rival| rival <= near.common));
    let chosen = unrivalled.or_else(|| possible.first())?;
    let has_others = possible
        .iter()
        .any(|other| other.place != chosen.place && other.common >= chosen.common);
    let is_guess = has_others || rival(chosen.place).is_some_and(|rival| rival >= chosen.common);
    Some((
        chosen.place,
        if is_guess { Fit::Guess } else { Fit::Nearest },
    ))
}

fn in_order<'c>(side: Side, one: &'c Call, other: &'c Call) -> (&'c Call, &'c Call) {
    match side {
        Side::Legacy => (one, other),
        Side::Candidate => (other, one),
    }
}
