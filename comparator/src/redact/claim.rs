//! What a body claims to be, and whether it can be text at all.

use std::borrow::Cow;

use parity_schemas::fields::FieldLines;

use super::markup::Dialect;
use crate::charset;
use crate::media::{BodyKind, Declared, MediaType};

/// What a message says its body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Json,
    Lines,
    Yaml,
    Events,
    Form,
    /// With its boundary.
    Multipart(Option<String>),
    /// A multipart form, in which every part has a name.
    MultipartForm(Option<String>),
    /// XML that is compared as data.
    Xml,
    /// Other XML or HTML, by its type or by how it starts.
    Markup(Option<Dialect>),
    GraphQl,
    /// A table that is compared by row and column. Whether columns have a declared name.
    Csv(bool),
    /// Values separated by commas, tabs or semicolons.
    Table,
    Plain,
    /// Text with a structure for which there is no parser here: programs, style sheets, database queries.
    Unsupported,
    /// Not text.
    Bytes,
    /// There is no type.
    Undeclared,
}

impl Claim {
    pub(super) fn of(headers: &FieldLines) -> (Self, Declared) {
        let Some(value) = headers.get(&http::header::CONTENT_TYPE) else {
            return (Self::Undeclared, Declared::default());
        };
        let declared = Declared::of(headers);
        let text = value.lossy();
        (Self::of_type(&text, declared.boundary.clone()), declared)
    }

    /// The claim made by the value of a `Content-Type`.
    pub(super) fn of_type(value: &str, boundary: Option<String>) -> Self {
        let media = MediaType::parse(value);
        let essence = media.essence.as_str();
        match media.kind() {
            _ if essence.is_empty() => Self::Undeclared,
            BodyKind::Json => Self::Json,
            BodyKind::JsonLines => Self::Lines,
            BodyKind::Yaml => Self::Yaml,
            BodyKind::Xml => Self::Xml,
            BodyKind::Csv => Self::Csv(media.names_columns()),
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
                "text/csv" | "text/tab-separated-values" => Self::Table,
                "text/plain" | "text/markdown" => Self::Plain,
                _ if essence.ends_with("+xml") => Self::Markup(Some(Dialect::Xml)),
                _ => Self::Unsupported,
            },
        }
    }
}

/// The body as UTF-8; `None` if its charset is in doubt: it is not known, or the bytes are not valid in it. ASCII bytes
/// labelled UTF-16 are in doubt, too.
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

/// Whether a text is free of control characters that text never has.
pub(super) fn is_text(text: &str) -> bool {
    let control = |byte: u8| {
        byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b | 0x1e)
    };
    !text.bytes().any(control)
}
