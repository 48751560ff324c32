//! Spellings of one instant, and texts that are not times.

use super::*;

fn at(text: &str) -> Instant {
    Instant::parse(text.as_bytes()).expect("a time")
}

#[test]
fn spellings_of_one_instant_are_equal() {
    let base = at("2020-01-02T03:04:05.12Z");
    for same in [
        "2020-01-02T03:04:05.120Z",
        "2020-01-02T04:04:05.12+01:00",
        "2020-01-02 03:04:05.12z",
        "2020-01-01T22:04:05.12-0500",
        "2020-01-02 03:04:05.12+00",
        "2020-01-02 03:04:05.12 +00:00:00",
        "2020-01-02 03:04:05.12 UTC",
        "2020-01-02 03:04:05.12 +0000 UTC",
        "2020-01-02 04:04:05.12 +0100 CET",
        "2020-01-02T03:04:05.12Z[UTC]",
    ] {
        assert_eq!(base, at(same), "{same}");
    }
    for number in [
        "1577934245.12",
        "1577934245120",
        "1577934245120000",
        "1577934245120000000",
    ] {
        assert_eq!(
            Some(&base),
            Instant::from_number(number.as_bytes()).as_ref(),
            "{number}"
        );
    }
    assert_eq!(base, Instant::from_unix(1_577_934_245, 120_000_000));
    for (parts, same) in [
        ([2020, 2, 3, 4, 5, 120_000_000, 0, 0, 0], true),
        ([2020, 2, 4, 4, 5, 120_000_000, 1, 0, 0], true),
        ([2020, 2, 3, 4, 5, 120_000_001, 0, 0, 0], false),
        ([2020, 2, 24, 4, 5, 120_000_000, 0, 0, 0], false),
        ([i64::MAX; 9], false),
    ] {
        assert_eq!(
            Instant::from_ordinal(parts).as_ref() == Some(&base),
            same,
            "{parts:?}"
        );
    }
    assert_ne!(base, at("2020-01-02T03:04:05.12"));
    assert_eq!(at("2020-01-02T03:04Z"), at("2020-01-02T03:04:00Z"));
    assert_eq!(at("2020-01-02T03:04:05.10"), at("2020-01-02T03:04:05.1"));
}

#[test]
fn dates_in_words_are_the_same_instants() {
    let base = at("2020-01-02T03:04:05Z");
    for same in [
        "Thu, 02 Jan 2020 03:04:05 GMT",
        "Thu, 02-Jan-2020 03:04:05 GMT",
        "Thursday, 02-Jan-20 03:04:05 GMT",
        "Thu, 2 Jan 2020 04:04:05 +0100",
        "02 Jan 2020 03:04:05 UTC",
        "Thu Jan 02 2020 04:04:05 GMT+0100 (Central European Standard Time)",
    ] {
        assert_eq!(base, at(same), "{same}");
    }
    // The zone is not given, so it is not taken for UTC.
    let naive = at("Thu Jan  2 03:04:05 2020");
    assert!(naive != base && naive == at("2020-01-02T03:04:05"));
    assert_eq!(base.seconds_since(&at("2020-01-02T03:03:05Z")), Some(60));
    assert_eq!(base.seconds_since(&naive), None);
}

