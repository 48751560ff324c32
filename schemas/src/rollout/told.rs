//! How a rollout stands, in words.

use super::{
    RolloutDocument, RolloutGate, RolloutKept, RolloutRecorded, RolloutShown, RolloutSide,
};
use crate::evidence::Outcome;
use crate::time::{Timestamp, elapsed};

/// Routes that are named in a sentence.
const MOST_NAMED: usize = 3;

impl RolloutDocument {
    /// How it stands, in one line for people: what only changes when it does.
    pub fn told(&self) -> String {
        let target = self.target;
        match (&self.fell_back, &self.waits) {
            (Some(fall), _) => {
                let again = self.again.map_or_else(String::new, |again| {
                    let wanted = self.blocked.map_or_else(String::new, |wanted| {
                        format!("{wanted} % was wanted, and is kept back; ")
                    });
                    format!("; {wanted}`parity rollout set {again}` begins again")
                });
                format!(
                    "fell back from {} % to 0 % at {} by {}: {}{again}",
                    fall.from, fall.at, fall.who, fall.reason
                )
            }
            (None, Some(why)) => format!("{}; {target} % waits: {why}", self.served_told()),
            (None, None) => self.served_told(),
        }
    }

    fn served_told(&self) -> String {
        let percent = self.percent;
        // Since when nobody is served says nothing.
        let since = self.since.filter(|_| percent > 0.0);
        let since = since.map_or_else(String::new, |since| format!(" since {since}"));
        format!("{percent} % of clients served by the candidate{since}")
    }

    /// The same with what it does not say: which share of the requests that is, and what stays at the legacy.
    pub fn told_whole(&self) -> String {
        let mut told = vec![self.told()];
        told.extend(self.share_told());
        told.extend(self.lost_told());
        told.extend(self.errors_alone_told());
        told.extend(self.kept_told(MOST_NAMED));
        told.join("; ")
    }

    /// Which share of all requests the candidate served; `None` before there are any, or while it serves nobody.
    pub fn share_told(&self) -> Option<String> {
        let share = self.requests_served as f64 / self.requests.max(1) as f64 * 100.0;
        (self.percent > 0.0 && self.requests > 0).then(|| {
            format!(
                "{share:.1} % of requests ({} of {}) since then, as far as this process has counted them",
                self.requests_served, self.requests
            )
        })
    }

    /// That the gate decides on a part of the record because a process was killed; `None` if it does not.
    pub fn lost_told(&self) -> Option<String> {
        let gate = self.gate.as_ref().filter(|_| !self.is_gate_of_before())?;
        Some(format!("the gate decides {}", gate.lost.as_ref()?))
    }

    /// Whether what the gate said last was before the fall back. It is not asked behind one, since it can change nothing.
    fn is_gate_of_before(&self) -> bool {
        let both = self.gate.as_ref().zip(self.fell_back.as_ref());
        both.is_some_and(|(gate, fall)| gate.at <= fall.at)
    }

    /// What the gate said last, and whether that is of now; `None` before it was asked.
    pub fn gate_told(&self) -> Option<String> {
        let told = self.gate.as_ref()?.told();
        Some(if self.is_gate_of_before() {
            format!("not asked since the fall back; before it: {told}")
        } else {
            told
        })
    }

    /// By which bound the gate of the rollout goes, where that is another one than the `other`; `None` where both are the same, or it is not
    /// known.
    pub fn bound_told(&self, other: f64) -> Option<String> {
        let own = self.max_mismatch_rate?;
        let is_other = own.total_cmp(&other).is_ne();
        is_other.then(|| {
            format!(
                "the gate of the rollout allows {} % to differ (rollout.max_mismatch_rate), and not {} % as the decision on this page",
                percent(own),
                percent(other)
            )
        })
    }

    /// Of which time the counts of both services are.
    pub fn window_told(&self) -> String {
        let most = self.window_seconds;
        self.window_since.map_or_else(
            || format!("last {most} s"),
            |since| {
                format!(
                    "since {since} (the last {most} s, but not before the percent that is in force)"
                )
            },
        )
    }

