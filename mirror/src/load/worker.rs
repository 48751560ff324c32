//! One thread of a load: sends its part of the requests when they are due, and reads what comes back.
//!
//! Every request has a task of its own, so none waits for another. What is due while all places are taken is not sent, and counted.
//! A thread that is behind sends what is due at once; what is still unsent a moment after the end never is.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use http::uri::Scheme;
use http_body::Body as _;
use parity_schemas::exchange::Request;
use tokio::runtime::LocalOptions;

use super::config::LoadConfig;
use super::live::Live;
use super::run::{Failure, Run};
use super::step::Step;
use super::ticker::Ticker;
use crate::descriptors::{self, Descriptors};
use crate::exchange::{Copied, RequestForm, RequestHead};
use crate::headers::{self, Wire};
use crate::limits::Limits;
use crate::tasks::Tasks;
use crate::upstream::{
    Connector, Lookups, OwnConnections, SendError, Sent, Service, ServiceFault, WorkerConnections,
};

/// How often it is looked whether it should end.
const LOOK: Duration = Duration::from_millis(20);
/// Requests that are started before others are read from.
const BATCH: u32 = 16;
/// How long after the end of a step what was due in it is still sent.
const GRACE: Duration = Duration::from_millis(500);

/// What one thread does of a step.
pub(super) struct Part<'a> {
    pub(super) connector: &'a Connector,
    pub(super) config: &'a LoadConfig,
    pub(super) requests: &'a Arc<[Request]>,
    pub(super) step: Step,
    pub(super) live: &'a Arc<Live>,
    /// When the step begins.
    pub(super) begun: Instant,
    /// Of which thread, and of how many.
    pub(super) place: u64,
    pub(super) parts: u64,
    /// Requests of this thread that may be unanswered at once.
    pub(super) places: usize,
}

pub(super) fn run(part: &Part<'_>) -> io::Result<Run> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())?;
    // Without a set of tasks around it, whose waker would write to the system for each task that is woken.
    let run = runtime.block_on(generate(part));
    // A name that is being resolved is not waited for.
    runtime.shutdown_background();
    run
}

/// What the tasks of a thread share.
struct Shared {
    service: Service<Copied>,
    config: LoadConfig,
    requests: Arc<[Request]>,
    live: Arc<Live>,
    run: RefCell<Run>,
    /// The measured part.
    from: Instant,
    to: Instant,
    open: Cell<u64>,
    /// Measured requests that have no outcome yet.
    unsettled: Cell<u64>,
}

async fn generate(part: &Part<'_>) -> io::Result<Run> {
    let limits = Limits {
        upstream_idle_connections: part.places,
        ..Limits::default()
    };
    let lookups = Rc::new(Lookups::new(&Arc::<OwnConnections>::default()));
    let connections = Rc::new(WorkerConnections::new(
        Descriptors::new(usize::MAX),
        usize::MAX,
    ));
    let (connector, target) = (part.connector.clone(), part.config.target.clone());
    let step = part.step;
    let shared = Rc::new(Shared {
        service: Service::new(connector, target, &limits, &lookups, &connections, None),
        config: part.config.clone(),
        requests: Arc::clone(part.requests),
        live: Arc::clone(part.live),
        run: RefCell::default(),
        from: part.begun + step.warm_up,
        to: part.begun + step.time(),
        open: Cell::new(0),
        unsettled: Cell::new(0),
    });
    let tasks = Rc::<Tasks>::default();
    let sending = Sending {
        part,
        shared: &shared,
        tasks: &tasks,
        connections: &connections,
    };
    let sooner = tokio::task::spawn_local(beats(part.config.deadline / 2));
    let sent = sending.send_all().await;
    if matches!(sent, Ok(true)) {
        sending.wait().await;
    }
    sooner.abort();
    sent?;
    let mut run = shared.run.take();
    // What has no outcome is of a step that was ended.
    run.due -= shared.unsettled.get();
    run.is_given_up = part.live.is_hopeless(part.begun);
    run.is_cut = part.live.is_stopped() || run.is_given_up;
    Ok(run)
}

/// Is always due before the deadline of a request that is sent now. The runtime tells the system of each timer that is due before all
/// others, and without this one each deadline would be.
async fn beats(time: Duration) {
    loop {
        tokio::time::sleep(time.max(LOOK)).await;
    }
}

/// What sends the requests of a thread.
struct Sending<'a> {
    part: &'a Part<'a>,
    shared: &'a Rc<Shared>,
    tasks: &'a Rc<Tasks>,
    connections: &'a WorkerConnections<Copied>,
}

