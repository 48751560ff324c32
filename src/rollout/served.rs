//! What the candidate did for clients, judged by itself: the pairs of requests that it served, beside those that it got as a shadow.
//!
//! The gate adds both up, and there are more shadows: ten millions that are equal would hide ten thousand clients with wrong answers. So the
//! share of pairs that differ is set beside that of the shadows. Both are raw, so what is known or noise is in both, and cancels out. The
//! shadows are those of the process and of earlier ones that had these services and rules (the state file has them); what they were when the
//! percent came is the least. Where nothing was ever compared as a shadow nothing is concluded, and a step waits.
//!
//! One client alone cannot take the clients back: the one with the most that differ is left out, unless nobody else is served. It can hold a
//! step, which a person may insist on. Requests that nobody compares are judged by their status: [`alike`] holds a step by route, and
//! clients go back where far more of the candidate's answers are 4xx, at many clients.

pub(super) mod alike;

use std::time::Instant;

use parity_comparator::bounds::{self, Seen};
use parity_mirror::{ClientCounts, MANY_CLIENTS, RolloutTried, Share};
use parity_schemas::evidence::Bound;
use serde::{Deserialize, Serialize};

use self::alike::Routes;
use crate::config::RolloutSettings;

/// The chance to be wrong with what is called sure. There is a window each minute, so that a candidate that differs as often as its shadows is left
/// once in two years at the most; within a window it is looked at five times a second, for which [`Bound::AnyTime`] is made.
const UNSURE: f64 = 1e-6;
/// The same for what only holds a step, which is asked again.
const LIKELY: f64 = 0.05;
/// How much higher the share of 4xx among answers that nobody compares must surely be to take the clients back: half of all.
const FAR: f64 = 0.5;

/// Pairs that were compared, for the state file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pairs {
    compared: u64,
    differing: u64,
}

/// What is known of this candidate beside this legacy.
#[derive(Default)]
pub(super) struct Trial {
    /// Shadows of earlier processes.
    kept: Share,
    /// When these services and rules came.
    from: RolloutTried,
    /// When the percent came that is in force.
    began: RolloutTried,
    /// The share of the shadows that differed then.
    at_least: f64,
    routes: Routes,
    window: Option<Window>,
}

/// Where a window begins: between one and two of its lengths ago.
struct Window {
    before: RolloutTried,
    next: RolloutTried,
    turned: Instant,
}

impl Trial {
    /// Goes on with the shadows of earlier processes.
    pub(super) fn of(kept: Option<Pairs>) -> Self {
        let Pairs {
            compared,
            differing,
        } = kept.unwrap_or_default();
        let kept = Share {
            of_kind: differing.min(compared),
            all: compared,
        };
        Self {
            kept,
            at_least: kept.rate(),
            ..Self::default()
        }
    }

    /// From what was `seen` on other services run, or other rules: of them nothing is known.
    pub(super) fn anew(seen: RolloutTried) -> Self {
        Self {
            began: seen.clone(),
            from: seen,
            ..Self::default()
        }
    }

    /// Another percent is in force from what was `seen` on.
    pub(super) fn begin(&mut self, seen: RolloutTried, routes: Routes) {
        self.at_least = self.shadows(&seen).rate();
        self.began = seen;
        self.routes = routes;
        self.window = None;
    }

    /// All shadows, for the state file.
    pub(super) fn pairs(&self, seen: &RolloutTried) -> Pairs {
        let shadows = self.shadows(seen);
        Pairs {
            compared: shadows.all,
            differing: shadows.of_kind,
        }
    }

    fn shadows(&self, seen: &RolloutTried) -> Share {
        self.kept.plus(since(seen.shadows, self.from.shadows))
    }

    /// Takes in what was seen by now, and says why all clients must go back, if so.
    pub(super) fn look(
        &mut self,
        seen: &RolloutTried,
        now: Instant,
        settings: &RolloutSettings,
    ) -> Option<String> {
        let window = self.window.get_or_insert_with(|| Window {
            before: self.began.clone(),
            next: seen.clone(),
            turned: now,
        });
        if now.saturating_duration_since(window.turned) >= settings.bounds.window {
            window.before = std::mem::replace(&mut window.next, seen.clone());
            window.turned = now;
        }
        let window = self.window.as_ref().map(|window| &window.before);
        window.into_iter().chain([&self.began]).find_map(|before| {
            let needed = settings.bounds.min_requests;
            let alone = seen.alone.since(&before.alone);
            let legacy = since(seen.alone_legacy, self.from.alone_legacy);
            self.differs_more(seen, before, needed, settings.max_mismatch_rate)
                .or_else(|| refuses_more(&alone, legacy, needed))
        })
    }

