//! What is said of a rule from its explanation alone: what a client may notice, whether it may hold at any place, and what is at
//! risk.

use parity_schemas::report::GroupReport;
use parity_schemas::secret::is_secret_name;
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
        let may_lose = matches!(
            explanation,
            // An identifier of many digits may be another one, and a balance of 0 that is not there may be a lost one.
            E::EqualDouble | E::EmptyVsMissing
            // What is decoded once too often, or not at all, is near in the same way.
            | E::PercentEncoding | E::HtmlEntities | E::WhitespaceOnly
            // An identifier with zeros before it is a text, and one beyond 2^53 no number that clients can read.
            | E::TypeOnly
        );
        Self {
            meaning: explanation.meaning(),
            effect: if is_harmless {
                Effect::Harmless
            } else {
                Effect::Lossy
            },
            // Elsewhere a wrong value could pass for it.
            may_be_anywhere: !is_rough(explanation) && !may_lose,
            risk: risk(explanation, same_type),
        }
    }
}

fn risk(explanation: Explanation, same_type: bool) -> &'static str {
    use Explanation as E;
    match explanation {
        E::SameInstant | E::SameUuid if same_type => {
            "a client that compares the text, or reads one spelling only"
        }
        E::EqualDecimal => {
            "a text that is no amount: version 1.10 is another release than 1.1, and so may be a code or an id"
        }
        E::SameBytes | E::SameDuration if same_type => {
            "a client that reads the former notation: it gets another value, or none"
        }
        E::UnixSeconds
        | E::UnixMillis
        | E::UnixMicros
        | E::UnixNanos
        | E::DurationSeconds
        | E::DurationMillis
        | E::DurationMicros
        | E::DurationNanos => {
            "a client that reads the former form, or takes the number for one in another unit"
        }
        E::SameInstant
        | E::SameDuration
        | E::SameUuid
        | E::SameBytes
        | E::JsonInText
        | E::Wrapped => "a typed client that cannot read the other type",
        E::TypeOnly => "a typed client that cannot read the other type, and digits beyond 2^53",
        E::Echo => "nothing that a client sends: the mirror added the header",
        E::NullVsMissing | E::NullVsEmpty | E::NullVsEmptyObject | E::NullVsBlank => {
            "a client that tells null, empty and absent apart"
        }
        E::EmptyVsMissing => {
            "a value that is zero, false or empty, where a client demands one or takes absence for something else"
        }
        E::WhitespaceOnly => {
            "a client that shows or compares the text, or splits it into lines or columns"
        }
        E::UnicodeNfc => "a client that shows or compares the text",
        E::PercentEncoding => {
            "a client that follows or compares the text: what is decoded once too often, or not at all, is another address"
        }
        E::FormEncoding => {
            "a plus sign that became a space: +49 170 is a phone number, 09:30+01:00 a time, and both are broken without it"
        }
        E::HtmlEntities => {
            "a page that shows the text as it is: what was escaped becomes markup, and `<script>` runs; or it is escaped twice"
        }
        E::NotFinite | E::ByteOrderMark => "a client that reads the former form",
        E::Renamed | E::OtherName => "a client that reads the former name: it finds nothing there",
        E::EqualDouble => {
            "exact integers and decimals: an identifier beyond 2^53 becomes that of something else"
        }
        E::TruncatedTime | E::CutUnixSeconds | E::CutUnixMillis | E::CutUnixMicros => {
            "the order of what happened within one unit, and a client that reads the former form"
        }
        E::Rounded | E::CutDecimals | E::NearDouble => "digits, and what is added up of them",
        E::RoundedToTenths | E::CutToTenths => {
            "digits: an amount without its cents, and what is added up of them"
        }
        E::RoundedToWhole | E::CutToWhole => {
            "all that stands behind the decimal point: 5.99 that became 5 or 6"
        }
        E::SameReading | E::AssumedOffset => "the offset: it is another instant, by hours",
        E::AssumedUtc | E::AssumedUtcSeconds | E::AssumedUtcMillis => {
            "the offset: the time without one may be meant in another zone, and is another instant by hours then"
        }
        E::CaseOnly => {
            "a text of which the case counts: another code, password, identifier or path is near in the same way"
        }
        E::Localized | E::Permutation => "a client that reads the text",
        E::Mojibake => "characters",
        E::Truncated => "the rest of the text",
        E::Moved => "anything",
        _ if explanation.is_scale() => {
            "a client that reads the former unit: its amounts are wrong by that factor"
        }
        // Every factor is above.
        _ => "a client that reads the former form",
    }
}

/// Why a group gets no rule; `None` if its explanation may become one.
pub(super) fn why_none(group: &GroupReport) -> Option<&'static str> {
    let other_class = group.legacy_status / 100 != group.candidate_status / 100;
    let why = match (group.part, group.explanation, group.kind) {
        (Part::Status, ..) => "another status code",
        _ if other_class => "it comes with another status code, and means something else then",
        (_, Some(near), _) if near.may_be_chance() => "the explanation may be chance",
        (_, Some(_), _) if is_contradicted(group) => CONTRADICTED,
        (_, None, Kind::Missing) => "the candidate has lost it",
        (_, None, Kind::Errors) => "the candidate fails where the legacy does not",
        (_, None, Kind::Extra) => {
            "only the candidate has it: a rule would excuse any value there, also a wrong one"
        }
        (Part::Body, None, Kind::Order) if can_be_named(group) => return None,
        (_, None, _) => "nothing explains the other value",
        (_, Some(near), _) if near.is_of_text() && is_secret(group) => {
            "its name says that it is secret, and of a secret each character counts"
        }
        _ if !can_be_named(group) => "its place cannot be written as it is shown",
        _ => return None,
    };
    Some(why)
}

/// Whether it stands in something whose name says that it is secret.
fn is_secret(group: &GroupReport) -> bool {
    group.pattern.split('/').any(is_secret_name)
}

/// A `rename` or a `scale` still finds what contradicts it, so only most of the mismatches have to agree: among prices in another
/// unit some are too short to prove the factor (5 and 500), and one that is wrong stays a difference under the rule.
fn is_contradicted(group: &GroupReport) -> bool {
    if is_rename(group) || is_scaled(group) {
        group.against >= group.count
    } else {
        group.against > 0
    }
}

/// Whether a `scale` may say of a group what it is: two numbers, one of them a constant multiple.
pub(super) fn is_scaled(group: &GroupReport) -> bool {
    group.kind == Kind::Value && group.explanation.is_some_and(Explanation::is_scale)
}

/// Said of an explanation that is none for all that differs there.
pub(super) const CONTRADICTED: &str =
    "other mismatches at the same place contradict the explanation";

/// Whether a group says that something has another name.
pub fn is_rename(group: &GroupReport) -> bool {
    matches!(
        group.explanation,
        Some(Explanation::Renamed | Explanation::OtherName)
    ) && matches!(group.kind, Kind::Missing | Kind::Extra)
}
