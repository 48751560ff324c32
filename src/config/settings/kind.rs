//! The types of settings: what their values look like.

use super::super::value;

/// What a value must look like. The JSON type it has in the file follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text without control characters.
    Text,
    /// `host:port` with a numeric host.
    Address,
    /// The same of an admin port, also as its URL.
    Admin,
    /// `http://`, `https://` or `unix:`.
    Upstream,
    /// `sqlite:PATH` and the like.
    Store,
    /// A password: from the environment only, and never shown.
    Secret,
    /// A path, relative to the working directory.
    Path,
    /// `500ms`, `5s`, `2m`, `14d`.
    Duration,
    /// `512KiB`, `32MiB`, or bytes as a number.
    Size,
    /// A whole number of at least one.
    Count,
    /// A whole number.
    Number,
    /// A number between 0 and 1.
    Share,
    /// A number.
    Decimal,
    /// `on` or `off` (`true` or `false` in the file).
    Switch,
    /// A list of text; comma-separated in the environment.
    List,
}

impl Kind {
    /// Whether a text has the form of a value of this type. Whoever needs the value checks whether it makes sense.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Address => value::address(text).map(drop),
            Self::Admin => value::admin_form(text),
            Self::Duration => value::duration(text).map(drop),
            Self::Size => value::size(text).map(drop),
            Self::Count => value::count(text).map(drop),
            Self::Number => value::number(text).map(drop),
            Self::Share => value::share(text).map(drop),
            Self::Decimal => value::decimal(text).map(drop),
            Self::Switch => value::switch(text).map(drop),
            Self::Text | Self::Upstream | Self::Store | Self::Secret | Self::Path | Self::List => {
                Ok(())
            }
        }
    }
}
