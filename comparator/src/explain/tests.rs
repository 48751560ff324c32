//! Every relation, with the sides in both orders.

use parity_schemas::verdict::Explanation as E;

use super::*;
use crate::notation::index::{Index, Layout, ROOT};

fn near_of(one: &str, two: &str) -> Option<E> {
    let (mut first, mut second) = (Index::default(), Index::default());
    let one = first
        .read(one.as_bytes(), Layout::Document, 9)
        .expect("JSON");
    let two = second
        .read(two.as_bytes(), Layout::Document, 9)
        .expect("JSON");
    values(one, ROOT, two, ROOT)
}

fn check(cases: &[(&str, &str, Option<E>)]) {
    for (one, two, expected) in cases {
        assert_eq!(near_of(one, two), *expected, "{one} {two}");
        let back = expected.map(E::reversed);
        assert_eq!(near_of(two, one), back, "{two} {one}");
    }
}

/// The same for strings, written here without quotes.
fn check_texts(cases: &[(&str, &str, Option<E>)]) {
    for (one, two, expected) in cases {
        assert_eq!(
            texts(one.as_bytes(), two.as_bytes()),
            *expected,
            "{one} {two}"
        );
        assert_eq!(
            texts(two.as_bytes(), one.as_bytes()),
            expected.map(E::reversed),
            "{two} {one}"
        );
    }
}

#[test]
fn times_and_durations() {
    check_texts(&[
        (
            "2020-01-02T03:04:05.12Z",
            "2020-01-02T03:04:05.120Z",
            Some(E::SameInstant),
        ),
        (
            "2020-01-02T03:04:05Z",
            "Thu, 02 Jan 2020 03:04:05 GMT",
            Some(E::SameInstant),
        ),
        ("2020-01-02T03:04:05Z", "1577934245", Some(E::UnixSeconds)),
        ("2020-01-02T03:04:05Z", "1577934245000", Some(E::UnixMillis)),
        (
            "2020-01-02T03:04:05.123456Z",
            "2020-01-02T03:04:05.123Z",
            Some(E::TruncatedTime),
        ),
        (
            "2020-01-02T03:04:05",
            "2020-01-02T03:04:05Z",
            Some(E::AssumedUtc),
        ),
        (
            "2020-01-02T03:04:05",
            "2020-01-02T03:04:05+05:00",
            Some(E::AssumedOffset),
        ),
        (
            "2020-01-02T03:04:05+01:00",
            "2020-01-02T03:04:05Z",
            Some(E::SameReading),
        ),
        ("2020-01-02", "2020-01-02T00:00:00Z", Some(E::Truncated)),
        ("2020-01-02T03:04:05Z", "2020-01-02T04:04:05Z", None),
        ("PT36H", "P1DT12H", Some(E::SameDuration)),
        ("PT1.5S", "1.5s", Some(E::SameDuration)),
        ("PT1.5S", "PT1.4S", None),
    ]);
}

