//! How two values that differ are near each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// How two values are near each other although they are not equal. Of several, the first in this order.
    Explanation as "explanation" {
        /// Two spellings of one instant, such as `.12Z` and `.120Z`.
        SameInstant = "same_instant" => "the same instant, spelt in another way",
        /// A time as a text and as a number of seconds since 1970, or the parts of a time and that number. Each unit has a word of
        /// its own: 1772357412000 where all else is in seconds is a fault.
        UnixSeconds = "unix_seconds" => "the same instant, on one side as a number of seconds since 1970",
        /// The same in milliseconds.
        UnixMillis = "unix_millis" => "the same instant, on one side as a number of milliseconds since 1970",
        /// The same in microseconds.
        UnixMicros = "unix_micros" => "the same instant, on one side as a number of microseconds since 1970",
        /// The same in nanoseconds.
        UnixNanos = "unix_nanos" => "the same instant, on one side as a number of nanoseconds since 1970",
        /// A time, and a number of whole seconds since 1970 that it was cut to.
        CutUnixSeconds = "cut_unix_seconds" => "the same time, on one side cut to a number of seconds since 1970",
        /// The same in milliseconds.
        CutUnixMillis = "cut_unix_millis" => "the same time, on one side cut to a number of milliseconds since 1970",
        /// The same in microseconds.
        CutUnixMicros = "cut_unix_micros" => "the same time, on one side cut to a number of microseconds since 1970",
        /// One time is the other cut to fewer fractional digits.
        TruncatedTime = "truncated_time" => "the same time cut to fewer fractional digits",
        /// The same date and time of day under another offset: not the same instant.
        SameReading = "same_reading" => "the same date and time of day under another offset",
        /// The same date and time of day, without an offset on one side and in UTC on the other: not provably the same instant.
        AssumedUtc = "assumed_utc" => "the same date and time of day, in UTC on one side and without an offset on the other",
        /// The same under an offset that is not zero.
        AssumedOffset = "assumed_offset" => "the same date and time of day, under an offset on one side and without one on the other",
        /// A time without an offset, and a number of seconds since 1970 that it is if it is meant in UTC.
        AssumedUtcSeconds = "assumed_utc_seconds" => "a time without an offset, and a number of seconds since 1970 that it is in UTC",
        /// The same in milliseconds.
        AssumedUtcMillis = "assumed_utc_millis" => "a time without an offset, and a number of milliseconds since 1970 that it is in UTC",
        /// Two spellings of one duration, such as `PT1.5S`, `1.5s` and `{"secs":1,"nanos":500000000}`; or none at all, and 0.
        SameDuration = "same_duration" => "the same duration, spelt in another way",
        /// The same duration, on one side as a number of seconds. Each unit has a word of its own, as with times.
        DurationSeconds = "duration_seconds" => "the same duration, on one side as a number of seconds",
        /// The same in milliseconds.
        DurationMillis = "duration_millis" => "the same duration, on one side as a number of milliseconds",
        /// The same in microseconds.
        DurationMicros = "duration_micros" => "the same duration, on one side as a number of microseconds",
        /// The same in nanoseconds.
        DurationNanos = "duration_nanos" => "the same duration, on one side as a number of nanoseconds",
        /// Two spellings of one decimal, as strings, such as `"1.10"` and `"1.1"`: two amounts are the same, two versions are not.
        EqualDecimal = "equal_decimal" => "the same decimal, spelt in another way",
        /// Different decimals that are the same IEEE 754 double.
        EqualDouble = "equal_double" => "the same double: one side went through floating point",
        /// Doubles at most four units in the last place apart: the same calculation, rounded at other points.
        NearDouble = "near_double" => "neighbouring doubles: calculated or rounded in another way",
        /// `null`, a word such as `"NaN"`, or a number too large for a double: a double that JSON has no number for.
        NotFinite = "not_finite" => "not a number or infinite: JSON has no number for it",
        /// `null` on one side, absent on the other.
        NullVsMissing = "null_vs_missing" => "null on one side, absent on the other",
        /// `null` on one side, `[]` on the other.
        NullVsEmpty = "null_vs_empty" => "null on one side, empty on the other",
        /// `null` on one side, `{}` on the other.
        NullVsEmptyObject = "null_vs_empty_object" => "null on one side, an empty object on the other",
        /// `null` on one side, `""` on the other.
        NullVsBlank = "null_vs_blank" => "null on one side, an empty text on the other",
        /// `0`, `false`, `""`, `[]`, `{}` on one side, absent on the other (Go's omitempty).
        EmptyVsMissing = "empty_vs_missing" => "a zero or empty value on one side, absent on the other",
        /// The same value in another JSON type, such as `1` and `"1"`, or `true` and `"true"`. `1` and `true` are two values.
        TypeOnly = "type_only" => "the same value in another JSON type",
        /// Two spellings of one UUID.
        SameUuid = "same_uuid" => "the same UUID, spelt in another way",
        /// Equal but for letter case.
        CaseOnly = "case_only" => "equal but for letter case",
        /// Equal but for how much white space stands between the same words, and at the ends.
        WhitespaceOnly = "whitespace_only" => "equal but for white space",
        /// Equal after Unicode normalization to NFC.
        UnicodeNfc = "unicode_nfc" => "equal after Unicode normalization",
        /// The same bytes in two encodings: base64 in either alphabet, hexadecimal, plain text, an array of numbers,
        /// Node's `Buffer`.
        SameBytes = "same_bytes" => "the same bytes in another encoding",
        /// Equal but for percent-encoding, or for one that was done twice.
        PercentEncoding = "percent_encoding" => "equal but for percent-encoding",
        /// Equal but for the encoding of forms, which has `+` for a space: of `+49170` the plus may be lost.
        FormEncoding = "form_encoding" => "equal but for the encoding of forms: a plus on one side, a space on the other",
        /// Equal but for HTML entities, or for ones that were escaped twice.
        HtmlEntities = "html_entities" => "equal but for HTML entities",
        /// The same text through the wrong character encoding: `é` as `Ã©`, U+FFFD or `?`.
        Mojibake = "mojibake" => "the same text through the wrong character encoding",
        /// The candidate's number is the legacy's times 1000: seconds and milliseconds.
        ScaledBy1000 = "scaled_by_1000" => "the candidate's is the legacy's times 1000",
        /// One number is the other rounded to two decimal places or more.
        Rounded = "rounded" => "one is the other rounded",
        /// One number is the other rounded to one decimal place.
        RoundedToTenths = "rounded_to_tenths" => "one is the other rounded to one decimal place",
        /// One number is the other rounded to a whole number.
        RoundedToWhole = "rounded_to_whole" => "one is the other rounded to a whole number",
        /// One number is the other with decimal places dropped, but for two or more.
        CutDecimals = "cut_decimals" => "one is the other with decimal places cut off",
        /// One number is the other with all decimal places dropped but one.
        CutToTenths = "cut_to_tenths" => "one is the other with all decimal places cut off but one",
        /// One number is the other with all decimal places dropped: 5.99 and 5.
        CutToWhole = "cut_to_whole" => "one is the other with all decimal places cut off",
        /// A text that lists the same elements in another order.
        Permutation = "permutation" => "the same elements in another order",
        /// One text is the beginning of the other.
        Truncated = "truncated" => "one is the beginning of the other",
        /// The same fields under names in another case style.
        Renamed = "renamed" => "the same value under another field name",
        /// The candidate's number is the legacy's times 10, with two digits or more before the factor.
        ScaledBy10 = "scaled_by_10" => "the candidate's is the legacy's times 10",
        /// The candidate's number is the legacy's times 100: euros and cents, a share and per cent.
        ScaledBy100 = "scaled_by_100" => "the candidate's is the legacy's times 100",
        /// The candidate's number is the legacy's times 60: minutes and seconds.
        ScaledBy60 = "scaled_by_60" => "the candidate's is the legacy's times 60",
        /// The candidate's number is the legacy's times 3600: hours and seconds.
        ScaledBy3600 = "scaled_by_3600" => "the candidate's is the legacy's times 3600",
        /// The candidate's number is the legacy's times a million: seconds and microseconds.
        ScaledBy1000000 = "scaled_by_1000000" => "the candidate's is the legacy's times 1000000",
        /// The candidate's number is the legacy's times a billion: seconds and nanoseconds.
        ScaledBy1000000000 = "scaled_by_1000000000" => "the candidate's is the legacy's times 1000000000",
        /// The candidate's number is the legacy's times 1024: kibibytes and bytes.
        ScaledBy1024 = "scaled_by_1024" => "the candidate's is the legacy's times 1024",
        /// The candidate's number is the legacy's times 1024²: mebibytes and bytes.
        ScaledBy1048576 = "scaled_by_1048576" => "the candidate's is the legacy's times 1048576",
        /// The candidate's number is the legacy's times 1024³: gibibytes and bytes.
        ScaledBy1073741824 = "scaled_by_1073741824" => "the candidate's is the legacy's times 1073741824",
        /// The legacy's number is the candidate's times 10.
        DividedBy10 = "divided_by_10" => "the legacy's is the candidate's times 10",
        /// The legacy's number is the candidate's times 100.
        DividedBy100 = "divided_by_100" => "the legacy's is the candidate's times 100",
        /// The legacy's number is the candidate's times 1000.
        DividedBy1000 = "divided_by_1000" => "the legacy's is the candidate's times 1000",
        /// The legacy's number is the candidate's times 1000000.
        DividedBy1000000 = "divided_by_1000000" => "the legacy's is the candidate's times 1000000",
        /// The legacy's number is the candidate's times 1000000000.
        DividedBy1000000000 = "divided_by_1000000000" => "the legacy's is the candidate's times 1000000000",
        /// The legacy's number is the candidate's times 60.
        DividedBy60 = "divided_by_60" => "the legacy's is the candidate's times 60",
        /// The legacy's number is the candidate's times 3600.
        DividedBy3600 = "divided_by_3600" => "the legacy's is the candidate's times 3600",
        /// The legacy's number is the candidate's times 1024.
        DividedBy1024 = "divided_by_1024" => "the legacy's is the candidate's times 1024",
        /// The legacy's number is the candidate's times 1048576.
        DividedBy1048576 = "divided_by_1048576" => "the legacy's is the candidate's times 1048576",
        /// The legacy's number is the candidate's times 1073741824.
        DividedBy1073741824 = "divided_by_1073741824" => "the legacy's is the candidate's times 1073741824",
        /// A number or a date as people of another language write it: `1.234,56` and `1,234.56`, `3 mars` and `3 March`.
        Localized = "localized" => "the same number or date in the spelling of another language",
        /// A value, and a list of only that value.
        Wrapped = "wrapped" => "a value on one side, a list of only that value on the other",
        /// A JSON document, and a text that holds that document; or two texts that hold the same document.
        JsonInText = "json_in_text" => "the same JSON, as a text on one side or spelt in another way inside of a text",
        /// The candidate repeats a header that only its request had, because the mirror added it.
        Echo = "echo" => "the candidate repeats the header by which the mirror marks its request",
        /// What one side lacks stands elsewhere in its answer, or under another name. Could be chance: two fields may have
        /// one value.
        Moved = "moved" => "the same value at another place or under another name, unless that is chance",
        /// Only one of two JSON documents begins with a byte order mark, which many parsers refuse.
        ByteOrderMark = "byte_order_mark" => "a byte order mark on one side only",
        /// All values of a column stand under another name, or a header does: other than in `renamed`, the two names need not be
        /// alike.
        OtherName = "other_name" => "the same column or header under another name",
    }
}

