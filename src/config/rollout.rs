//! What is said about the rollout: who is in it, how it grows, and what ends it.

use std::path::PathBuf;
use std::time::Duration;

use parity_mirror::{Mode, Rollout, RolloutBy};

use super::Layers;
use super::problem::Problem;
use super::settings::{mirror, rollout, top};
use super::value::rollout::Step;

/// How the share grows that the candidate serves, and what ends that.
#[derive(Clone, Debug)]
pub(crate) struct RolloutSettings {
    /// What the share is to be.
    pub(crate) plan: Plan,
    /// What a client is known by.
    pub(crate) by: RolloutBy,
    /// Whether it serves requests that may have an effect, too.
    pub(crate) unsafe_methods: bool,
    /// Keeps how it stands over a restart.
    pub(crate) state_file: PathBuf,
    /// Pause between two questions to the gate.
    pub(crate) gate_interval: Duration,
    /// Share of the requests that may differ.
    pub(crate) max_mismatch_rate: f64,
    /// What ends it without the gate.
    pub(crate) bounds: Bounds,
}

/// What the share is to be.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// One percent, from the start.
    Percent(f64),
    /// Steps with rising percents.
    Schedule(Vec<Step>),
}

/// How much worse than the legacy the candidate may be.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// The time that is looked at.
    pub(crate) window: Duration,
    /// Requests from which on a service counts.
    pub(crate) min_requests: u64,
    /// How much higher the share of errors may be.
    pub(crate) max_error_excess: f64,
    /// How many times the legacy's 95th percentile the candidate's may be.
    pub(crate) max_latency_ratio: f64,
}

impl Layers {
    /// Whether there is a rollout.
    fn rolls_out(&mut self) -> bool {
        self.is_given(&rollout::CANDIDATE_PERCENT) || !self.list(&rollout::SCHEDULE).is_empty()
    }

    /// How clients are chosen; `None` without a rollout.
    pub(super) fn rollout_policy(&mut self) -> Option<Rollout> {
        let by = self.get(&rollout::BY);
        let key = self
            .get(&rollout::KEY)
            .or_else(|| self.get(&top::MIGRATION));
        let unsafe_methods = self.get(&rollout::UNSAFE_METHODS);
        let head_timeout = self.get(&rollout::HEAD_TIMEOUT);
        // A value that cannot be read is a problem, so this is then not used.
        self.rolls_out().then_some(Rollout {
            by: by?,
            key: key?.into(),
            unsafe_methods: unsafe_methods?,
            head_timeout: head_timeout?,
        })
    }

    /// That clients are known by their address: where a load balancer is in front, all of them have one.
    pub(crate) fn one_address(&self) -> Option<Problem> {
        let mut read = self.clone();
        let is_by_address = read.rolls_out() && read.get(&rollout::BY)? == RolloutBy::Address;
        is_by_address.then(|| {
            let message = format!(
                "{} is `address`: behind a load balancer all clients have its address, so the candidate serves all of them or nobody",
                rollout::BY.key
            );
            Problem::new(self.origin(&rollout::BY), message).hint(
                "there, choose what tells clients apart: `by = \"header:x-user-id\"` or `by = \"cookie:session\"`",
            )
        })
    }

    /// How the share grows; `None` without a rollout.
    pub(super) fn rollout(&mut self) -> Option<RolloutSettings> {
        let percent = self.get(&rollout::CANDIDATE_PERCENT);
        let steps = self.each(&rollout::SCHEDULE);
        let by = self.get(&rollout::BY);
        let unsafe_methods = self.get(&rollout::UNSAFE_METHODS);
        let state_file = self.get(&rollout::STATE_FILE);
        let gate_interval = self.get(&rollout::GATE_INTERVAL);
        let max_mismatch_rate = self.get(&rollout::MAX_MISMATCH_RATE);
        let window = self.get(&rollout::WINDOW);
        let min_requests = self.get(&rollout::MIN_REQUESTS);
        let max_error_excess = self.get(&rollout::MAX_ERROR_EXCESS);
        let max_latency_ratio = self.get(&rollout::MAX_LATENCY_RATIO);
        if !self.rolls_out() {
            return None;
        }
        self.look_at_plan(percent, &steps);
        let plan = match percent {
            Some(percent) => Plan::Percent(percent),
            None => Plan::Schedule(steps),
        };
        Some(RolloutSettings {
            plan,
            by: by?,
            unsafe_methods: unsafe_methods?,
            state_file: state_file?.into(),
            gate_interval: gate_interval?,
            max_mismatch_rate: max_mismatch_rate?,
            bounds: Bounds {
                window: window?,
                min_requests: min_requests? as u64,
                max_error_excess: max_error_excess?,
                max_latency_ratio: max_latency_ratio?,
            },
        })
    }

    fn look_at_plan(&mut self, percent: Option<f64>, steps: &[Step]) {
        if self.is_given(&rollout::CANDIDATE_PERCENT) && !steps.is_empty() {
            let message = format!(
                "{} and {} are both given",
                rollout::CANDIDATE_PERCENT.key,
                rollout::SCHEDULE.key
            );
            let origin = self.origin(&rollout::SCHEDULE);
            self.problems.push(
                Problem::new(origin, message)
                    .hint("one percent is no schedule; leave one of them out"),
            );
        }
        let falls = steps
            .windows(2)
            .find(|pair| matches!(pair, [one, next] if next.percent <= one.percent));
        if let Some([one, next]) = falls {
            let message = format!(
                "{}: {} % comes after {} %",
                rollout::SCHEDULE.key,
                next.percent,
                one.percent
            );
            let origin = self.origin(&rollout::SCHEDULE);
            self.problems.push(
                Problem::new(origin, message)
                    .hint("every step must be higher than the one before; `parity rollout set` and `back` lower the share"),
            );
        }
        if self.get(&mirror::MODE) == Some(Mode::Tap) {
            let message = "a tap answers no client, so the candidate cannot serve any".to_owned();
            let which = if percent.is_some() {
                self.origin(&rollout::CANDIDATE_PERCENT)
            } else {
                self.origin(&rollout::SCHEDULE)
            };
            self.problems.push(Problem::new(which, message).hint(
                "leave [rollout] out, or put the mirror in front of the legacy (mode = \"proxy\")",
            ));
        }
    }
}
