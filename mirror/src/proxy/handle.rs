//! The handle with which the rest of the process observes and controls a running mirror.
//!
//! It reads and writes the state that the workers share, and sends them another policy. It waits only until they have
//! applied it.

use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tokio::sync::watch;

use crate::exchange::ServiceSeen;
use crate::exchange::{Observer, RolloutSeen};
use crate::proxy::generation::{LoadedPolicy, PolicyUpdate};
use crate::proxy::process::ProcessState;
use crate::recheck::RecheckReceiver;

/// How long to wait for a worker to apply a policy. A worker that takes longer is shutting down, or the machine is
/// overloaded and it will apply the policy later.
const TURN: Duration = Duration::from_secs(1);

/// The handle of a running mirror: cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct MirrorHandle {
    process: Arc<ProcessState>,
    applied: watch::Sender<Option<Arc<PolicyUpdate>>>,
}

impl MirrorHandle {
    pub(crate) fn new(process: Arc<ProcessState>) -> Self {
        Self {
            process,
            applied: watch::Sender::new(None),
        }
    }

    /// What the workers share.
    pub(crate) fn process(&self) -> &Arc<ProcessState> {
        &self.process
    }

    /// The current policy, and those that are applied later.
    pub(crate) fn policies(&self) -> watch::Receiver<Option<Arc<PolicyUpdate>>> {
        self.applied.subscribe()
    }

    /// Sets the first policy, unless a newer one has already been applied.
    pub(crate) fn begin(&self, first: PolicyUpdate) {
        self.applied.send_if_modified(|applied| {
            let missing = applied.is_none();
            applied.get_or_insert_with(|| Arc::new(first));
            missing
        });
    }

    /// Applies a policy to all requests that arrive from now on, observed by `observers` (called once on each worker's
    /// thread, with the worker's number). What comes from `rechecks` is sent again under this policy. Client connections
    /// stay open. Returns when every worker has applied it. Does nothing once the mirror has ended.
    pub fn apply(
        &self,
        loaded: LoadedPolicy,
        observers: impl Fn(usize) -> Rc<dyn Observer> + Send + Sync + 'static,
        rechecks: Option<RecheckReceiver>,
    ) {
        let policy = loaded.policy();
        let admission = self.process.admission();
        admission.budget().set_limit(policy.limits.shadow_bytes);
        // What is known is about the former services.
        let (legacy_moved, candidate_moved) =
            self.applied
                .borrow()
                .as_ref()
                .map_or((true, true), |before| {
                    let before = before.loaded.policy();
                    (
                        before.legacy.url != policy.legacy.url,
                        before.candidate.url != policy.candidate.url,
                    )
                });
        if legacy_moved {
            self.process.forget_legacy();
        }
        if candidate_moved {
            admission.breaker().forget();
        }
        let (taken, workers) = mpsc::channel();
        let next = Arc::new(PolicyUpdate {
            loaded,
            observers: Arc::new(observers),
            rechecks: Mutex::new(rechecks),
            taken,
        });
        let mut unheard = None;
        let told = self.applied.send_if_modified(|applied| {
            let serving = !self.process.has_ended();
            if serving {
                if self.process.have_rechecks_ended() {
                    unheard = next.take_rechecks();
                }
                *applied = Some(next);
            }
            serving
        });
        drop(unheard);
        if told {
            for _worker in 0..self.applied.receiver_count() {
                if workers.recv_timeout(TURN).is_err() {
                    break;
                }
            }
        }
    }

    /// Nothing is sent again from now on: what would be is dropped at once, under this policy and all later ones. Otherwise
    /// its places would be taken by requests that wait for their second look until the process ends.
    pub(crate) fn end_rechecks(&self) {
        let mut unheard = None;
        // Under the lock of the policies, so that none is applied in between.
        self.applied.send_if_modified(|applied| {
            self.process.end_rechecks();
            unheard = applied.as_ref().and_then(|policy| policy.take_rechecks());
            false
        });
        drop(unheard);
    }

    /// Drops the last policy and its observers, so that code that waits until they are dropped does not wait for this
    /// handle.
    pub(crate) fn end(&self) {
        self.process.end();
        self.applied.send_replace(None);
    }

    /// Starts or stops shadowing; requests already in flight are not touched.
    pub fn set_shadowing(&self, on: bool) {
        self.process.admission().set_shadowing(on);
    }

    /// Whether new requests are shadowed.
    pub fn shadowing(&self) -> bool {
        self.process.admission().shadowing()
    }

    /// The candidate serves this percent of the clients from now on, 0 to 100, if the policy has a rollout. Requests under way
    /// end as they began.
    pub fn set_rollout(&self, percent: f64) {
        self.process.exchange().rollout().set(percent);
    }

    /// Whether the candidate was found down since the last call, so that nobody is served by it any more.
    pub fn take_candidate_down(&self) -> bool {
        self.process.exchange().rollout().take_down()
    }

    /// What was seen of both services in the rollout.
    pub fn rollout_seen(&self) -> RolloutSeen {
        self.process.exchange().rollout().seen()
    }

    /// Shadows that wait for the candidate now.
    pub fn in_flight(&self) -> usize {
        self.process.admission().in_flight()
    }

    /// Bytes held for shadows and exchanges now.
    pub fn shadow_bytes_held(&self) -> usize {
        self.process.admission().budget().held()
    }

    /// Whether the last request to the legacy got an answer; `true` before the first.
    pub fn legacy_reachable(&self) -> bool {
        self.process.legacy_reachable()
    }

    /// Whether the candidate gets requests; `false` while the breaker is open, `true` before the first.
    pub fn candidate_reachable(&self) -> bool {
        self.process.candidate_reachable()
    }

    /// Whether the legacy was asked anything, for a client or, during a rollout, as a shadow, and since when it does not answer.
    pub fn legacy_seen(&self) -> ServiceSeen {
        self.process.legacy_seen()
    }

    /// Whether the candidate was asked anything, and since when it does not answer.
    pub fn candidate_seen(&self) -> ServiceSeen {
        self.process.candidate_seen()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;

    use super::*;
    use crate::descriptors::ConnectionLimits;
    use crate::exchange::Unobserved;
    use crate::proxy::config::{Config, Policy};
    use crate::proxy::mirror::Mirror;
    use crate::recheck::rechecks;
    use crate::upstream::Target;

    fn policy() -> Policy {
        let target = || Target::new("http://127.0.0.1:1".parse().expect("a URL"));
        Policy::new(target(), target())
    }

    /// Whether nothing could be sent again under the policy in force.
    fn is_unheard(handle: &MirrorHandle) -> bool {
        let policy = handle.applied.borrow().as_ref().map(Arc::clone);
        policy.expect("there is one").take_rechecks().is_none()
    }

    #[test]
    fn without_the_thread_nothing_waits_to_be_sent_again_under_any_policy() {
        let mirror = Mirror::bind(Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            workers: NonZeroUsize::MIN,
            connections: Config::CONNECTIONS,
            others: ConnectionLimits::default(),
            shadowing: true,
            policy: policy(),
        });
        let handle = mirror.expect("a free port").handle();
        let apply = || {
            let loaded = LoadedPolicy::load(policy()).expect("no files");
            let observers = |_| Rc::new(Unobserved) as Rc<dyn Observer>;
            handle.apply(loaded, observers, Some(rechecks(1).1));
        };
        apply();
        assert!(!is_unheard(&handle));
        apply();
        handle.end_rechecks();
        assert!(is_unheard(&handle));
        apply();
        assert!(is_unheard(&handle));
    }
}
