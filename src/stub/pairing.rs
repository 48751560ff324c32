//! Which call of the one side is the partner of which call of the other.
//!
//! A call that comes is compared with those that wait on the other side for a partner of the same method, path and query, and of the
//! same request as far as the correlation header tells. The first that is equal is the partner. What finds none waits. When its time is
//! over, its partner is the one of the same request although it differs, else an equal one of another request (each side may make such
//! ids itself), else the first; with nobody there, the call is missing or extra. Once the two sides were seen to pass several ids on, calls with
//! different ids are of different requests, and are no partners unless they are equal. So several equal calls are paired in order, and no
//! difference depends on who comes first.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::call::{Call, Side};
use super::judge::Judge;
use super::order::Order;
use super::waiting::{Kin, LOOKED_AT, Played, Queues, Waiting, kin, nearest};
use parity_schemas::route::Route;

/// Calls that wait in all, so that also empty ones are bounded: ten seconds of a thousand a second that have no partner.
const MOST_WAITING: usize = 10_000;
/// Different ids that both sides must have sent: then they pass on those of their clients. One alone may be a constant of both.
const PROVE_SHARED: usize = 3;

/// All calls that wait for their partners, and what was found of the others.
pub(crate) struct Book {
    pub(crate) judge: Judge,
    queues: HashMap<Box<str>, Queues>,
    waiting: usize,
    order: Option<Order>,
    wait: Duration,
    next: u64,
    /// Ids that both sides have sent, until there are [`PROVE_SHARED`].
    shared_ids: Vec<Box<str>>,
    /// Only calls whose partners wait already still count.
    is_closing: bool,
}

impl Book {
    /// A call waits for so long; the order within a request counts if `in_order`.
    pub(crate) fn new(judge: Judge, wait: Duration, in_order: bool) -> Self {
        Self {
            judge,
            queues: HashMap::new(),
            waiting: 0,
            order: in_order.then(|| Order::new(wait)),
            wait,
            next: 0,
            shared_ids: Vec::new(),
            is_closing: false,
        }
    }

    /// Takes a call, and gives the number under which it waits if it has no partner yet.
    pub(crate) fn enter(
        &mut self,
        side: Side,
        call: Call,
        played: Played,
        now: Instant,
    ) -> Option<u64> {
        let route = self.judge.route(&call.request);
        let queues = self.queues.entry(call.key.clone()).or_default();
        let (own, other) = match side {
            Side::Legacy => (queues.legacy.len(), &mut queues.candidate),
            Side::Candidate => (queues.candidate.len(), &mut queues.legacy),
        };
        if self.is_closing && other.len() <= own {
            // Its partner would come after the end.
            self.forget_empty(&call.key);
            return None;
        }
        self.judge.seen(side, &route);
        let number = self.next;
        self.next += 1;
        let near = nearest(other, &call, |kin| kin != Kin::Other);
        let place = equal_of(&mut self.judge, &route, side, &call, other, &near);
        let is_crowded = other.len() > LOOKED_AT;
        let waiting = Waiting {
            number,
            call,
            played,
            since: now,
            is_crowded,
        };
        let key = waiting.call.key.clone();
        if let Some(partner) = place.and_then(|place| other.remove(place)) {
            self.waiting -= 1;
            self.pair(side, waiting, partner, true);
        } else if self.waiting < MOST_WAITING {
            self.waiting += 1;
            queues.of(side).push_back(waiting);
            return Some(number);
        } else {
            self.judge.lose("waiting");
        }
        self.forget_empty(&key);
        None
    }

    /// Settles all calls whose time is over.
    pub(crate) fn expire(&mut self, now: Instant) {
        let wait = self.wait;
        self.settle_where(|since| now.saturating_duration_since(since) >= wait, now);
    }

    /// Settles a call of the candidate whose answer cannot wait longer, if the legacy has made a call that could be its partner. `false`
    /// if there is none: then it goes on waiting.
    pub(crate) fn settle_now(&mut self, key: &str, number: u64) -> bool {
        let Some(queues) = self.queues.get_mut(key) else {
            return false;
        };
        let Some(place) = queues
            .candidate
            .iter()
            .position(|waiting| waiting.number == number)
        else {
            return false;
        };
        let partner = queues.candidate.get(place).and_then(|waiting| {
            let near = nearest(&queues.legacy, &waiting.call, |_| true);
            partner_of(
                &mut self.judge,
                Side::Candidate,
                &waiting.call,
                &queues.legacy,
                &near,
                self.shared_ids.len() >= PROVE_SHARED,
            )
        });
        let Some(partner) = partner.and_then(|partner| queues.legacy.remove(partner)) else {
            return false;
        };
        if let Some(candidate) = queues.candidate.remove(place) {
            self.waiting -= 2;
            self.pair(Side::Candidate, candidate, partner, false);
        }
        self.forget_empty(key);
        true
    }

