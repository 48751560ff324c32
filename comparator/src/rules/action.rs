//! What a rule does where it applies.

use parity_schemas::verdict::{Explanation, Kind};

use super::parts::Parts;
use super::pattern::Pattern;
use super::place::Place;
use crate::explain::Nanoseconds;
use crate::notation::number::Decimal;

/// What a rule does where it applies.
///
/// The names of the variants, as `Debug` writes them, are part of the hash of the rules.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Anything counts as equal, presence included.
    Ignore,
    /// What is near in one of these ways counts as equal, as far as the finding would be of this kind.
    Accept(Explanations, Option<Kind>),
    /// An array is a multiset; a header is a set of list elements.
    Unordered,
    /// The elements of an array are told apart by these fields; their order does not count.
    Key(Fields),
    /// Numbers at most this far apart are equal.
    Absolute(Decimal),
    /// Numbers at most this share of the larger one apart are equal.
    Relative(Decimal),
    /// Times at most this far apart are equal.
    Within(Nanoseconds),
    /// The candidate's number is the legacy's times this.
    Scale(Decimal),
    /// Texts are equal but for these parts.
    Parts(Box<Parts>),
    /// Two times with the same instant are equal.
    Timestamp,
    /// Two UUIDs are equal whatever their case.
    Uuid,
    /// A number and a string that holds a number are compared as numbers.
    Number,
    /// The same JSON document, as it is or in a text.
    Json,
    /// The candidate has the value under another name.
    Rename(Box<Rename>),
    /// Something of the above, for a part of a text.
    InText(Box<InText>),
    /// Values are recorded as keyed hashes only.
    Mask,
}

impl Action {
    /// Whether another value may count as equal, and not only another way to write it: what is compared like this is compared
    /// roughly.
    pub(crate) fn is_rough(&self) -> bool {
        match self {
            Self::Absolute(_) | Self::Relative(_) | Self::Within(_) | Self::Parts(_) => true,
            Self::Accept(set, _) => Explanation::ALL
                .iter()
                .any(|explanation| set.contains(*explanation) && is_rough(*explanation)),
            // What is ignored in a text is a part of a value that is compared.
            Self::InText(rule) => matches!(rule.action, Self::Ignore) || rule.action.is_rough(),
            Self::Ignore
            | Self::Rename(_)
            | Self::Unordered
            | Self::Key(_)
            | Self::Scale(_)
            | Self::Timestamp
            | Self::Uuid
            | Self::Number
            | Self::Json
            | Self::Mask => false,
        }
    }

    /// Whether it accepts a finding of this kind that is explained like this.
    pub(crate) fn accepts(&self, kind: Kind, explanation: Explanation) -> bool {
        match self {
            Self::Accept(set, only) => {
                set.contains(explanation) && only.is_none_or(|only| only == kind)
            }
            _ => false,
        }
    }

    /// Whether it makes every finding of this kind equal that is explained like this.
    pub(crate) fn is_met_by(&self, kind: Kind, explanation: Explanation) -> bool {
        self.accepts(kind, explanation) || self.scales(kind, explanation)
    }

    fn scales(&self, kind: Kind, explanation: Explanation) -> bool {
        let Self::Scale(own) = self else {
            return false;
        };
        let factor = factor_of(explanation);
        let factor = factor.and_then(|text| Decimal::parse(text.as_bytes()));
        matches!(kind, Kind::Value | Kind::Type) && factor.as_ref() == Some(own)
    }
}

/// The factor of a `scale` rule for what is explained like this, as decimal text; `None` if there is no factor, or if it has no
/// end as a decimal, as a sixtieth.
pub fn factor_of(explanation: Explanation) -> Option<String> {
    /// Places of the smallest of the usual factors, 1024⁻³.
    const MAX_PLACES: u32 = 30;
    let (factor, is_larger) = explanation.factor()?;
    if is_larger {
        return Some(factor.to_string());
    }
    (1..=MAX_PLACES).find_map(|places| {
        let (one, factor) = (10_u128.pow(places), u128::from(factor));
        let width = places as usize;
        (one % factor == 0).then(|| format!("0.{:0width$}", one / factor))
    })
}

