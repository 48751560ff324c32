//! Why an exchange has no verdict, and who counts as the cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// Why an exchange has no verdict; where several apply, the first in this order.
    Reason as "reason of not_compared" {
        /// The method may have side effects and no route allows it.
        UnsafeMethod = "unsafe_method" => "the method or the GraphQL operation may have side effects; a [[route]] of its own with shadow = true allows it",
        /// Shadowing was switched off.
        ShadowingOff = "shadowing_off" => "shadowing was switched off",
        /// Left out by the sampling rate.
        SampledOut = "sampled_out" => "left out by the sampling rate",
        /// A WebSocket or another upgrade: tunnelled to the legacy only.
        Upgrade = "upgrade" => "a connection upgrade; only the legacy takes part",
        /// The request body is over the body limit.
        RequestTooLarge = "request_too_large" => "the request body is over limits.body",
        /// Too many shadows were in flight.
        InFlightCap = "in_flight_cap" => "more shadows under way than limits.in_flight, than there are file descriptors for (`ulimit -n`), or than can be read at a time",
        /// Too many bytes were held for shadows.
        ByteBudget = "byte_budget" => "more bytes held than limits.shadow_bytes",
        /// The candidate failed too often and is left alone for a while.
        BreakerOpen = "breaker_open" => "the candidate kept failing and was left alone for a while",
        /// The client went away before the exchange was complete.
        ClientAborted = "client_aborted" => "the client went away first",
        /// No connection to the legacy, or it broke before an answer began.
        LegacyUnreachable = "legacy_unreachable" => "the legacy could not be reached; the client got 502",
        /// The legacy did not answer in time.
        LegacyTimeout = "legacy_timeout" => "the legacy did not answer in time",
        /// The legacy's answer broke off.
        LegacyTruncated = "legacy_truncated" => "the legacy's answer broke off",
        /// The legacy answered before it had received the whole request, for example to refuse an upload. So there is
        /// no whole request to send to the candidate.
        LegacyEarly = "legacy_early" => "the legacy answered before it had the whole request, so the candidate was not asked",
        /// The legacy's answer comes from a recording that hides its body, so nobody knows whether the candidate's is the same.
        LegacyHidden = "legacy_hidden" => "the recording lacks what the legacy answered, its body or the end of a gRPC call, and nothing else differs",
        /// No connection to the candidate.
        CandidateRefused = "candidate_refused" => "the candidate refused the connection; counts against it",
        /// The candidate did not answer within its deadline.
        CandidateTimeout = "candidate_timeout" => "the candidate did not answer within its deadline; counts against it",
        /// The candidate closed the connection before an answer began.
        CandidateReset = "candidate_reset" => "the candidate closed the connection before it answered; counts against it",
        /// What the candidate sent is not HTTP.
        CandidateProtocol = "candidate_protocol" => "the candidate did not answer in HTTP; counts against it",
        /// The TLS handshake with the candidate failed.
        CandidateTls = "candidate_tls" => "the TLS handshake with the candidate failed; counts against it",
        /// The candidate's answer broke off.
        CandidateTruncated = "candidate_truncated" => "the candidate's answer broke off; counts against it",
        /// The candidate sent far more frames, interim answers or protocol bytes than its answer needed.
        CandidateFlood = "candidate_flood" => "the candidate sent far more frames or protocol bytes than its answer needed; counts against it",
        /// Of the two answers only the candidate's has no end.
        CandidateStream = "candidate_stream" => "only the candidate's answer has no end; counts against it",
        /// Of the two answers only the candidate's is over the body limit, as sent or once decompressed.
        CandidateTooLarge = "candidate_too_large" => "only the candidate's answer is over limits.body, as sent or decompressed; counts against it",
        /// Of the two answers only the candidate's has a content encoding that we cannot undo.
        CandidateUndecodable = "candidate_undecodable" => "only the candidate's answer has a content encoding that is not known; counts against it",
        /// Of the two answers only the candidate's is nested deeper than we follow.
        CandidateTooDeep = "candidate_too_deep" => "only the candidate's answer is nested deeper than is followed; counts against it",
        /// The comparison would cost more work than allowed, and an answer like the legacy's would not.
        CandidateWorkBudget = "candidate_work_budget" => "the candidate's answer takes more work to compare than one like the legacy's; counts against it",
        /// The legacy's answer, or both, is over the body limit, as sent or once decompressed.
        ResponseTooLarge = "response_too_large" => "the legacy's answer, or both, is over limits.body, as sent or decompressed",
        /// The candidate's answer did not fit into the byte budget. What it is may be the cause, so as many as these may differ.
        NoRoom = "no_room" => "the candidate's answer did not fit into limits.shadow_bytes beside the others; its status and headers are the same",
        /// The legacy's answer, or both, is without an end, such as server-sent events.
        Stream = "stream" => "the legacy's answer, or both, has no end",
        /// The legacy's answer, or both, has a content encoding that we cannot undo.
        Undecodable = "undecodable" => "the legacy's answer, or both, has a content encoding that cannot be undone",
        /// The legacy's answer, or both, is nested deeper than we follow, and the bytes differ.
        TooDeep = "too_deep" => "the legacy's answer, or both, is nested deeper than is followed, and the bytes differ",
        /// The comparison would cost more work than allowed.
        WorkBudget = "work_budget" => "comparing would cost more work than allowed",
        /// The comparison queue was full.
        QueueFull = "queue_full" => "more exchanges waited for comparison than limits.queue",
        /// A panic in parity, which was contained.
        InternalPanic = "internal_panic" => "a bug of parity; please report it with the log",
        /// The process ended first.
        Shutdown = "shutdown" => "parity was shut down first",
    }
}

