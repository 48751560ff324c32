//! What was found in one exchange: verdict, reasons, findings.
//!
//! A [`Finding`] holds values as they were seen and so implements neither `Serialize` nor `Debug`; the record's
//! [`crate::record::RecordedFinding`] is its redacted form. The small vocabularies ([`Reason`], [`Part`], [`Kind`],
//! [`Explanation`]) are open to both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::explanation::{Explanation, FACTORS};
pub use crate::reason::Reason;
pub use crate::side::{Digest, Excerpt, Side};
pub use crate::text_diff::TextDiff;
pub use crate::vocabulary::UnknownWord;
pub use crate::why::{EqualByDefault, Why};

use crate::vocabulary::vocabulary;

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

vocabulary! {
    /// Which part of the answer a finding is in.
    #[derive(Default)]
    Part as "part of an answer" {
        /// The status code; path `""`.
        Status = "status" => "the status code",
        /// A header field; path is its lower-case name, `set-cookie/NAME` for cookies.
        Header = "header" => "a header field",
        /// A trailer field; paths as for headers.
        Trailer = "trailer" => "a trailer field",
        /// The body; path is a JSON Pointer, `""` for the whole.
        #[default]
        Body = "body" => "the body",
    }
}

vocabulary! {
    /// How the two sides differ.
    #[derive(Default)]
    Kind as "kind of finding" {
        /// The candidate lacks it.
        Missing = "missing" => "is missing in the candidate",
        /// Only the candidate has it.
        Extra = "extra" => "is only in the candidate",
        /// Another JSON type.
        Type = "type" => "has another type",
        /// The same type, another value.
        #[default]
        Value = "value" => "has another value",
        /// The same elements in another order.
        Order = "order" => "is in another order",
        /// A key more than once in one object.
        DuplicateKey = "duplicate_key" => "has a key twice",
        /// One side is not what it claims to be.
        Decode = "decode" => "is not what it claims to be",
        /// The candidate's GraphQL answer has errors, and the legacy's has none.
        Errors = "errors" => "says that the candidate failed: GraphQL errors where the legacy has none",
    }
}

vocabulary! {
    /// What a reader should know of a pair as a whole, whatever its verdict.
    Note as "note" {
        /// Neither side has a byte.
        BothEmpty = "both_empty" => "both are empty",
        /// Neither side is what both claim to be, such as JSON; they were compared as they are.
        BothInvalid = "both_invalid" => "both are not what they were compared as; what is said is of their text",
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
    pub text_diff: Option<TextDiff>,
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
    #[schemars(with = "String")]
    pub why: Why,
}
