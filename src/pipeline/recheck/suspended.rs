//! What waits on the thread of the mirror that asks services again, and how it comes back.

use std::sync::{Arc, Weak};

use parity_mirror::{NotAnswered, RecheckDone, Rechecked};
use parity_schemas::exchange::Exchange;
use parity_schemas::recheck::RecheckEvent;
use parity_schemas::verdict::Reason;

use super::super::pledge::{Pledge, Settling};
use super::super::queue::Entrance;
use super::super::waiting::{ControlCapture, SecondCaptures, Stage, Waiting};
use super::SecondLooks;
use super::room::Share;

/// What happened to a recheck that never came back.
pub(super) const ENDED: &[RecheckEvent] = &[RecheckEvent::RefusedShutdown];
/// What happened to one whose second answers say nothing.
pub(super) const FAILED: &[RecheckEvent] = &[RecheckEvent::Asked, RecheckEvent::Failed];

/// A mismatch whose services are being asked again.
pub(super) struct Suspended {
    pub(super) pledge: Pledge,
    /// Which look at it this is; the first time both are asked again is 1.
    pub(super) look: u32,
    /// By which it is asked about once more. A weak one: what waits here keeps no configuration alive.
    pub(super) looks: Weak<SecondLooks>,
    pub(super) entrance: Arc<Entrance>,
    pub(super) settling: Arc<Settling>,
    /// Of what may wait here.
    pub(super) _share: Share,
}

impl RecheckDone for Suspended {
    fn done(self: Box<Self>, answers: Rechecked) {
        let Self {
            pledge,
            look,
            looks,
            entrance,
            settling,
            _share,
        } = *self;
        match answers.answers {
            Ok((legacy, Some(candidate), holds)) => {
                let captures = SecondCaptures {
                    looks: look,
                    legacy,
                    candidate,
                    _holds: holds,
                };
                let pledge = pledge.otherwise(FAILED);
                let stage = Stage::Second(Box::new((pledge, captures)));
                come_back(&entrance, &settling, *answers.exchange, stage);
            }
            Err(NotAnswered::ShadowingOff | NotAnswered::BreakerOpen) => {
                pledge.unconfirmed(&[RecheckEvent::RefusedPaused]);
            }
            Err(NotAnswered::Legacy(_)) => {
                let pledge = pledge.otherwise(FAILED);
                // If it cannot be asked about once more, its drop counts it.
                if let Some(looks) = looks.upgrade() {
                    drop(looks.look_beyond_silence(*answers.exchange, pledge, look));
                }
            }
            // Both were asked, so there is no answer of the legacy without one of the candidate.
            Ok((_, None, _)) | Err(NotAnswered::Candidate(_)) => {
                pledge.unconfirmed(FAILED);
            }
        }
    }
}

/// A match about which the legacy is being asked again.
pub(super) struct SuspendedControl {
    pub(super) entrance: Arc<Entrance>,
    pub(super) settling: Arc<Settling>,
    /// Of what may wait here.
    pub(super) _share: Share,
}

impl RecheckDone for SuspendedControl {
    fn done(self: Box<Self>, answers: Rechecked) {
        let route = Arc::clone(&answers.exchange.route);
        match answers.answers {
            Ok((legacy, _, holds)) => {
                self.settling.events(&route, &[RecheckEvent::ControlAsked]);
                let control = ControlCapture {
                    legacy,
                    _holds: holds,
                };
                let stage = Stage::Control(Box::new(control));
                come_back(&self.entrance, &self.settling, *answers.exchange, stage);
            }
            Err(NotAnswered::ShadowingOff | NotAnswered::BreakerOpen) => {}
            Err(NotAnswered::Legacy(_) | NotAnswered::Candidate(_)) => {
                let failed = &[RecheckEvent::ControlAsked, RecheckEvent::ControlFailed];
                self.settling.events(&route, failed);
            }
        }
    }
}

/// Puts an exchange with second answers into the queue again.
fn come_back(entrance: &Entrance, settling: &Settling, exchange: Exchange, stage: Stage) {
    entrance.offer(Waiting { exchange, stage }, |shed| {
        let Waiting { exchange, stage } = shed;
        match stage {
            Stage::First(epoch, _) => {
                settling.not_compared(&exchange.route, Reason::QueueFull, epoch);
            }
            // Its drop counts it.
            Stage::Second(second) => drop(second),
            Stage::Control(_) => {
                settling.events(&exchange.route, &[RecheckEvent::ControlFailed]);
            }
        }
    });
}
