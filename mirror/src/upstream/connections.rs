//! The connections that a worker keeps to its services, and which of them it closes when file descriptors run out.
//!
//! A service's connections are registered here until the service is dropped, so that code that replaces a service need
//! not close its idle connections. In a shortage only connections for shadows are closed: without a descriptor a client
//! is not served, while a shadow is only a request that is not compared.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::descriptors::{Descriptor, Descriptors, OpenConnections};
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
    /// The idle HTTP/1.1 connections.
    pub(super) fn http1(&self) -> &Pool<B> {
        &self.http1
    }

    /// The HTTP/2 connections, in use and idle.
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
    /// Counts connections for shadows, in the whole process.
    descriptors: Arc<Descriptors>,
    /// Maximum of idle connections to each service, whatever the policy says.
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

    /// Registers a service, for at most `idle` idle connections, each kept for at most `patience`. `gives_way` is
    /// whether they are for shadows, and so closed in a shortage.
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

    /// Closes connections that have been idle for too long; in a shortage, all idle ones for shadows.
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

    /// Whether clients have lacked descriptors lately.
    pub(crate) fn clients_lack(&self) -> bool {
        self.descriptors.clients_lack()
    }

    /// A client lacks a descriptor: closes idle connections for shadows, now in this worker and soon in the others.
    pub(crate) fn yield_to_clients(&self) {
        self.descriptors.client_missed();
        self.close_idle();
    }

    /// The same for a shadow.
    pub(super) fn yield_descriptors(&self) {
        self.descriptors.miss();
        self.close_idle();
    }

    /// Whether descriptors ran out lately, so that no idle connection for a shadow is kept.
    pub(super) fn are_scarce(&self) -> bool {
        self.descriptors.are_scarce()
    }

    /// Reserves a descriptor for one more shadow connection to a service; closes idle ones for it if necessary.
    pub(super) fn place(&self, service: &Arc<OpenConnections>) -> Option<Descriptor> {
        self.descriptors.take(service).or_else(|| {
            self.yield_descriptors();
            self.descriptors.take(service)
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
