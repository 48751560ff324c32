//! A worker's life: accept, sweep, take new policies, drain.
//!
//! It owns the listening socket and the list of clients, and decides when the worker ends. How a connection is served
//! is not decided here.

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
use crate::proxy::serve::serve;
use crate::proxy::worker::Worker;

/// How often connections are looked at for having waited too long.
const SWEEP: Duration = Duration::from_secs(1);
/// Pause after an error to accept. Out of file descriptors, the next try would fail at once, and spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Pause between two looks for a place of a client: one connection of this worker gives way at a time.
const PLACE_PAUSE: Duration = Duration::from_millis(20);
/// How long a connection must be idle to be closed while draining. What the kernel had already taken from clients is
/// read in this time, and so counts as accepted; and a client that uses its connection again within it learns from the
/// answer that the connection ends, instead of running into the end of it.
const DRAIN_ROUND: Duration = Duration::from_secs(1);

/// Runs until one of the signals and the drain after it; returns how many tasks were left when its time was over.
pub(crate) async fn run(
    worker: &Rc<Worker>,
    listener: TcpListener,
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
    let waiting_client = WaitingClient::default();
    tokio::select! {
        // Where the sender is gone nobody could ask for the end any more, so this is the end.
        _ = shutdown.wait_for(|ending| *ending) => {}
        _ = stopped.wait_for(|ending| *ending) => {}
        () = accept(worker, &clients, &listener, &waiting_client) => {}
    }
    if let Some(accepted) = waiting_client.take() {
        let (owner, clients) = (Rc::clone(worker), Rc::clone(&clients));
        worker.spawn(async move {
            let permit = place(&owner, &clients).await;
            serve(owner, clients, accepted, permit).await;
        });
    }
    take_backlog(worker, &clients, &listener).await;
    drop(listener);
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

/// Closes connections, of clients and to services, that have waited for too long.
fn sweep(worker: &Worker, clients: &Clients) {
    let now = Instant::now();
    worker.sweep(now);
    clients.sweep(now, worker.generation().limits());
    if worker.process().lacks_place() {
        clients.make_place();
    }
}

/// A client that was accepted and has no place yet. It is kept outside of what waits for the place: that ends with the
/// signal, and the client must not be lost with it.
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
                // The other workers shall have their part of a burst.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "cannot accept connections; trying on");
                }
                failing = true;
                if descriptors::are_used_up(&error) {
                    worker.yield_descriptors();
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Waits for one of the places that clients have. Connections that wait for their clients give way: else a few that
/// begin a head and never end it would keep everybody out for as long as a head may take.
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

/// Serves the connections that the kernel has accepted for us already: closing the listener would reset them.
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
