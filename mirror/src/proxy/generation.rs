//! A policy at work on one worker: the services, the routes, the limits that a request is served by.
//!
//! A request takes the generation that is current when its head has been parsed, and keeps it to its end. Applying
//! another policy makes a new one; the old one goes with the last request that holds it, its idle connections and its
//! observer with it. Connections of clients belong to none: they outlive every generation.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use parity_schemas::route::RouteResolver;
use tokio_rustls::TlsAcceptor;

use crate::config::{Limits, Mode, Policy};
use crate::connect::Connector;
use crate::forwarding::Forwarding;
use crate::observer::Observer;
use crate::pending::Side;
use crate::sampling::Sampler;
use crate::service::Service;
use crate::target::Target;
use crate::tls::{self, TlsError};
use crate::worker::Worker;

/// Makes the observer of a worker, on the worker's thread, from the worker's number.
pub(crate) type Observers = Arc<dyn Fn(usize) -> Rc<dyn Observer> + Send + Sync>;

/// A policy with everything that it names loaded from disk.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) policy: Policy,
    legacy: Connector,
    candidate: Connector,
    tls: Option<TlsAcceptor>,
}

impl Loaded {
    pub(crate) fn load(policy: Policy) -> Result<Self, TlsError> {
        let mut client = None;
        let mut connector = |url| {
            Connector::new(url, || {
                if let Some(client) = &client {
                    return Ok(Arc::clone(client));
                }
                let loaded = tls::client_config(policy.ca_file.as_deref(), &url.to_string())?;
                Ok(Arc::clone(client.insert(loaded)))
            })
        };
        let legacy = connector(&policy.legacy.url)?;
        let candidate = connector(&policy.candidate.url)?;
        let tls = policy.tls.as_ref().map(tls::server_config).transpose()?;
        Ok(Self {
            legacy,
            candidate,
            tls: tls.map(TlsAcceptor::from),
            policy,
        })
    }
}

/// What is told to the workers: a policy, and who observes under it.
pub(crate) struct Applied {
    pub(crate) loaded: Loaded,
    pub(crate) observers: Observers,
    /// Each worker says here that it serves by it.
    pub(crate) taken: mpsc::Sender<()>,
}

/// A policy at work.
pub(crate) struct Generation {
    pub(crate) worker: Rc<Worker>,
    pub(crate) observer: Rc<dyn Observer>,
    pub(crate) mode: Mode,
    pub(crate) limits: Limits,
    pub(crate) routes: RefCell<RouteResolver>,
    pub(crate) sampler: Sampler,
    pub(crate) forwarding: Forwarding,
    pub(crate) legacy: Service,
    pub(crate) candidate: Service,
    pub(crate) tls: Option<TlsAcceptor>,
}

impl Generation {
    pub(crate) fn new(worker: &Rc<Worker>, loaded: &Loaded, observer: Rc<dyn Observer>) -> Self {
        let Loaded {
            policy,
            legacy,
            candidate,
            tls,
        } = loaded;
        let service = |connector: &Connector, target: &Target, side, limited: bool| {
            let turns = limited.then(|| Rc::clone(&worker.turns));
            Service::new(
                connector.clone(),
                target.clone(),
                &policy.limits,
                worker,
                side,
                turns,
            )
        };
        // What a client waits for is not ours to limit. In a tap nobody waits for the legacy either.
        let tap = policy.mode == Mode::Tap;
        Self {
            observer,
            worker: Rc::clone(worker),
            mode: policy.mode,
            limits: policy.limits,
            routes: RefCell::new(RouteResolver::new(Arc::clone(&policy.routes))),
            sampler: Sampler::new(policy.sampling.clone()),
            forwarding: policy.forwarding.clone(),
            legacy: service(legacy, &policy.legacy, Side::Legacy, tap),
            candidate: service(candidate, &policy.candidate, Side::Candidate, true),
            tls: tls.clone(),
        }
    }
}
