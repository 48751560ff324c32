//! What is shown, before anything draws it: the report, the decision, a comparison of two files, a mismatch.
//!
//! A model says what there is to tell and in which order. It knows no markup and no colour, so that the terminal and
//! the pages tell the same. What a word of the vocabulary means stands beside the word, in `parity_schemas`.
//!
//! Captured text is hostile wherever it is drawn. Recorded values and names, and the reasons of a decision, which quote
//! them, are handed on as they are: who draws them makes them visible first. A line that a model puts together from them
//! is visible already.

mod completeness;
mod decided;
mod decision;
pub mod diff;
mod difference;
mod mismatch;
mod report;
mod settled;
mod status;
pub(crate) mod words;

use parity_schemas::evidence::Outcome;

pub(crate) use completeness::Completeness;
pub use decided::{Absent, Decided, decided};
pub(crate) use decision::DecisionView;
pub(crate) use difference::{Difference, Place, Values};
pub(crate) use mismatch::MismatchView;
pub(crate) use report::{Cause, CauseName, ClientsView, Group, Headline, ReportView};
pub use settled::settled;
pub use status::Status;

/// How good a thing is; each surface has its own way to show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Somebody must act.
    Bad,
    /// It is not known.
    Open,
    /// Neither.
    Plain,
}

impl From<Outcome> for Tone {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Pass => Self::Good,
            Outcome::Fail => Self::Bad,
            Outcome::Undecided => Self::Open,
        }
    }
}
