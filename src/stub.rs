//! A stub in the place of the services that both services call: one port for each side. Calls are answered, paired and compared.
//!
//! It runs in the runtime of the signals, in one thread: it is for tests, and one thread compares in the order in which calls come. It
//! ends with what ends it; calls whose partners wait already are still taken for a while, because a shadow comes behind the request
//! that it belongs to.

mod answer;
mod begun;
mod call;
mod judge;
mod kept;
mod likeness;
mod order;
mod outcome;
mod pairing;
mod partner;
mod playing;
mod reached;
mod serving;
mod waiting;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use http::header::HeaderName;
use http::uri::{Authority, Scheme};
use parity_comparator::Comparator;
use parity_comparator::redact::Redactor;
use parity_schemas::exchange::ByteBudget;
use parity_schemas::route::RouteResolver;
use parity_schemas::stub::StubDocument;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

pub(crate) use answer::Canned;
use call::Side;
use judge::Judge;
use kept::Kept;
use outcome::Demands;
use pairing::Book;
pub(crate) use reached::Shadowed;
pub(crate) use serving::Answers;
use serving::Desk;

use crate::config::StubSettings;
use crate::fetching::Fetching;

/// How often it is looked for calls whose time is over.
const LOOK: Duration = Duration::from_millis(50);
/// Connections of each side at a time. Their buffers are the largest part of what many connections cost: a few KiB each.
const CONNECTIONS: usize = 1_024;
/// Descriptors that are not for connections of the two sides.
const RESERVED: u64 = 64;

/// What is said on the command line besides the settings.
pub(crate) struct Wanted {
    pub(crate) legacy: SocketAddr,
    pub(crate) candidate: SocketAddr,
    pub(crate) correlate_by: Vec<HeaderName>,
    pub(crate) in_order: bool,
    /// How long a call waits for its partner.
    pub(crate) wait: Duration,
    pub(crate) answer_wait: Duration,
    /// Pairs that must be equal for a pass.
    pub(crate) min_calls: u64,
    /// Which requests reach the candidate, if somebody knows.
    pub(crate) shadowed: Option<Shadowed>,
}

/// A real service behind the stub.
pub(crate) fn upstream(
    scheme: Scheme,
    authority: Authority,
    ca_file: Option<&Path>,
    time: Duration,
) -> Result<Answers> {
    let fetching = Box::new(Fetching::new(ca_file)?);
    Ok(Answers::Upstream {
        fetching,
        scheme,
        authority,
        time,
    })
}

/// A stub that listens.
pub(crate) struct Stub {
    desk: Arc<Desk>,
    listeners: [(Side, TcpListener); 2],
    places: usize,
    wait: Duration,
    begun: Instant,
}

impl Stub {
    /// Binds both ports.
    pub(crate) async fn bind(
        wanted: Wanted,
        answers: Answers,
        settings: StubSettings,
        descriptors: u64,
    ) -> Result<Self> {
        let limits = parity_comparator::Limits {
            decoded_bytes: settings.body,
            ..parity_comparator::Limits::default()
        };
        let comparator = Comparator::new(Arc::clone(&settings.rules), limits);
        let redactor = Redactor::new(
            &settings.redact,
            &settings.redaction_key,
            Arc::clone(&settings.rules),
        );
        let redactor = redactor.context("the redaction settings")?;
        let demands = Demands {
            min_calls: wanted.min_calls,
            shadowed: wanted.shadowed,
        };
        let judge = Judge::new(
            comparator,
            redactor,
            settings.identity,
            RouteResolver::new(settings.routes),
            (Kept::new(wanted.correlate_by.clone()), demands),
        );
        anyhow::ensure!(
            wanted.legacy != wanted.candidate || wanted.legacy.port() == 0,
            "{} is the address for the calls of both services; each needs a port of its own",
            wanted.legacy
        );
        let bound = |address, flag: &'static str| async move {
            let listener = TcpListener::bind(address).await;
            listener.with_context(|| {
                format!("cannot listen on {address}, which {flag} names; does something else?")
            })
        };
        let listeners = [
            (Side::Legacy, bound(wanted.legacy, "--legacy-listen").await?),
            (
                Side::Candidate,
                bound(wanted.candidate, "--candidate-listen").await?,
            ),
        ];
        let desk = Desk {
            book: Arc::new(Mutex::new(Book::new(
                judge,
                wanted.wait,
                wanted.in_order,
                wanted.shadowed,
            ))),
            answers,
            correlate_by: wanted.correlate_by,
            largest: settings.body,
            budget: ByteBudget::new(settings.shadow_bytes),
            answer_wait: wanted.answer_wait,
        };
        // A call to a real service has a connection of its own.
        let each = descriptors.saturating_sub(RESERVED) / 3;
        Ok(Self {
            desk: Arc::new(desk),
            listeners,
            places: usize::try_from(each)
                .unwrap_or(usize::MAX)
                .clamp(1, CONNECTIONS),
            wait: wanted.wait,
            begun: Instant::now(),
        })
    }

    /// Where legacy and candidate make their calls.
    pub(crate) fn addresses(&self) -> Result<[SocketAddr; 2]> {
        let [legacy, candidate] = &self.listeners;
        Ok([legacy.1.local_addr()?, candidate.1.local_addr()?])
    }

    /// Takes calls for so long, or until `ends` is 1; with 2 it ends at once. Gives what was found.
    pub(crate) async fn run(
        self,
        time: Option<Duration>,
        mut ends: watch::Receiver<u32>,
    ) -> StubDocument {
        let Self {
            desk,
            listeners,
            places,
            wait,
            begun,
        } = self;
        let mut tasks = tokio::task::JoinSet::new();
        let listeners = listeners.map(|(side, listener)| (side, Arc::new(listener)));
        let mut waiting = Vec::new();
        for (side, listener) in &listeners {
            let places = Arc::new(Semaphore::new(places));
            let has_waiting = Arc::new(AtomicBool::new(false));
            waiting.push((Arc::clone(listener), Arc::clone(&has_waiting)));
            let places = (places, has_waiting);
            tasks.spawn(Arc::clone(&desk).serve(*side, Arc::clone(listener), places));
        }
        let over = async {
            match time {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            _ = ends.wait_for(|ends| *ends >= 1) => {}
            () = expiring(&desk, |_| false) => {}
        }
        let elapsed = begun.elapsed();
        desk.book().close();
        // Whoever comes from here on has no calls that count. Who came before and found no place may have.
        waiting.retain(|(_, has_waiting)| has_waiting.load(Ordering::Relaxed));
        let had_its_time = tokio::select! {
            biased;
            () = expiring(&desk, Book::is_settled) => true,
            () = tokio::time::sleep(wait) => true,
            _ = ends.wait_for(|ends| *ends >= 2) => false,
        };
        // Whatever is still under way is cut, and counted: a peer that hangs must not hold the end.
        tasks.shutdown().await;
        for (listener, _) in &waiting {
            desk.count_unserved(listener).await;
        }
        desk.book().finish(had_its_time).document(elapsed)
    }
}

/// Settles calls whose time is over, until `is_done`.
async fn expiring(desk: &Desk, is_done: impl Fn(&Book) -> bool) {
    loop {
        {
            let mut book = desk.book();
            book.expire(Instant::now());
            if is_done(&book) {
                return;
            }
        }
        desk.budget.trim();
        tokio::time::sleep(LOOK).await;
    }
}
