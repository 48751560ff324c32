//! One request that is sent to both services, once or several times: what is sent, when, what is captured, and how it
//! ends.
//!
//! It knows services ([`crate::upstream`]), but no clients. The caller has a request, live or recorded. It creates a
//! [`Ticket`], opens a [`Pending`], and creates one [`Ask`] for each time that a service gets the request. It ends each
//! ask by capturing an answer while it forwards it ([`Capturing`]), or lets an [`Asker`] send the request and capture
//! the answer.
//!
//! **Conservation** begins here: a ticket is settled exactly once, even if it is dropped, and an ask that is dropped
//! settles its request with a reason.

mod admission;
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
mod observer;
mod pending;
mod rate;
mod sampling;
mod side;
mod terms;
mod ticket;

pub use observer::{Observer, Receipt};
pub use sampling::{SampleBy, Sampling};

pub(crate) use admission::Admission;
pub(crate) use asker::Asker;
pub(crate) use capturing::Capturing;
pub(crate) use copied::Copied;
pub(crate) use eligibility::refusal;
pub(crate) use head::RequestHead;
pub(crate) use intake::{Completion, Intake};
pub(crate) use meters::Meters;
pub(crate) use pending::{Ask, Pending};
pub(crate) use side::{BySide, Side};
pub(crate) use terms::{ExchangeResources, Terms};
pub(crate) use ticket::Ticket;