/// Whether a value that is wrong may be explained like this.
pub(crate) fn is_rough(explanation: Explanation) -> bool {
    use Explanation as E;
    explanation.is_scale()
        || matches!(
            explanation,
            E::CutUnixSeconds
                | E::CutUnixMillis
                | E::CutUnixMicros
                | E::TruncatedTime
                | E::Rounded
                | E::RoundedToTenths
                | E::RoundedToWhole
                | E::CutDecimals
                | E::CutToTenths
                | E::CutToWhole
                | E::EqualDecimal
                | E::NearDouble
                | E::SameReading
                | E::AssumedUtc
                | E::AssumedOffset
                | E::AssumedUtcSeconds
                | E::AssumedUtcMillis
                | E::CaseOnly
                | E::FormEncoding
                | E::Localized
                | E::Permutation
                | E::Mojibake
                | E::Truncated
                | E::Moved
                | E::OtherName
        )
}

/// What a rule does with one part of a text.
#[derive(Clone, Debug)]
pub(crate) struct InText {
    pub(crate) place: Place,
    pub(crate) action: Action,
}

/// A name that the candidate has instead of another one.
#[derive(Clone)]
pub(crate) struct Rename {
    /// What the legacy calls it: the end of the rule's path.
    pub(crate) from: Box<str>,
    /// What the candidate calls it.
    pub(crate) to: Box<str>,
    /// Where what holds it is. The walk meets the rule there, because only there both names can be seen.
    pub(crate) holder: Pattern,
}

impl Rename {
    /// Whether the two names are those of cookies: they are held by `set-cookie`, and the names of headers by nothing.
    pub(crate) fn is_of_cookie(&self) -> bool {
        self.holder.is_of_set_cookie()
    }
}

impl std::fmt::Debug for Rename {
    /// Only what the rule's path does not say: this text is part of the hash of the rules.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to.fmt(f)
    }
}

/// The fields that tell the elements of an array apart: together no two elements have the same.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Fields(Box<[Box<str>]>);

impl Fields {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|field| &**field)
    }
}

impl<'a> FromIterator<&'a str> for Fields {
    fn from_iter<I: IntoIterator<Item = &'a str>>(fields: I) -> Self {
        Self(fields.into_iter().map(Box::from).collect())
    }
}

impl std::fmt::Debug for Fields {
    /// One field is written alone, as it always was: this text is part of the hash of the rules.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.0 {
            [field] => field.fmt(f),
            fields => fields.fmt(f),
        }
    }
}

/// A set of explanations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Explanations(u128);

impl Explanations {
    pub(crate) fn contains(self, explanation: Explanation) -> bool {
        self.0 >> explanation as u32 & 1 == 1
    }

    /// Whether any of them says that one side has nothing.
    pub(crate) fn of_absence(self) -> bool {
        use Explanation::{Echo, EmptyVsMissing, NullVsMissing, Renamed};
        [Echo, EmptyVsMissing, NullVsMissing, Renamed]
            .into_iter()
            .any(|explanation| self.contains(explanation))
    }
}

impl FromIterator<Explanation> for Explanations {
    fn from_iter<I: IntoIterator<Item = Explanation>>(explanations: I) -> Self {
        let bits = explanations.into_iter().map(|word| 1_u128 << word as u32);
        Self(bits.fold(0, |set, bit| set | bit))
    }
}

impl std::fmt::Debug for Explanations {
    /// In words: this text is part of the hash of the rules, which the position of a word must not change.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words: Vec<&str> = Explanation::ALL
            .iter()
            .filter(|explanation| self.contains(**explanation))
            .map(|explanation| explanation.as_str())
            .collect();
        words.sort_unstable();
        f.debug_list().entries(words).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_exact_or_none() {
        use Explanation as E;
        for (explanation, factor) in [
            (E::ScaledBy100, Some("100")),
            (E::DividedBy10, Some("0.1")),
            (E::DividedBy1000, Some("0.001")),
            (E::DividedBy1024, Some("0.0009765625")),
            (
                E::DividedBy1073741824,
                Some("0.000000000931322574615478515625"),
            ),
            (E::ScaledBy3600, Some("3600")),
            (E::DividedBy60, None),
            (E::DividedBy3600, None),
            (E::Rounded, None),
        ] {
            assert_eq!(factor_of(explanation).as_deref(), factor, "{explanation}");
        }
    }
}
