//! What a person sees of the rollout, and does to it, by the admin port.

use parity_dashboards::server::{RolloutAdmin, RolloutDone, RolloutSet, RolloutWish};
use parity_mirror::ServedCounts;
use parity_schemas::clients::{ClientOutcome, Clients};
use parity_schemas::evidence::RouteEvidence;
use parity_schemas::rollout::{
    ROLLOUT_SCHEMA, RolloutChange, RolloutDocument, RolloutGate, RolloutKept, RolloutShown,
    RolloutSide,
};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;

use super::deciding::{Judged, Judgement};
use super::proof::{by_told, lowest};
use super::state::{Saved, blocked, next, target};
use super::watch::{QUANTILE, Role};
use super::{Controller, Inner};

/// Routes that stay at the legacy and are listed. What is looked at by people needs no more.
const MOST_KEPT: usize = 20;

impl RolloutAdmin for Controller {
    fn document(&self) -> RolloutDocument {
        let seen = self.mirror.rollout_seen();
        let totals = self.book.totals();
        let inner = self.lock();
        let now = Timestamp::now();
        let wanted = target(&self.settings.plan, &inner.saved, now);
        let is_below = wanted > inner.saved.percent;
        let [legacy, candidate, shadow] = inner.watch.lately(&seen).map(|counts| side(&counts));
        let standing = inner.watch.standing(&seen, Role::at(inner.saved.percent));
        let blocked = blocked(&self.settings.plan, &inner.saved, now);
        let since = |is_wanted: fn(ClientOutcome) -> bool| {
            sum(&totals.total.clients, is_wanted).saturating_sub(sum(&inner.since, is_wanted))
        };
        let mut kept: Vec<RolloutKept> = totals
            .routes
            .iter()
            .filter_map(|route| kept(route, self.settings.unsafe_methods))
            .collect();
        kept.sort_by_key(|one| std::cmp::Reverse(one.requests));
        let kept_more = kept.len().saturating_sub(MOST_KEPT) as u64;
        kept.truncate(MOST_KEPT);
        RolloutDocument {
            schema: ROLLOUT_SCHEMA.to_owned(),
            percent: inner.saved.percent,
            since: inner.saved.since,
            target: wanted,
            waits: is_below.then(|| self.waits(&inner)),
            next: next(&self.settings.plan, &inner.saved, now),
            again: inner
                .saved
                .fell_back
                .as_ref()
                .map(|_| lowest(&self.settings.plan)),
            fell_back: inner.saved.fell_back.clone(),
            blocked,
            set: inner.saved.set.clone(),
            gate: inner.gate.clone(),
            max_mismatch_rate: Some(self.settings.max_mismatch_rate),
            state_error: inner.unsaved.clone(),
            window_seconds: self.settings.bounds.window.as_secs_f64(),
            window_since: inner.watch.lately_since(),
            legacy,
            candidate,
            shadow,
            repaired: seen.repaired,
            shown: RolloutShown {
                served: standing.served,
                needed: self.settings.bounds.min_requests,
                unjudged: standing.unjudged,
                good: standing.good,
                by_errors_alone: standing.by_errors_alone,
            },
            clients: seen.clients as u64,
            by: by_told(&self.settings.by),
            requests: since(|_| true),
            requests_served: since(ClientOutcome::is_by_candidate),
            kept,
            kept_more,
        }
    }

    fn set(&self, RolloutWish { percent, insists }: RolloutWish, who: &str) -> RolloutSet {
        let (before, is_up) = {
            let mut inner = self.lock();
            // Without the file nobody is served by the candidate, so there is nothing to lower either.
            if let Err(error) = self.own(&mut inner) {
                return RolloutSet {
                    done: Err(format!("the state cannot be kept: {error}")),
                    decision: None,
                    lost: None,
                };
            }
            (inner.saved.clone(), percent > inner.saved.percent)
        };
        let mut judgement = is_up.then(|| self.deciding.judge(before.counts_from));
        let decision = judgement
            .as_mut()
            .and_then(|judgement| judgement.decision.take());
        let lost = judgement
            .as_ref()
            .and_then(|judgement| judgement.lost.clone());
        let wish = RolloutWish { percent, insists };
        let done = self.set_by(judgement, &before, wish, who);
        // Who asks again and again for what the gate does not allow yet must not fill the record: the line of the change says why not.
        let decision = decision.filter(|_| done.is_ok());
        RolloutSet {
            done,
            decision: self.deciding.keep(decision),
            lost,
        }
    }

