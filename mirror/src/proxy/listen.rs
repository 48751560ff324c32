//! The main loop of a worker: accept, sweep, apply policies, drain.
//!
//! It owns the listening socket and the list of clients, and decides when the worker ends. Serving a connection is in
//! [`crate::proxy::serve`].

use std::cell::Cell;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::descriptors;
use crate::proxy::client::Clients;
use crate::proxy::generation::PolicyUpdate;
use crate::proxy::replaying::{self, Replaying};
use crate::proxy::serve::serve;
use crate::proxy::worker::Worker;

/// How often connections are checked for time-outs.
const SWEEP: Duration = Duration::from_secs(1);
/// Pause after a failed accept: without file descriptors the next try would fail at once, and spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two attempts to free a client slot: one idle connection of this worker is closed at a time.
const PLACE_PAUSE: Duration = Duration::from_millis(20);
/// How long a connection must be idle to be closed while draining. Within this time, requests that the kernel has
/// already received are read and served, and a client that uses its connection again learns from the answer that the
/// connection ends, instead of finding it closed.
const DRAIN_ROUND: Duration = Duration::from_secs(1);

/// Where requests come from.
pub(crate) enum Inbound {
    /// From clients that connect.
    Clients(TcpListener),
    /// From a recording.
    Recording(Replaying),
}

/// Runs until one of the two signals, or until a recording has been sent, then drains; returns how many tasks were left when the time to drain was over.
pub(crate) async fn run(
    worker: &Rc<Worker>,
    inbound: Inbound,
    mut policies: watch::Receiver<Option<Arc<PolicyUpdate>>>,
    [mut shutdown, mut stopped]: [watch::Receiver<bool>; 2],
) -> usize {
    let first = policies.borrow_and_update().clone();
    if let Some(first) = first {
        worker.apply(&first);
    }
    let clients = Rc::<Clients>::default();
    let applier = tokio::task::spawn_local({
        let worker = Rc::clone(worker);
        async move {
            while policies.changed().await.is_ok() {
                let next = policies.borrow_and_update().clone();
                if let Some(next) = next {
                    worker.apply(&next);
                }
            }
        }
    });
    let sweeper = tokio::task::spawn_local({
        let (worker, clients) = (Rc::clone(worker), Rc::clone(&clients));
        async move {
            let mut tick = tokio::time::interval(SWEEP);
            loop {
                tick.tick().await;
                sweep(&worker, &clients);
            }
        }
    });
    let ending = async {
        tokio::select! {
            // If the sender was dropped, no signal can come any more, so that ends it too.
            _ = shutdown.wait_for(|ending| *ending) => {}
            _ = stopped.wait_for(|ending| *ending) => {}
        }
    };
    match inbound {
        Inbound::Clients(listener) => listen(worker, &clients, listener, ending).await,
        Inbound::Recording(replaying) => tokio::select! {
            () = ending => {}
            () = replaying::run(worker, replaying) => {}
        },
    }
    let drained = tokio::time::timeout(worker.generation().limits().drain, async {
        loop {
            worker.begin_drain();
            clients.drain();
            tokio::select! {
                () = worker.tasks().ended() => return,
                () = tokio::time::sleep(DRAIN_ROUND) => {}
            }
        }
    });
    let in_time = drained.await.is_ok();
    sweeper.abort();
    applier.abort();
    if in_time {
        return 0;
    }
    worker.tasks().cut();
    worker.tasks().running()
}

/// Accepts clients until the end begins, and then those that have connected already.
async fn listen(
    worker: &Rc<Worker>,
    clients: &Rc<Clients>,
    listener: TcpListener,
    ending: impl Future<Output = ()>,
) {
    let waiting_client = WaitingClient::default();
    tokio::select! {
        () = ending => {}
        () = accept(worker, clients, &listener, &waiting_client) => {}
    }
    if let Some(accepted) = waiting_client.take() {
        let (owner, clients) = (Rc::clone(worker), Rc::clone(clients));
        worker.spawn(async move {
            let permit = place(&owner, &clients).await;
            serve(owner, clients, accepted, permit).await;
        });
    }
    take_backlog(worker, clients, &listener).await;
}

/// Closes client and service connections that have been idle for too long.
fn sweep(worker: &Worker, clients: &Clients) {
    let now = Instant::now();
    worker.sweep(now);
    clients.sweep(now, worker.generation().limits(), worker.clients_lack());
    if worker.process().lacks_place() {
        clients.make_place();
    }
}

/// A client that was accepted but has no slot yet. It is kept outside of the future that waits for the slot, because
/// the signal drops that future and the client must not be lost.
type WaitingClient = Cell<Option<(TcpStream, SocketAddr)>>;

async fn accept(
    worker: &Rc<Worker>,
    clients: &Rc<Clients>,
    listener: &TcpListener,
    waiting_client: &WaitingClient,
) {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok(accepted) => {
                failing = false;
                waiting_client.set(Some(accepted));
                let permit = place(worker, clients).await;
                if let Some(accepted) = waiting_client.take() {
                    let (owner, clients) = (Rc::clone(worker), Rc::clone(clients));
                    worker.spawn(serve(owner, clients, accepted, permit));
                }
                // Gives the other workers a share of a burst.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "cannot accept connections; trying on");
                }
                failing = true;
                if descriptors::are_used_up(&error) {
                    worker.yield_to_clients();
                    clients.make_place();
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Waits for a client slot. Meanwhile it closes connections that wait for their clients: otherwise clients that never
/// complete a head could keep all slots until the time-out for a head.
async fn place(worker: &Worker, clients: &Clients) -> OwnedSemaphorePermit {
    let process = worker.process();
    let mut waiting = None;
    loop {
        match process.place() {
            Some(permit) => return permit,
            None => waiting.get_or_insert_with(|| process.lack_place()),
        };
        clients.make_place();
        tokio::time::sleep(PLACE_PAUSE).await;
    }
}

/// Serves the connections in the kernel's accept queue: closing the listener would reset them.
async fn take_backlog(worker: &Rc<Worker>, clients: &Rc<Clients>, listener: &TcpListener) {
    while let Some(permit) = worker.process().place() {
        let Some(accepted) = accepted_already(listener).await else {
            return;
        };
        let (owner, clients) = (Rc::clone(worker), Rc::clone(clients));
        worker.spawn(serve(owner, clients, accepted, permit));
    }
}

async fn accepted_already(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    poll_fn(|cx| match listener.poll_accept(cx) {
        Poll::Ready(accepted) => Poll::Ready(accepted.ok()),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
