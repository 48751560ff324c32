//! Which of the two services: legacy or candidate.
//!
//! [`BySide`] holds one value for each. The same failure has a different reason on each side; only this module maps one
//! to the other.

use std::ops::{Index, IndexMut};

use parity_schemas::verdict::Reason;

use crate::upstream::ServiceFault;

/// One of the two services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one whose answers clients get, unless there is a rollout.
    Legacy,
    /// The one whose answers nobody gets, unless there is a rollout.
    Candidate,
}

impl Side {
    /// The service that is compared with this one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Legacy => Self::Candidate,
            Self::Candidate => Self::Legacy,
        }
    }

    /// Both, in the order in which they are shown.
    pub(crate) const ALL: [Self; 2] = [Self::Legacy, Self::Candidate];

    /// `legacy` or `candidate`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Candidate => "candidate",
        }
    }

    /// The reason why there is no verdict if this side fails in this way. `begun` is whether the head of its answer had
    /// arrived: a legacy whose answer ends in nonsense could be reached.
    pub(crate) fn reason(self, fault: ServiceFault, begun: bool) -> Reason {
        match (self, fault) {
            (Self::Legacy, ServiceFault::TimedOut) => Reason::LegacyTimeout,
            (Self::Legacy, _) if begun => Reason::LegacyTruncated,
            (Self::Legacy, ServiceFault::Truncated) => Reason::LegacyTruncated,
            (
                Self::Legacy,
                ServiceFault::Refused
                | ServiceFault::Tls
                | ServiceFault::Reset
                | ServiceFault::Protocol
                | ServiceFault::Flood,
            ) => Reason::LegacyUnreachable,
            (Self::Candidate, ServiceFault::Refused) => Reason::CandidateRefused,
            (Self::Candidate, ServiceFault::TimedOut) => Reason::CandidateTimeout,
            (Self::Candidate, ServiceFault::Tls) => Reason::CandidateTls,
            (Self::Candidate, ServiceFault::Reset) => Reason::CandidateReset,
            (Self::Candidate, ServiceFault::Protocol) => Reason::CandidateProtocol,
            (Self::Candidate, ServiceFault::Truncated) => Reason::CandidateTruncated,
            (Self::Candidate, ServiceFault::Flood) => Reason::CandidateFlood,
        }
    }
}

/// One value for each side.
#[derive(Clone, Debug)]
pub(crate) struct BySide<T>([T; Side::ALL.len()]);

impl<T> BySide<T> {
    /// From both values.
    pub(crate) fn of(legacy: T, candidate: T) -> Self {
        Self([legacy, candidate])
    }

    /// Calls `make` for each side.
    pub(crate) fn new(make: impl FnMut(Side) -> T) -> Self {
        Self(Side::ALL.map(make))
    }
}

impl<T> Index<Side> for BySide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        &self.0[side as usize]
    }
}

impl<T> IndexMut<Side> for BySide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        &mut self.0[side as usize]
    }
}
