//! Finds a value in what a service answered, however the service spelt it: JSON writes `/` as `\\/` or `\\u002f`, an address as
//! `%2F`, HTML as `&#x2F;`. So does a text that was cut in the middle of the value.

/// Characters of a value that is cut before it is taken for that: fewer may be anything.
const LEAST: usize = 6;
/// The longest name or number of a character in HTML, with `&` and `;`.
const MAX_REFERENCE: usize = 10;
/// How often a text may have been escaped: JSON in JSON in an address.
const MAX_BACKSLASHES: usize = 8;

/// The text with `instead` wherever the value stands.
pub(super) fn hidden(text: &str, value: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = spelt(rest, value) {
            out.push_str(instead);
            rest = rest.get(length..).unwrap_or_default();
        } else {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

/// How many bytes at the begin of a text spell the value, or as much of it as the text has.
fn spelt(text: &str, value: &str) -> Option<usize> {
    let mut at = 0;
    for (matched, wanted) in value.chars().enumerate() {
        let rest = text.get(at..)?;
        let is_cut = rest.is_empty() || rest.starts_with('…');
        if is_cut && matched >= LEAST {
            return Some(at);
        }
        at += one(rest, wanted)?;
    }
    (at > 0).then_some(at)
}

/// How many bytes at the begin of a text spell one character.
fn one(text: &str, wanted: char) -> Option<usize> {
    if text.starts_with(wanted) {
        return Some(wanted.len_utf8());
    }
    let first = text.bytes().next()?;
    match first {
        b'\\' => {
            let backslashes = text.bytes().take_while(|byte| *byte == b'\\').count();
            let behind = text.get(backslashes..)?;
            if backslashes > MAX_BACKSLASHES {
                return None;
            }
            if behind.starts_with(wanted) {
                return Some(backslashes + wanted.len_utf8());
            }
            let number = behind.strip_prefix('u')?.get(..4)?;
            let is_it = u32::from_str_radix(number, 16) == Ok(u32::from(wanted));
            is_it.then_some(backslashes + 5)
        }
        b'%' => {
            // Of `%252F`, too.
            let twice = text.bytes().skip(1).step_by(2).take(MAX_BACKSLASHES);
            let twice = twice.zip(text.bytes().skip(2).step_by(2));
            let twice = 2 * twice.take_while(|pair| *pair == (b'2', b'5')).count();
            let is_it = |skip: usize| {
                let number = text.get(1 + skip..3 + skip)?;
                let is_it = u32::from_str_radix(number, 16) == Ok(u32::from(wanted));
                (is_it && wanted.is_ascii()).then_some(3 + skip)
            };
            is_it(0).or_else(|| is_it(twice))
        }
        b'&' => {
            let end = text
                .bytes()
                .take(MAX_REFERENCE)
                .position(|byte| byte == b';')?;
            let name = text.get(1..end)?;
            let number = match name.strip_prefix('#') {
                Some(number) => match number.strip_prefix(['x', 'X']) {
                    Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                    None => number.parse().ok()?,
                },
                None => u32::from(match name {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "apos" => '\'',
                    _ => return None,
                }),
            };
            (number == u32::from(wanted)).then_some(end + 1)
        }
        b'+' if wanted == ' ' => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_however_it_is_spelt() {
        let value = "ab/cd+ef==";
        for spelt in [
            "ab/cd+ef==",
            "ab\\/cd+ef==",
            "ab\\\\\\/cd+ef==",
            "ab\\u002fcd\\u002Bef\\u003d\\u003d",
            "ab%2Fcd%2bef%3D%3D",
            "ab%252Fcd%252bef%253D%253D",
            "ab&#x2F;cd&#43;ef&#61;=",
        ] {
            let text = format!("x {spelt}, {spelt} y");
            assert_eq!(hidden(&text, value, "#"), "x #, # y", "{spelt}");
        }
        for cut in ["ab/cd+", "ab\\/cd+e", "ab/cd+…"] {
            assert!(hidden(cut, value, "#").starts_with('#'), "{cut}");
        }
        for other in [
            "ab/c",
            "ab/cd+eg==",
            "ab%2Gcd+ef==",
            "ab&#x2F",
            "\\",
            "%",
            "&",
            "",
            "aab/cd_",
        ] {
            assert_eq!(hidden(other, value, "#"), other);
        }
        assert_eq!(hidden("aab/cd+ef==", value, "#"), "a#");
        assert_eq!(hidden("\"q&quot;\"", "q\"\"", "#"), "\"#");
    }
}
