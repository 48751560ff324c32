//! Plain scalars that readers of YAML 1.1 (PyYAML, Go's yaml.v2, Ruby's Psych) take for something else than YAML 1.2 does.
//!
//! `no` is false to them, `12:30` is 750, `010` is 8, and a date is no string. So `no` and `"no"` are the same data to one
//! half of the clients only. Of `y` and `n` the readers of 1.1 disagree, and most take them for text, so they are not among
//! these; nor are `1e3` and `0o17`, numbers that only some readers of 1.1 take for text.

/// The type that YAML 1.1 gives to a plain scalar, if YAML 1.2 reads another value.
pub(super) fn older_type(value: &str) -> Option<&'static str> {
    const BOOLEANS: [&str; 12] = [
        "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
    ];
    if BOOLEANS.contains(&value) {
        return Some("!!bool");
    }
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if is_date(value) {
        return Some("!!timestamp");
    }
    of_number(unsigned)
}

/// `2026-01-31`, or a date of that kind and a time of day.
fn is_date(value: &str) -> bool {
    let shape: Vec<usize> = value
        .splitn(3, '-')
        .map(|part| part.bytes().take_while(u8::is_ascii_digit).count())
        .collect();
    let [4, 1..=2, days @ 1..=2] = shape[..] else {
        return false;
    };
    let day_at = value
        .match_indices('-')
        .nth(1)
        .map_or(value.len(), |(at, _)| at + 1);
    let time = &value[day_at + days..];
    match time.as_bytes() {
        [] => value.len() == 10,
        [b'T' | b't' | b' ' | b'\t', clock @ ..] => {
            let clock = clock.trim_ascii_start();
            clock.first().is_some_and(u8::is_ascii_digit) && clock.contains(&b':')
        }
        _ => false,
    }
}

/// Of a number without its sign.
fn of_number(unsigned: &str) -> Option<&'static str> {
    let all = |text: &str, allowed: fn(&u8) -> bool| {
        !text.is_empty() && text.bytes().all(|byte| allowed(&byte) || byte == b'_')
    };
    if let Some(bits) = unsigned.strip_prefix("0b") {
        return all(bits, |byte| matches!(byte, b'0' | b'1')).then_some("!!int");
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        let grouped = digits.contains('_') && all(digits, u8::is_ascii_hexdigit);
        return grouped.then_some("!!int");
    }
    let (whole, fraction) = unsigned
        .split_once('.')
        .map_or((unsigned, None), |(whole, fraction)| {
            (whole, Some(fraction))
        });
    if fraction.is_some_and(|fraction| !fraction.is_empty() && !all(fraction, u8::is_ascii_digit)) {
        return None;
    }
    let number = if fraction.is_some() {
        "!!float"
    } else {
        "!!int"
    };
    let mut places = whole.split(':');
    let first = places.next().unwrap_or_default();
    if !all(first, u8::is_ascii_digit) {
        return None;
    }
    let mut minutes = 0;
    for place in places {
        let is_sixtieth = matches!(place.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        if !is_sixtieth {
            return None;
        }
        minutes += 1;
    }
    let grouped = unsigned.contains('_');
    if minutes > 0 {
        // As an integer it must not begin with a zero; then it is text to everybody.
        return (fraction.is_some() || !first.starts_with('0')).then_some(number);
    }
    let octal = fraction.is_none() && first.len() > 1 && first.starts_with('0');
    match octal && first.bytes().any(|byte| !matches!(byte, b'0' | b'_')) {
        true if first.contains(['8', '9']) => Some("!!str"),
        true => Some("!!int"),
        false => grouped.then_some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_differ_from_those_of_1_2() {
        for (value, expected) in [
            ("no", Some("!!bool")),
            ("ON", Some("!!bool")),
            ("nO", None),
            ("y", None),
            ("true", None),
            ("null", None),
            ("12:30", Some("!!int")),
            ("-1:30:00", Some("!!int")),
            ("01:30", None),
            ("12:60", None),
            ("12:30.5", Some("!!float")),
            ("12:a", None),
            ("010", Some("!!int")),
            ("+010", Some("!!int")),
            ("080", Some("!!str")),
            ("0", None),
            ("00", None),
            ("10", None),
            ("0.10", None),
            ("010.5", None),
            (".5", None),
            ("1.", None),
            (".", None),
            ("1_000", Some("!!int")),
            ("1_000.5", Some("!!float")),
            ("_1", None),
            ("0b11", Some("!!int")),
            ("0x1F", None),
            ("0x1_F", Some("!!int")),
            ("0o17", None),
            ("1e3", None),
            ("1ex", None),
            ("1e", None),
            ("1_0e3", None),
            ("0o18", None),
            ("-0o17", None),
            ("2026-01-31", Some("!!timestamp")),
            ("2026-1-31", None),
            ("2026-01-31T10:00:00Z", Some("!!timestamp")),
            ("2026-01-31 10:00:00", Some("!!timestamp")),
            ("2026-01-31 a", None),
            ("2026-01", None),
            ("1.2.3", None),
            ("word", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(older_type(value), expected, "{value}");
        }
    }
}