impl Explanation {
    /// Whether two values of one JSON type are only spelt in another way: a client that reads them by what they are, a time or a
    /// UUID, cannot tell.
    ///
    /// Two texts with one decimal are not: `"12.50"` and `"12.5"` are one amount, `"1.10"` and `"1.1"` two versions, and nothing in
    /// a text says which it is.
    /// Bytes and durations in another notation are not: hexadecimal digits are valid base64 of other bytes, and `PT1H` is no
    /// Go duration. Nor are texts that differ in white space, in Unicode or in letter case: clients show and compare them.
    pub const fn is_spelling(self) -> bool {
        matches!(self, Self::SameInstant | Self::SameUuid)
    }

    /// Whether two values may fit it although they have nothing to do with each other, each time anew. So it says where to look, and
    /// excuses nothing.
    pub const fn may_be_chance(self) -> bool {
        matches!(self, Self::Moved)
    }

    /// Whether a rule can accept it. Not so what is known only when all of an answer is compared.
    pub const fn can_be_accepted(self) -> bool {
        !matches!(self, Self::Moved | Self::OtherName)
    }

    /// Whether two texts that differ may be near like this: where each character counts, they are two values.
    pub const fn is_of_text(self) -> bool {
        matches!(
            self,
            Self::EqualDecimal
                | Self::EqualDouble
                | Self::TypeOnly
                | Self::CaseOnly
                | Self::WhitespaceOnly
                | Self::UnicodeNfc
                | Self::SameBytes
                | Self::PercentEncoding
                | Self::FormEncoding
                | Self::HtmlEntities
                | Self::Mojibake
                | Self::Permutation
                | Self::Truncated
                | Self::Localized
        )
    }

