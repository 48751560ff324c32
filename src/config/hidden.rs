//! Settings for people to read, without what is secret in them: `config show` ends up in tickets and logs.

use http::HeaderName;

/// What is shown in the place of a secret.
const HIDDEN: &str = "…";

/// `name: value` without its value: it may be a credential, whatever its name. What is not a header is hidden altogether:
/// it may be the rest of a value that had a comma in it.
pub(super) fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, _)) if name.trim().parse::<HeaderName>().is_ok() => format!("{name}: {HIDDEN}"),
        _ => HIDDEN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_field_the_name_is_shown() {
        assert_eq!(header("authorization: Bearer abc"), "authorization: …");
        for hidden in ["Bearer abc", "b=\"y:z\""] {
            assert_eq!(header(hidden), "…");
        }
    }
}
