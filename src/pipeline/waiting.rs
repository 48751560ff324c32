//! What waits for a comparing thread: an exchange, and how far it has come.

use parity_mirror::Tried;
use parity_schemas::exchange::{ByteHold, Capture, Exchange};
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::verdict::Reason;
use parity_sink::{Epoch, OutcomeRecorder};

use super::pledge::Pledge;

/// An exchange that waits for a comparing thread.
pub(super) struct Waiting {
    pub(super) exchange: Exchange,
    pub(super) stage: Stage,
}

/// How far an exchange has come.
pub(super) enum Stage {
    /// It was received in this epoch, and nobody has compared it; and whoever counts how it compares in a rollout.
    First(Epoch, Option<Tried>),
    /// Its answers differ, and both services were asked again.
    Second(Box<(Pledge, SecondCaptures)>),
    /// Its answers are equal, which is counted, and the legacy was asked again.
    Control(Box<ControlCapture>),
}

/// The second answers to a request whose first answers differ; after further looks, the last ones.
pub(super) struct SecondCaptures {
    /// How many times both services were asked again.
    pub(super) looks: u32,
    pub(super) legacy: Capture,
    pub(super) candidate: Capture,
    /// The memory that is charged for them.
    pub(super) _holds: [ByteHold; 2],
}

/// The legacy's second answer to a request whose first answers are equal.
pub(super) struct ControlCapture {
    pub(super) legacy: Capture,
    /// The memory that is charged for it.
    pub(super) _holds: [ByteHold; 2],
}

impl Waiting {
    /// Ends it without being compared. One that is known to differ is counted by its pledge.
    pub(super) fn not_compared(self, recorder: &OutcomeRecorder, reason: Reason) {
        let route = &self.exchange.route;
        match self.stage {
            Stage::First(epoch, _) => {
                recorder.not_compared(route, reason);
                recorder.settled(epoch);
            }
            Stage::Second(second) => drop(second),
            Stage::Control(_) => recorder.recheck(route, RecheckEvent::ControlFailed),
        }
    }

    /// The answers that are compared.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Capture> {
        let second: [Option<&Capture>; 2] = match &self.stage {
            Stage::First(..) => [None, None],
            Stage::Second(second) => [Some(&second.1.legacy), Some(&second.1.candidate)],
            Stage::Control(control) => [Some(&control.legacy), None],
        };
        let first = [&self.exchange.legacy, &self.exchange.candidate];
        first.into_iter().chain(second.into_iter().flatten())
    }
}