    /// What it is with the two sides exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        let pair = FACTORS.iter().find_map(|(_, up, down)| match self {
            _ if self == *up => Some(*down),
            _ if self == *down => Some(*up),
            _ => None,
        });
        pair.unwrap_or(self)
    }

    /// That the candidate's number is the legacy's times one of the usual [`FACTORS`], or the reverse.
    pub fn is_scale(self) -> bool {
        self.reversed() != self
    }

    /// The factor between the two numbers, and whether the candidate's is the larger one; `None` if they have none.
    pub fn factor(self) -> Option<(u32, bool)> {
        FACTORS.iter().find_map(|(factor, up, down)| {
            let is_larger = self == *up;
            (is_larger || self == *down).then_some((*factor, is_larger))
        })
    }

    /// How many mismatches at one place, in the majority, make another explanation there doubtful: `share` of them for each that
    /// has `other`. `None` if both may hold side by side.
    ///
    /// A rewrite changes a unit, a factor, an offset or a number of digits in all of its answers. The few that have another one are
    /// faults, although what explains them is as true of their values.
    pub fn contradicts(self, other: Self) -> Option<u64> {
        let (one, two) = (Variant::of(self)?, Variant::of(other)?);
        match (one, two) {
            _ if one == two => None,
            // What keeps more digits also keeps few, where the others are zeros.
            (Variant::Digits(own), Variant::Digits(rest)) if own != rest => {
                (own > rest).then_some(1)
            }
            // Half of all numbers that are cut look rounded, too. Hardly one that is rounded is cut.
            (Variant::Digits(_), Variant::Cut(places)) if places == one.places() => Some(4),
            (Variant::Digits(_) | Variant::Cut(_), Variant::Digits(_) | Variant::Cut(_)) => {
                (one.places() > two.places()).then_some(1)
            }
            _ => (std::mem::discriminant(&one) == std::mem::discriminant(&two)).then_some(1),
        }
    }
}