#[test]
fn times_in_other_types() {
    check(&[
        (
            r#""2020-01-02T03:04:05Z""#,
            "1577934245",
            Some(E::UnixSeconds),
        ),
        (
            r#""2020-01-02T03:04:05Z""#,
            "1577934245000",
            Some(E::UnixMillis),
        ),
        (
            r#""2020-01-02T03:04:05Z""#,
            "1577934245000000",
            Some(E::UnixMicros),
        ),
        (
            r#""2020-01-02T03:04:05Z""#,
            "1577934245000000000",
            Some(E::UnixNanos),
        ),
        (
            r#""2020-01-02T03:04:05""#,
            "1577934245",
            Some(E::AssumedUtcSeconds),
        ),
        (
            r#""2020-01-02T03:04:05""#,
            "1577934245000",
            Some(E::AssumedUtcMillis),
        ),
        (r#""2020-01-02T03:04:05""#, "1577934245000000", None),
        (
            r#""2020-01-02T03:04:05.12Z""#,
            "1577934245.120000000",
            Some(E::UnixSeconds),
        ),
        (
            r#""2020-01-02T03:04:05.123Z""#,
            "1577934245",
            Some(E::CutUnixSeconds),
        ),
        (
            r#""2020-01-02T03:04:05.123456Z""#,
            "1577934245123",
            Some(E::CutUnixMillis),
        ),
        (
            r#""2020-01-02T03:04:05.12Z""#,
            r#"{"secs_since_epoch":1577934245,"nanos_since_epoch":120000000}"#,
            Some(E::SameInstant),
        ),
        (
            "1577934245120",
            r#"{"secs_since_epoch":1577934245,"nanos_since_epoch":120000000}"#,
            Some(E::UnixMillis),
        ),
        (
            r#""2020-01-02T03:04:05.12Z""#,
            r#"{"seconds":1577934245,"nanos":120000000}"#,
            Some(E::SameInstant),
        ),
        (
            r#""2020-01-02T03:04:05.12""#,
            "[2020,1,2,3,4,5,120000000]",
            Some(E::SameInstant),
        ),
        (
            r#""2020-01-02T03:04:00""#,
            "[2020,1,2,3,4]",
            Some(E::SameInstant),
        ),
        (r#""2020-01-02""#, "[2020,1,2]", Some(E::SameInstant)),
        (
            r#""2020-01-02T03:04:05.12Z""#,
            "[2020,2,3,4,5,120000000,0,0,0]",
            Some(E::SameInstant),
        ),
    ]);
}

#[test]
fn durations_in_other_types() {
    check(&[
        ("1500000000", "[1,500000000]", Some(E::DurationNanos)),
        (r#""PT1.5S""#, "[1,500000000]", Some(E::SameDuration)),
        (
            r#""1.500000000""#,
            "[1,500000000]",
            Some(E::DurationSeconds),
        ),
        ("1", "[1,0]", None),
        // A naive time in parts is not an instant either.
        (r#""2020-01-02T03:04:05Z""#, "[2020,1,2,3,4,5]", None),
        (
            "1500000000",
            r#"{"secs":1,"nanos":500000000}"#,
            Some(E::DurationNanos),
        ),
        (
            r#""PT1.5S""#,
            r#"{"secs":1,"nanos":500000000}"#,
            Some(E::SameDuration),
        ),
        (r#""1.5s""#, "1500000000", Some(E::DurationNanos)),
        (r#""PT1.5S""#, "1.5", Some(E::DurationSeconds)),
        (r#""PT2M""#, "120", Some(E::DurationSeconds)),
        (r#""PT2M""#, "120000", Some(E::DurationMillis)),
        // Of nothing no unit is proven.
        (r#""PT0S""#, "0", Some(E::SameDuration)),
        (r#""PT1.5S""#, "1.6", None),
        ("1", r#"{"secs":1,"nanos":1000000000}"#, None),
        ("1", r#"{"secs":1,"secs":1}"#, None),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("9007199254740993", "9007199254740992", Some(E::EqualDouble)),
        (
            "9007199254740993",
            r#""9007199254740992""#,
            Some(E::EqualDouble),
        ),
        ("9007199254740994", "9007199254740996", None),
        (
            "0.8234567890123456",
            "0.8234567890123458",
            Some(E::NearDouble),
        ),
        ("0.30000000000000004", "0.3", Some(E::NearDouble)),
        ("0.10000000149011612", "0.1", Some(E::Rounded)),
        ("12.345", "12.35", Some(E::Rounded)),
        (r#""12.345""#, r#""12.35""#, Some(E::Rounded)),
        (r#""1.10""#, r#""1.1""#, Some(E::EqualDecimal)),
        (r#""1.10""#, "1.1", Some(E::TypeOnly)),
        (r#""12.345""#, "12.35", Some(E::Rounded)),
        ("1577934245", "1577934245000", Some(E::ScaledBy1000)),
        ("1.5", "1500", Some(E::ScaledBy1000)),
        ("1577934245", "1577934245123", Some(E::CutUnixSeconds)),
        ("1577934245123", "1577934245123456", Some(E::CutUnixMillis)),
        ("1577934245", "1577934246123", None),
        ("12.349", "12.34", Some(E::CutDecimals)),
        ("12.39", "12.3", Some(E::CutToTenths)),
        ("12.9", "12", Some(E::CutToWhole)),
        ("5.99", "5", Some(E::CutToWhole)),
        ("12.4567", "12.5", Some(E::RoundedToTenths)),
        ("12.4567", "12", Some(E::RoundedToWhole)),
        ("12.5", "13", Some(E::RoundedToWhole)),
        // Cents that are zero are no digits that were lost.
        ("12.0012", "12", Some(E::Rounded)),
        ("12.3049", "12.3", Some(E::Rounded)),
        ("1", "12", None),
        ("12.50", "12.51", None),
        ("1e400", "1e401", None),
        ("null", r#""NaN""#, Some(E::NotFinite)),
        ("null", "1e400", Some(E::NotFinite)),
        (r#""Infinity""#, "1e400", Some(E::NotFinite)),
        (r#""-Infinity""#, "1e400", None),
        ("null", "1e300", None),
    ]);
}

#[test]
fn types() {
    check(&[
        ("1", r#""1""#, Some(E::TypeOnly)),
        ("true", r#""true""#, Some(E::TypeOnly)),
        ("true", "1", None),
        ("false", "0", None),
        ("true", "0", None),
        ("null", "[]", Some(E::NullVsEmpty)),
        ("null", "{}", Some(E::NullVsEmptyObject)),
        ("null", r#""""#, Some(E::NullVsBlank)),
        ("null", "0", None),
        ("[]", "{}", None),
    ]);
}

#[test]
fn bytes() {
    let array = "[104,101,108,108,111,33,255]";
    check(&[
        (r#""aGVsbG8h/w==""#, array, Some(E::SameBytes)),
        (r#""aGVsbG8h_w""#, array, Some(E::SameBytes)),
        (r#""68656c6c6f21ff""#, array, Some(E::SameBytes)),
        (
            r#""aGVsbG8h/w==""#,
            "[104,101,108,108,111,33,-1]",
            Some(E::SameBytes),
        ),
        (
            r#""aGVsbG8h/w==""#,
            r#"{"type":"Buffer","data":[104,101,108,108,111,33,255]}"#,
            Some(E::SameBytes),
        ),
        (
            array,
            r#"{"data":[104,101,108,108,111,33,255],"type":"Buffer"}"#,
            Some(E::SameBytes),
        ),
        (r#""aGk=""#, r#"{"0":104,"1":105}"#, Some(E::SameBytes)),
        (r#""""#, "[]", None),
        (r#""""#, "{}", None),
        (r#""aGk=""#, "[104,106]", None),
        (r#""aGk=""#, "[104]", None),
        (r#""aGk=""#, "[104,105,106]", None),
        (r#""aGk=""#, "[104,361]", None),
        ("1", "[1]", Some(E::Wrapped)),
    ]);
    check_texts(&[
        ("aGVsbG8/", "aGVsbG8_", Some(E::SameBytes)),
        ("aGVsbG8hIQ==", "aGVsbG8hIQ", Some(E::SameBytes)),
        ("aGVsbG8hIQ==", "68656c6c6f2121", Some(E::SameBytes)),
        ("aGVsbG8hIQ==", "\\x68656c6c6f2121", Some(E::SameBytes)),
        ("aGVsbG8hIQ==", "hello!!", Some(E::SameBytes)),
        ("aGk=", "hi", None),
        ("35", "5", None),
        ("3132333435363738", "12345678", None),
        ("abcd", "abce", None),
    ]);
}

#[test]
fn spellings_of_text() {
    check_texts(&[
        (
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
            Some(E::SameUuid),
        ),
        (
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b8109dad11d180b400c04fd430c8",
            Some(E::SameUuid),
        ),
        // A digest, perhaps.
        (
            "0123456789ABCDEF0123456789ABCDEF",
            "0123456789abcdef0123456789abcdef",
            Some(E::CaseOnly),
        ),
        ("Abc", "aBC", Some(E::CaseOnly)),
        ("a b", "a  b ", Some(E::WhitespaceOnly)),
        ("12 3007", "1 23007", None),
        ("ab", "a b", None),
        ("a, b", "a,b", Some(E::WhitespaceOnly)),
        ("1, 5", "1,5", None),
        ("e\u{301}", "\u{e9}", Some(E::UnicodeNfc)),
        ("/a%20b", "/a b", Some(E::PercentEncoding)),
        ("/a%2520b", "/a%20b", Some(E::PercentEncoding)),
        ("q=a+b%26", "q=a%20b%26", Some(E::FormEncoding)),
        ("+49170", " 49170", Some(E::FormEncoding)),
        ("q=%27", "q='", Some(E::PercentEncoding)),
        ("100%", "100", None),
        ("a &lt; b &#x27;", "a < b &#39;", Some(E::HtmlEntities)),
        ("&amp;amp;", "&amp;", Some(E::HtmlEntities)),
        ("a &bogus; b", "a & b", None),
        ("cafÃ©", "café", Some(E::Mojibake)),
        ("naÃ¯ve â‚¬", "naïve €", Some(E::Mojibake)),
        ("caf\u{fffd}", "café", Some(E::Mojibake)),
        ("??x", "日本x", Some(E::Mojibake)),
        ("caf?", "cafe", None),
        ("GET, HEAD", "HEAD, GET", Some(E::Permutation)),
        ("/p?a=1&b=2", "/p?b=2&a=1", Some(E::Permutation)),
        ("b\na\n", "a\nb\n", Some(E::Permutation)),
        ("a,a,b", "a,b,b", None),
        ("abcd", "abcdef", Some(E::Truncated)),
        ("Hello...", "Hello, world", Some(E::Truncated)),
        ("Hello…", "Hello, world", Some(E::Truncated)),
        ("ab", "abc", None),
        ("ab", "cd", None),
        ("", "abcd", None),
    ]);
    // Node sends a lone surrogate as it is, Go as U+FFFD, Jackson as a question mark.
    check(&[
        (r#""a\ud800b""#, r#""a\ufffdb""#, Some(E::Mojibake)),
        (r#""a\ud800b""#, r#""a?b""#, Some(E::Mojibake)),
        (r#""a\ud800b""#, r#""a\ud801b""#, None),
    ]);
}

#[test]
fn hostile_texts_cost_a_few_passes() {
    // Each of these made, or would make, some loop read its whole input again for every byte of it.
    let long = |unit: &str| unit.repeat(60_000 / unit.len());
    for unit in [
        "?", "é", "\u{fffd}", "&", "%", "&#", "a,", "1", "e\u{301}", "+1", "P1DT", "1s",
    ] {
        let one = long(unit);
        for two in [format!("{one}x"), format!("x{one}"), long("é"), long("?")] {
            let found = texts(one.as_bytes(), two.as_bytes());
            assert_eq!(found, texts(two.as_bytes(), one.as_bytes()), "{unit}");
        }
    }
}

#[test]
fn scales() {
    check(&[
        ("12.5", "1250", Some(E::ScaledBy100)),
        (r#""12.50""#, "1250", Some(E::ScaledBy100)),
        ("19.99", "1999", Some(E::ScaledBy100)),
        ("-19.99", "1999", None),
        ("125", "1250", Some(E::ScaledBy10)),
        ("5", "50", None),
        ("0", "1000", None),
        ("1.5", "90", Some(E::ScaledBy60)),
        ("25", "1500", Some(E::ScaledBy60)),
        ("1.5", "5400", Some(E::ScaledBy3600)),
        ("25", "1501", None),
        ("12", "12288", Some(E::ScaledBy1024)),
        ("1.5", "1610612736", Some(E::ScaledBy1073741824)),
        ("1.5", "1500", Some(E::ScaledBy1000)),
        ("1.5", "1500000", Some(E::ScaledBy1000000)),
        ("1500000000", "1.5", Some(E::DividedBy1000000000)),
        ("1250", "12.5", Some(E::DividedBy100)),
        ("12", "1e999999999", None),
    ]);
}

#[test]
fn values_put_into_something_else() {
    check(&[
        ("5", "[5]", Some(E::Wrapped)),
        (r#""EUR""#, r#"["EUR"]"#, Some(E::Wrapped)),
        (r#"{"a":1,"b":2}"#, r#"[{"b":2,"a":1.0}]"#, Some(E::Wrapped)),
        ("5", "[6]", None),
        ("5", "[5,5]", None),
        ("5", r#"["5"]"#, None),
        ("null", "[]", Some(E::NullVsEmpty)),
        (
            r#"{"a":[1,2]}"#,
            r#""{ \"a\": [1, 2.0] }""#,
            Some(E::JsonInText),
        ),
        (r#"{"a":[1,2]}"#, r#""{\"a\":[1,3]}""#, None),
        (r#"{"a":[1,2]}"#, r#""{\"a\":[1,2]""#, None),
        (
            r#"["ord-1001","ord-1002"]"#,
            r#"{"items":["ord-1001","ord-1002"],"total":2}"#,
            Some(E::Moved),
        ),
        (
            r#"["ord-1001"]"#,
            r#"{"a":["ord-1001"],"b":["ord-1001"]}"#,
            None,
        ),
        ("[1,2]", r#"{"items":[1,2]}"#, None),
        ("[]", r#"{"items":[]}"#, None),
    ]);
    check_texts(&[
        (
            r#"{"a":1,"b":[2]}"#,
            r#"{"b":[2.0],"a":1}"#,
            Some(E::JsonInText),
        ),
        (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.5],"a":1}"#, None),
        // Most parsers take the last one.
        (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, None),
    ]);
}

#[test]
fn spellings_of_other_languages() {
    check_texts(&[
        ("1.234,56", "1,234.56", Some(E::Localized)),
        ("1 234,56 €", "€1,234.56", Some(E::Localized)),
        ("1\u{202f}234,56 €", "1.234,56 €", Some(E::Localized)),
        ("-12,5 %", "-12.5%", Some(E::Localized)),
        ("\u{2212}12,5", "-12.5", Some(E::Localized)),
        ("1.234,56", "1,234.57", None),
        ("1.234,56 €", "$1,234.56", None),
        ("12,5", "-12.5", None),
        // A thousand or one.
        ("1.234 kg", "1234 kg", None),
        ("€1.500", "€1500", None),
        ("1,234", "1.234", None),
        ("1.234.567", "1,234,567", Some(E::Localized)),
        ("10 March 12", "12 March 10", Some(E::Permutation)),
        ("3 March 2026, 10:15", "3 March 2026, 15:10", None),
        (
            "Tue, 03 Mar 2026 10:15:00 GMT",
            "Tue, 10 Mar 2026 03:15:00 GMT",
            None,
        ),
        ("3 mars 2026", "March 3, 2026", Some(E::Localized)),
        ("3. März 2026", "3 March 2026", Some(E::Localized)),
        ("1er août 2026", "1 Aug 2026", Some(E::Localized)),
        ("03 déc. 2026", "Dec 3, 2026", Some(E::Localized)),
        ("3 mars 2026", "March 4, 2026", None),
        ("3 mars 2026", "April 3, 2026", None),
        ("3 jui 2026", "3 June 2026", None),
        ("May 2026 is late", "Mai 2026 ist spät", None),
    ]);
    check(&[
        (r#""1.234,56""#, "1234.56", Some(E::Localized)),
        (r#""1.234,56 €""#, "1234.56", None),
        (r#""1.234,56""#, "1234.57", None),
    ]);
}

#[test]
fn what_the_mirror_added() {
    check_texts(&[
        ("host: a\n", "host: a\nX-Parity-Shadow: 1\n", Some(E::Echo)),
        ("host: a\n", "host: b\nX-Parity-Shadow: 1\n", None),
    ]);
    for (name, is_echo) in [
        ("x-parity-shadow", true),
        ("X-Parity-Shadow", true),
        ("HTTP_X_PARITY_SHADOW", true),
        ("x-parity-shadows", false),
        ("parity-shadow", false),
    ] {
        let text = format!("{{\"{name}\":\"1\"}}");
        let mut index = Index::default();
        let tree = index
            .read(text.as_bytes(), Layout::Document, 9)
            .expect("JSON");
        assert_eq!(absent(tree, 2) == Some(E::Echo), is_echo, "{name}");
    }
}
