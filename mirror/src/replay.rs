//! Recorded requests instead of live clients.

mod pace;
mod recorded;
mod source;
mod substitution;

pub use parity_schemas::recording::EXCHANGE_SCHEMA;

pub use pace::{Pace, Speed, SpeedError};
pub use recorded::{Place, Recorded, Unreadable, Why};
pub use source::{
    Format, LogFormat, LogFormatError, OpenError, Source, SourceError, UnknownFormat, recorded,
};
pub(crate) use substitution::Substituting;
pub use substitution::{
    Cookies, CookiesError, Decode, Hidden, Part, PartError, RuleUsed, Substituted, Substitution,
    Substitutions, ValueFrom, is_needed, is_never_sent, may_change_answer,
};
