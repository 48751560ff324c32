//! What a person sees of the rollout, and does to it, by the admin port.

use parity_dashboards::server::{RolloutAdmin, RolloutSet};
use parity_schemas::rollout::{ROLLOUT_SCHEMA, RolloutChange, RolloutDocument, RolloutSide};
use parity_schemas::time::Timestamp;

use super::deciding::{Judged, Judgement};
use super::state::{Saved, blocked, next, target};
use super::{Controller, watch};

impl RolloutAdmin for Controller {
    fn document(&self) -> RolloutDocument {
        let seen = self.mirror.rollout_seen();
        let inner = self.lock();
        let now = Timestamp::now();
        let wanted = target(&self.settings.plan, &inner.saved, now);
        let is_below = wanted > inner.saved.percent;
        let waits = || {
            let waits = inner.waits.clone();
            waits.unwrap_or_else(|| "the gate has not been asked yet".to_owned())
        };
        let [legacy, candidate] = inner.watch.lately(&seen).map(|counts| RolloutSide {
            requests: counts.requests,
            errors: counts.errors,
            p95_us: counts
                .quantile(watch::QUANTILE)
                .map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX)),
        });
        RolloutDocument {
            schema: ROLLOUT_SCHEMA.to_owned(),
            percent: inner.saved.percent,
            target: wanted,
            waits: is_below.then(waits),
            next: next(&self.settings.plan, &inner.saved, now),
            fell_back: inner.saved.fell_back.clone(),
            blocked: blocked(&self.settings.plan, &inner.saved, now),
            set: inner.saved.set.clone(),
            gate: inner.gate.clone(),
            state_error: inner.unsaved.clone(),
            window_seconds: self.settings.bounds.window.as_secs_f64(),
            legacy,
            candidate,
            repaired: seen.repaired,
        }
    }

    fn set(&self, percent: f64, who: &str) -> RolloutSet {
        let (before, is_up) = {
            let mut inner = self.lock();
            // Without the file nobody is served by the candidate, so there is nothing to lower either.
            if let Err(error) = self.own(&mut inner) {
                return RolloutSet {
                    done: Err(format!("the state cannot be kept: {error}")),
                    decision: None,
                };
            }
            (inner.saved.clone(), percent > inner.saved.percent)
        };
        let mut judgement = is_up.then(|| self.deciding.judge(before.counts_from));
        let decision = judgement
            .as_mut()
            .and_then(|judgement| judgement.decision.take());
        let done = self.set_by(judgement, &before, percent, who);
        // Who asks again and again for what the gate does not allow yet must not fill the record: the line of the change says why not.
        let decision = decision.filter(|_| done.is_ok());
        RolloutSet {
            done,
            decision: self.deciding.keep(decision),
        }
    }

    fn back(&self, who: &str) {
        let mut inner = self.lock();
        // Who makes sure of a fall back that was already has not caused it.
        if inner.saved.percent <= 0.0 && inner.saved.fell_back.is_some() {
            return;
        }
        let reason = "somebody took the clients back".to_owned();
        let _line_of_the_caller = self.fall(&mut inner, who, reason);
    }
}

impl Controller {
    /// Sets a percent, if what the gate said allows it; it was asked if that is a step up from what was `before`.
    fn set_by(
        &self,
        judgement: Option<Judgement>,
        before: &Saved,
        percent: f64,
        who: &str,
    ) -> Result<(), String> {
        let is_up = judgement.is_some();
        let mut inner = self.lock();
        if let Some(Judgement { judged, of, .. }) = judgement {
            inner.gate = Some(judged.told(Timestamp::now()));
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
        let set = RolloutChange {
            percent,
            at: Timestamp::now(),
            who: who.to_owned(),
        };
        if is_up {
            return self.rise(&mut inner, percent, Some(set));
        }
        self.mirror.set_rollout(percent);
        inner.saved.percent = percent;
        inner.saved.set = Some(set);
        inner.saved.fell_back = None;
        inner.waits = None;
        self.save(&mut inner);
        Ok(())
    }
}