    fn back(&self, who: &str) -> RolloutDone {
        let mut inner = self.lock();
        let mut done = RolloutDone {
            from: inner.saved.percent,
            at: Timestamp::now(),
            lacked: None,
        };
        // Who makes sure of a fall back that was already has not caused it.
        if inner.saved.percent > 0.0 || inner.saved.fell_back.is_none() {
            let reason = "somebody took the clients back".to_owned();
            // The caller, who knows who it was, keeps a line of its own.
            done.at = self.fall(&mut inner, who, reason).at;
        }
        done
    }
}

impl Controller {
    /// Sets a percent, if what the gate said allows it; it was asked if that is a step up from what was `before`.
    fn set_by(
        &self,
        judgement: Option<Judgement>,
        before: &Saved,
        RolloutWish { percent, insists }: RolloutWish,
        who: &str,
    ) -> Result<RolloutDone, String> {
        let is_up = judgement.is_some();
        let mut inner = self.lock();
        if let Some(judgement) = judgement {
            inner.gate = Some(judgement.document(Timestamp::now()));
            let Judgement { judged, of, .. } = judgement;
            if inner.saved != *before || !inner.saved.is_judged_by(&of) {
                return Err("the rollout was changed while the gate decided; look at its status and ask again".to_owned());
            }
            match judged {
                Judged::Pass => {}
                Judged::Undecided(why) => return Err(why),
                Judged::Fail(why) => return Err(format!("the gate fails: {why}")),
            }
        } else if percent > inner.saved.percent {
            return Err(
                "the rollout fell back meanwhile; look at its status and ask again".to_owned(),
            );
        }
        let lacks = self.lacks(&inner, percent);
        if let Some(why) = lacks.as_ref().filter(|_| !insists) {
            return Err(format!(
                "{why}; whoever takes that on adds `--insist` (`?insist=true`), which the record then says"
            ));
        }
        let done = RolloutDone {
            from: inner.saved.percent,
            at: Timestamp::now(),
            lacked: lacks.clone(),
        };
        let set = RolloutChange {
            percent,
            at: done.at,
            who: who.to_owned(),
            insisted: lacks,
        };
        if is_up {
            self.rise(&mut inner, percent, Some(set))?;
            return Ok(done);
        }
        self.mirror.set_rollout(percent);
        inner.saved.is_at(percent, done.at);
        inner.saved.set = Some(set);
        inner.saved.fell_back = None;
        inner.waits = None;
        self.begin(&mut inner);
        self.save(&mut inner);
        Ok(done)
    }

    /// Why the share is lower than what is wanted.
    fn waits(&self, inner: &Inner) -> String {
        let next = super::proof::on_the_way(
            &self.settings.plan,
            inner.saved.percent,
            target(&self.settings.plan, &inner.saved, Timestamp::now()),
        );
        // What the gate said last was written down; what the candidate has shown is known now.
        let is_passed = inner.gate.as_ref().is_some_and(RolloutGate::is_pass);
        let lacks = self.lacks(inner, next).filter(|_| is_passed);
        lacks.or_else(|| inner.waits.clone()).unwrap_or_else(|| {
            let every = self.settings.gate_interval.as_secs_f64();
            match &inner.gate {
                None => format!("the gate is asked every {every} s, and was not yet"),
                Some(gate) => format!(
                    "the gate is asked every {every} s, and was before this was due, at {}",
                    gate.at
                ),
            }
        })
    }
}

/// One service, for people and programs.
fn side(counts: &ServedCounts) -> RolloutSide {
    RolloutSide {
        requests: counts.requests,
        errors: counts.errors,
        p95_us: counts.times.quantile(QUANTILE),
    }
}

fn sum(clients: &Clients, is_wanted: fn(ClientOutcome) -> bool) -> u64 {
    let wanted = clients.iter().filter(|(outcome, _)| is_wanted(**outcome));
    wanted.map(|(_, count)| count).sum()
}

/// What is told of a route that the candidate never serves: all of its requests may have an effect, if those stay at the legacy, or become
/// another protocol.
fn kept(route: &RouteEvidence, serves_unsafe: bool) -> Option<RolloutKept> {
    let RouteEvidence { route, counts, .. } = route;
    let stays = |reason: &Reason| {
        *reason == Reason::Upgrade || (*reason == Reason::UnsafeMethod && !serves_unsafe)
    };
    let left: u64 = counts
        .not_compared
        .iter()
        .filter_map(|(reason, count)| stays(reason).then_some(count))
        .sum();
    let is_safe = ["GET ", "HEAD ", "OPTIONS "]
        .iter()
        .any(|method| route.starts_with(method));
    let served = sum(&counts.clients, ClientOutcome::is_of_candidate);
    let never = served == 0
        && counts.received > 0
        && ((!is_safe && !serves_unsafe) || left == counts.received);
    never.then(|| RolloutKept {
        route: route.clone(),
        requests: counts.received,
        compared: counts.matched + counts.mismatch,
    })
}
