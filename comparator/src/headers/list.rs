//! Parses field values that are lists: of elements, of directives, of parameters.

use std::collections::{BTreeMap, BTreeSet};

/// The elements of a comma list without the white space around them.
pub(super) fn elements(text: &str) -> impl Iterator<Item = &str> {
    split(text, ',')
}

/// The trimmed parts of a text. Separators in quotes, or in the angle brackets of a URL, do not count.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    let mut address = false;
    text.split(move |character| {
        if escaped {
            escaped = false;
            return false;
        }
        match character {
            '\\' if quoted => escaped = true,
            '"' if !address => quoted = !quoted,
            '<' if !quoted => address = true,
            '>' if !quoted => address = false,
            _ => return character == separator && !quoted && !address,
        }
        false
    })
    .map(|part| part.trim_matches([' ', '\t']))
}

pub(super) fn set(text: &str) -> BTreeSet<&str> {
    elements(text)
        .filter(|element| !element.is_empty())
        .collect()
}

/// Directives by name, each with its values; repeated equal values count once.
type Directives = BTreeMap<String, Vec<String>>;

/// The directives of a comma list (`Cache-Control`).
pub(super) fn directives(text: &str) -> Directives {
    by_name(elements(text))
}

/// The directives of a list separated by semicolons (`Strict-Transport-Security`).
pub(super) fn parameters(text: &str) -> Directives {
    by_name(split(text, ';'))
}

fn by_name<'a>(parts: impl Iterator<Item = &'a str>) -> Directives {
    let mut found = Directives::new();
    for part in parts.filter(|part| !part.is_empty()).map(parameter) {
        let name = name_of(&part).to_owned();
        let values = found.entry(name).or_default();
        // A repeated value counts once.
        if !values.contains(&part) {
            values.push(part);
        }
    }
    found
}

/// The elements of a comma list in their order, each with its parameters sorted by name. Parameters with the same name
/// keep their order, because readers disagree about which of them counts.
pub(super) fn parameterized(text: &str) -> impl Iterator<Item = (&str, Vec<String>)> {
    elements(text).map(|element| {
        let mut parts = split(element, ';');
        let item = parts.next().unwrap_or_default();
        let mut parameters: Vec<String> = parts
            .filter(|part| !part.is_empty())
            .map(parameter)
            .collect();
        parameters.sort_by(|one, two| name_of(one).cmp(name_of(two)));
        (item, parameters)
    })
}

fn name_of(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or_default()
}

/// A name without case and its value without quotes, which mean nothing around a token (RFC 9110 §5.6.6).
fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) => format!(
            "{}={}",
            name.trim().to_ascii_lowercase(),
            value.trim().trim_matches('"')
        ),
        None => text.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_in_quotes_and_addresses_part_nothing() {
        let parts = |text| elements(text).collect::<Vec<_>>();
        assert_eq!(parts(r#"a, "b,\"c" ,d"#), ["a", r#""b,\"c""#, "d"]);
        assert_eq!(
            parts("</a,b;c>; rel=next, <x>"),
            ["</a,b;c>; rel=next", "<x>"]
        );
        assert_eq!(parts(r#""<", b"#), [r#""<""#, "b"]);
        let links: Vec<_> = parameterized(r#"</a;b>; title="x;y" ; rel=next"#).collect();
        assert_eq!(
            links,
            [("</a;b>", vec!["rel=next".into(), "title=x;y".into()])]
        );
    }

    #[test]
    fn parameters_have_no_order_and_elements_have() {
        let same = |one, two| parameterized(one).eq(parameterized(two));
        assert!(same("a;x=1;y=2,b", "a; Y=2; x=\"1\", b"));
        assert!(!same("a,b", "b,a"));
        assert!(!same("a;x=1", "a;x=2"));
        assert!(!same("a;x=A", "a;x=a"));
        assert!(!same("a;x=1;x=2", "a;x=2;x=1"));
        assert!(same("a;x=1;y=0;x=2", "a;y=0;x=1;x=2"));
        assert_eq!(
            parameters("max-age=1; includeSubDomains"),
            parameters("includesubdomains;max-age=\"1\"")
        );
    }
}
