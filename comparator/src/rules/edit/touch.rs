//! What one added rule does to a group of mismatches: excuses all of it, may touch some of it, or cannot reach it.
//!
//! Decided from the place, kind and explanation of the group alone; where they leave it open, the rule may touch it.

use parity_schemas::evidence::GroupEvidence;
use parity_schemas::route::{OTHER, means};
use parity_schemas::side::CUT_MARK;
use parity_schemas::verdict::{Kind, Part};

use crate::notation::pointer::push_escaped;
use crate::part_keys;
use crate::rules::reach::Place;
use crate::rules::{Action, Rename, Rule, Rules};

impl Rule {
    /// Whether it makes every finding of a group equal. `named` as in [`Place::of`].
    pub(super) fn excuses(&self, group: &GroupEvidence, named: bool) -> bool {
        let group = &group.group;
        if self.part != group.part {
            return false;
        }
        match (self.part, &self.action) {
            (Part::Status, Action::Ignore) => true,
            (Part::Header | Part::Trailer, Action::Ignore) => {
                self.pattern.covers_header(&group.pattern)
            }
            (Part::Body, Action::Ignore) => {
                Place::of(&group.pattern, named).is_within(&self.pattern)
            }
            (Part::Body, Action::Accept(..) | Action::Scale(_)) => {
                let place = Place::of(&group.pattern, named);
                let can_be_accepted = match group.kind {
                    // What differs in the whole body may be text, or bytes, of which not all is ever accepted.
                    Kind::Value | Kind::Type => !place.is_root(),
                    // Elements may not be absent: without one the others have other positions.
                    Kind::Missing | Kind::Extra => place.is_member(),
                    Kind::Order | Kind::DuplicateKey | Kind::Decode | Kind::Errors => false,
                };
                let near = group.explanation;
                can_be_accepted
                    && near.is_some_and(|near| self.action.is_met_by(group.kind, near))
                    && place.is_surely(&self.pattern)
            }
            _ => false,
        }
    }

    /// Whether it can make a finding of a group equal, or change how it is told. `all_told` if there are no mismatches of
    /// which not all groups are known.
    pub(super) fn may_touch(&self, group: &GroupEvidence, named: bool, all_told: bool) -> bool {
        let group = &group.group;
        if group.fingerprint == OTHER {
            return true;
        }
        if self.part != group.part {
            // A difference that was proven, and could not be shown, is told as one of the whole body.
            return self.part == Part::Body
                && !all_told
                && group.pattern.is_empty()
                && group.part == Part::Body;
        }
        let accepts = match self.action {
            Action::Accept(..) => group
                .explanation
                .is_some_and(|near| self.action.accepts(group.kind, near)),
            _ => true,
        };
        match self.part {
            Part::Status => true,
            Part::Header | Part::Trailer => {
                let named = self.pattern.covers_header(&group.pattern)
                    || group.pattern.contains(['*', CUT_MARK, '\u{fffd}']);
                named
                    && (matches!(self.action, Action::Ignore)
                        || (accepts && group.kind == Kind::Value))
            }
            Part::Body => self.may_touch_body(
                &Place::of(&group.pattern, named),
                group.kind,
                accepts,
                all_told,
            ),
        }
    }

    fn may_touch_body(&self, place: &Place, kind: Kind, accepts: bool, all_told: bool) -> bool {
        if place.is_root() && kind == Kind::Value && !all_told {
            return true;
        }
        // Elements are told as missing, extra or moved by what is equal in them, and so are values of repeated keys.
        let by_content = match kind {
            Kind::Order | Kind::DuplicateKey | Kind::Errors => true,
            Kind::Missing | Kind::Extra => !place.is_member() && !place.is_root(),
            Kind::Value | Kind::Type | Kind::Decode => false,
        };
        if by_content && place.may_hold(&self.pattern) {
            return true;
        }
        match self.action {
            Action::Ignore => place.may_be_within(&self.pattern),
            _ if kind == Kind::Decode => false,
            _ => accepts && place.may_be(&self.pattern),
        }
    }
}