#[test]
fn a_word_that_is_no_day_of_the_week_or_another_one_makes_no_date() {
    for text in [
        "closed 02 Jan 2020 03:04:05 GMT",
        "opened, 02 Jan 2020 03:04:05 GMT",
        "January 02 Jan 2020 03:04:05",
        "Thx, 02 Jan 2020 03:04:05 GMT",
        "Thurs, 02 Jan 2020 03:04:05 GMT",
        // It was a Thursday.
        "Fri, 02 Jan 2020 03:04:05 GMT",
        "Wednesday, 02-Jan-20 03:04:05 GMT",
        "Wed Jan  2 03:04:05 2020",
        // In its own offset it is a Friday.
        "Thu, 03 Jan 2020 00:04:05 +0100",
    ] {
        assert!(Instant::parse(text.as_bytes()).is_none(), "{text}");
    }
    for (text, same) in [
        ("Fri, 03 Jan 2020 00:04:05 +0100", "2020-01-02T23:04:05Z"),
        ("Mon, 29 Feb 2016 00:00:00 GMT", "2016-02-29T00:00:00Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("WED, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59Z"),
    ] {
        assert_eq!(at(text), at(same), "{text}");
    }
}

#[test]
fn the_name_of_another_place_is_another_time() {
    let paris = at("2026-03-01T10:00:00+01:00[Europe/Paris]");
    assert_eq!(paris, at("2026-03-01T10:00:00.0+01:00[Europe/Paris]"));
    for other in [
        "2026-03-01T10:00:00+01:00[Africa/Algiers]",
        "2026-03-01T10:00:00+01:00[u-ca=hebrew]",
        "2026-03-01T10:00:00+01:00",
        "2026-03-01T09:00:00Z[UTC]",
        "2026-03-01 10:00:00 +0100 CET",
    ] {
        let other = at(other);
        assert_ne!(paris, other);
        assert_ne!(other, paris);
        assert_eq!(paris.compare(&other), None, "{other:?}");
        assert!(!paris.has_reading_of(&other) && !paris.is_cut_of(&other));
    }
    // A remark may be left out, and is no other one.
    let remark = at("2026-03-01 10:00:00 +0100 CET");
    assert_eq!(remark, at("2026-03-01T10:00:00+01:00"));
    assert_ne!(remark, at("2026-03-01 10:00:00 +0100 WAT"));
    assert_ne!(
        at("Sun Mar 01 2026 10:00:00 GMT+0100 (CET)"),
        at("Sun Mar 01 2026 10:00:00 GMT+0100 (failed)")
    );
}

#[test]
fn one_reading_under_two_offsets_is_not_one_instant() {
    let (utc, east, naive) = (
        at("2020-01-02T03:04:05Z"),
        at("2020-01-02T03:04:05+01:00"),
        at("2020-01-02T03:04:05"),
    );
    assert!(utc.has_reading_of(&east) && east.has_reading_of(&naive));
    assert!(naive.has_reading_of(&utc) && !utc.has_reading_of(&utc));
    assert!(!at("2020-01-02T04:04:05+01:00").has_reading_of(&utc));
}

#[test]
fn a_cut_time_is_not_an_equal_one() {
    let (long, short) = (
        at("2020-01-02T03:04:05.123456Z"),
        at("2020-01-02T03:04:05.123Z"),
    );
    assert!(long.is_cut_of(&short) && short.is_cut_of(&long) && long != short);
    assert!(!long.is_cut_of(&at("2020-01-02T03:04:05.124Z")));
    assert!(!long.is_cut_of(&at("2020-01-02T03:04:05.123")));
}

#[test]
fn other_texts_are_not_times() {
    for text in [
        "",
        "2020-01-02",
        "2020-13-02T00:00:00Z",
        "2021-02-29T00:00:00Z",
        "2020-01-02T24:00:00Z",
        "2020-01-02T00:00:00.Z",
        "2020-01-02T00:00:00+1",
        "20200102T000000Z12",
        "2020-01-02T00:00:00Zx",
        "2020-01-02T00:00:00+99:99",
        "2020-01-02T00:00:00 ",
        "2020-01-02T00:00:00Z[]",
        "2020-01-02T00:00.5Z",
        "Thu, 02 Foo 2020 03:04:05 GMT",
        "Thu, 32 Jan 2020 03:04:05 GMT",
        "Thu, 02 Jan 03:04:05 GMT",
        "Thu, 02 Jan 2020 03:04",
        "1:30:00",
        "::::::::::::::::",
    ] {
        assert!(Instant::parse(text.as_bytes()).is_none(), "{text}");
    }
    assert_eq!(days_since_epoch(1970, 1, 1), Some(0));
    assert_eq!(days_since_epoch(2000, 2, 29), Some(11_016));
    assert_eq!(days_since_epoch(1969, 12, 31), Some(-1));
}
