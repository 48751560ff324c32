//! Which places the path of an entry names. A group has a generalized path such as `/items/*/price`, or the name of a
//! header. `*` is one step, `**` any number of steps; all other steps are taken as they are.

use crate::rules::pattern::Pattern;

/// A path that no place has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It is longer than any that is recorded.
    #[error("it is longer than {0} characters")]
    TooLong(usize),
    /// `**` is given so often that finding places would take long.
    #[error("it has more than {0} times `**`")]
    TooManyAnywhere(usize),
    /// It begins as JSONPath does and cannot be written as the path of a place.
    #[error("{0}")]
    NoPlace(String),
}

/// Longer than any path that a group is recorded with.
const MAX_CHARS: usize = 1_024;
/// Each of them multiplies the work.
const MAX_ANYWHERE: usize = 4;

/// The path of an entry as places are written. JSONPath is another way to write one, as in rules: `$..price` is `/**/price`.
pub fn place_of(path: &str) -> Result<String, PlaceError> {
    look_at_place(path)?;
    if !path.starts_with('$') {
        return Ok(path.to_owned());
    }
    let pattern = Pattern::body(path).map_err(|(why, hint)| {
        let hint = hint.map(|hint| format!("; {hint}"));
        PlaceError::NoPlace(why + &hint.unwrap_or_default())
    })?;
    let place = pattern.canonical();
    // An index, or a key that is a star.
    if place.contains("/~[") || place.contains("/~*") {
        return Err(PlaceError::NoPlace(format!(
            "`{path}` names what no place has: groups of every element have `*` there; write `[*]`, or a path as reports show it"
        )));
    }
    look_at_place(&place)?;
    Ok(place)
}

fn look_at_place(path: &str) -> Result<(), PlaceError> {
    if path.chars().count() > MAX_CHARS {
        return Err(PlaceError::TooLong(MAX_CHARS));
    }
    let anywhere = path.split('/').filter(|step| *step == "**").count();
    if anywhere > MAX_ANYWHERE {
        return Err(PlaceError::TooManyAnywhere(MAX_ANYWHERE));
    }
    Ok(())
}

/// Whether a path names no place: each of its steps may be any. `/*` is every first field, and what is elsewhere is seldom more.
pub fn is_everywhere(path: &str) -> bool {
    let steps = path.split('/').filter(|step| !step.is_empty());
    let is_wild = |step: &str| step == "*" || step == "**";
    steps.clone().all(is_wild) && steps.count() > 0
}

/// Whether a path of an entry covers that of a group.
pub(super) fn covers(path: &str, pattern: &str) -> bool {
    let path: Vec<&str> = path.split('/').collect();
    let pattern: Vec<&str> = pattern.split('/').collect();
    covers_steps(&path, &pattern)
}

fn covers_steps(path: &[&str], pattern: &[&str]) -> bool {
    match path.split_first() {
        None => pattern.is_empty(),
        Some((&"**", rest)) => (0..=pattern.len()).any(|skip| covers_steps(rest, &pattern[skip..])),
        Some((step, rest)) => pattern.split_first().is_some_and(|(own, others)| {
            (*step == "*" || step == own) && covers_steps(rest, others)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_places_and_no_others() {
        for (path, place, expected) in [
            ("/price", "/price", true),
            ("/price", "/prices", false),
            ("/price", "/a/price", false),
            ("/items/*/price", "/items/*/price", true),
            ("/items/*/price", "/items/*", false),
            ("/**/price", "/price", true),
            ("/**/price", "/items/*/price", true),
            ("/**/price", "/items/price/*", false),
            ("/items/**", "/items", true),
            ("/items/**", "/items/*/a/b", true),
            ("/items/**", "/item", false),
            ("server", "server", true),
            ("", "", true),
            ("", "/a", false),
            ("/*", "/a", true),
            ("/*", "/a/b", false),
        ] {
            assert_eq!(covers(path, place), expected, "{path} {place}");
        }
        for (path, expected) in [
            ("/**", true),
            ("**", true),
            ("/*/**", true),
            ("*", true),
            ("/**/a", false),
            ("/*", true),
            ("/*/*", true),
            ("/*/a", false),
            ("", false),
        ] {
            assert_eq!(is_everywhere(path), expected, "{path}");
        }
        for (path, place) in [
            ("$..a", "/**/a"),
            ("$..*", "/**/*"),
            ("$", ""),
            ("$.items[*].price", "/items/*/price"),
            ("$['a/b'].c", "/a~1b/c"),
            ("/**/a", "/**/a"),
            ("server", "server"),
            ("a$", "a$"),
        ] {
            assert_eq!(place_of(path).as_deref(), Ok(place), "{path}");
        }
        assert!(covers(&place_of("$..a").unwrap(), "/items/*/a"));
        for path in [
            "$.items[0]",
            "$['*']",
            "$..",
            "$a",
            "$[?@.a]",
            "$..a..b..c..d..e",
        ] {
            assert!(place_of(path).is_err(), "{path}");
        }
        assert!(look_at_place("/**/a").is_ok());
        assert!(look_at_place(&"/**".repeat(5)).is_err());
        assert!(look_at_place(&"a".repeat(2_000)).is_err());
    }
}