    /// From now on only what has a partner that waits counts.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Whether new calls do not count any more.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether nothing waits.
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting == 0
    }

    /// Settles all that still waits, and gives what was found. What did not wait its time proves nothing: its partner may have come.
    pub(crate) fn finish(&mut self, had_its_time: bool) -> &mut Judge {
        if had_its_time {
            self.settle_where(|_| true, Instant::now());
        } else {
            let waiting = std::mem::take(&mut self.waiting);
            self.queues.clear();
            for _ in 0..waiting {
                self.judge.lose("unsettled");
            }
        }
        &mut self.judge
    }

    fn settle_where(&mut self, is_over: impl Fn(Instant) -> bool, now: Instant) {
        let keys: Vec<Box<str>> = self
            .queues
            .iter()
            .filter(|(_, queues)| {
                let first = [queues.legacy.front(), queues.candidate.front()];
                first
                    .into_iter()
                    .flatten()
                    .any(|waiting| is_over(waiting.since))
            })
            .map(|(key, _)| key.clone())
            .collect();
        for key in keys {
            while let Some((side, waiting)) = self.next_over(&key, &is_over) {
                self.waiting -= 1;
                match self.partner(&key, side, &waiting, &is_over, now) {
                    Some(partner) => {
                        self.waiting -= 1;
                        self.pair(side, waiting, partner, false);
                    }
                    None => self.judge.alone(side, &waiting.call.request),
                }
            }
            self.forget_empty(&key);
        }
    }

    /// The call whose time was over first.
    fn next_over(
        &mut self,
        key: &str,
        is_over: impl Fn(Instant) -> bool,
    ) -> Option<(Side, Waiting)> {
        let queues = self.queues.get_mut(key)?;
        let since = |queue: &VecDeque<Waiting>| {
            queue
                .front()
                .map(|waiting| waiting.since)
                .filter(|since| is_over(*since))
        };
        let side = match (since(&queues.legacy), since(&queues.candidate)) {
            (None, None) => return None,
            (Some(legacy), Some(candidate)) if candidate < legacy => Side::Candidate,
            (None, Some(_)) => Side::Candidate,
            _ => Side::Legacy,
        };
        Some((side, queues.of(side).pop_front()?))
    }

    /// The partner of a call that has no equal one. What has only just come may still have one of its own.
    fn partner(
        &mut self,
        key: &str,
        side: Side,
        waiting: &Waiting,
        is_over: impl Fn(Instant) -> bool,
        now: Instant,
    ) -> Option<Waiting> {
        let half = self.wait / 2;
        let other = self.queues.get_mut(key)?.of(side.other());
        let mut near = nearest(other, &waiting.call, |_| true);
        near.retain(|(place, kin)| {
            other.get(*place).is_some_and(|partner| {
                let waited = now.saturating_duration_since(partner.since);
                *kin == Kin::Same || waited >= half || is_over(partner.since)
            })
        });
        let place = partner_of(
            &mut self.judge,
            side,
            &waiting.call,
            other,
            &near,
            self.shared_ids.len() >= PROVE_SHARED,
        )?;
        other.remove(place)
    }

    fn pair(&mut self, side: Side, one: Waiting, other: Waiting, is_equal: bool) {
        let is_of_one = kin(&one.call, &other.call) == Kin::Same;
        // Of one request all were looked at, unless it makes that many calls itself.
        let is_crowded = !is_of_one && (one.is_crowded || other.is_crowded);
        let (legacy, candidate) = match side {
            Side::Legacy => (one, other),
            Side::Candidate => (other, one),
        };
        if let (Played::Gives(coming), Played::Wants(wanting)) = (legacy.played, candidate.played) {
            // A candidate that has gone away wants nothing.
            drop(wanting.send(coming));
        }
        let same = legacy
            .call
            .correlation
            .as_deref()
            .filter(|id| candidate.call.correlation.as_deref() == Some(id));
        if let Some(id) = same
            && self.shared_ids.len() < PROVE_SHARED
            && !self.shared_ids.iter().any(|shared| **shared == *id)
        {
            self.shared_ids.push(id.into());
        }
        if let (Some(order), Some(id)) = (&mut self.order, same) {
            let turned = order.turned(
                id,
                legacy.number,
                candidate.number,
                legacy.since.min(candidate.since),
            );
            self.judge.lost_order(order.take_lost());
            if turned {
                self.judge.other_order(&legacy.call.request);
            }
        }
        if is_equal {
            self.judge.equal(&legacy.call.request);
        } else if is_crowded {
            self.judge.crowded(&legacy.call.request);
        } else {
            self.judge.pair(legacy.call, candidate.call);
        }
    }

    fn forget_empty(&mut self, key: &str) {
        if self.queues.get(key).is_some_and(Queues::is_empty) {
            self.queues.remove(key);
        }
    }
}

/// The first of these that is equal.
fn equal_of(
    judge: &mut Judge,
    route: &Route,
    side: Side,
    call: &Call,
    queue: &VecDeque<Waiting>,
    near: &[(usize, Kin)],
) -> Option<usize> {
    let mut places = near.iter().map(|(place, _)| *place);
    places.find(|place| {
        queue.get(*place).is_some_and(|waiting| {
            let (legacy, candidate) = in_order(side, call, &waiting.call);
            judge.is_equal(route, legacy, candidate)
        })
    })
}

/// The partner of a call that has had no equal one in time.
fn partner_of(
    judge: &mut Judge,
    side: Side,
    call: &Call,
    queue: &VecDeque<Waiting>,
    near: &[(usize, Kin)],
    ids_are_shared: bool,
) -> Option<usize> {
    let first = near.first()?;
    if first.1 == Kin::Same {
        return Some(first.0);
    }
    let route = judge.route(&call.request);
    equal_of(judge, &route, side, call, queue, near).or_else(|| {
        let mut near = near.iter();
        near.find(|(_, kin)| *kin != Kin::Other || !ids_are_shared)
            .map(|(place, _)| *place)
    })
}

fn in_order<'c>(side: Side, one: &'c Call, other: &'c Call) -> (&'c Call, &'c Call) {
    match side {
        Side::Legacy => (one, other),
        Side::Candidate => (other, one),
    }
}
