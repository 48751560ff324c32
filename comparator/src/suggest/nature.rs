//! What is said of a rule from its explanation alone: what a client may notice, whether it may hold at any place, and what is at
//! risk.

use parity_schemas::report::GroupReport;
use parity_schemas::suggested::Effect;
use parity_schemas::verdict::{Explanation, Kind, Part};

use super::can_be_named;
use crate::rules::is_rough;

/// What follows from kind and explanation.
pub(super) struct Nature {
    pub(super) meaning: &'static str,
    pub(super) effect: Effect,
    /// A rule may also hold at places and on routes that were not seen. Not so where a wrong value could pass for the
    /// explanation: then each place is a decision of its own.
    pub(super) may_be_anywhere: bool,
    /// What is at risk.
    pub(super) risk: &'static str,
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
        // The mirror itself added the header that is echoed.
        let is_harmless = (same_type && explanation.is_spelling()) || explanation == E::Echo;
        let risk = match explanation {
            E::SameInstant | E::EqualDecimal | E::SameUuid if same_type => {
                "a client that compares the text, or reads one spelling only"
            }
            E::SameBytes | E::SameDuration if same_type => {
                "a client that reads the former notation: it gets another value, or none"
            }
            E::SameInstant
            | E::SameDuration
            | E::EqualDecimal
            | E::SameUuid
            | E::SameBytes
            | E::TypeOnly
            | E::JsonInText
            | E::Wrapped => "a typed client that cannot read the other type",
            E::Echo => "nothing that a client sends: the mirror added the header",
            E::NullVsMissing | E::NullVsEmpty | E::NullVsBlank => {
                "a client that tells null, empty and absent apart"
            }
            E::EmptyVsMissing => {
                "a value that is zero, false or empty, where a client demands one or takes absence for something else"
            }
            E::WhitespaceOnly | E::UnicodeNfc | E::PercentEncoding | E::HtmlEntities => {
                "a client that shows or compares the text"
            }
            E::NotFinite | E::ByteOrderMark => "a client that reads the former form",
            E::Renamed | E::OtherName => {
                "a client that reads the former name: it finds nothing there"
            }
            E::EqualDouble => {
                "exact integers and decimals: an identifier beyond 2^53 becomes that of something else"
            }
            E::TruncatedTime | E::Rounded | E::NearDouble => "digits, and what is added up of them",
            E::SameReading => "the offset: it may be another instant by hours",
            E::ScaledBy1000 | E::ScaledBy10 | E::ScaledBy100 | E::ScaledBy60 | E::ScaledBy1024 => {
                "a value that is wrong by that factor, up or down; `scale` accepts one direction only"
            }
            E::CaseOnly | E::Localized | E::Permutation => "a client that reads the text",
            E::Mojibake => "characters",
            E::Truncated => "the rest of the text",
            E::Moved => "anything",
        };
        // An identifier of many digits may be another one, and a balance of 0 that is not there may be a lost one.
        let may_lose = matches!(explanation, E::EqualDouble | E::EmptyVsMissing);
        Self {
            meaning: explanation.meaning(),
            effect: if is_harmless {
                Effect::Harmless
            } else {
                Effect::Lossy
            },
            // Elsewhere a wrong value could pass for it.
            may_be_anywhere: !is_rough(explanation) && !may_lose,
            risk,
        }
    }
}

/// Why a group gets no rule; `None` if its explanation may become one.
pub(super) fn why_none(group: &GroupReport) -> Option<&'static str> {
    let other_class = group.legacy_status / 100 != group.candidate_status / 100;
    let why = match (group.part, group.explanation, group.kind) {
        (Part::Status, ..) => "another status code",
        _ if other_class => "it comes with another status code, and means something else then",
        (_, Some(near), _) if near.may_be_chance() => "the explanation may be chance",
        (_, Some(_), _) if is_contradicted(group) => {
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

/// A `rename` still finds what contradicts it, so only most of the mismatches have to agree.
fn is_contradicted(group: &GroupReport) -> bool {
    if is_rename(group) {
        group.against >= group.count
    } else {
        group.against > 0
    }
}

/// Whether a group says that something has another name.
pub fn is_rename(group: &GroupReport) -> bool {
    matches!(
        group.explanation,
        Some(Explanation::Renamed | Explanation::OtherName)
    ) && matches!(group.kind, Kind::Missing | Kind::Extra)
}
