//! What was found in one exchange: verdict, reasons, findings.
//!
//! A [`Finding`] holds values as they were seen and so implements neither `Serialize` nor `Debug`; the record's
//! [`crate::record::RecordedFinding`] is its redacted form. The small vocabularies ([`Reason`], [`Part`], [`Kind`],
//! [`Explanation`]) are open to both. The words never change their spelling:
//! they are stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::side::{Digest, Excerpt, Side};

/// What is said of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Equal by the rules.
    Match,
    /// At least one finding.
    Mismatch,
    /// No verdict, for exactly one reason.
    NotCompared(Reason),
}

impl Verdict {
    /// `match`, `mismatch` or `not_compared`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Mismatch => "mismatch",
            Self::NotCompared(_) => "not_compared",
        }
    }
}

/// A word that is no member of the vocabulary.
#[derive(Debug, thiserror::Error)]
#[error("`{word}` is not a {vocabulary}")]
pub struct UnknownWord {
    pub(crate) word: String,
    pub(crate) vocabulary: &'static str,
}

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident as $label:literal { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every member, in the order of its definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it is stored and printed.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { word: word.to_owned(), vocabulary: $label }),
                }
            }
        }
    };
}

pub(crate) use vocabulary;

vocabulary! {
    /// Why an exchange has no verdict; where several apply, the first in this order.
    Reason as "reason of not_compared" {
        /// The method may have side effects and no route allows it.
        UnsafeMethod = "unsafe_method",
        /// Shadowing was switched off.
        ShadowingOff = "shadowing_off",
        /// Left out by the sampling rate.
        SampledOut = "sampled_out",
        /// A WebSocket or another upgrade: tunnelled to the legacy only.
        Upgrade = "upgrade",
        /// The request body is over the body limit.
        RequestTooLarge = "request_too_large",
        /// Too many shadows were in flight.
        InFlightCap = "in_flight_cap",
        /// Too many bytes were held for shadows.
        ByteBudget = "byte_budget",
        /// The candidate failed too often and is left alone for a while.
        BreakerOpen = "breaker_open",
        /// The client went away before the exchange was complete.
        ClientAborted = "client_aborted",
        /// No connection to the legacy, or it broke before an answer began.
        LegacyUnreachable = "legacy_unreachable",
        /// The legacy did not answer in time.
        LegacyTimeout = "legacy_timeout",
        /// The legacy's answer broke off.
        LegacyTruncated = "legacy_truncated",
        /// The legacy answered before it had the whole request, as one does that refuses an upload: there is no whole
        /// request that the candidate could be asked.
        LegacyEarly = "legacy_early",
        /// No connection to the candidate.
        CandidateRefused = "candidate_refused",
        /// The candidate did not answer within its deadline.
        CandidateTimeout = "candidate_timeout",
        /// The candidate closed the connection before an answer began.
        CandidateReset = "candidate_reset",
        /// What the candidate sent is not HTTP.
        CandidateProtocol = "candidate_protocol",
        /// The TLS handshake with the candidate failed.
        CandidateTls = "candidate_tls",
        /// The candidate's answer broke off.
        CandidateTruncated = "candidate_truncated",
        /// The candidate sent far more frames, interim answers or protocol bytes than its answer needed.
        CandidateFlood = "candidate_flood",
        /// Of the two answers only the candidate's has no end.
        CandidateStream = "candidate_stream",
        /// Of the two answers only the candidate's is over the body limit, as sent or once decompressed.
        CandidateTooLarge = "candidate_too_large",
        /// Of the two answers only the candidate's has a content encoding that we cannot undo.
        CandidateUndecodable = "candidate_undecodable",
        /// Of the two answers only the candidate's is nested deeper than we follow.
        CandidateTooDeep = "candidate_too_deep",
        /// The comparison would cost more work than allowed, and an answer like the legacy's would not.
        CandidateWorkBudget = "candidate_work_budget",
        /// The legacy's answer, or both, is over the body limit, as sent or once decompressed.
        ResponseTooLarge = "response_too_large",
        /// The legacy's answer, or both, is without an end, such as server-sent events.
        Stream = "stream",
        /// The legacy's answer, or both, has a content encoding that we cannot undo.
        Undecodable = "undecodable",
        /// The legacy's answer, or both, is nested deeper than we follow, and the bytes differ.
        TooDeep = "too_deep",
        /// The comparison would cost more work than allowed.
        WorkBudget = "work_budget",
        /// The comparison queue was full.
        QueueFull = "queue_full",
        /// A bug of ours, contained.
        InternalPanic = "internal_panic",
        /// The process ended first.
        Shutdown = "shutdown",
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

    /// It was to be compared, and could not be for something that neither the candidate alone nor we are the cause of:
    /// the client went away, the legacy gave no whole answer, or the answer of the legacy, or those of both, cannot be
    /// compared. Too many of these and a decision is undecided.
    pub const fn is_uncomparable(self) -> bool {
        matches!(
            self,
            Self::ClientAborted
                | Self::LegacyUnreachable
                | Self::LegacyTimeout
                | Self::LegacyTruncated
                | Self::LegacyEarly
                | Self::ResponseTooLarge
                | Self::Stream
                | Self::Undecodable
                | Self::TooDeep
                | Self::WorkBudget
        )
    }

    /// The same where only the candidate's answer could not be compared; other reasons are the same whoever caused them.
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

    /// We gave up, not the services: too many of these and a decision is undecided.
    pub const fn is_our_drop(self) -> bool {
        matches!(
            self,
            Self::RequestTooLarge
                | Self::InFlightCap
                | Self::ByteBudget
                | Self::BreakerOpen
                | Self::QueueFull
                | Self::InternalPanic
                | Self::Shutdown
        )
    }

    /// Position in [`Reason::ALL`], for counters kept in an array.
    pub const fn index(self) -> usize {
        self as usize
    }
}

vocabulary! {
    /// Which part of the answer a finding is in.
    #[derive(Default)]
    Part as "part of an answer" {
        /// The status code; path `""`.
        Status = "status",
        /// A header field; path is its lower-case name, `set-cookie/NAME` for cookies.
        Header = "header",
        /// A trailer field; paths as for headers.
        Trailer = "trailer",
        /// The body; path is a JSON Pointer, `""` for the whole.
        #[default]
        Body = "body",
    }
}

vocabulary! {
    /// How the two sides differ.
    #[derive(Default)]
    Kind as "kind of finding" {
        /// The candidate lacks it.
        Missing = "missing",
        /// Only the candidate has it.
        Extra = "extra",
        /// Another JSON type.
        Type = "type",
        /// The same type, another value.
        #[default]
        Value = "value",
        /// The same elements in another order.
        Order = "order",
        /// A key more than once in one object.
        DuplicateKey = "duplicate_key",
        /// One side is not what it claims to be.
        Decode = "decode",
    }
}

vocabulary! {
    /// What a reader should know of a pair as a whole, whatever its verdict.
    Note as "note" {
        /// Neither side has a byte.
        BothEmpty = "both_empty",
        /// Neither side is what both claim to be, such as JSON; they were compared as they are.
        BothInvalid = "both_invalid",
    }
}

vocabulary! {
    /// How two values are near each other although they are not equal. Of several, the first in this order.
    Explanation as "explanation" {
        /// Two spellings of one instant, such as `.12Z` and `.120Z`.
        SameInstant = "same_instant",
        /// One time is the other cut to fewer fractional digits.
        TruncatedTime = "truncated_time",
        /// The same date and time of day under another offset, or without one on one side: not the same instant, or
        /// not provably.
        SameReading = "same_reading",
        /// Two spellings of one duration, such as `PT1.5S`, `1.5s`, `{"secs":1,"nanos":500000000}` and 1500000000.
        SameDuration = "same_duration",
        /// Two spellings of one decimal, as strings, such as `"1.10"` and `"1.1"`.
        EqualDecimal = "equal_decimal",
        /// Different decimals that are the same IEEE 754 double.
        EqualDouble = "equal_double",
        /// Doubles at most four units in the last place apart: the same calculation, rounded at other points.
        NearDouble = "near_double",
        /// `null`, a word such as `"NaN"`, or a number too large for a double: a double that JSON has no number for.
        NotFinite = "not_finite",
        /// `null` on one side, absent on the other.
        NullVsMissing = "null_vs_missing",
        /// `null` on one side, `[]` or `{}` on the other.
        NullVsEmpty = "null_vs_empty",
        /// `null` on one side, `""` on the other.
        NullVsBlank = "null_vs_blank",
        /// `0`, `false`, `""`, `[]`, `{}` on one side, absent on the other (Go's omitempty).
        EmptyVsMissing = "empty_vs_missing",
        /// The same value in another JSON type, such as `1` and `"1"`, or `1` and `true`.
        TypeOnly = "type_only",
        /// Two spellings of one UUID.
        SameUuid = "same_uuid",
        /// Equal but for letter case.
        CaseOnly = "case_only",
        /// Equal but for white space.
        WhitespaceOnly = "whitespace_only",
        /// Equal after Unicode normalization to NFC.
        UnicodeNfc = "unicode_nfc",
        /// The same bytes in two encodings: base64 in either alphabet, hexadecimal, plain text, an array of numbers,
        /// Node's `Buffer`.
        SameBytes = "same_bytes",
        /// Equal but for percent-encoding, or for one that was done twice.
        PercentEncoding = "percent_encoding",
        /// Equal but for HTML entities, or for ones that were escaped twice.
        HtmlEntities = "html_entities",
        /// The same text through the wrong character encoding: `é` as `Ã©`, U+FFFD or `?`.
        Mojibake = "mojibake",
        /// One number is the other times a power of 1000: seconds and milliseconds.
        ScaledBy1000 = "scaled_by_1000",
        /// One number is the other rounded to fewer decimal places.
        Rounded = "rounded",
        /// A text that lists the same elements in another order.
        Permutation = "permutation",
        /// One text is the beginning of the other.
        Truncated = "truncated",
        /// The same fields under names in another case style.
        Renamed = "renamed",
    }
}

/// One difference, with the values as they were seen. Neither `Serialize` nor `Debug`: see the module.
#[derive(Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: which part.
    pub part: Part,
    /// Where: JSON Pointer in the legacy's body (the candidate's for `extra`), or a lower-case header name.
    pub path: String,
    /// The candidate's path, where it differs from `path`.
    pub candidate_path: Option<String>,
    /// The path with array indices, keys that are values (`acc-1001`), and map keys that rules name, as `*`.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// What the legacy has there.
    pub legacy: Side,
    /// What the candidate has there.
    pub candidate: Side,
    /// How near they are, when they are.
    pub explanation: Option<Explanation>,
    /// For text bodies: a unified diff, capped.
    pub text_diff: Option<String>,
}

/// Something that differed but counts as equal. Paths only, never values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Tolerated {
    /// Where: which part.
    pub part: Part,
    /// Where in it; as in a finding.
    pub path: String,
    /// `rule:ID`, the name of a default such as `equal_decimal`, or `not_compared:` and a reason where it is not known to be
    /// equal.
    pub why: String,
}

/// How [`Tolerated::why`] begins for a body that was not compared, because the mismatch was proven without it.
pub const NOT_COMPARED: &str = "not_compared:";

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
            let of_legacy = reason.as_str().starts_with("legacy_");
            assert!(!of_legacy || reason.is_uncomparable());
            assert!(alone == *reason || alone.is_candidate_failure());
        }
    }
}
