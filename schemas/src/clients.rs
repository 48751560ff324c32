//! How requests ended for their clients: one outcome for every received request, whether it was shadowed or not.
//!
//! This is counted separately from why a request has no verdict. That is the first reason that applies, so it says
//! nothing about the legacy while the breaker is open, or for a method that is never shadowed. Only this count says
//! whether users got their answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What became of the client of one received request. The outcomes exclude each other, and at rest their sum is
    /// `received`.
    ClientOutcome as "outcome of a client" {
        /// It was switched to another protocol (101).
        Informational = "1xx" => "switched to another protocol",
        /// It got the legacy's whole answer, which was a success.
        Success = "2xx" => "answered by the legacy",
        /// It got the legacy's whole answer, which was a redirection.
        Redirection = "3xx" => "redirected by the legacy",
        /// It got the legacy's whole answer, which was an error of the client.
        ClientError = "4xx" => "refused by the legacy as the client's error",
        /// It got the legacy's whole answer, which was an error of the legacy.
        ServerError = "5xx" => "answered by the legacy with an error of its own",
        /// It got the legacy's whole answer, whose status is in no class.
        OtherStatus = "other_status" => "answered by the legacy with a status of no class",
        /// A rollout let the candidate serve it, and it got the candidate's whole answer, which was a success.
        CandidateSuccess = "candidate_2xx" => "answered by the candidate, which served them in a rollout",
        /// The same with a redirection.
        CandidateRedirection = "candidate_3xx" => "redirected by the candidate, which served them in a rollout",
        /// The same with an error of the client.
        CandidateClientError = "candidate_4xx" => "refused by the candidate, which served them in a rollout, as the client's error",
        /// The same with an error of the candidate.
        CandidateServerError = "candidate_5xx" => "answered by the candidate, which served them in a rollout, with an error of its own",
        /// The same with a status of no class.
        CandidateOtherStatus = "candidate_other_status" => "answered by the candidate, which served them in a rollout, with a status of no class",
        /// It got our 502: the legacy could not be reached, broke before it answered, or answered what is no HTTP.
        LegacyUnreachable = "legacy_unreachable" => "got 502 from parity: the legacy could not be reached or did not answer",
        /// It got our 504: the connection to the legacy timed out.
        LegacyTimeout = "legacy_timeout" => "got 504 from parity: the connection to the legacy timed out",
        /// It got the begin of an answer of the legacy that broke off.
        LegacyTruncated = "legacy_truncated" => "got an answer of the legacy that broke off",
        /// A rollout let the candidate serve it, and it got our 502: the candidate could not be reached, broke before it
        /// answered, or answered what is no HTTP, and the request could not be repeated.
        CandidateUnreachable = "candidate_unreachable" => "got 502 from parity: the candidate, which served them in a rollout, could not be reached or did not answer",
        /// A rollout let the candidate serve it, and it got our 504: the candidate did not answer in time.
        CandidateTimeout = "candidate_timeout" => "got 504 from parity: the candidate, which served them in a rollout, did not answer in time",
        /// It got the begin of an answer of the candidate that broke off.
        CandidateTruncated = "candidate_truncated" => "got an answer of the candidate, which served them in a rollout, that broke off",
        /// It went away before it had its whole answer.
        ClientAborted = "client_aborted" => "went away before they had their whole answer",
        /// We refused it, for it is nothing that is passed on: CONNECT, or an upgrade with a body.
        Refused = "refused" => "refused by parity: CONNECT, or an upgrade with a body",
        /// It is a proxy that sent us a copy, and was told that we have it (204). Its own client is served elsewhere.
        Tapped = "tapped" => "copies from a proxy, whose clients are served elsewhere",
        /// There is no client: it was sent from a recording.
        Replayed = "replayed" => "sent from a recording, without a client",
        /// A bug of ours cut it off.
        InternalPanic = "internal_panic" => "cut off by a bug of parity; please report it with the log",
        /// Our end cut it off: the time to drain was over.
        Shutdown = "shutdown" => "cut off by the end of parity: the time to drain was over",
        /// Counted by an older program, which did not tell.
        NotRecorded = "not_recorded" => "counted by an older parity, which did not tell",
    }
}

/// Counts by outcome; outcomes without a count are absent.
pub type Clients = BTreeMap<ClientOutcome, u64>;

impl ClientOutcome {
    /// How many outcomes there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The legacy's whole answer with this status.
    pub const fn of_status(status: u16) -> Self {
        match status / 100 {
            1 => Self::Informational,
            2 => Self::Success,
            3 => Self::Redirection,
            4 => Self::ClientError,
            5 => Self::ServerError,
            _ => Self::OtherStatus,
        }
    }

    /// The candidate's whole answer with this status, in a rollout.
    pub const fn of_candidate(status: u16) -> Self {
        match status / 100 {
            2 => Self::CandidateSuccess,
            3 => Self::CandidateRedirection,
            4 => Self::CandidateClientError,
            5 => Self::CandidateServerError,
            _ => Self::CandidateOtherStatus,
        }
    }

    /// Whether the client got the whole answer of the service that served it, whatever that said.
    pub const fn is_answered(self) -> bool {
        self.is_by_candidate()
            || matches!(
                self,
                Self::Informational
                    | Self::Success
                    | Self::Redirection
                    | Self::ClientError
                    | Self::ServerError
                    | Self::OtherStatus
            )
    }