    /// A sentence for each route that stays at the legacy, the first of them.
    pub fn kept_told(&self, most: usize) -> Vec<String> {
        let mut told: Vec<String> = self.kept.iter().take(most).map(RolloutKept::told).collect();
        let more = self.kept.len().saturating_sub(most) as u64 + self.kept_more;
        if more > 0 {
            told.push(format!("{more} more routes stay at the legacy"));
        }
        told
    }

    /// That the candidate was found to be no worse by errors alone; `None` if its times were compared, or nothing was found yet.
    pub fn errors_alone_told(&self) -> Option<String> {
        let RolloutShown {
            good,
            by_errors_alone,
            ..
        } = &self.shown;
        (good.is_some() && *by_errors_alone).then(|| {
            "no worse than the legacy by errors alone: answers are not timed of both services, so whether it is slower is not known".to_owned()
        })
    }

    /// How far the candidate is judged at this percent.
    pub fn judged_told(&self) -> String {
        let RolloutShown {
            served,
            needed,
            unjudged,
            good,
            by_errors_alone,
        } = &self.shown;
        let alone = if *by_errors_alone {
            " by errors alone"
        } else {
            ""
        };
        let of = if self.percent > 0.0 {
            "requests that it served"
        } else {
            "requests that it got as a shadow"
        };
        match good {
            Some(at) if self.percent > 0.0 => format!(
                "no worse than the legacy{alone} at {} %: judged at {at}, {served} {of}",
                self.percent
            ),
            Some(at) => format!("no worse than the legacy{alone} as its shadow: judged at {at}"),
            None if unjudged < needed => format!("not judged: {unjudged} of {needed} {of}"),
            None => format!(
                "not judged: of {unjudged} {of}, too few answers of both services are timed"
            ),
        }
    }
}

impl RolloutKept {
    /// In words.
    pub fn told(&self) -> String {
        let Self {
            route, requests, ..
        } = self;
        match self.compared {
            0 => format!("{route}: never served nor compared ({requests} requests)"),
            compared => format!("{route}: never served ({requests} requests, {compared} compared)"),
        }
    }
}

impl RolloutGate {
    /// Whether it was a pass.
    pub fn is_pass(&self) -> bool {
        self.outcome == Outcome::Pass
    }

    /// In words.
    pub fn told(&self) -> String {
        let reason = self.reason.as_ref();
        let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
        let lost = self.lost.as_ref();
        let lost = lost.map_or_else(String::new, |lost| format!(", {lost}"));
        format!("{} at {}{lost}{reason}", self.outcome, self.at)
    }
}

impl RolloutSide {
    /// In words.
    pub fn told(&self) -> String {
        let time = self.p95_us.map_or_else(String::new, |micros| {
            format!(", 95 % within {}", elapsed(micros))
        });
        format!("{} requests, {} errors{time}", self.requests, self.errors)
    }
}

impl RolloutRecorded {
    /// How it stood, in words, each time as `moment` writes it.
    pub fn told(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let Self {
            instance,
            percent,
            since,
            ..
        } = self;
        let because = |why: &str| match why {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let by = |who: &str| match who {
            "" => String::new(),
            who => format!(", by {who}"),
        };
        let stands = match &self.fell_back {
            Some(fall) => format!(
                "{instance} fell back from {} % to 0 % at {}{}{}; it stays so until somebody sets a percent",
                fall.from,
                moment(fall.at),
                by(&fall.who),
                because(&fall.reason)
            ),
            None => format!(
                "{percent} % of the clients of {instance} are served by the candidate since {}{}{}",
                moment(*since),
                by(&self.who),
                because(&self.why)
            ),
        };
        let heard = match (self.heard, self.at_work) {
            (Some(heard), true) => format!("the process was heard of at {}", moment(heard)),
            (Some(heard), false) => format!(
                "the process was last heard of at {}, and whether it serves is not known",
                moment(heard)
            ),
            (None, _) => "of the process itself nothing is recorded".to_owned(),
        };
        let without = self.began_without.map_or_else(String::new, |began| {
            format!(
                "; a process of this name began at {} and said nothing of a rollout, so this may be over",
                moment(began)
            )
        });
        format!(
            "{stands}. That is by the audit record, whose last line of it is of {}; {heard}{without}. What waits, and how both services do, only its mirror knows",
            moment(self.told)
        )
    }
}

/// A share as percent, without the digits of a binary fraction.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

#[cfg(test)]
mod tests;