impl Reason {
    /// How many reasons there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The candidate failed, or only its answer could not be compared: this counts against it in the gate.
    pub const fn is_candidate_failure(self) -> bool {
        matches!(
            self,
            Self::CandidateRefused
                | Self::CandidateTimeout
                | Self::CandidateReset
                | Self::CandidateProtocol
                | Self::CandidateTls
                | Self::CandidateTruncated
                | Self::CandidateFlood
                | Self::CandidateStream
                | Self::CandidateTooLarge
                | Self::CandidateUndecodable
                | Self::CandidateTooDeep
                | Self::CandidateWorkBudget
        )
    }

    /// The candidate gave no whole answer: there was no connection or it broke, the time was over, or what came is not HTTP. An answer that
    /// cannot be compared is one.
    pub const fn is_unanswered(self) -> bool {
        self.is_candidate_failure()
            && !matches!(
                self,
                Self::CandidateStream
                    | Self::CandidateTooLarge
                    | Self::CandidateUndecodable
                    | Self::CandidateTooDeep
                    | Self::CandidateWorkBudget
            )
    }

    /// The exchange could not be compared, and neither the candidate alone nor parity is the cause: the client went
    /// away, the legacy gave no whole answer, or the answer of the legacy or of both cannot be compared. With too many
    /// of these, a decision is undecided.
    pub const fn is_uncomparable(self) -> bool {
        matches!(
            self,
            Self::ClientAborted
                | Self::LegacyUnreachable
                | Self::LegacyTimeout
                | Self::LegacyTruncated
                | Self::LegacyEarly
                | Self::LegacyHidden
                | Self::ResponseTooLarge
                | Self::Stream
                | Self::Undecodable
                | Self::TooDeep
                | Self::WorkBudget
        )
    }

    /// The corresponding reason if only the candidate's answer could not be compared; other reasons stay the same.
    #[must_use]
    pub const fn of_candidate_alone(self) -> Self {
        match self {
            Self::ResponseTooLarge => Self::CandidateTooLarge,
            Self::Stream => Self::CandidateStream,
            Self::Undecodable => Self::CandidateUndecodable,
            Self::TooDeep => Self::CandidateTooDeep,
            Self::WorkBudget => Self::CandidateWorkBudget,
            other => other,
        }
    }

