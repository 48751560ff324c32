//! Decimals, their grammar, and their edges.

use super::*;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text.as_bytes()).expect("a number")
}

#[test]
fn the_same_decimal_in_many_spellings() {
    for (one, two) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("100", "1E+2"),
        ("0.00005", "0.5e-4"),
        ("-0", "0"),
        ("0e99999999999999999999999999999999999999999999", "0"),
        ("-0.0e7", "0"),
        ("1e999999999", "10e999999998"),
        (
            "123456789012345678901234567890.10",
            "123456789012345678901234567890.1",
        ),
    ] {
        assert!(same_decimal(one.as_bytes(), two.as_bytes()), "{one} {two}");
    }
    for (one, two) in [
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551617", "18446744073709551616"),
        ("1", "-1"),
        ("1e400", "1e401"),
        ("0.1", "0.10000000000000001"),
    ] {
        assert!(!same_decimal(one.as_bytes(), two.as_bytes()), "{one} {two}");
    }
}

#[test]
fn the_grammar_is_that_of_json() {
    for good in ["0", "-0", "10", "1.5", "1e5", "1E-05", "0.0"] {
        assert!(is_number(good.as_bytes()), "{good}");
    }
    for bad in [
        "", "-", "01", "1.", ".5", "+1", "1e", "1e+", "0x1", "NaN", "1 ",
    ] {
        assert!(!is_number(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn tolerances_are_exact_at_their_edge() {
    for (one, two, bound, expected) in [
        ("0.3", "0.1", "0.2", true),
        ("0.30000000000000001", "0.1", "0.2", false),
        ("-0.005", "0.005", "0.01", true),
        ("-0.005", "0.0051", "0.01", false),
        ("1000", "999", "1", true),
        ("99", "100", "1", true),
        ("5", "0", "5", true),
        ("1e2000", "0.1", "1", false),
    ] {
        let holds = decimal(one).within(&decimal(two), &decimal(bound));
        assert_eq!(holds, expected, "{one} {two} {bound}");
    }
    assert!(decimal("1000").within_relative(&decimal("999"), &decimal("1e-3")));
    assert!(!decimal("1000").within_relative(&decimal("998.9"), &decimal("1e-3")));
    assert!(decimal("-1000").within_relative(&decimal("-999"), &decimal("0.001")));
    assert!(!decimal("0").within_relative(&decimal("1"), &decimal("0.5")));
}

#[test]
fn rounding_to_fewer_places_is_recognized() {
    for (one, two, expected) in [
        ("12.345", "12.35", true),
        ("12.345", "12.34", true),
        ("12.349", "12.34", false),
        ("12.50", "12.51", false),
        ("1.005", "1", true),
        ("10", "12", false),
        ("12.50", "12.5", true),
        ("1.25e2", "125.4", true),
        ("0.1", "0", false),
        ("-2.675", "-2.68", true),
    ] {
        assert_eq!(
            is_rounded(one.as_bytes(), two.as_bytes()),
            expected,
            "{one} {two}"
        );
        assert_eq!(
            is_rounded(two.as_bytes(), one.as_bytes()),
            expected,
            "{two} {one}"
        );
    }
}
