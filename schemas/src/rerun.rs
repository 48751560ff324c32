//! What came of running a recorded request again: what differed then, beside what differs now.
//!
//! Nothing in it was not redacted: the answers of then are those of the record, and those of now went through the same door.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::{RecordedFinding, RecordedMessage};
use crate::tally::Identity;
use crate::time::Timestamp;
use crate::verdict::{Kind, Part, Why};
use crate::vocabulary::{UnknownWord, vocabulary};

/// The schema of the document.
pub const RERUN_SCHEMA: &str = "parity.rerun/v1";

/// Reasons why nothing can be told that are none of `not_compared`.
pub mod untold {
    /// The request was not kept with the mismatch, or retention has removed it.
    pub const NOT_KEPT: &str = "not_kept";
    /// The request is another one without what the record hides or lacks of it, so it was not sent.
    pub const HIDDEN: &str = "hidden";
    /// It is no request that HTTP can send.
    pub const NOT_SENDABLE: &str = "not_sendable";
    /// The legacy refuses now what it answered then, so that both agree says nothing of what differed.
    pub const LEGACY_REFUSES: &str = "legacy_refuses";
    /// What differed was not shown again, but the request lacked parts that a fault may depend on.
    pub const LEFT_OUT: &str = "left_out";
    /// The answers did not come in time.
    pub const TIMEOUT: &str = "timeout";
}

vocabulary! {
    /// What the exit code of a rerun says.
    RerunOutcome as "outcome of a rerun" {
        /// Exit code 0.
        Equal = "equal" => "both services answer the same now",
        /// Exit code 1.
        Differs = "differs" => "the answers differ, or the candidate gave none",
        /// Exit code 3.
        Undecided = "undecided" => "nothing can be told",
    }
}

vocabulary! {
    /// What became of a difference.
    RerunState as "state of a difference" {
        /// It is new.
        New = "new" => "differs now and did not then",
        /// The record lists not all that differed then.
        Unlisted = "unlisted" => "differs now; what is recorded of then is not complete",
        /// It is still there.
        Still = "still" => "differed then and differs still",
        /// Nobody knows.
        Unknown = "unknown" => "differed then; whether it still does cannot be told",
        /// It was not shown again, by a request that lacked something.
        Unseen = "unseen" => "differed then and was not shown again, but parts of the request were left out",
        /// A rule that is in force now excuses it.
        Excused = "excused" => "differs still, and counts as equal now",
        /// It is there no longer.
        Gone = "gone" => "differed then and does no longer",
    }
}

vocabulary! {
    /// Why a part of the request is not there.
    HiddenWhy as "reason why a part is not there" {
        /// Redaction did it.
        Redacted = "redacted" => "the record has only its keyed hash",
        /// It was too large.
        Cut = "cut" => "the record has not all of it",
        /// A body that was converted for the comparison cannot always be converted back.
        OtherForm = "other_form" => "the record has it in another format than it was sent in",
    }
}

vocabulary! {
    /// What was sent in the place of a part.
    HiddenFate as "fate of a hidden part" {
        /// The settings, or a `[[substitute]]`, have a value for it, or remove it for both services.
        Set = "set" => "sent as the settings have it for each request",
        /// No service gets it from a client, so nothing can depend on it.
        NoInfluence = "no_influence" => "no service gets it from a client",
        /// A header field that the record does not have, so nobody knows what depends on it.
        LeftOut = "left_out" => "left out",
        /// Somebody accepted it.
        AsHash = "as_hash" => "sent as its hash",
        /// Without it, the request is another one.
        NotSent = "not_sent" => "the request was not sent without it",
    }
}

/// A recorded request that was run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RerunDocument {
    /// [`RERUN_SCHEMA`].
    pub schema: String,
    /// The id of the recorded mismatch.
    pub mismatch: Uuid,
    /// When it was run again.
    pub time: Timestamp,
    /// `METHOD /template`, as it was recorded.
    pub route: String,
    /// The method.
    pub method: String,
    /// What was asked for, as far as it may be shown.
    pub target: String,
    /// What the exit code says.
    pub outcome: RerunOutcome,
    /// Why nothing can be told, or why the candidate has no answer: `not_kept`, `hidden`, `not_sendable`, `legacy_refuses`,
    /// `left_out`, `timeout`, or a reason of `not_compared` in reports, such as `unsafe_method`.
    pub reason: Option<String>,
    /// Whether the services were asked.
    pub sent: bool,
    /// What the record hides or lacks of the request.
    pub hidden: Vec<HiddenPart>,
    /// Somebody accepts that what was sent stands for the request, whatever was left out of it: only then can it be `equal` without
    /// those parts.
    pub accepted_left_out: bool,
    /// The answers of then.
    pub then: RerunAnswers,
    /// The answers of now; null if there are not both.
    pub now: Option<RerunAnswers>,
    /// What differed then or differs now, by place and kind: first what differs now.
    pub differences: Vec<RerunDifference>,
}

impl RerunDocument {
    /// The parts that were left out or stand as a hash in what was sent: a fault may depend on each.
    pub fn left_out(&self) -> impl Iterator<Item = &HiddenPart> {
        let is_left =
            |part: &&HiddenPart| matches!(part.fate, HiddenFate::LeftOut | HiddenFate::AsHash);
        self.hidden.iter().filter(is_left)
    }
}

/// A part of the request that the record hides or lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HiddenPart {
    /// As recordings name it: `header/authorization`, `query/token`, `path`, `body/card/number`, or `body` for all of it.
    pub part: String,
    /// Why.
    pub why: HiddenWhy,
    /// Whether the request is another one without it.
    pub needed: bool,
    /// What was sent.
    pub fate: HiddenFate,
}

/// Two answers to the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RerunAnswers {
    /// When the request was sent.
    pub time: Timestamp,
    /// Under which versions and rules.
    #[serde(flatten)]
    pub identity: Identity,
    /// Status code of the legacy.
    pub legacy_status: u16,
    /// Status code of the candidate.
    pub candidate_status: u16,
    /// Time of the legacy's answer in microseconds.
    pub legacy_us: u64,
    /// Time of the candidate's answer in microseconds.
    pub candidate_us: u64,
    /// Not all that differs is listed.
    pub findings_cut: bool,
    /// What the legacy answered, if that is kept.
    pub legacy: Option<RecordedMessage>,
    /// What the candidate answered, if that is kept.
    pub candidate: Option<RecordedMessage>,
}

/// What differs at one place in one way, then and now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RerunDifference {
    /// What became of it.
    pub state: RerunState,
    /// Which part of the answer.
    pub part: Part,
    /// The generalized path.
    pub pattern: String,
    /// How the sides differ.
    pub kind: Kind,
    /// As it was recorded; null if it did not differ then.
    pub then: Option<SeenDifference>,
    /// As it is; null if it does not differ now.
    pub now: Option<SeenDifference>,
    /// Why it counts as equal now, if it does.
    #[schemars(with = "Option<String>")]
    pub excused_by: Option<Why>,
}

/// A difference as it was seen once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenDifference {
    /// How many findings are of this place and kind.
    pub count: u64,
    /// The first of them.
    pub example: RecordedFinding,
}