    /// Parity gave up, not the services. With too many of these, a decision is undecided.
    pub const fn is_our_drop(self) -> bool {
        matches!(
            self,
            Self::RequestTooLarge
                | Self::InFlightCap
                | Self::ByteBudget
                | Self::NoRoom
                | Self::BreakerOpen
                | Self::QueueFull
                | Self::InternalPanic
                | Self::Shutdown
        )
    }

    /// The candidate's time is not known, for a reason that a slow candidate can cause: it failed, or requests to it took all the
    /// room there was. Whoever looks only at the times that are known takes such a candidate for a faster one.
    pub const fn hides_candidate_time(self) -> bool {
        self.is_candidate_failure()
            || matches!(
                self,
                Self::InFlightCap
                    | Self::ByteBudget
                    | Self::NoRoom
                    | Self::BreakerOpen
                    | Self::Shutdown
            )
    }

    /// The meaning when two files are compared, which have other limits.
    pub const fn meaning_of_files(self) -> &'static str {
        match self {
            Self::TooDeep => "nested deeper than is followed, and the bytes differ",
            Self::CandidateTooDeep => "only the candidate is nested deeper than is followed",
            Self::ResponseTooLarge => {
                "larger than is followed, as read or once decompressed or expanded"
            }
            Self::CandidateTooLarge => {
                "only the candidate is larger than is followed, as read or once decompressed or expanded"
            }
            Self::WorkBudget | Self::CandidateWorkBudget => {
                "matching elements in any order would cost more work than allowed"
            }
            Self::Undecodable => "a content encoding that cannot be undone",
            Self::CandidateUndecodable => {
                "only the candidate has a content encoding that cannot be undone"
            }
            Self::LegacyTruncated => "the legacy's body is shorter than its Content-Length says",
            Self::CandidateTruncated => {
                "the candidate's body is shorter than its Content-Length says"
            }
            Self::LegacyUnreachable => {
                "what the legacy's fields say of its length cannot be true, so clients refuse it"
            }
            Self::CandidateProtocol => {
                "what the candidate's fields say of its length cannot be true, so clients refuse it"
            }
            _ => "no verdict can be had",
        }
    }

    /// Position in [`Reason::ALL`], for counters kept in an array.
    pub const fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_indices_follow_the_order() {
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
            assert_eq!(
                reason.as_str().parse::<Reason>().expect("own word"),
                *reason
            );
        }
        assert!("nonsense".parse::<Reason>().is_err());
    }

    #[test]
    fn a_candidate_that_answers_in_its_own_way_is_there() {
        let unanswered = Reason::ALL.iter().filter(|reason| reason.is_unanswered());
        let unanswered: Vec<&str> = unanswered.map(|reason| reason.as_str()).collect();
        let expected = [
            "refused",
            "timeout",
            "reset",
            "protocol",
            "tls",
            "truncated",
            "flood",
        ];
        assert_eq!(unanswered, expected.map(|name| format!("candidate_{name}")));
    }

    #[test]
    fn a_candidate_failure_is_told_by_its_name_and_is_never_our_drop() {
        for reason in Reason::ALL {
            assert_eq!(
                reason.is_candidate_failure(),
                reason.as_str().starts_with("candidate_")
            );
            let classes = [
                reason.is_candidate_failure(),
                reason.is_our_drop(),
                reason.is_uncomparable(),
            ];
            assert!(classes.into_iter().filter(|class| *class).count() <= 1);
            let alone = reason.of_candidate_alone();
            assert!(alone == *reason || reason.is_uncomparable());
            // What only the candidate's answer is, an answer can be.
            assert!(alone == *reason || !alone.is_unanswered());
            assert!(reason.is_candidate_failure() || !reason.is_unanswered());
            let of_legacy = reason.as_str().starts_with("legacy_");
            assert!(!of_legacy || reason.is_uncomparable());
            assert!(alone == *reason || alone.is_candidate_failure());
        }
    }
}
