//! How two values that differ are near each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// How two values are near each other although they are not equal. Of several, the first in this order.
    Explanation as "explanation" {
        /// Two spellings of one instant, such as `.12Z` and `.120Z`.
        SameInstant = "same_instant" => "the same instant, spelt in another way",
        /// One time is the other cut to fewer fractional digits.
        TruncatedTime = "truncated_time" => "the same time cut to fewer fractional digits",
        /// The same date and time of day under another offset, or without one on one side: not the same instant, or
        /// not provably.
        SameReading = "same_reading" => "the same date and time of day, under another offset or without one",
        /// Two spellings of one duration, such as `PT1.5S`, `1.5s`, `{"secs":1,"nanos":500000000}` and 1500000000.
        SameDuration = "same_duration" => "the same duration, spelt in another way",
        /// Two spellings of one decimal, as strings, such as `"1.10"` and `"1.1"`.
        EqualDecimal = "equal_decimal" => "the same decimal, spelt in another way",
        /// Different decimals that are the same IEEE 754 double.
        EqualDouble = "equal_double" => "the same double: one side went through floating point",
        /// Doubles at most four units in the last place apart: the same calculation, rounded at other points.
        NearDouble = "near_double" => "neighbouring doubles: calculated or rounded in another way",
        /// `null`, a word such as `"NaN"`, or a number too large for a double: a double that JSON has no number for.
        NotFinite = "not_finite" => "not a number or infinite: JSON has no number for it",
        /// `null` on one side, absent on the other.
        NullVsMissing = "null_vs_missing" => "null on one side, absent on the other",
        /// `null` on one side, `[]` or `{}` on the other.
        NullVsEmpty = "null_vs_empty" => "null on one side, empty on the other",
        /// `null` on one side, `""` on the other.
        NullVsBlank = "null_vs_blank" => "null on one side, an empty text on the other",
        /// `0`, `false`, `""`, `[]`, `{}` on one side, absent on the other (Go's omitempty).
        EmptyVsMissing = "empty_vs_missing" => "a zero or empty value on one side, absent on the other",
        /// The same value in another JSON type, such as `1` and `"1"`, or `1` and `true`.
        TypeOnly = "type_only" => "the same value in another JSON type",
        /// Two spellings of one UUID.
        SameUuid = "same_uuid" => "the same UUID, spelt in another way",
        /// Equal but for letter case.
        CaseOnly = "case_only" => "equal but for letter case",
        /// Equal but for white space.
        WhitespaceOnly = "whitespace_only" => "equal but for white space",
        /// Equal after Unicode normalization to NFC.
        UnicodeNfc = "unicode_nfc" => "equal after Unicode normalization",
        /// The same bytes in two encodings: base64 in either alphabet, hexadecimal, plain text, an array of numbers,
        /// Node's `Buffer`.
        SameBytes = "same_bytes" => "the same bytes in another encoding",
        /// Equal but for percent-encoding, or for one that was done twice.
        PercentEncoding = "percent_encoding" => "equal but for percent-encoding",
        /// Equal but for HTML entities, or for ones that were escaped twice.
        HtmlEntities = "html_entities" => "equal but for HTML entities",
        /// The same text through the wrong character encoding: `é` as `Ã©`, U+FFFD or `?`.
        Mojibake = "mojibake" => "the same text through the wrong character encoding",
        /// One number is the other times a power of 1000: seconds and milliseconds.
        ScaledBy1000 = "scaled_by_1000" => "one is the other times a power of 1000",
        /// One number is the other rounded to fewer decimal places.
        Rounded = "rounded" => "one is the other rounded",
        /// A text that lists the same elements in another order.
        Permutation = "permutation" => "the same elements in another order",
        /// One text is the beginning of the other.
        Truncated = "truncated" => "one is the beginning of the other",
        /// The same fields under names in another case style.
        Renamed = "renamed" => "the same value under another field name",
        /// One number is the other times 10, with two digits or more before the factor.
        ScaledBy10 = "scaled_by_10" => "one is the other times 10",
        /// One number is the other times 100: euros and cents, a share and per cent.
        ScaledBy100 = "scaled_by_100" => "one is the other times 100",
        /// One number is the other times 60 or 3600: hours, minutes and seconds.
        ScaledBy60 = "scaled_by_60" => "one is the other times 60 or 3600",
        /// One number is the other times a power of 1024: bytes and kibibytes.
        ScaledBy1024 = "scaled_by_1024" => "one is the other times a power of 1024",
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
    /// Whether two values of one JSON type are only spelt in another way: a client that reads them by what they are, a time, a
    /// decimal or a UUID, cannot tell.
    ///
    /// Bytes and durations in another notation are not: hexadecimal digits are valid base64 of other bytes, and `PT1H` is no
    /// Go duration. Nor are texts that differ in white space, in Unicode or in letter case: clients show and compare them.
    pub const fn is_spelling(self) -> bool {
        matches!(
            self,
            Self::SameInstant | Self::EqualDecimal | Self::SameUuid
        )
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
}