    /// Why the candidate must not serve more by what it did for clients at this percent.
    pub(super) fn lacks(
        &self,
        seen: &RolloutTried,
        percent: f64,
        settings: &RolloutSettings,
        routes: &Routes,
    ) -> Option<String> {
        let served = seen.served.since(&self.began.served).total();
        let needed = settings.bounds.min_requests;
        if served.all < needed {
            return Some(format!(
                "{} of the {needed} requests that it served under {percent} % and by which it is judged were compared: as long as they are not, because shadowing is \
                 stopped or few are sampled, nobody knows what clients get",
                served.all
            ));
        }
        let Some(most) = self.most(seen, &self.began, needed, LIKELY) else {
            return Some(format!(
                "no shadow of this candidate was compared, beside which the {} requests that it served under {percent} % could be judged",
                served.all
            ));
        };
        let allowed = settings.max_mismatch_rate;
        if bounds::lower(Bound::OneLook, of(served), LIKELY) > most + allowed {
            return Some(self.differ_told(served, seen, allowed));
        }
        alike::unlike(routes, &self.routes, needed, UNSURE)
    }

    /// The highest share of shadows that may differ: of all that are known, of those when the percent came, and of those since `before`, because some
    /// hours have more of what differs. `None` where none is known.
    fn most(
        &self,
        seen: &RolloutTried,
        before: &RolloutTried,
        needed: u64,
        unsure: f64,
    ) -> Option<f64> {
        let all = self.shadows(seen);
        let lately = since(seen.shadows, before.shadows);
        let shares = [(all, 1), (lately, needed.max(1))].into_iter();
        let known = shares.filter(|(shadows, needed)| shadows.all >= *needed);
        let most = known.map(|(shadows, _)| bounds::upper(Bound::OneLook, of(shadows), unsure));
        most.reduce(f64::max).map(|most| most.max(self.at_least))
    }

    /// How the pairs served since `before` surely differ more than the shadows, if they do.
    fn differs_more(
        &self,
        seen: &RolloutTried,
        before: &RolloutTried,
        needed: u64,
        allowed: f64,
    ) -> Option<String> {
        let served = seen.served.since(&before.served);
        let judged = if served.clients() > 1 {
            served.of_others()
        } else {
            served.total()
        };
        // First what costs nothing.
        if judged.all < needed || judged.rate() <= self.at_least + allowed {
            return None;
        }
        let most = self.most(seen, before, needed, UNSURE)?;
        let is_sure = bounds::lower(Bound::AnyTime, of(judged), UNSURE) > most + allowed;
        is_sure.then(|| self.differ_told(judged, seen, allowed))
    }

    fn differ_told(&self, served: Share, seen: &RolloutTried, allowed: f64) -> String {
        let shadows = self.shadows(seen);
        format!(
            "{} of {} compared requests that the candidate served differ ({:.2} %), {} of {} as its shadow ({:.2} %); {:.2} % more are allowed",
            served.of_kind,
            served.all,
            served.rate() * 100.0,
            shadows.of_kind,
            shadows.all,
            shadows.rate() * 100.0,
            allowed * 100.0
        )
    }
}

/// That far more of the candidate's answers are 4xx than of the legacy's, at many clients, where none is compared.
fn refuses_more(alone: &ClientCounts, legacy: Share, needed: u64) -> Option<String> {
    let (judged, clients) = (alone.of_others(), alone.clients_mostly());
    if judged.all < needed || legacy.all < needed || clients < MANY_CLIENTS {
        return None;
    }
    let most = bounds::upper(Bound::OneLook, of(legacy), UNSURE);
    let is_sure = bounds::lower(Bound::AnyTime, of(judged), UNSURE) > most + FAR;
    is_sure.then(|| {
        format!(
            "{} of {} answers of the candidate that nobody compares are 4xx ({:.2} %), most of those of {clients} clients or more; {} of {} of the legacy ({:.2} %)",
            judged.of_kind,
            judged.all,
            judged.rate() * 100.0,
            legacy.of_kind,
            legacy.all,
            legacy.rate() * 100.0
        )
    })
}

fn since(now: Share, before: Share) -> Share {
    Share {
        of_kind: now.of_kind.saturating_sub(before.of_kind),
        all: now.all.saturating_sub(before.all),
    }
}

fn of(share: Share) -> Seen {
    Seen::new(share.of_kind, share.all)
}

#[cfg(test)]
mod tests;