impl Sending<'_> {
    fn is_ended(&self) -> bool {
        let live = &self.shared.live;
        live.is_stopped() || live.is_hopeless(self.part.begun)
    }

    /// Sends what is due until the step is over; `false` if it was ended before.
    async fn send_all(&self) -> io::Result<bool> {
        let (part, step, ticker) = (self.part, self.part.step, Ticker::new()?);
        let all = step.requests();
        let mut looked = Instant::now();
        let mut batch = 0;
        let mut number = part.place;
        while number < all {
            let due_after = step.due(number);
            let due = part.begun + due_after;
            let now = Instant::now();
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                if self.is_ended() {
                    return Ok(false);
                }
                self.connections.sweep(now);
            }
            if now < due {
                ticker.wait((due - now).min(LOOK)).await?;
                continue;
            }
            if now > self.shared.to + GRACE {
                let left = (number..all).step_by(usize::try_from(part.parts).unwrap_or(1));
                let left = left.filter(|number| step.measures(step.due(*number)));
                self.shared.run.borrow_mut().unsent += left.count() as u64;
                break;
            }
            self.fire(number, due, step.measures(due_after));
            number += part.parts;
            batch += 1;
            if batch == BATCH {
                batch = 0;
                tokio::task::yield_now().await;
            }
        }
        Ok(true)
    }

    /// Starts a request that is due.
    fn fire(&self, number: u64, due: Instant, is_measured: bool) {
        let shared = self.shared;
        let open = shared.open.get() + 1;
        let has_place = open <= self.part.places as u64;
        if is_measured {
            let mut run = shared.run.borrow_mut();
            run.due += 1;
            if has_place {
                run.most_open = run.most_open.max(open);
                shared.unsettled.set(shared.unsettled.get() + 1);
            } else {
                run.failed(Failure::NoPlace, Duration::ZERO);
            }
        }
        if !has_place {
            return;
        }
        shared.open.set(open);
        let count = shared.requests.len() as u64;
        let request = (self.part.step.first.wrapping_add(number) % count) as usize;
        let shared = Rc::clone(shared);
        // It is counted by the tasks, which are waited for or dropped with the thread.
        drop(self.tasks.spawn(async move {
            let sent = Instant::now();
            let asked = tokio::time::timeout(shared.config.deadline, shared.ask(request)).await;
            let asked = asked.unwrap_or(Err(Failure::Timeout));
            shared.settle(due, sent, is_measured, asked);
        }));
    }

    /// Waits for what is not answered yet, which the deadline of each bounds.
    async fn wait(&self) {
        let ended = self.tasks.ended();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => return,
                () = tokio::time::sleep(LOOK) => {
                    if self.is_ended() {
                        return;
                    }
                }
            }
        }
    }
}

/// A whole answer.
struct Answer {
    status: StatusCode,
    bytes: u64,
}

impl Shared {
    /// Sends a request and reads the whole answer.
    async fn ask(&self, request: usize) -> Result<Answer, Failure> {
        let request = self.requests.get(request);
        // Checked at the start: HTTP can send each of them.
        let head = request.and_then(|request| Some((request, RequestHead::of(request)?)));
        let (request, head) = head.ok_or(Failure::Protocol)?;
        let body = Copied::new(request.body.clone(), None, true);
        let is_replayable = request.body.is_empty() && head.is_safe();
        let make = |body, wire: Wire, scheme: &Scheme| {
            let form = RequestForm::of(&self.service, &self.config.forwarding, wire, scheme);
            let mut request = head.request(&form, body);
            headers::mark_shadow(request.headers_mut());
            request
        };
        let sent = self
            .service
            .send(make, body, is_replayable, head.is_grpc())
            .await;
        let Sent {
            response, mut link, ..
        } = sent.map_err(|missed| failure(&missed.error))?;
        let (head, mut body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::Protocol);
        }
        let mut bytes = 0;
        while let Some(frame) = poll_fn(|cx| link.poll_frame(&mut body, cx)).await {
            let frame = frame.map_err(|error| of_fault(link.fault(&error)))?;
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if frame.is_data() && body.is_end_stream() {
                break;
            }
        }
        self.service.put(link, Instant::now());
        Ok(Answer {
            status: head.status,
            bytes,
        })
    }

    /// Counts what became of a request.
    fn settle(
        &self,
        due: Instant,
        sent: Instant,
        is_measured: bool,
        asked: Result<Answer, Failure>,
    ) {
        let now = Instant::now();
        self.open.set(self.open.get() - 1);
        let is_own = asked.as_ref().is_err_and(|failure| failure.is_own());
        if !is_own {
            self.live.count(asked.is_ok());
        }
        let mut run = self.run.borrow_mut();
        if asked.is_ok() && now >= self.from && now < self.to {
            run.in_time += 1;
        }
        if !is_measured {
            return;
        }
        self.unsettled.set(self.unsettled.get() - 1);
        run.was_late(sent.saturating_duration_since(due));
        let latency = now.saturating_duration_since(due);
        match asked {
            Ok(answer) => {
                run.bytes += answer.bytes;
                run.answered(answer.status.as_u16(), latency);
            }
            Err(failure) => run.failed(failure, latency),
        }
    }
}

/// Why nothing came.
fn failure(error: &SendError) -> Failure {
    if let SendError::Connect(error) = error
        && descriptors::are_used_up(error.io())
    {
        return Failure::NoPort;
    }
    error.fault().map_or(Failure::NoPort, of_fault)
}

fn of_fault(fault: ServiceFault) -> Failure {
    match fault {
        ServiceFault::Refused => Failure::Refused,
        ServiceFault::TimedOut => Failure::Timeout,
        ServiceFault::Tls => Failure::Tls,
        ServiceFault::Reset => Failure::Reset,
        ServiceFault::Protocol => Failure::Protocol,
        ServiceFault::Truncated => Failure::Truncated,
        ServiceFault::Flood => Failure::Flood,
    }
}