/// The usual factors between two units, and what says that the candidate's number is larger or smaller by them.
pub const FACTORS: [(u32, Explanation, Explanation); 10] = {
    use Explanation as E;
    [
        (10, E::ScaledBy10, E::DividedBy10),
        (100, E::ScaledBy100, E::DividedBy100),
        (1_000, E::ScaledBy1000, E::DividedBy1000),
        (1_000_000, E::ScaledBy1000000, E::DividedBy1000000),
        (1_000_000_000, E::ScaledBy1000000000, E::DividedBy1000000000),
        (60, E::ScaledBy60, E::DividedBy60),
        (3_600, E::ScaledBy3600, E::DividedBy3600),
        (1_024, E::ScaledBy1024, E::DividedBy1024),
        (1_048_576, E::ScaledBy1048576, E::DividedBy1048576),
        (1_073_741_824, E::ScaledBy1073741824, E::DividedBy1073741824),
    ]
};

/// What explanations of one sort differ in, and the values prove.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// The power of 1000 by which a number of seconds is divided: of an instant.
    Unix(u8),
    /// The same of a duration.
    Duration(u8),
    /// The offset of a time.
    Offset(Explanation),
    /// The factor and its direction.
    Factor(Explanation),
    /// Decimal places that are left of a number that was rounded, two for more.
    Digits(u8),
    /// The same of one that was cut.
    Cut(u8),
    /// What stands for null.
    Empty(Explanation),
    /// The encoding of a URL.
    Escape(Explanation),
}

