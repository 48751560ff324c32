//! A configuration generation on one worker: a loaded policy with the services, routes, limits and observer that serve
//! under it.
//!
//! A request uses the generation that is current when its head has been parsed, until its end. Applying another policy
//! creates a new generation; the old one is dropped with its last request, together with its idle connections and its
//! observer. Client connections belong to no generation and outlive all. All generations share the worker's
//! [`WorkerResources`].

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use http::{Method, Uri};
use parity_schemas::route::{Route, RouteResolver};
use parity_schemas::verdict::Reason;
use tokio_rustls::TlsAcceptor;

use crate::exchange::{
    Asker, Observer, Recorder, RequestHead, Rollout, RolloutState, Services, Serving, Side, Terms,
    Tried, WorkerResources,
};
use crate::limits::Limits;
use crate::proxy::config::{Mode, Policy};
use crate::proxy::outbound::Outbound;
use crate::proxy::overdue::Rolled;
use crate::proxy::tls::PROTOCOLS;
use crate::recheck::{RecheckPolicy, RecheckReceiver, Rechecker};
use crate::spelling::Spelling;
use crate::upstream::{ServiceFault, TlsError};

/// Creates the observer of a worker, on the worker's thread, from the worker's number.
pub(crate) type Observers = Arc<dyn Fn(usize) -> Rc<dyn Observer> + Send + Sync>;

/// A policy with the files that it names (certificates, keys) loaded from disk: ready to be applied.
#[derive(Clone)]
pub struct LoadedPolicy {
    policy: Policy,
    services: Services,
    tls: Option<TlsAcceptor>,
}

impl LoadedPolicy {
    pub(crate) fn load(policy: Policy) -> Result<Self, TlsError> {
        let ca_file = policy.ca_file.as_deref();
        let services = Services::load(&policy.legacy, &policy.candidate, ca_file)?;
        let tls = policy.tls.as_ref();
        let tls = tls.map(|files| files.acceptor(&PROTOCOLS)).transpose()?;
        Ok(Self {
            policy,
            services,
            tls,
        })
    }

    /// The policy that was loaded.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// What the workers get when a policy is applied: the policy, and how to create its observers.
pub(crate) struct PolicyUpdate {
    pub(crate) loaded: LoadedPolicy,
    pub(crate) observers: Observers,
    /// Requests that are sent again under this policy; taken by the thread that does it.
    pub(crate) rechecks: Mutex<Option<RecheckReceiver>>,
    /// Each worker, and the thread of the rechecks, sends a message here once it has applied the policy.
    pub(crate) taken: mpsc::Sender<()>,
}

impl PolicyUpdate {
    /// Lets the thread of the rechecks serve those of this policy.
    pub(crate) fn recheck_by(&self, rechecker: &Rechecker) {
        let LoadedPolicy {
            policy, services, ..
        } = &self.loaded;
        if let Some(rechecks) = self.take_rechecks() {
            let policy = RecheckPolicy {
                services,
                forwarding: &policy.forwarding,
                limits: policy.limits,
            };
            rechecker.serve(&policy, rechecks);
        }
        // Nobody waits for the first policy.
        let _unheard = self.taken.send(());
    }

    /// Takes what comes to be sent again under this policy, unless it was taken before.
    pub(crate) fn take_rechecks(&self) -> Option<RecheckReceiver> {
        let mut rechecks = self.rechecks.lock().unwrap_or_else(PoisonError::into_inner);
        rechecks.take()
    }
}

/// A loaded policy and everything that serves under it, on one worker.
pub(crate) struct Generation {
    asker: Rc<Asker<Outbound>>,
    mode: Mode,
    routes: RefCell<RouteResolver>,
    tls: Option<TlsAcceptor>,
    recorder: Option<Rc<dyn Recorder>>,
    rolling: Option<Rolling>,
}

impl Generation {
    pub(crate) fn new(
        resources: &WorkerResources<Outbound>,
        loaded: &LoadedPolicy,
        observer: Rc<dyn Observer>,
    ) -> Self {
        let policy = &loaded.policy;
        let recorder = observer.recorder();
        let terms = Terms::new(
            resources.exchange().clone(),
            policy.limits,
            policy.sampling.clone(),
            observer,
        );
        let rollout = policy.rollout.as_ref();
        let state = || rollout.map(|_| Arc::clone(&resources.exchange().rollout));
        let asker = |serving| {
            let (terms, forwarding) = (Rc::clone(&terms), policy.forwarding.clone());
            Asker::new(resources, terms, forwarding, &loaded.services, serving)
        };
        Self {
            asker: asker(match policy.mode {
                Mode::Proxy => Serving::by(Side::Legacy, state())
                    .with_writes(rollout.is_some_and(|rollout| rollout.unsafe_methods)),
                Mode::Tap => Serving::NOBODY,
            }),
            rolling: rollout.map(|rollout| Rolling {
                seed: rollout.seed(),
                rollout: rollout.clone(),
                state: Arc::clone(&resources.exchange().rollout),
                asker: asker(Serving::by(Side::Candidate, state())),
            }),
            mode: policy.mode,
            routes: RefCell::new(
                RouteResolver::new(Arc::clone(&policy.routes))
                    .with_unsafe_methods(policy.unsafe_methods),
            ),
            tls: loaded.tls.clone(),
            recorder,
        }
    }

