//! The connections that a worker keeps to its services, and which of them give way where file descriptors are missing.
//!
//! A service is known here from its making to its drop, so that whoever replaces one by another need not think of its
//! idle connections. Those that are for shadows give way: a client that finds no descriptor is not served, a shadow
//! that finds none is one drop of ours more.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::descriptors::{Descriptor, Descriptors};
use crate::upstream::body::RequestBody;
use crate::upstream::link::http1::Pool;
use crate::upstream::link::http2::Streams;

/// The connections that are kept to one service.
pub(super) struct ServiceConnections<B: RequestBody> {
    http1: Pool<B>,
    http2: Streams<B>,
    gives_way: bool,
}

impl<B: RequestBody> ServiceConnections<B> {
    /// The idle ones of HTTP/1.1.
    pub(super) fn http1(&self) -> &Pool<B> {
        &self.http1
    }

    /// Those of HTTP/2, in use and idle.
    pub(super) fn http2(&self) -> &Streams<B> {
        &self.http2
    }

    fn clear(&self) {
        self.http1.clear();
        self.http2.clear();
    }

    fn sweep(&self, now: Instant) {
        self.http1.sweep(now);
        self.http2.sweep(now);
    }
}

/// The connections of one worker to all its services.
pub(crate) struct WorkerConnections<B: RequestBody> {
    services: RefCell<Vec<Weak<ServiceConnections<B>>>>,
    /// Of connections for shadows, in the whole process.
    descriptors: Arc<Descriptors>,
    /// Idle connections to each service, whatever is asked for.
    most_idle: usize,
}

impl<B: RequestBody> WorkerConnections<B> {
    pub(crate) fn new(descriptors: Arc<Descriptors>, most_idle: usize) -> Self {
        Self {
            services: RefCell::default(),
            descriptors,
            most_idle,
        }
    }

    /// Keeps at most `idle` connections to a service, each for at most `patience`. Whether they give way is whether
    /// they are for shadows.
    pub(super) fn keep(
        &self,
        idle: usize,
        patience: Duration,
        gives_way: bool,
    ) -> Rc<ServiceConnections<B>> {
        let connections = Rc::new(ServiceConnections {
            http1: Pool::new(idle.min(self.most_idle), patience),
            http2: Streams::new(patience),
            gives_way,
        });
        self.services.borrow_mut().push(Rc::downgrade(&connections));
        connections
    }

    /// Closes what has been idle for too long, and what has to give way.
    pub(crate) fn sweep(&self, now: Instant) {
        let connections: Vec<_> = {
            let mut services = self.services.borrow_mut();
            services.retain(|connections| connections.strong_count() > 0);
            services.iter().filter_map(Weak::upgrade).collect()
        };
        for connections in connections {
            connections.sweep(now);
        }
        if self.are_scarce() {
            self.close_idle();
        }
    }

    /// Descriptors are missing: idle connections of shadows are closed, here now and at the other workers soon.
    pub(crate) fn yield_descriptors(&self) {
        self.descriptors.miss();
        self.close_idle();
    }

    /// Whether a descriptor was missed lately, so that no connection of a shadow is kept.
    pub(super) fn are_scarce(&self) -> bool {
        self.descriptors.are_scarce()
    }

    /// The place of one more connection for a shadow, that of an idle one if need be.
    pub(super) fn place(&self) -> Option<Descriptor> {
        self.descriptors.take().or_else(|| {
            self.yield_descriptors();
            self.descriptors.take()
        })
    }

    fn close_idle(&self) {
        let services = self.services.borrow();
        for connections in services.iter().filter_map(Weak::upgrade) {
            if connections.gives_way {
                connections.clear();
            }
        }
    }
}
