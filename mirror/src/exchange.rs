//! One request that is sent to both services, once or several times: what is sent, when, what is captured, and how it
//! ends.
//!
//! It knows services ([`crate::upstream`]), but no clients. The caller has a request, live or recorded. It creates a
//! [`Ticket`] and opens a [`Pending`], which gives it one [`Ask`] for each service. It ends each ask by capturing an answer
//! while it forwards it ([`Capturing`]), or lets an [`Asker`] send the request and capture the answer. A request that was
//! captured can be sent [`again`](ask), to one service at a time and as often as the caller likes.
//!
//! What all this needs is made here, too: [`ProcessResources`] once, [`WorkerResources`] on each thread, [`Services`] and
//! an [`Asker`] for each policy.
//!
//! **Conservation** begins here: a ticket is settled exactly once, even if it is dropped, and an ask that is dropped
//! settles its request with a reason.

mod admission;
mod again;
mod asker;
mod asks;
mod breaker;
mod capturing;
mod copied;
mod detach;
mod eligibility;
#[cfg(test)]
mod fixture;
mod grpc;
mod head;
mod intake;
mod meters;
mod metrics;
mod naming;
mod observer;
mod own;
mod pending;
mod purpose;
mod rate;
mod reached;
mod receive;
mod recorded;
mod resources;
mod rollout;
mod sampling;
mod services;
mod serving;
mod side;
mod terms;
mod ticket;

pub use observer::{LiveRequest, Observer, Receipt, Recorder};
pub use reached::ServiceSeen;
pub use rollout::{
    ClientCounts, MANY_CLIENTS, Rollout, RolloutBy, RolloutSeen, RolloutTried, ServedCounts, Share,
    Tried,
};
pub use sampling::{SampleBy, Sampling};

pub(crate) use admission::Admission;
pub(crate) use again::ask;
pub(crate) use asker::Asker;
pub(crate) use capturing::Capturing;
pub(crate) use copied::Copied;
pub(crate) use head::{RequestForm, RequestHead};
pub(crate) use intake::{Completion, Intake};
pub(crate) use meters::Meters;
pub(crate) use metrics::ExchangeMetrics;
pub(crate) use naming::CountedRoute;
pub(crate) use observer::Unobserved;
pub(crate) use own::Heard;
pub(crate) use pending::{Ask, Pending};
pub(crate) use purpose::Purpose;
pub(crate) use receive::{BodyAhead, Received, may_send, receive};
pub(crate) use recorded::{Sending, send_recorded};
pub(crate) use resources::{ProcessResources, WorkerResources};
pub(crate) use rollout::{Came, Judged, Left, RolloutState};
pub(crate) use services::Services;
pub(crate) use serving::Serving;
pub(crate) use side::Side;
pub(crate) use terms::Terms;
pub(crate) use ticket::{Answer, Ticket};
