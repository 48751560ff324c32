//! Sends a request to a service as a shadow: in a task of its own, for which no client waits.
//!
//! The task begins when the request is complete, holds one in-flight slot, and ends by the deadline whatever the
//! service does: refuse, hang, answer slowly, disconnect, send wrong or too much data. Nothing that happens here
//! reaches a client. A panic ends the task, and dropping its ask counts the request. Either service can be asked this
//! way; the recorded reason for a failure depends on which one it was.

mod counting;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use http::StatusCode;
use http::uri::Scheme;
use http_body::Body as _;
use parity_schemas::verdict::Reason;

use crate::exchange::capturing::Capturing;
use crate::exchange::copied::Copied;
use crate::exchange::eligibility::{self, Reservation};
use crate::exchange::head::{RequestForm, RequestHead};
use crate::exchange::intake::Completion;
use crate::exchange::meters::ShadowEnd;
use crate::exchange::pending::{Ask, Pending};
use crate::exchange::purpose::Purpose;
use crate::exchange::resources::WorkerResources;
use crate::exchange::services::Services;
use crate::exchange::serving::Serving;
use crate::exchange::side::{BySide, Side};
use crate::exchange::terms::Terms;
use crate::forwarding::Forwarding;
use crate::framing;
use crate::headers::{self, Wire};
use crate::turns;
use crate::upstream::{NoAnswer, RequestBody, SendError, Sent, Service, ServiceFault, Shadows};

/// A request body type that a shadow can send.
pub(crate) trait AskBody: RequestBody + From<Copied> {}

impl<B: RequestBody + From<Copied>> AskBody for B {}

/// Sends requests to both services, under the terms of one generation.
pub(crate) struct Asker<B: AskBody> {
    terms: Rc<Terms>,
    /// Which headers tell the services about the client and about this proxy.
    forwarding: Forwarding,
    services: BySide<Service<B>>,
    serving: Serving,
}

impl<B: AskBody> Asker<B> {
    /// The work and the connections of a service that `serving` says is asked only by shadows are limited; answers that a
    /// client waits for are not.
    pub(crate) fn new(
        resources: &WorkerResources<B>,
        terms: Rc<Terms>,
        forwarding: Forwarding,
        services: &Services,
        serving: Serving,
    ) -> Rc<Self> {
        let service = |side| {
            let (connector, target) = services.of(side);
            let shadows = serving.is_shadowed(side).then(|| Shadows {
                turns: Rc::clone(terms.turns()),
                connections: Arc::clone(terms.admission().connections(side)),
            });
            let lookups = &resources.lookups[side];
            let connections = &resources.all_connections;
            Service::new(
                connector,
                target,
                terms.limits(),
                lookups,
                connections,
                shadows,
            )
        };
        Rc::new(Self {
            forwarding,
            services: BySide::new(service),
            serving,
            terms,
        })
    }

    pub(crate) fn terms(&self) -> &Rc<Terms> {
        &self.terms
    }

    pub(crate) fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// Whose answers clients get.
    pub(crate) fn serving(&self) -> &Serving {
        &self.serving
    }

    /// The service of a side.
    pub(crate) fn service(&self, side: Side) -> &Service<B> {
        &self.services[side]
    }

    /// How a request must be written for a side.
    pub(crate) fn form<'a>(
        &'a self,
        side: Side,
        wire: Wire,
        scheme: &'a Scheme,
    ) -> RequestForm<'a> {
        RequestForm::of(self.service(side), &self.forwarding, wire, scheme)
    }

    /// Sends a complete request to a service, if the limits and the breaker allow it.
    pub(crate) fn start(self: &Rc<Self>, ask: Ask) {
        match eligibility::admit(&self.terms, ask.side()) {
            Ok(reservation) => ask.run(|ask| {
                let asker = Rc::clone(self);
                self.terms.tasks().spawn(run(asker, ask, reservation))
            }),
            Err(reason) => {
                if reason == Reason::ByteBudget {
                    // Other reasons for not sending it are counted when the request is settled. This one also occurs
                    // after sending, so it is counted here.
                    let purpose = ask.pending().purpose();
                    self.terms.meters().shadow(purpose, ShadowEnd::Shed);
                }
                ask.fail(reason);
            }
        }
    }

    /// Runs `work`, which forwards a request's body, and meanwhile starts the ask that waits for the end of the body.
    /// `completion` is left only if the body has not ended by then.
    pub(crate) async fn start_during<F: Future>(
        self: &Rc<Self>,
        completion: &mut Option<Completion>,
        mut work: Pin<&mut F>,
    ) -> F::Output {
        poll_fn(|cx| {
            if let Some(completion) = completion {
                completion.be_silent();
            }
            let polled = work.as_mut().poll(cx);
            if let Some(ended) = completion
                && let Poll::Ready(ask) = ended.poll(cx)
            {
                *completion = None;
                if let Some(ask) = ask {
                    self.start(ask);
                }
            }
            polled
        })
        .await
    }

    /// Starts the ask that waits for the end of a request's body, which another task forwards.
    pub(crate) async fn start_after(self: Rc<Self>, completion: Completion) {
        if let Some(ask) = poll_fn(|cx| completion.poll(cx)).await {
            self.start(ask);
        }
    }
}

