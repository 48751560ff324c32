//! What the two threads do: one looks whether the clients must go back or the plan wants less, the other one asks the gate whether more may be
//! served. Neither decides what a person does ([`super::admin`]).

use std::time::Instant;

use parity_schemas::time::Timestamp;

use super::deciding::{Judged, Judgement};
use super::line::{Held, Line};
use super::proof::{lowest, on_the_way};
use super::state::{blocked, target};
use super::watch::Role;
use super::{Controller, Inner, OURSELVES};

impl Controller {
    /// What a shorter interval would notice no better: whether somebody must be taken back, or the plan wants less.
    pub(super) fn look(&self) -> Vec<Line> {
        let seen = self.mirror.rollout_seen();
        let is_down = self.mirror.take_candidate_down();
        let mut inner = self.lock();
        let mut lines = std::mem::take(&mut inner.unwritten);
        let role = Role::at(inner.saved.percent);
        let bounds = &self.settings.bounds;
        let tried = seen.tried.clone();
        let worse = inner.watch.look(seen, role, Instant::now(), bounds);
        if role == Role::Serves {
            let settings = &self.settings;
            let worse = worse.or_else(|| inner.trial.look(&tried, Instant::now(), settings));
            let why = if is_down {
                Some(
                    "the candidate is down: it did not answer several requests in a row".to_owned(),
                )
            } else {
                worse
            };
            lines.extend(why.map(|why| self.fall(&mut inner, OURSELVES, why)));
        }
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        if wanted < inner.saved.percent {
            let (from, at) = (inner.saved.percent, Timestamp::now());
            self.mirror.set_rollout(wanted);
            inner.saved.is_at(wanted, at);
            self.begin(&mut inner);
            self.save(&mut inner);
            let why = "the configuration wants no more".to_owned();
            lines.push(Line::set(from, wanted, why, at));
        }
        if inner.unsaved.is_some() {
            self.save(&mut inner);
        }
        self.tell_blocked(&mut inner);
        lines
    }

    /// Says once that a fall back keeps back what the configuration wants, and what ends that: nothing else would ever tell.
    fn tell_blocked(&self, inner: &mut Inner) {
        let wanted = blocked(&self.settings.plan, &inner.saved, Timestamp::now()).unwrap_or(0.0);
        if wanted > inner.blocked
            && let Some(fall) = &inner.saved.fell_back
        {
            let again = lowest(&self.settings.plan);
            tracing::warn!(
                wanted,
                reached = fall.from,
                since = %fall.at,
                who = fall.who,
                reason = fall.reason,
                "the rollout stays at 0 % because it fell back before: `parity rollout set {again}` begins again"
            );
        }
        inner.blocked = wanted;
    }

    /// Asks the gate, if that can change anything.
    pub(super) fn ask_gate(&self) -> Vec<Line> {
        let since = {
            let inner = self.lock();
            let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
            if inner.saved.percent <= 0.0 && wanted <= 0.0 {
                return Vec::new();
            }
            inner.saved.counts_from
        };
        let judgement = self.deciding.judge(since);
        let told = judgement.document(Timestamp::now());
        let Judgement {
            judged,
            of,
            decision,
            lost,
        } = judgement;
        let lost = lost.map_or_else(String::new, |lost| format!(", {lost}"));
        let mut inner = self.lock();
        if !inner.saved.is_judged_by(&of) || inner.saved.counts_from != since {
            return Vec::new();
        }
        inner.gate = Some(told);
        let wanted = target(&self.settings.plan, &inner.saved, Timestamp::now());
        let from = inner.saved.percent;
        inner.waits = None;
        let held = inner.held.take();
        let outcome = judged.outcome();
        let waits = match judged {
            Judged::Fail(why) if from > 0.0 => {
                let line = self.fall(
                    &mut inner,
                    OURSELVES,
                    format!("the gate fails{lost}: {why}"),
                );
                return vec![Line { decision, ..line }];
            }
            _ if wanted <= from => return Vec::new(),
            Judged::Fail(why) => format!("the gate fails{lost}: {why}"),
            Judged::Undecided(why) => why,
            Judged::Pass => {
                let step = on_the_way(&self.settings.plan, from, wanted);
                let risen = match self.lacks(&inner, step) {
                    Some(why) => Err(why),
                    None => self.rise(&mut inner, step, None),
                };
                match risen {
                    Ok(at) => {
                        let why = format!("the gate passes{lost}");
                        let line = Line::set(from, step, why, at);
                        return vec![Line { decision, ..line }];
                    }
                    Err(why) => why,
                }
            }
        };
        inner.waits = Some(waits);
        let holds = Held {
            step: [from.to_bits(), wanted.to_bits()],
            outcome,
        };
        // It is asked again and again, and decisions are kept for ever: of one step that is held for the same outcome there is one.
        let is_new = decision.is_some() && held.as_ref() != Some(&holds);
        inner.held = if decision.is_some() {
            Some(holds)
        } else {
            held
        };
        let line = Line::held(decision);
        is_new.then_some(line).into_iter().collect()
    }
}