impl Variant {
    fn of(word: Explanation) -> Option<Self> {
        use Explanation as E;
        Some(match word {
            E::UnixSeconds | E::CutUnixSeconds | E::AssumedUtcSeconds => Self::Unix(0),
            E::UnixMillis | E::CutUnixMillis | E::AssumedUtcMillis => Self::Unix(1),
            E::UnixMicros | E::CutUnixMicros => Self::Unix(2),
            E::UnixNanos => Self::Unix(3),
            E::DurationSeconds => Self::Duration(0),
            E::DurationMillis => Self::Duration(1),
            E::DurationMicros => Self::Duration(2),
            E::DurationNanos => Self::Duration(3),
            E::SameReading | E::AssumedUtc | E::AssumedOffset => Self::Offset(word),
            E::Rounded => Self::Digits(2),
            E::RoundedToTenths => Self::Digits(1),
            E::RoundedToWhole => Self::Digits(0),
            E::CutDecimals => Self::Cut(2),
            E::CutToTenths => Self::Cut(1),
            E::CutToWhole => Self::Cut(0),
            E::NullVsEmpty | E::NullVsEmptyObject | E::NullVsBlank => Self::Empty(word),
            E::PercentEncoding | E::FormEncoding => Self::Escape(word),
            _ if word.is_scale() => Self::Factor(word),
            _ => return None,
        })
    }

    const fn places(self) -> u8 {
        match self {
            Self::Digits(places) | Self::Cut(places) => places,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Explanation as E;

    #[test]
    fn only_a_factor_has_a_direction_and_each_has_its_opposite() {
        for word in Explanation::ALL {
            let back = word.reversed();
            assert_eq!(back.reversed(), *word);
            let named = ["scaled_by_", "divided_by_"];
            let is_named = named.iter().any(|begin| word.as_str().starts_with(begin));
            assert_eq!(word.is_scale(), is_named, "{word}");
        }
        for (factor, up, down) in FACTORS {
            assert_eq!(up.as_str(), format!("scaled_by_{factor}"));
            assert_eq!(down.as_str(), format!("divided_by_{factor}"));
            assert_eq!(up.factor(), Some((factor, true)));
            assert_eq!(down.factor(), Some((factor, false)));
        }
    }

    #[test]
    fn another_unit_factor_offset_or_number_of_digits_is_contradicted_by_the_majority() {
        for (most, few, share) in [
            (E::UnixSeconds, E::UnixMillis, Some(1)),
            (E::UnixMillis, E::UnixSeconds, Some(1)),
            (E::CutUnixSeconds, E::UnixMillis, Some(1)),
            (E::CutUnixSeconds, E::UnixSeconds, None),
            (E::DurationSeconds, E::DurationMillis, Some(1)),
            (E::DurationMillis, E::SameDuration, None),
            (E::DurationSeconds, E::UnixMillis, None),
            (E::ScaledBy100, E::DividedBy100, Some(1)),
            (E::ScaledBy1000, E::ScaledBy1000000, Some(1)),
            (E::ScaledBy60, E::ScaledBy3600, Some(1)),
            (E::AssumedUtc, E::AssumedOffset, Some(1)),
            (E::NullVsEmpty, E::NullVsEmptyObject, Some(1)),
            (E::PercentEncoding, E::FormEncoding, Some(1)),
            // Some of what is rounded to cents has a zero there.
            (E::Rounded, E::RoundedToWhole, Some(1)),
            (E::RoundedToWhole, E::Rounded, None),
            (E::Rounded, E::CutDecimals, Some(4)),
            (E::CutDecimals, E::Rounded, None),
            (E::Rounded, E::CutToWhole, Some(1)),
            (E::CutDecimals, E::RoundedToWhole, Some(1)),
            (E::CutToWhole, E::RoundedToWhole, None),
            (E::Rounded, E::NullVsEmpty, None),
            (E::Rounded, E::Rounded, None),
            (E::CaseOnly, E::WhitespaceOnly, None),
        ] {
            assert_eq!(most.contradicts(few), share, "{most} {few}");
        }
    }
}
