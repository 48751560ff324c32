//! What a body says that it is, and whether it can be text at all.

use std::borrow::Cow;

use parity_schemas::fields::FieldLines;

use super::markup::Dialect;
use crate::charset;
use crate::media::{BodyKind, Declared, MediaType};

/// What a message says that its body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Json,
    Lines,
    Yaml,
    Events,
    Form,
    /// With its boundary.
    Multipart(Option<String>),
    /// The same of a form, whose every part has a name.
    MultipartForm(Option<String>),
    /// XML or HTML; by its type, or by its begin.
    Markup(Option<Dialect>),
    GraphQl,
    /// Values parted by commas, tabs or semicolons.
    Table,
    Plain,
    /// Text with a structure that nothing here reads: programs, style sheets, queries of a database.
    Unread,
    /// No text.
    Bytes,
    /// It does not say.
    Silent,
}

impl Claim {
    pub(super) fn of(headers: &FieldLines) -> (Self, Option<String>) {
        let Some(value) = headers.get(&http::header::CONTENT_TYPE) else {
            return (Self::Silent, None);
        };
        let declared = Declared::of(headers);
        let text = value.lossy();
        (Self::of_type(&text, declared.boundary), declared.charset)
    }

    /// Of the value of a `Content-Type`.
    pub(super) fn of_type(value: &str, boundary: Option<String>) -> Self {
        let media = MediaType::parse(value);
        let essence = media.essence.as_str();
        match media.kind() {
            _ if essence.is_empty() => Self::Silent,
            BodyKind::Json => Self::Json,
            BodyKind::JsonLines => Self::Lines,
            BodyKind::Yaml => Self::Yaml,
            BodyKind::Events => Self::Events,
            BodyKind::Form => Self::Form,
            BodyKind::Multipart if essence == "multipart/form-data" => {
                Self::MultipartForm(boundary)
            }
            BodyKind::Multipart => Self::Multipart(boundary),
            BodyKind::Bytes => Self::Bytes,
            BodyKind::Text => match essence {
                "application/graphql" => Self::GraphQl,
                "text/html" => Self::Markup(Some(Dialect::Html)),
                "text/xml" | "application/xml" => Self::Markup(Some(Dialect::Xml)),
                "text/csv" | "text/tab-separated-values" => Self::Table,
                "text/plain" | "text/markdown" => Self::Plain,
                _ if essence.ends_with("+xml") => Self::Markup(Some(Dialect::Xml)),
                _ => Self::Unread,
            },
        }
    }
}

/// The text of a body; `None` where its charset is in doubt. In a charset of two or more bytes for each letter, bytes
/// that are ASCII text are no text of it; and what nobody knows how to read may spell anything.
pub(super) fn in_utf8<'a>(body: Cow<'a, [u8]>, charset: Option<&str>) -> Option<Cow<'a, [u8]>> {
    let Some(label) = charset else {
        return Some(body);
    };
    let known = encoding_rs::Encoding::for_label(label.as_bytes())?;
    let wide = known == encoding_rs::UTF_16LE || known == encoding_rs::UTF_16BE;
    if wide && !body.contains(&0) {
        return None;
    }
    let (_, _, malformed) = known.decode(&body);
    (!malformed).then(|| charset::to_utf8(body, charset))
}

/// Whether nothing is in a text that no text has.
pub(super) fn is_text(text: &str) -> bool {
    let control = |byte: u8| {
        byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b | 0x1e)
    };
    !text.bytes().any(control)
}