    /// Sends requests to both services.
    pub(crate) fn asker(&self) -> &Rc<Asker<Outbound>> {
        &self.asker
    }

    /// The terms under which they are sent.
    pub(crate) fn terms(&self) -> &Rc<Terms> {
        self.asker.terms()
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.terms().limits()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// The route of a request whose target has these bytes that `uri` cannot represent.
    pub(crate) fn route(
        &self,
        method: &Method,
        uri: &Uri,
        spelling: Option<&Spelling>,
    ) -> Arc<Route> {
        let mut routes = self.routes.borrow_mut();
        match spelling.and_then(|spelling| spelling.encoded(uri)) {
            None => routes.resolve(method, uri.path()),
            Some(sent) => routes.resolve_sent(method, uri.path(), sent.path()),
        }
    }

    /// The route of a request that was recorded; its path is as services get it.
    pub(crate) fn route_recorded(&self, method: &Method, path: &str) -> Arc<Route> {
        self.routes.borrow_mut().resolve(method, path)
    }

    /// The rollout, if there is one.
    pub(crate) fn rolling(&self) -> Option<&Rolling> {
        self.rolling.as_ref()
    }

    /// Who takes requests for a recording.
    pub(crate) fn recorder(&self) -> Option<&Rc<dyn Recorder>> {
        self.recorder.as_ref()
    }

    /// The TLS configuration for clients, if they connect with TLS.
    pub(crate) fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }
}

/// A rollout on one worker: who is in it, and what sends their requests.
pub(crate) struct Rolling {
    rollout: Rollout,
    seed: u64,
    state: Arc<RolloutState>,
    /// Sends requests to the candidate for clients, and to the legacy as shadows.
    asker: Rc<Asker<Outbound>>,
}

impl Rolling {
    /// Whether the candidate may serve such a request.
    pub(crate) fn takes(
        &self,
        head: &RequestHead,
        refusal: Option<Reason>,
        has_body: bool,
    ) -> bool {
        // Whatever its route allows: a shadow may be sent twice where somebody said so, and a client is served once.
        let refusal = if head.has_effect {
            Some(Reason::UnsafeMethod)
        } else {
            refusal
        };
        self.rollout.takes(&head.method, refusal, has_body)
    }

    /// The client that sent it, if the candidate serves it.
    pub(crate) fn serves(&self, head: &RequestHead) -> Option<Rolled> {
        let is_any_in = self.state.is_any_in();
        // Also before anybody is in: how many clients can be told apart says whether a share of them can be served.
        if !is_any_in && self.state.knows_many_clients() {
            return None;
        }
        let point = self.rollout.point(self.seed, head);
        if let Some(point) = point.filter(|_| !self.state.knows_many_clients()) {
            self.state.saw_client(point);
        }
        if !is_any_in {
            return None;
        }
        if self.asker.terms().is_breaker_open() {
            self.state.is_down();
            return None;
        }
        let client = point.filter(|point| self.state.is_in(*point))?;
        Some(Rolled {
            client,
            patience: self.rollout.head_timeout,
        })
    }

    /// What counts how the answers to such a request compare. The candidate serves who stands at a `point`, and the legacy anybody else.
    pub(crate) fn tries(&self, point: Option<u64>) -> Tried {
        let side = point.map_or(Side::Legacy, |_| Side::Candidate);
        Tried::by(&self.state, side, point.unwrap_or(0))
    }

    pub(crate) fn asker(&self) -> &Rc<Asker<Outbound>> {
        &self.asker
    }

    pub(crate) fn head_timeout(&self) -> Duration {
        self.rollout.head_timeout
    }

    /// The head of the candidate's answer has arrived, or it failed in this way.
    pub(crate) fn candidate_did(&self, fault: Option<ServiceFault>) {
        let timeout = self.rollout.head_timeout;
        self.asker.terms().candidate_did(fault, timeout);
        self.state.candidate_began(fault.is_none());
        if fault.is_some() {
            self.state.failed(Side::Candidate);
        }
    }

    /// The legacy answers in the candidate's place.
    pub(crate) fn repaired(&self) {
        self.state.repaired();
    }
}
