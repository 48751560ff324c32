//! The three answers of the gate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// What the gate says.
    Outcome as "outcome of the gate" {
        /// Proven to be within what is allowed.
        Pass = "pass" => "proven to be within what is allowed",
        /// Proven to be outside of it.
        Fail = "fail" => "proven to be outside of what is allowed",
        /// Neither is proven.
        Undecided = "undecided" => "neither is proven",
    }
}
