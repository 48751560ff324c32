//! What is against a group's being noise, in words. A number of rechecks that nobody waits for is not told: then a rule is wanted.

use std::fmt;

use super::{MIN_RECHECKS, MIN_TARGETS, Objection};

/// Of what would need so many rechecks that it is no plan to wait for them.
const NEVER: &str = "more rechecks may never settle it";

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(shape) => {
                write!(
                    f,
                    "what differs is {shape}, which is never taken for noise: write a rule if it may differ"
                )
            }
            Self::FewRechecks { rechecks } => {
                write!(f, "{rechecks} rechecks of at least {MIN_RECHECKS}")
            }
            Self::FewTargets { targets } => {
                write!(f, "{targets} different targets of at least {MIN_TARGETS}")
            }
            Self::Unsampled { unsampled } => write!(
                f,
                "no recheck speaks for {unsampled} mismatches: when they came, rechecks were paused, or too few"
            ),
            Self::Shown {
                evidence,
                times,
                counterpart,
            } => write!(
                f,
                "{} {times} times, and the other way round {counterpart} times",
                evidence.meaning()
            ),
            Self::MayHide {
                evidence,
                most,
                allowed,
                rechecks,
                missing,
                is_order,
            } => {
                let (why, instead) = match (missing, rechecks, is_order) {
                    (Some(missing), ..) => (
                        format!("too few rechecks, about {missing} more are wanted"),
                        "",
                    ),
                    (None, ..MIN_RECHECKS, _) => ("too few rechecks".to_owned(), ""),
                    (None, _, true) => (
                        NEVER.to_owned(),
                        "; if the order does not matter, a rule says so (`unordered`)",
                    ),
                    (None, _, false) => (NEVER.to_owned(), "; write a rule if it may differ"),
                };
                write!(
                    f,
                    "{why}: \"{}\" may exceed its opposite by {}, {} allowed{instead}",
                    evidence.meaning(),
                    of_group(*most),
                    of_group(*allowed)
                )
            }
            Self::OneSided { count, mirrored } => write!(
                f,
                "{count} times this way, and {mirrored} times with the services exchanged"
            ),
        }
    }
}

/// A share of a group as people read it: no more than all of it, although rechecks that are spread unevenly bound it worse.
fn of_group(share: f64) -> String {
    format!("{:.1} %", share.min(1.0) * 100.0)
}
