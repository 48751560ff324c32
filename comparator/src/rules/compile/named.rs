//! Checks the keys that name something else than a path: the new name of a field, and a part of a text.

use parity_schemas::verdict::Part;

use super::Check;
use crate::rules::pattern::{self, Pattern};
use crate::rules::place::{Lines, Place, Selector, Span, Wrong, is_name};
use crate::rules::{Action, Rename};

/// What has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Something in a body.
    Field,
    /// A header or trailer.
    Header,
    /// A cookie.
    Cookie,
}

/// Whether an answer can set a cookie of this name.
fn may_be_a_cookie(name: &str) -> bool {
    name.trim() == name
        && !name.contains(|sign: char| sign.is_control() || matches!(sign, '=' | ';'))
}

impl Check<'_> {
    /// Reads the old name from the path, and the new one.
    pub(super) fn rename(&mut self, part: Part, pattern: &Pattern) -> Option<Action> {
        let path = &self.config.path;
        let named = match part {
            Part::Body => Named::Field,
            _ if pattern::is_of_cookies(path) => Named::Cookie,
            _ => Named::Header,
        };
        let every = named == Named::Cookie && pattern.covers_header(pattern::COOKIES);
        let (from, holder) = match pattern.named_key().filter(|_| !every) {
            Some((from, holder)) => (from.into(), holder),
            // It is told that it has no names.
            None if part == Part::Status => (Box::default(), pattern.clone()),
            None => {
                let example = match named {
                    Named::Field => "/**/userName",
                    Named::Cookie => "set-cookie/session",
                    Named::Header => "x-request-id",
                };
                self.error(
                    "path",
                    format!(
                        "`{path}` does not end with a name, so it is not known what is renamed"
                    ),
                    Some(format!(
                        "end it with the name that the legacy uses, for example `{example}`"
                    )),
                );
                self.new_name(named, "");
                return None;
            }
        };
        let to = match part {
            // Without one, too: a rule that is not told of is not dropped.
            Part::Status => self.config.to.as_deref().unwrap_or_default().into(),
            _ => self.new_name(named, &from)?,
        };
        Some(Action::Rename(Box::new(Rename { from, to, holder })))
    }

    fn new_name(&mut self, named: Named, from: &str) -> Option<Box<str>> {
        let to = self.config.to.as_deref().unwrap_or_default();
        let to = match named {
            Named::Field | Named::Cookie => to.to_owned(),
            // The name of a header has no case.
            Named::Header => to.to_ascii_lowercase(),
        };
        let name = to.rsplit('/').next().unwrap_or_default();
        let (message, hint) = if to.is_empty() {
            (
                "the action `rename` needs the name that the candidate uses".to_owned(),
                "add for example `to = \"user_name\"`; `path` ends with the legacy's name"
                    .to_owned(),
            )
        } else if named == Named::Cookie && to.to_ascii_lowercase().starts_with("set-cookie/") {
            (
                format!("`{to}` is a path, and the new name of a cookie is enough"),
                format!("write the name alone: `to = \"{name}\"`"),
            )
        } else if named == Named::Cookie && !may_be_a_cookie(&to) {
            (
                format!("`{to}` is not the name of a cookie"),
                "write the name alone, for example `session`".to_owned(),
            )
        } else if named == Named::Header && pattern::is_of_cookies(&to) {
            (
                format!("`{from}` is a header, and `{to}` has cookies"),
                "write two rules with `ignore`, for the header and for the cookie".to_owned(),
            )
        } else if named == Named::Header && http::HeaderName::from_bytes(to.as_bytes()).is_err() {
            (
                format!("`{to}` is not a header name"),
                "write the name alone, for example `x-request-id`".to_owned(),
            )
        } else if named == Named::Field && to.contains('/') {
            // A key may hold a slash; a path here is nearly always a mistake, and such a rule would never apply.
            (
                format!("`{to}` is a path, and a field can only be renamed where it stands"),
                format!("write the name alone: `to = \"{name}\"`"),
            )
        } else if from == to {
            (
                format!("`{from}` is the old name, too"),
                "write the name that the candidate uses; `path` ends with the legacy's".to_owned(),
            )
        } else {
            return Some(to.into());
        };
        self.error("to", message, Some(hint));
        None
    }

    /// The part of a text that the rule is for; `None` if it is for all of it, or for something else than a text.
    pub(super) fn in_text(&mut self, part: Option<Part>, action: Option<&Action>) -> Option<Place> {
        let config = self.config;
        let keys = [
            ("line", &config.line),
            ("column", &config.column),
            ("characters", &config.characters),
            ("element", &config.element),
            ("attribute", &config.attribute),
        ];
        let first = keys.iter().find(|(_, text)| text.is_some())?.0;
        if part.is_some_and(|part| part != Part::Body) {
            let message = format!("`{first}` is for a text, so for the body only");
            self.error(first, message, Some("remove `part`".to_owned()));
        } else if !config.path.is_empty() {
            let message = format!("`{first}` is for a text, which has no fields");
            self.error(
                "path",
                message,
                Some(format!("remove `path`, or `{first}`")),
            );
        }
        if let Some(action) = action
            && !is_for_a_part(action)
        {
            self.error(
                "action",
                format!("`{}` has no meaning for a part of a text", config.action),
                Some("use ignore, tolerance, scale, parts or as".to_owned()),
            );
        }
        let of_page = config.element.is_some() || config.attribute.is_some();
        if of_page {
            if let Some((key, _)) = keys[..3].iter().find(|(_, text)| text.is_some()) {
                let message = format!("`{key}` and `element` name different parts of a text");
                self.error(key, message, Some("write two rules".to_owned()));
            }
            return self.attribute();
        }
        let lines = match config.line.as_deref() {
            None => Some(Lines::All),
            Some(text) => self.checked("line", Lines::parse(text)),
        };
        let span = match (config.column.as_deref(), config.characters.as_deref()) {
            (None, None) => Some(Span::Whole),
            (Some(text), None) => self.checked("column", Span::column(text)),
            (None, Some(text)) => self.checked("characters", Span::characters(text)),
            (Some(_), Some(_)) => {
                self.error(
                    "characters",
                    "both `column` and `characters` are given".to_owned(),
                    Some("give one of them".to_owned()),
                );
                None
            }
        };
        Some(Place::Lines(lines?, span?))
    }

    fn attribute(&mut self) -> Option<Place> {
        let config = self.config;
        let Some(element) = config.element.as_deref() else {
            let hint = "add for example `element = \"input[name=csrf]\"`".to_owned();
            self.error(
                "element",
                "`attribute` needs the `element` that has it".to_owned(),
                Some(hint),
            );
            return None;
        };
        let attribute = config.attribute.as_deref();
        let Some(attribute) = attribute.filter(|name| is_name(name)) else {
            let message = match attribute {
                None => "`element` needs the `attribute` whose value is meant".to_owned(),
                Some(text) => format!("`{text}` is not the name of an attribute"),
            };
            let usual = if element.starts_with("meta") {
                "content"
            } else {
                "value"
            };
            self.error(
                "attribute",
                message,
                Some(format!("add for example `attribute = \"{usual}\"`")),
            );
            return None;
        };
        self.checked("element", Selector::parse(element, attribute))
            .map(Place::Attribute)
    }

    fn checked<T>(&mut self, key: &'static str, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|(message, hint)| self.error(key, message, Some(hint.to_owned())))
            .ok()
    }
}

/// Whether an action compares two texts, or none.
fn is_for_a_part(action: &Action) -> bool {
    matches!(
        action,
        Action::Ignore
            | Action::Absolute(_)
            | Action::Relative(_)
            | Action::Within(_)
            | Action::Scale(_)
            | Action::Parts(_)
            | Action::Timestamp
            | Action::Uuid
            | Action::Number
            | Action::Json
    )
}