/// Why a shadow has no answer.
#[derive(Clone, Copy)]
enum Unanswered {
    /// The service failed.
    ServiceFault(ServiceFault),
    /// A limit of ours.
    Ours(Reason),
}

impl From<ServiceFault> for Unanswered {
    fn from(fault: ServiceFault) -> Self {
        Self::ServiceFault(fault)
    }
}

async fn run<B: AskBody>(asker: Rc<Asker<B>>, ask: Ask, reservation: Reservation) {
    let pending = Rc::clone(ask.pending());
    let terms = &*asker.terms;
    let side = ask.side();
    let is_read = || {
        let is_safe = pending.with_head(RequestHead::is_safe);
        is_safe && pending.copied(side).is_none()
    };
    let mut attempt = Attempt {
        side,
        purpose: pending.purpose(),
        is_trial: asker.serving.tries_candidate(side, is_read),
        reservation: Some(reservation),
        ask: Some(ask),
        capturing: None,
    };
    let outcome = {
        let attempting = pin!(attempt.run(&asker, &pending));
        // The deadline includes the time that a shadow waits for its next slice.
        let sliced = turns::sliced(terms.turns(), attempting);
        let ended = tokio::time::timeout(terms.limits().candidate_deadline, sliced).await;
        ended.unwrap_or(Err(Unanswered::ServiceFault(ServiceFault::TimedOut)))
    };
    // Released before the ask ends, so that nobody sees the outcome before the limits are free again.
    attempt.reservation = None;
    if side == Side::Candidate {
        judge(terms, pending.purpose(), outcome);
    }
    attempt.end(&asker, outcome);
}

/// Updates the breaker and the counters with the candidate's result.
fn judge(terms: &Terms, purpose: Purpose, outcome: Result<(), Unanswered>) {
    let (fault, end) = match outcome {
        // The request was not sent, which is counted when it is settled.
        Err(Unanswered::Ours(Reason::InFlightCap)) => return,
        Err(Unanswered::ServiceFault(fault @ ServiceFault::TimedOut)) => {
            (Some(fault), ShadowEnd::Timeout)
        }
        Err(Unanswered::ServiceFault(fault)) => (Some(fault), ShadowEnd::Error),
        Err(Unanswered::Ours(reason)) if reason.is_our_drop() => (None, ShadowEnd::Shed),
        Err(Unanswered::Ours(_)) | Ok(()) => (None, ShadowEnd::Sent),
    };
    terms.candidate_did(fault, terms.limits().candidate_deadline);
    terms.meters().shadow(purpose, end);
}

/// One attempt to get an answer. It owns the ask and the capture outside of the future that the deadline drops, so that
/// the ask can end with the right reason.
struct Attempt {
    side: Side,
    purpose: Purpose,
    /// Whether it shows of a candidate in a rollout what clients would get.
    is_trial: bool,
    reservation: Option<Reservation>,
    ask: Option<Ask>,
    capturing: Option<(Capturing, Instant)>,
}

