//! Asks one request after the other, by the mirror that replays recordings; for commands that want to know what becomes of each.
//!
//! Nothing of it is counted or recorded: whoever asks gets both answers.

mod substituting;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parity_mirror::replay::{Pace, Recorded, Substitutions};
use parity_mirror::{Mirror, Observer, Progress, Receipt, Replaying, RunError, Sampling};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::{Route, RouteRule};
use parity_schemas::verdict::Reason;
use tokio::sync::{mpsc, watch};

pub(crate) use substituting::substitutions;

/// How often it is looked whether a request could not be sent, which nobody tells.
const LOOK: Duration = Duration::from_millis(20);

/// What became of a request.
pub(crate) enum Asked {
    /// Both answers: of both services, or of the recording and of the candidate.
    Exchange(Box<Exchange>),
    /// There are not both.
    Not(Reason),
    /// It is no request that HTTP can send.
    NotSendable,
    /// The time was over first.
    TooLate,
}

/// The mirror that asks.
pub(crate) struct Asking {
    requests: mpsc::Sender<Recorded>,
    outcomes: Receiver<Asked>,
    progress: Arc<Progress>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), RunError>>,
}

impl Asking {
    /// Starts it. With `recorded_answers`, those stand for the legacy's, and only the candidate is asked.
    pub(crate) fn start(
        mut config: parity_mirror::Config,
        recorded_answers: bool,
        substitutions: Substitutions,
    ) -> Result<Self> {
        let (requests, taken) = mpsc::channel(1);
        let progress = Arc::<Progress>::default();
        let policy = &mut config.policy;
        // What is cut at the end was waited for long enough.
        policy.limits.drain = Duration::ZERO;
        // Each is asked, whatever became of the one before it.
        policy.limits.breaker_failures = u32::MAX;
        policy.limits.candidate_rate = None;
        policy.sampling = Sampling::default();
        let routes = policy.routes.iter().cloned();
        policy.routes = routes.map(RouteRule::unsampled).collect();
        config.shadowing = true;
        let mirror = Mirror::replay(
            config,
            Replaying {
                requests: taken,
                pace: Pace::Fast,
                concurrency: 1,
                recorded_answers,
                substitutions,
                open: Box::new(|| 0),
                progress: Arc::clone(&progress),
            },
        )?;
        let (sender, outcomes) = sync_channel(1);
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("mirror".to_owned())
            .spawn(move || {
                let observers = move |_| Rc::new(Telling(sender.clone())) as Rc<dyn Observer>;
                mirror.run(observers, None, &stopped).map(drop)
            })
            .context("cannot start the thread that asks")?;
        Ok(Self {
            requests,
            outcomes,
            progress,
            stop,
            thread,
        })
    }

    /// Asks one request and waits for what becomes of it.
    pub(crate) fn ask(&self, recorded: Recorded, until: Instant) -> Result<Asked> {
        let ended = || anyhow!("the thread that asks has ended; the log says why");
        let before = self.progress.not_sendable();
        self.requests.blocking_send(recorded).map_err(|_| ended())?;
        loop {
            match self.outcomes.recv_timeout(LOOK) {
                Ok(asked) => return Ok(asked),
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
                Err(RecvTimeoutError::Timeout) if self.progress.not_sendable() > before => {
                    return Ok(Asked::NotSendable);
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                    return Ok(Asked::TooLate);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Ends the mirror. A request that is still under way is cut.
    pub(crate) fn finish(self) {
        self.stop.send_replace(true);
        drop((self.requests, self.outcomes));
        match self.thread.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the thread that asks failed"),
            Err(_) => tracing::error!("the thread that asks ended by a panic"),
        }
    }
}

/// Tells what became of a request. Nobody waits behind it: the next one is sent when this one was taken.
struct Telling(SyncSender<Asked>);

impl Telling {
    fn tell(&self, asked: Asked) {
        // Fails only at the end, when nobody listens any more.
        drop(self.0.try_send(asked));
    }
}

impl Observer for Telling {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        Receipt::default()
    }
    fn begun(&self) -> Receipt {
        Receipt::default()
    }
    fn named(&self, _: &Arc<Route>) {}
    fn not_compared(&self, _: &Arc<Route>, reason: Reason, _: Receipt) {
        self.tell(Asked::Not(reason));
    }
    fn exchange(&self, exchange: Exchange, _: Receipt) {
        self.tell(Asked::Exchange(Box::new(exchange)));
    }
    fn answered(&self, _: &Arc<Route>, _: u16) {}
    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
}
