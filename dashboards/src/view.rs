//! What is shown, before anything draws it: the report, the decision, a comparison of two files, a mismatch.
//!
//! A model says what is shown and in which order. It has no markup and no colour, so that the terminal and the pages show
//! the same. The meanings of the words in a report are declared with the words, in `parity_schemas`.
//!
//! Captured text is hostile wherever it is drawn. Models hold recorded values and names unchanged, and so are the reasons of
//! a decision, which quote them: code that draws them must make them [`visible`](parity_schemas::visible::visible). A line
//! that a model composes from them is visible already.

mod after_loss;
mod bodies;
mod browse;
mod cases;
pub(crate) mod changes;
mod completeness;
mod curl;
mod decided;
mod decision;
pub mod diff;
mod difference;
mod down;
mod examples;
mod excused;
mod excusing;
mod exported;
pub(crate) mod growth;
mod history;
mod idle;
mod kept;
mod known;
mod listed;
mod listing;
pub(crate) mod measured;
mod mismatch;
mod noise;
mod now;
mod recounted;
mod report;
mod rerun;
mod rollouts;
mod settled;
mod sides;
mod status;
mod stored;
pub(crate) mod stress;
mod suggested;
mod tried;
mod unanswered;
mod uncounted;
mod verified;
pub(crate) mod words;

use parity_schemas::evidence::Outcome;
use parity_sink::{Reader, StoreConfig, StoreError};

pub use after_loss::{AfterLoss, settled_after_loss};
pub(crate) use browse::{Browsed, BrowsedGroup, Browsing, left_out};
pub(crate) use cases::{Case, CaseState, Cases};
pub(crate) use completeness::Completeness;
pub(crate) use curl::Curl;
pub use decided::{Absent, Decided, decided, reported, unknown_migration};
pub(crate) use decision::DecisionView;
pub(crate) use difference::{Difference, Place, Values};
pub(crate) use down::{Beside, Between, Candidate, Outage, none_lives};
pub use examples::examples;
pub(crate) use excused::{Equal, Excused};
pub(crate) use excusing::ExcusedGroups;
pub use exported::{Unreadable, decision_with_terms, exported, stored as stored_decision};
pub(crate) use history::{
    Change as HistoryChange, ChartView, GroupTimes, SeenAt, Stretch, Told, a_day_ago,
    sentences as history_sentences, starts, witness,
};
pub use history::{HistoryQuestion, history, history_of};
pub use kept::{keep, leave};
pub(crate) use known::KnownView;
pub use known::{Adoptable, about as about_known, adoptable, known_list, rate_of, would_mean};
pub use listed::{audit_page, decision_page, place};
pub(crate) use listing::LeftOut;
pub use listing::Listing;
pub(crate) use mismatch::{MismatchView, Which};
pub(crate) use noise::{ExcusedColumns, NoiseEntry, NoiseView};
pub(crate) use now::{Alert, Lately, Now, killed};
pub(crate) use report::{
    Cause, CauseName, ClientsView, Differing, Entry, Group, Headline, Member, ReportView, extent,
    not_compared,
};
pub use rerun::{Allowed, audited};
pub(crate) use rerun::{Change, RerunView};
pub(crate) use rollouts::recorded as rollouts_recorded;
pub use settled::settled;
pub(crate) use settled::settled_with_news;
pub(crate) use sides::{Ink, Piece, Room, Row, Weight};
pub(crate) use status::Standing;
pub use status::{RecordingStatus, SinkStatus, Status};
pub use suggested::{NOBODY, expires, suggested};
pub use tried::tried;
pub(crate) use unanswered::AllUnanswered;
pub(crate) use uncounted::Uncounted;
pub use verified::verified;

/// Opens a store for what is shown of it: with what was counted under earlier rules and still holds.
pub fn reader(store: &StoreConfig) -> Result<Reader, StoreError> {
    Ok(Reader::open(store)?.carrying(parity_comparator::rules::REDECIDE))
}

/// How good something is. The terminal and the pages each have a style for it.
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
