//! What is said of a rule from its explanation alone: what a client may notice, whether it may hold at any place, and what it
//! excuses from now on.

use parity_schemas::report::GroupReport;
use parity_schemas::suggested::Effect;
use parity_schemas::verdict::{Explanation, Kind, Part};

use super::{Draft, can_be_named};
use crate::rules::is_rough;

/// What follows from kind and explanation.
pub(super) struct Nature {
    pub(super) meaning: &'static str,
    pub(super) effect: Effect,
    /// A rule may also hold at places and on routes that were not seen. Not so where a wrong value could pass for the
    /// explanation: then each place is a decision of its own.
    pub(super) may_be_anywhere: bool,
    /// What is at risk.
    risk: &'static str,
}

impl Nature {
    pub(super) fn of(kind: Kind, explanation: Option<Explanation>) -> Self {
        use Explanation as E;
        let Some(explanation) = explanation else {
            return Self {
                meaning: "the same elements in another order",
                effect: Effect::Lossy,
                may_be_anywhere: false,
                risk: "an order that clients rely on",
            };
        };
        let same_type = kind == Kind::Value;
        let (effect, risk) = match explanation {
            E::SameInstant | E::EqualDecimal | E::SameUuid if same_type => (
                Effect::Harmless,
                "a client that compares the text, or reads one spelling only",
            ),
            // Hexadecimal digits are valid base64 of other bytes, and `PT1H` is no Go duration.
            E::SameBytes | E::SameDuration if same_type => (
                Effect::Lossy,
                "a client that reads the former notation: it gets another value, or none",
            ),
            E::SameInstant
            | E::SameDuration
            | E::EqualDecimal
            | E::SameUuid
            | E::SameBytes
            | E::TypeOnly
            | E::JsonInText
            | E::Wrapped => (
                Effect::Lossy,
                "a typed client that cannot read the other type",
            ),
            E::Echo => (
                Effect::Harmless,
                "nothing that a client sends: the mirror added the header",
            ),
            E::NullVsMissing | E::NullVsEmpty | E::NullVsBlank => (
                Effect::Lossy,
                "a client that tells null, empty and absent apart",
            ),
            E::EmptyVsMissing => (
                Effect::Lossy,
                "a value that is zero, false or empty, where a client demands one or takes absence for something else",
            ),
            E::WhitespaceOnly | E::UnicodeNfc | E::PercentEncoding | E::HtmlEntities => {
                (Effect::Lossy, "a client that shows or compares the text")
            }
            E::NotFinite | E::ByteOrderMark => {
                (Effect::Lossy, "a client that reads the former form")
            }
            E::Renamed | E::OtherName => (
                Effect::Lossy,
                "a client that reads the former name: it finds nothing there",
            ),
            E::EqualDouble => (
                Effect::Lossy,
                "exact integers and decimals: an identifier beyond 2^53 becomes that of something else",
            ),
            E::TruncatedTime | E::Rounded | E::NearDouble => {
                (Effect::Lossy, "digits, and what is added up of them")
            }
            E::SameReading => (
                Effect::Lossy,
                "the offset: it may be another instant by hours",
            ),
            E::ScaledBy1000 | E::ScaledBy10 | E::ScaledBy100 | E::ScaledBy60 | E::ScaledBy1024 => (
                Effect::Lossy,
                "a value that is wrong by that factor, up or down; `scale` accepts one direction only",
            ),
            E::CaseOnly | E::Localized | E::Permutation => {
                (Effect::Lossy, "a client that reads the text")
            }
            E::Mojibake => (Effect::Lossy, "characters"),
            E::Truncated => (Effect::Lossy, "the rest of the text"),
            E::Moved => (Effect::Lossy, "anything"),
        };
        // An identifier of many digits may be another one, and a balance of 0 that is not there may be a lost one.
        let may_lose = matches!(explanation, E::EqualDouble | E::EmptyVsMissing);
        Self {
            meaning: explanation.meaning(),
            effect,
            // Elsewhere a wrong value could pass for it.
            may_be_anywhere: !is_rough(explanation) && !may_lose,
            risk,
        }
    }

    /// What a rule excuses from now on, and what that puts at risk.
    pub(super) fn reach(&self, draft: &Draft, route: Option<&str>) -> String {
        let path = &draft.path;
        let place = match draft.part {
            Part::Body => match (path.strip_prefix("/**"), path.as_str()) {
                (_, "") => "the whole body".to_owned(),
                (Some(""), _) => "any place of a body".to_owned(),
                (Some(end), _) => format!("any place of a body that ends in {end}"),
                (None, _) => format!("{path} of a body"),
            },
            part => format!("the {part} {path}"),
        };
        let route = route.map_or_else(
            || "on any route, also those that come later".to_owned(),
            |route| format!("on {route} only"),
        );
        let what = match (draft.explanation, draft.kind) {
            (None, _) => "every order of elements that are otherwise equal",
            (_, Kind::Missing) => {
                "every field that the candidate lacks and that is near in this way"
            }
            (_, Kind::Extra) => {
                "every field that only the candidate has and that is near in this way"
            }
            (_, Kind::Type) => "every two values of different types that are near in this way",
            _ => "every two values of one type that are near in this way",
        };
        let whatever = if draft.explanation.is_some() {
            ", whatever they are and whichever service has which"
        } else {
            ""
        };
        if let Some(to) = &draft.to {
            return format!(
                "at {place}, {route}: that the candidate calls it {to} and nothing else, where the two values are equal; a value that \
                 differs stays a difference, under both names. At risk: {}",
                self.risk
            );
        }
        format!(
            "at {place}, {route}: {what}{whatever}. At risk: {}",
            self.risk
        )
    }
}

/// Why a group gets no rule; `None` if its explanation may become one.
pub(super) fn why_none(group: &GroupReport) -> Option<&'static str> {
    let other_class = group.legacy_status / 100 != group.candidate_status / 100;
    let why = match (group.part, group.explanation, group.kind) {
        (Part::Status, ..) => "another status code",
        _ if other_class => "it comes with another status code, and means something else then",
        (_, Some(near), _) if near.may_be_chance() => "the explanation may be chance",
        (_, Some(_), _) if group.against > 0 => {
            "other mismatches at the same place contradict the explanation"
        }
        (_, None, Kind::Missing) => "the candidate has lost it",
        (_, None, Kind::Errors) => "the candidate fails where the legacy does not",
        (_, None, Kind::Extra) => {
            "only the candidate has it: a rule would excuse any value there, also a wrong one"
        }
        (Part::Body, None, Kind::Order) if can_be_named(group) => return None,
        (_, None, _) => "nothing explains the other value",
        _ if !can_be_named(group) => "its place cannot be written as it is shown",
        _ => return None,
    };
    Some(why)
}
