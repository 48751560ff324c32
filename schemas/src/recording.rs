//! A line of a recording: a request of a client, and what the legacy answered, as they may leave the process.
//!
//! Recordings are NDJSON, so that each line stands alone: a file that was cut off has lost its last line, and files can be joined,
//! filtered and read by any tool. A text is kept as text, so that a person can see what was recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The schema of a line.
pub const EXCHANGE_SCHEMA: &str = "parity.exchange/v1";

/// The name of all trailers of an answer among what is hidden of it, where nobody knows which it had.
pub const UNKNOWN_TRAILERS: &str = "trailer";

/// One request, and the answer of then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedExchange {
    /// `parity.exchange/v1`.
    pub schema: String,
    /// When the request came.
    pub time: Timestamp,
    /// Names the client without saying who it is: requests with the same one came from one address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Of the request.
    pub method: String,
    /// Path and query. The host is in the headers.
    pub url: String,
    /// Names and values, in the order received.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body of the request.
    #[serde(flatten)]
    pub body: RecordedBody,
    /// What of the request was hidden: `header/authorization`, `header/cookie/NAME`, `path`, `query/token`, `body/card/number`, or
    /// `body` for a part of it that has no name, or for all of it. In its place stands `hmac:…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// What the legacy answered, if answers were recorded and this one was whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<RecordedResponse>,
}

/// An answer of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedResponse {
    /// Status code.
    pub status: u16,
    /// Names and values, in the order received.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Its body, still encoded by its `content-encoding`.
    #[serde(flatten)]
    pub body: RecordedBody,
    /// Names and values of its trailers, such as the status of gRPC, in the order received; empty if it had none. Absent if that is
    /// not known, as in recordings of earlier versions: then trailers are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailers: Option<Vec<(String, String)>>,
    /// From sending the request to the last byte of the answer.
    #[serde(default)]
    pub elapsed_us: u64,
    /// What of it was hidden, as for the request, and `trailer/grpc-message`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

/// A body: text as it is, other bytes in base64, and neither if there was none or it was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedBody {
    /// A body of UTF-8.
    #[serde(default, rename = "body", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Any other body.
    #[serde(
        default,
        rename = "body_base64",
        skip_serializing_if = "Option::is_none"
    )]
    pub base64: Option<String>,
    /// Why a body that there was is not here. Such a request cannot be sent again.
    #[serde(
        default,
        rename = "body_left_out",
        skip_serializing_if = "Option::is_none"
    )]
    pub left_out: Option<LeftOut>,
}

/// Why a body is not in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It was larger than `limits.body`.
    TooLarge,
    /// It never came whole: the client left, or the legacy answered before its end.
    CutOff,
    /// For a reason that a later version knows.
    #[serde(other)]
    Other,
}

impl LeftOut {
    /// In words, after "its body is not in the recording: ".
    pub const fn words(self) -> &'static str {
        match self {
            Self::TooLarge => "it was larger than the recording mirror takes",
            Self::CutOff => "it did not come whole",
            Self::Other => "for a reason that this version does not know",
        }
    }
}