    /// Whether the client got the candidate's whole answer, in a rollout.
    pub const fn is_by_candidate(self) -> bool {
        matches!(
            self,
            Self::CandidateSuccess
                | Self::CandidateRedirection
                | Self::CandidateClientError
                | Self::CandidateServerError
                | Self::CandidateOtherStatus
        )
    }

    /// Whether the candidate served the client, in a rollout, whatever came of that.
    pub const fn is_of_candidate(self) -> bool {
        self.is_by_candidate()
            || matches!(
                self,
                Self::CandidateUnreachable | Self::CandidateTimeout | Self::CandidateTruncated
            )
    }

    /// Whether a service told the client that it could not do what was asked for.
    pub const fn is_error(self) -> bool {
        matches!(self, Self::ServerError | Self::CandidateServerError)
    }

    /// Whether the client was there and did not get a whole answer, by the fault of the service that served it or ours.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Self::LegacyUnreachable
                | Self::LegacyTimeout
                | Self::LegacyTruncated
                | Self::CandidateUnreachable
                | Self::CandidateTimeout
                | Self::CandidateTruncated
                | Self::InternalPanic
                | Self::Shutdown
        )
    }

    /// Position in [`ClientOutcome::ALL`], for counters kept in an array.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What became of all that have an outcome, in one sentence about clients; `number` writes a count. Requests without one are
/// under way or lost, which counts do not tell. In a range there may also be more outcomes than requests, of those that
/// were received before.
pub fn told(clients: &Clients, number: impl Fn(u64) -> String) -> String {
    let sum = |wanted: fn(ClientOutcome) -> bool| -> u64 {
        let counted = clients.iter().filter(|(outcome, _)| wanted(**outcome));
        counted.map(|(_, count)| count).sum()
    };
    let (failed, answered) = (
        sum(ClientOutcome::is_failure),
        sum(ClientOutcome::is_answered),
    );
    let ended = sum(|_| true);
    let tapped = sum(|outcome| outcome == ClientOutcome::Tapped);
    let replayed = sum(|outcome| outcome == ClientOutcome::Replayed);
    if failed > 0 {
        let share = failed as f64 / ended.max(1) as f64 * 100.0;
        format!(
            "{} of {} got no whole answer ({share:.2} %)",
            number(failed),
            number(ended)
        )
    } else if tapped > 0 && answered == 0 {
        format!(
            "not seen here: {} copies came from a proxy, which answers its clients by itself",
            number(tapped)
        )
    } else if replayed > 0 && replayed == ended {
        format!(
            "none: what was received ({}) came from a recording",
            number(replayed)
        )
    } else if ended == 0 {
        "none of their requests has ended".to_owned()
    } else {
        let who = if answered == ended {
            format!("all {}", number(ended))
        } else {
            format!("{} of {}", number(answered), number(ended))
        };
        match sum(ClientOutcome::is_by_candidate) {
            0 => format!("{who} got the legacy's whole answer"),
            by_candidate => format!(
                "{who} got a whole answer: {} the legacy's, {} the candidate's",
                number(answered - by_candidate),
                number(by_candidate)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClientOutcome::{
        CandidateServerError, CandidateSuccess, ClientAborted, LegacyTruncated, Success, Tapped,
    };
    use super::*;

    #[test]
    fn each_outcome_has_its_place_and_is_one_thing_at_most() {
        for (index, outcome) in ClientOutcome::ALL.iter().enumerate() {
            assert_eq!(outcome.index(), index);
            assert_eq!(
                outcome.as_str().parse::<ClientOutcome>().ok(),
                Some(*outcome)
            );
            assert!(!(outcome.is_answered() && outcome.is_failure()));
        }
        let told = |clients: &[(ClientOutcome, u64)]| {
            told(&clients.iter().copied().collect(), |count| {
                count.to_string()
            })
        };
        assert_eq!(told(&[(Success, 2)]), "all 2 got the legacy's whole answer");
        assert_eq!(
            told(&[(Success, 1), (ClientAborted, 1)]),
            "1 of 2 got the legacy's whole answer"
        );
        assert_eq!(
            told(&[(Success, 7), (LegacyTruncated, 1)]),
            "1 of 8 got no whole answer (12.50 %)"
        );
        assert_eq!(
            told(&[(ClientOutcome::Replayed, 3)]),
            "none: what was received (3) came from a recording"
        );
        assert!(told(&[(Tapped, 3)]).starts_with("not seen here: 3 copies"));
        // During a rollout: the legacy did not answer those that the candidate served.
        assert_eq!(
            told(&[
                (Success, 9),
                (CandidateSuccess, 2),
                (CandidateServerError, 1)
            ]),
            "all 12 got a whole answer: 9 the legacy's, 3 the candidate's"
        );
        assert_eq!(
            told(&[(CandidateSuccess, 2), (ClientAborted, 1)]),
            "2 of 3 got a whole answer: 0 the legacy's, 2 the candidate's"
        );
        for status in [0, 100, 200, 302, 404, 500, 999] {
            let (legacy, candidate) = (
                ClientOutcome::of_status(status),
                ClientOutcome::of_candidate(status),
            );
            assert!(legacy.is_answered() && !legacy.is_by_candidate());
            assert!(candidate.is_answered() && candidate.is_by_candidate());
            assert_eq!(legacy.is_error(), candidate.is_error());
        }
        assert_eq!(ClientOutcome::of_status(503), ClientOutcome::ServerError);
        assert_eq!(ClientOutcome::of_status(0), ClientOutcome::OtherStatus);
        assert_eq!(ClientOutcome::of_status(999), ClientOutcome::OtherStatus);
    }
}
