//! The thread that sends requests again: when it runs, and under which policies.
//!
//! It ends when the shutdown begins, so that nothing is asked twice while the process drains; what still waits is dropped,
//! which tells whoever sent it. Without this thread nothing is sent again and everything else goes on, so a fault of it
//! ends no mirror. But it is told at once, and what would be sent again is dropped at once, under later policies, too.

use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;

use crate::exchange::Side;
use crate::proxy::handle::MirrorHandle;
use crate::proxy::metrics::Metrics;
use crate::recheck::Rechecker;

/// What the thread is started with.
pub(crate) struct Rechecking {
    pub(crate) handle: MirrorHandle,
    pub(crate) metrics: Metrics,
    pub(crate) ends: [watch::Receiver<bool>; 2],
}

/// The running thread.
pub(crate) struct RecheckThread<'scope>(Option<ScopedJoinHandle<'scope, ()>>);

impl Rechecking {
    /// Starts the thread; without one to be had, nothing is sent again.
    pub(crate) fn start<'scope>(self, scope: &'scope Scope<'scope, '_>) -> RecheckThread<'scope> {
        let end = EndOnDrop(self.handle.clone());
        let run = || {
            let _end = end;
            self.run();
        };
        let started = thread::Builder::new()
            .name("recheck".to_owned())
            .spawn_scoped(scope, run);
        if let Err(error) = &started {
            tracing::warn!(%error, "no thread to ask services again; mismatches stay unconfirmed");
        }
        RecheckThread(started.ok())
    }

    fn run(self) {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(Side::ALL.len())
            .build_local(LocalOptions::default());
        match runtime {
            // Dropping the runtime drops what still waits.
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => {
                tracing::warn!(%error, "services cannot be asked again; mismatches stay unconfirmed");
            }
        }
    }

    async fn serve(self) {
        let process = self.handle.process();
        let rechecker = Rechecker::new(process.exchange(), self.metrics.of_rechecks());
        let mut policies = self.handle.policies();
        let applying = async {
            loop {
                let policy = policies.borrow_and_update().as_ref().map(Arc::clone);
                if let Some(policy) = policy {
                    policy.recheck_by(&rechecker);
                }
                if policies.changed().await.is_err() {
                    // No other policy can come.
                    std::future::pending::<()>().await;
                }
            }
        };
        let [mut shutdown, mut stopped] = self.ends;
        tokio::select! {
            () = applying => {}
            () = rechecker.sweep() => {}
            _ = shutdown.wait_for(|ending| *ending) => {}
            _ = stopped.wait_for(|ending| *ending) => {}
        }
        rechecker.cut();
    }
}

impl RecheckThread<'_> {
    /// Waits for its end.
    pub(crate) fn join(self) {
        // A panic has been told of when it came.
        drop(self.0.map(ScopedJoinHandle::join));
    }
}

/// Ends second looks, however the thread ends, and also if it never began.
struct EndOnDrop(MirrorHandle);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!(
                "the thread that asks services again ended by a panic; mismatches stay unconfirmed until a restart"
            );
        }
        self.0.end_rechecks();
    }
}