impl Rules {
    /// Whether one of the rules makes every finding of a group equal, whatever its values are. It is known of more rules
    /// than an edit may rely on: of lists in any order, and of headers, of which it also counts how all else is compared.
    pub(crate) fn surely_excuse(&self, group: &GroupEvidence) -> bool {
        self.all.iter().any(|rule| rule.surely_excuses(group))
    }

    /// Whether one of the rules may make a finding of a group equal that was found under the former ones. What a former rule
    /// left different it still does, if all of these hold on as they were and no rule decides which values meet each other.
    pub(crate) fn may_reach(&self, former: &Self, group: &GroupEvidence) -> bool {
        let is_former = |rule: &Rule| former.all.iter().any(|other| other.says(rule));
        let kept = || self.all.iter().filter(|rule| is_former(rule));
        let all_kept = former.all.len() == kept().count()
            && former
                .all
                .iter()
                .zip(kept())
                .all(|(one, two)| one.says(two));
        let pairs = self.all.iter().any(|rule| {
            let is_pairing = matches!(
                rule.action,
                Action::Unordered | Action::Key(_) | Action::Rename(_)
            );
            is_pairing || rule.accepts_renamed() || rule.accepts_absence()
        });
        let holds_on = all_kept && !pairs;
        let mut new = self
            .all
            .iter()
            .filter(|rule| !(holds_on && is_former(rule)));
        new.any(|rule| rule.may_excuse(group))
    }
}

impl Rule {
    /// Whether it makes every finding of a group equal, as [`Rules::surely_excuse`] knows it.
    pub(super) fn surely_excuses(&self, group: &GroupEvidence) -> bool {
        self.is_for(&group.route) && (self.excuses(group, false) || self.meets(group))
    }

    /// Whether it may make a finding of a group equal.
    pub(super) fn may_excuse(&self, group: &GroupEvidence) -> bool {
        let of_route = self.is_for(&group.route)
            || group.route == OTHER
            || self
                .route
                .as_deref()
                .is_some_and(|own| means(&group.route, own));
        of_route && (self.may_touch(group, true, true) || self.may_pair_anew(group))
    }

    fn is_for(&self, route: &str) -> bool {
        self.route.as_deref().is_none_or(|own| means(own, route))
    }

    /// Whether it changes which elements meet at the place of a group.
    fn may_pair_anew(&self, group: &GroupEvidence) -> bool {
        if let Action::Rename(rename) = &self.action {
            let pattern = &group.group.pattern;
            let by_name = [&self.pattern, &self.pattern.beside(&rename.to)]
                .iter()
                .any(|name| match self.part {
                    Part::Body => Place::of(pattern, true).may_be_within(name),
                    _ => name.covers_header(pattern),
                });
            return self.part == group.group.part
                && (by_name || self.may_name_part(rename, pattern));
        }
        let place = Place::of(&group.group.pattern, true);
        matches!(self.action, Action::Unordered | Action::Key(_))
            && self.part == group.group.part
            && (self.part != Part::Body || place.may_be_within(&self.pattern))
    }

    /// Whether it may be for the field of a form whose disposition is at a place.
    fn may_name_part(&self, rename: &Rename, place: &str) -> bool {
        let part = place.strip_suffix("/content-disposition");
        let part = part.and_then(|part| part.strip_suffix(part_keys::HEADERS));
        self.part == Part::Body
            && part.is_some_and(|part| {
                part_keys::BODIES.iter().any(|body| {
                    let mut field = format!("{part}{body}/");
                    push_escaped(&mut field, &rename.from);
                    Place::of(&field, true).may_be_within(&self.pattern)
                })
            })
    }

    fn meets(&self, group: &GroupEvidence) -> bool {
        let group = &group.group;
        if self.part != group.part {
            return false;
        }
        match (self.part, &self.action) {
            (Part::Header | Part::Trailer, Action::Accept(..) | Action::Scale(_)) => {
                let near = group.explanation;
                group.kind == Kind::Value
                    && self.pattern.covers_header(&group.pattern)
                    && near.is_some_and(|near| self.action.is_met_by(Kind::Value, near))
            }
            (Part::Body, Action::Unordered) => {
                group.kind == Kind::Order
                    && Place::of(&group.pattern, false).is_surely(&self.pattern)
            }
            _ => false,
        }
    }
}
