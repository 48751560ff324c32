//! What holds of a setting when nobody says otherwise.
//!
//! A number that a library has with its reason beside it is not written a second time: the definition of the setting names
//! where it is, and its text is made from it. What no library knows is written in the definition.

use std::time::Duration;

/// Where a default comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DefaultValue {
    /// Written in the definition.
    Text(&'static str),
    /// Made from a value of the library that uses it.
    Of(fn() -> String),
    /// The elements of a list.
    List(fn() -> Vec<String>),
}

impl DefaultValue {
    /// As it is given by a variable or a flag: the elements of a list are parted by commas.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Text(text) => text.to_owned(),
            Self::Of(text) => text(),
            Self::List(items) => items().join(","),
        }
    }

    /// The elements of a list.
    pub(crate) fn items(self) -> Vec<String> {
        match self {
            Self::List(items) => items(),
            Self::Text(_) | Self::Of(_) => Vec::new(),
        }
    }
}

/// A duration in the largest unit of which it is a whole number.
pub(super) fn duration(value: Duration) -> String {
    let millis = value.as_millis();
    let units = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
    ];
    let whole = units
        .iter()
        .find(|(_, unit)| millis > 0 && millis.is_multiple_of(*unit));
    whole.map_or_else(
        || format!("{millis}ms"),
        |(name, unit)| format!("{}{name}", millis / unit),
    )
}

/// A size in the largest unit of which it is a whole number.
pub(super) fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let whole = units
        .iter()
        .find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or_else(
        || bytes.to_string(),
        |(name, unit)| format!("{}{name}", bytes / unit),
    )
}

/// `on` or `off`.
pub(super) fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// The word of a value.
pub(super) fn word<T: PartialEq>(value: &T, words: &[(&'static str, T)]) -> String {
    let found = words.iter().find(|(_, known)| known == value);
    found.map_or_else(String::new, |(word, _)| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value;

    #[test]
    fn what_is_written_is_read_back() {
        for millis in [0, 1, 250, 1_000, 90_000, 60_000, 7_200_000, 86_400_000] {
            let time = Duration::from_millis(millis);
            assert_eq!(value::duration(&duration(time)), Ok(time));
        }
        for bytes in [0, 1, 1_000, 1 << 10, 3 << 19, 4 << 30] {
            assert_eq!(value::size(&size(bytes)), Ok(bytes));
        }
        assert_eq!(duration(Duration::from_hours(14 * 24)), "14d");
        assert_eq!(size(32 << 20), "32MiB");
        assert_eq!(value::switch(&switch(true)), Ok(true));
        assert_eq!(word(&2, &[("one", 1), ("two", 2)]), "two");
    }
}
