//! Which call of the one side is the partner of which call of the other.
//!
//! A call that comes is compared with those that wait on the other side for a partner of the same method, path and query, and of the
//! same request as far as the correlation header tells, the nearest first. The first that is equal is the partner. What finds none
//! waits. When its time is over, its partner is the one of the same request although it differs, else an equal one of another request
//! (each side may make such ids itself), else the nearest; with nobody there, the call is extra, or missing if its request is known to have
//! reached the candidate, which an id that may be of several requests does not tell. Once the two sides were seen to pass several ids on, calls with
//! different ids are of different requests, and are no partners unless they are equal. So several equal calls are paired in order, and no
//! difference depends on who comes first.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::call::{Call, Side};
use super::judge::Judge;
use super::likeness::Likeness;
use super::order::Order;
use super::partner::{equal_of, partner_of};
use super::reached::{Reached, Shadowed};
use super::waiting::{Fit, Kin, LOOKED_AT, Played, Queues, Waiting, kin, nearest};

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
    /// Calls of the legacy that do not count because their requests did not reach the candidate, and of which no id says so: they have
    /// none, or one that had reached it before ids were known to tell requests apart.
    uncorrelated: u64,
    /// The same of calls with an id, which says so only if ids are shared at the end.
    with_id: u64,
    /// Ids that both sides have sent, until there are [`PROVE_SHARED`].
    shared_ids: Vec<Box<str>>,
    reached: Reached,
    shadowed: Option<Shadowed>,
    /// Only calls whose partners wait already still count.
    is_closing: bool,
}

impl Book {
    /// A call waits for so long; the order within a request counts if `in_order`; `shadowed` says which requests reach the candidate, if
    /// somebody knows.
    pub(crate) fn new(
        judge: Judge,
        wait: Duration,
        in_order: bool,
        shadowed: Option<Shadowed>,
    ) -> Self {
        Self {
            judge,
            queues: HashMap::new(),
            waiting: 0,
            order: in_order.then(|| Order::new(wait)),
            wait,
            next: 0,
            uncorrelated: 0,
            with_id: 0,
            shared_ids: Vec::new(),
            reached: Reached::default(),
            shadowed,
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
        if let Some(id) = &call.correlation {
            match side {
                Side::Legacy => self.reached.note_call(id, route.label()),
                Side::Candidate => self.reached.note(id),
            }
        }
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
        let likeness = Likeness::of(&call);
        let near = nearest(other, (&call, &likeness), |kin| kin != Kin::Other);
        let place = equal_of(&mut self.judge, &route, side, &call, other, &near);
        let is_crowded = other.len() > LOOKED_AT;
        let waiting = Waiting {
            number,
            call,
            likeness,
            played,
            since: now,
            is_crowded,
        };
        let key = waiting.call.key.clone();
        if let Some(partner) = place.and_then(|place| other.remove(place)) {
            self.waiting -= 1;
            self.pair(side, waiting, partner, Fit::Equal);
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
            let near = nearest(&queues.legacy, (&waiting.call, &waiting.likeness), |_| true);
            partner_of(
                &mut self.judge,
                Side::Candidate,
                waiting,
                (&queues.legacy, &queues.candidate),
                &near,
                self.shared_ids.len() >= PROVE_SHARED,
            )
        });
        let partner = partner.and_then(|(place, fit)| Some((queues.legacy.remove(place)?, fit)));
        let Some((partner, fit)) = partner else {
            return false;
        };
        let same = queues
            .candidate
            .get(place)
            .is_some_and(|candidate| kin(&candidate.call, &partner.call) == Kin::Same);
        // As for those that are asked about later: pairs of one request say nothing of others.
        let fit = if same { fit } else { queues.certain(fit) };
        if let Some(candidate) = queues.candidate.remove(place) {
            self.waiting -= 2;
            self.pair(Side::Candidate, candidate, partner, fit);
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
        let mut uncorrelated = std::mem::take(&mut self.uncorrelated);
        if self.shared_ids.len() < PROVE_SHARED {
            uncorrelated += std::mem::take(&mut self.with_id);
        }
        for _ in 0..uncorrelated {
            self.judge.lose("uncorrelated");
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
                    Some((partner, fit)) => {
                        self.waiting -= 1;
                        self.pair(side, waiting, partner, fit);
                    }
                    None => self.alone(side, &waiting),
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
    ) -> Option<(Waiting, Fit)> {
        let half = self.wait / 2;
        let queues = self.queues.get_mut(key)?;
        let (own, other) = match side {
            Side::Legacy => (&queues.legacy, &queues.candidate),
            Side::Candidate => (&queues.candidate, &queues.legacy),
        };
        let mut near = nearest(other, (&waiting.call, &waiting.likeness), |_| true);
        near.retain(|near| {
            other.get(near.place).is_some_and(|partner| {
                let waited = now.saturating_duration_since(partner.since);
                near.kin == Kin::Same || waited >= half || is_over(partner.since)
            })
        });
        let (place, fit) = partner_of(
            &mut self.judge,
            side,
            waiting,
            (other, own),
            &near,
            self.shared_ids.len() >= PROVE_SHARED,
        )?;
        let partner = queues.of(side.other()).remove(place)?;
        let fit = match kin(&waiting.call, &partner.call) {
            Kin::Same => fit,
            _ => queues.certain(fit),
        };
        Some((partner, fit))
    }

    /// Counts a call without a partner. One of the legacy is only missing if its request has reached the candidate.
    fn alone(&mut self, side: Side, waiting: &Waiting) {
        let id = waiting.call.correlation.as_deref();
        let has_come = id.filter(|id| self.reached.has(id));
        let is_of_several = has_come.is_some_and(|id| self.reached.may_be_of_several(id));
        // One id that is always the same does not tell requests apart.
        let is_reached =
            has_come.is_some() && !is_of_several && self.shared_ids.len() >= PROVE_SHARED;
        let is_known =
            side == Side::Candidate || self.shadowed == Some(Shadowed::All) || is_reached;
        if !is_known && self.shadowed == Some(Shadowed::Some) {
            match id {
                Some(_) if has_come.is_none() => self.with_id += 1,
                Some(_) if is_of_several => self.judge.lose("of_several"),
                _ => self.uncorrelated += 1,
            }
        }
        self.judge
            .alone(side, &waiting.call, waiting.since, is_known);
    }

    fn pair(&mut self, side: Side, one: Waiting, other: Waiting, fit: Fit) {
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
                self.judge.other_order(&legacy.call, legacy.since);
            }
        }
        match fit {
            Fit::Equal => self.judge.equal(&legacy.call.request),
            Fit::Guess if is_crowded => self.judge.crowded(&legacy.call, legacy.since),
            fit => {
                let is_guess = fit == Fit::Guess;
                self.judge
                    .pair(legacy.call, candidate.call, legacy.since, is_guess);
            }
        }
    }

    fn forget_empty(&mut self, key: &str) {
        if self.queues.get(key).is_some_and(Queues::is_empty) {
            self.queues.remove(key);
        }
    }
}