impl Attempt {
    async fn run<B: AskBody>(
        &mut self,
        asker: &Asker<B>,
        pending: &Pending,
    ) -> Result<(), Unanswered> {
        let Sent {
            response,
            mut link,
            at,
            head_at,
        } = send(asker, pending, self.side).await?;
        let (head, mut body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            // Shadows never ask for an upgrade.
            return Err(ServiceFault::Protocol.into());
        }
        if framing::is_unusable(head.status, &head.headers) {
            return Err(ServiceFault::Protocol.into());
        }
        let Some(ask) = self.ask.take() else {
            return Ok(());
        };
        let size = body.size_hint();
        let is_stream = headers::is_stream(&head.headers, &size) && !body.is_end_stream();
        let capturing = Capturing::new(ask, head.status.as_u16(), &head.headers, at, head_at);
        // This frees the buffer that the head was read into.
        drop(head);
        let (capturing, ended) = self.capturing.insert((capturing, Instant::now()));
        if capturing
            .foresee(is_stream, body.size_hint().lower())
            .is_some()
        {
            return Ok(());
        }
        while let Some(frame) = poll_fn(|cx| link.poll_frame(&mut body, cx)).await {
            let frame = frame.map_err(|error| link.fault(&error))?;
            if let Some(chunk) = frame.data_ref() {
                if capturing.data(chunk).map_err(Unanswered::Ours)?.is_some() {
                    // Dropping the link closes the connection: nobody needs the rest of the answer.
                    *ended = Instant::now();
                    return Ok(());
                }
                if !link.credit(chunk.len()).await {
                    return Err(ServiceFault::Flood.into());
                }
                if body.is_end_stream() {
                    break;
                }
                let reads = |reservation: &mut Reservation| reservation.reads(chunk.len());
                if !self.reservation.as_mut().is_none_or(reads) {
                    capturing.no_room().map_err(Unanswered::Ours)?;
                    *ended = Instant::now();
                    return Ok(());
                }
            } else if let Some(trailers) = frame.trailers_ref() {
                capturing.trailers(trailers);
            }
        }
        *ended = Instant::now();
        asker.service(self.side).put(link, *ended);
        Ok(())
    }

    fn end<B: AskBody>(self, asker: &Asker<B>, outcome: Result<(), Unanswered>) {
        let terms = &*asker.terms;
        let begun = self.capturing.is_some();
        self.count(asker, outcome);
        let outcome = outcome.map_err(|why| match why {
            Unanswered::ServiceFault(fault) => self.side.reason(fault, begun),
            Unanswered::Ours(reason) => reason,
        });
        match (outcome, self.capturing, self.ask) {
            (Ok(()), Some((capturing, ended)), _) => {
                let elapsed = ended.saturating_duration_since(capturing.sent());
                if capturing.keeps_body() {
                    terms.meters().answered(self.purpose, self.side, elapsed);
                }
                capturing.complete(elapsed);
            }
            (Err(reason), Some((capturing, _)), _) => capturing.fail(reason),
            (Err(reason), None, Some(ask)) => ask.fail(reason),
            // Not reached: until here either the capture or this struct owns the ask.
            (_, None, _) => {}
        }
    }
}

async fn send<B: AskBody>(
    asker: &Asker<B>,
    pending: &Pending,
    side: Side,
) -> Result<Sent<B>, Unanswered> {
    let (body, is_empty) = body(pending, side);
    let replayable = is_empty && pending.with_head(RequestHead::is_safe);
    let grpc = pending.with_head(RequestHead::is_grpc);
    let make = |body, wire, scheme: &Scheme| {
        let form = asker.form(side, wire, scheme);
        let mut request = pending.with_head_of(side, |head| head.request(&form, body));
        headers::mark_shadow(request.headers_mut());
        request
    };
    let sent = asker.service(side).send(make, body, replayable, grpc).await;
    sent.map_err(|NoAnswer { error, .. }| {
        if let SendError::Connect(error) = &error {
            tracing::debug!(error = %error.io(), "a shadow's service cannot be reached");
        }
        error.fault().map_or(
            Unanswered::Ours(Reason::InFlightCap),
            Unanswered::ServiceFault,
        )
    })
}

/// The body to send, and whether it is empty. A separate function, so that its temporaries take no space in the task of
/// a shadow.
fn body<B: AskBody>(pending: &Pending, side: Side) -> (B, bool) {
    match pending.copied(side) {
        Some(copied) => (B::from(copied), false),
        None => (B::default(), true),
    }
}
