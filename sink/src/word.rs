//! How values of vocabularies are stored: as words.

use parity_schemas::audit::{AuditAction, AuditOutcome, AuditSource};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::evidence::Outcome;
use parity_schemas::field_share::FieldCount;
use parity_schemas::recheck::{RecheckEvent, RecheckEvidence};
use parity_schemas::record::MismatchClass;
use parity_schemas::verdict::{Explanation, Kind, Part, Reason};

/// A value that is stored as a word.
pub(crate) trait Word {
    fn word(&self) -> &str;
}

impl Word for String {
    fn word(&self) -> &str {
        self
    }
}

macro_rules! words {
    ($($vocabulary:ident),*) => {$(
        impl Word for $vocabulary {
            fn word(&self) -> &str {
                self.as_str()
            }
        }
    )*};
}
words!(
    AuditAction,
    AuditOutcome,
    AuditSource,
    ClientOutcome,
    Explanation,
    FieldCount,
    Kind,
    MismatchClass,
    Outcome,
    Part,
    Reason,
    RecheckEvent,
    RecheckEvidence
);
