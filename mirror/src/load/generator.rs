//! Runs the steps of a load: one thread for each part of the requests, each with a runtime and connections of its own, until the step
//! is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parity_schemas::exchange::Request;

use super::config::LoadConfig;
use super::live::Live;
use super::run::Run;
use super::step::Step;
use super::worker::{self, Part};
use crate::exchange::RequestHead;
use crate::upstream::{self, Connector, TlsError};

/// From here to the first request, so that all threads are there by then.
const START: Duration = Duration::from_millis(20);

/// A load cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The certificates of a service cannot be checked.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// There is nothing to send.
    #[error("there is no request to send")]
    Empty,
    /// A request that HTTP cannot send.
    #[error("`{0}` is no request that HTTP can send")]
    NotSendable(Box<str>),
    /// No thread, runtime or timer.
    #[error("the load generator cannot run: {0}")]
    System(#[from] std::io::Error),
    /// A bug.
    #[error("a thread of the load generator panicked; please report this")]
    Panicked,
}

/// A service and the requests for it.
pub struct Generator {
    connector: Connector,
    config: LoadConfig,
    requests: Arc<[Request]>,
}

impl Generator {
    /// Requests are sent in their order, and again from the first one.
    pub fn new(config: LoadConfig, requests: Arc<[Request]>) -> Result<Self, LoadError> {
        if requests.is_empty() {
            return Err(LoadError::Empty);
        }
        let not_sendable = |request: &&Request| RequestHead::of(request).is_none();
        if let Some(request) = requests.iter().find(not_sendable) {
            return Err(LoadError::NotSendable(request.target.clone()));
        }
        let url = &config.target.url;
        let ca_file = config.ca_file.as_deref();
        let connector = Connector::new(url, || upstream::client_config(ca_file, &url.to_string()))?;
        Ok(Self {
            connector,
            config,
            requests,
        })
    }

    /// Runs a step to its end, or until `live` is stopped. It takes the time of the step and one deadline at most.
    pub fn run(&self, step: Step, live: &Arc<Live>) -> Result<Run, LoadError> {
        let threads = self.config.threads.get().min(self.config.places.max(1));
        let begun = Instant::now() + START;
        let part = |place: usize| Part {
            connector: &self.connector,
            config: &self.config,
            requests: &self.requests,
            step,
            live,
            begun,
            place: place as u64,
            parts: threads as u64,
            places: (self.config.places / threads).max(1),
        };
        let runs = std::thread::scope(|scope| {
            let started: Result<Vec<_>, std::io::Error> = (0..threads)
                .map(|place| {
                    let part = part(place);
                    std::thread::Builder::new()
                        .name(format!("load-{place}"))
                        .spawn_scoped(scope, move || worker::run(&part))
                })
                .collect();
            let started = started.inspect_err(|_| live.stop())?;
            let ended = started.into_iter().map(|thread| {
                let run = thread.join().map_err(|_| LoadError::Panicked)?;
                Ok(run?)
            });
            ended.collect::<Result<Vec<_>, LoadError>>()
        })?;
        let mut all = Run::default();
        for run in &runs {
            all.add(run);
        }
        Ok(all)
    }
}
