//! One step of an edit: a rule that was removed, or one that was added, and whether counts may stand beside it. The pairing
//! of elements as a whole is looked at before ([`Edit::pairs_alike`]).

use parity_schemas::evidence::carried::RouteCounted;

use parity_schemas::verdict::{Part, Reason};

use super::{Edit, Why, counts_of};
use crate::rules::reach::{can_be_below, can_meet};
use crate::rules::{Action, Rule};

impl Edit<'_> {
    /// Whether nothing was counted that a removed rule decided.
    pub(super) fn removal(
        &self,
        rule: &Rule,
        hits: u64,
        counted: &RouteCounted,
    ) -> Result<(), Why> {
        let id = &rule.id;
        if matches!(rule.action, Action::Rename(_)) {
            return Err(format!("`{id}` was removed, which paired two names"));
        }
        if hits > 0 {
            return Err(format!(
                "`{id}` was removed, which excused {hits} differences here"
            ));
        }
        if rule.part != Part::Body {
            return Ok(());
        }
        let others = || self.all().filter(|other| !std::ptr::eq(*other, rule));
        match &rule.action {
            // Where parts of a text lie within each other, the outer one counts.
            Action::InText(_) | Action::Parts(_) if rule.is_in_text() => self.alone_in_text(rule),
            Action::Ignore
            | Action::Accept(..)
            | Action::Absolute(_)
            | Action::Relative(_)
            | Action::Within(_)
            | Action::Scale(_)
            | Action::Parts(_)
            | Action::Json
            | Action::Timestamp
            | Action::Uuid
            | Action::Mask
            | Action::Rename(_)
            | Action::InText(_) => Ok(()),
            // It lets tolerances read numbers in strings, and the hit is then theirs.
            Action::Number => match others()
                .find(|other| other.is_tolerance() && can_meet(&other.pattern, &rule.pattern))
            {
                None => Ok(()),
                Some(other) => Err(format!(
                    "`{id}` was removed, by which `{}` read text as numbers",
                    other.id
                )),
            },
            // It counts a hit when elements moved. When none did, each met the one at its position all the same; but rules
            // that name a position did not apply, nor did a rule by which the elements have a key.
            Action::Unordered => {
                let disturbs = |other: &&Rule| {
                    let by_position = other.pattern.names_a_position()
                        && can_be_below(&other.pattern, &rule.pattern);
                    let by_key = matches!(other.action, Action::Key(_))
                        && can_meet(&other.pattern, &rule.pattern);
                    by_position || by_key || other.is_unordered()
                };
                match others().find(disturbs) {
                    Some(other) => Err(format!(
                        "`{id}` was removed, and `{}` now meets other elements",
                        other.id
                    )),
                    None if counted.counts.mismatch > 0 && !self.added.is_empty() => Err(format!(
                        "`{id}` was removed, which changes how mismatches are told"
                    )),
                    None => Ok(()),
                }
            }
            Action::Key(_) => Err(format!(
                "`{id}` was removed, which paired elements by a key"
            )),
        }
    }

    /// Whether no other rule is for parts of the same texts.
    fn alone_in_text(&self, rule: &Rule) -> Result<(), Why> {
        let mut others = self.all().filter(|other| !std::ptr::eq(*other, rule));
        match others.find(|other| other.is_in_text()) {
            None => Ok(()),
            Some(other) => Err(format!(
                "`{}` changed, and `{}` is for parts of the same texts, which may lie within each other",
                rule.id, other.id
            )),
        }
    }

    /// Whether an added rule can only excuse.
    pub(super) fn addition(&self, rule: &Rule, counted: &RouteCounted) -> Result<(), Why> {
        let id = &rule.id;
        if matches!(rule.action, Action::Rename(_)) {
            return Err(format!("`{id}` was added, which pairs two names"));
        }
        if rule.part != Part::Body {
            return Ok(());
        }
        if rule.is_in_text() {
            self.alone_in_text(rule)?;
        }
        match &rule.action {
            Action::Unordered | Action::Key(_) => Err(format!(
                "`{id}` was added, which pairs the elements of arrays anew"
            )),
            Action::Ignore if rule.pattern.covers_root() => {
                match counts_of(counted, UNCOMPARABLE) {
                    Some(count) => Err(format!(
                        "`{id}` was added, which ignores {count} bodies that could not be compared"
                    )),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Bodies that an added rule would not have asked for.
const UNCOMPARABLE: &[Reason] = &[
    Reason::ResponseTooLarge,
    Reason::Stream,
    Reason::Undecodable,
    Reason::TooDeep,
    Reason::WorkBudget,
    Reason::LegacyHidden,
    Reason::CandidateTooLarge,
    Reason::CandidateStream,
    Reason::CandidateUndecodable,
    Reason::CandidateTooDeep,
    Reason::CandidateWorkBudget,
];
