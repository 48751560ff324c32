//! Load: many requests to one service at an open arrival rate, and what became of them.
//!
//! A request is due at its time, whether or not those before it were answered, and its latency is counted from then. A service that
//! is slow does not slow the load down, so what a client would have waited is in the figures (no coordinated omission).
//! The generator knows its own part: how late it was itself is measured for each request, and [`Verdict`] tells a service that breaks
//! from a generator that cannot send or read any faster. A late generator excuses no error.
//!
//! It refuses: to retry, to follow redirects, to hold more requests than it has places for, and to run on after its step: a service
//! that hangs costs the step's time and one deadline.

mod config;
mod generator;
mod live;
mod run;
mod step;
mod ticker;
mod verdict;
mod worker;

use parity_schemas::exchange::Request;
use parity_schemas::route::Route;

pub use config::LoadConfig;
pub use generator::{Generator, LoadError};
pub use live::Live;
pub use run::{Failure, Run};
pub use step::Step;
pub use verdict::{Demands, LEAST_REQUESTS, Verdict};

/// Whether a request may be sent as load: only what does no harm when it is done again and again, unless its route says so.
pub fn may_send(route: &Route, request: &Request) -> bool {
    crate::exchange::may_send(route, request)
}
