//! Parses `Content-Type`, as far as the comparison of bodies needs it.

use std::borrow::Cow;

use http::header::CONTENT_TYPE;
use parity_schemas::fields::FieldLines;

use crate::charset;

/// How a body is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    /// A JSON document on each line.
    JsonLines,
    Yaml,
    Xml,
    Csv,
    /// Server-sent events.
    Events,
    Form,
    Multipart,
    Text,
    Bytes,
}

/// The two forms of gRPC-Web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrpcWeb {
    Binary,
    /// In base64.
    Text,
}

/// What the header fields declare about a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// `None` if they do not declare one.
    pub(crate) kind: Option<BodyKind>,
    /// The charset of a text that is not UTF-8.
    pub(crate) charset: Option<String>,
    /// Whether there is a charset, be it UTF-8. Then what an XML document says of itself does not count.
    pub(crate) says_charset: bool,
    /// Whether the first line of a table is names, so that columns may be read by them.
    pub(crate) says_header: bool,
    /// Whether it is the JSON of a GraphQL answer by its own type. Most answers have the type of any JSON.
    pub(crate) is_graphql: bool,
    /// The boundary of a multipart body.
    pub(crate) boundary: Option<String>,
}

impl Declared {
    pub(crate) fn only(kind: BodyKind) -> Self {
        Self {
            kind: Some(kind),
            ..Self::default()
        }
    }

    /// The charset of this body, if it is not UTF-8. An XML document says its own where the header says none.
    pub(crate) fn charset_of(&self, body: &[u8]) -> Option<Cow<'_, str>> {
        match self.kind {
            Some(BodyKind::Xml) if !self.says_charset => charset::of_xml(body).map(Cow::Owned),
            _ => self.charset.as_deref().map(Cow::Borrowed),
        }
    }

    pub(crate) fn of(headers: &FieldLines) -> Self {
        let Some(value) = headers.get(&CONTENT_TYPE) else {
            return Self::default();
        };
        // By far the most frequent type, handled without an allocation.
        if is_plain_json(value.as_bytes()) {
            return Self::only(BodyKind::Json);
        }
        let media = MediaType::parse(&value.lossy());
        let parameter = |wanted: &str| {
            let found = media.parameters.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone())
        };
        let said = parameter("charset");
        let says_charset = said.is_some();
        let charset = said.filter(|label| !charset::is_utf8(label));
        Self {
            kind: Some(media.kind()),
            charset,
            says_charset,
            says_header: media.names_columns(),
            is_graphql: media.essence == "application/graphql-response+json",
            boundary: parameter("boundary"),
        }
    }
}

/// `application/json`, with or without `charset=utf-8`.
fn is_plain_json(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case(b"application/json"))
        && parts.all(|part| part.eq_ignore_ascii_case(b"charset=utf-8"))
}

/// A media type with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// `type/subtype` in lower case.
    pub(crate) essence: String,
    /// Names in lower case, values as received without quotes. Sorted by name, because their order means nothing.
    /// Parameters with the same name keep their order, because some readers use the first and others the last.
    pub(crate) parameters: Vec<(String, String)>,
}

impl MediaType {
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = text.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let mut parameters: Vec<(String, String)> = parts
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                (
                    name.trim().to_ascii_lowercase(),
                    value.trim().trim_matches('"').to_owned(),
                )
            })
            .collect();
        parameters.sort_by(|one, two| one.0.cmp(&two.0));
        Self {
            essence,
            parameters,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        matches!(self.essence.as_str(), "application/json" | "text/json")
            || self.essence.ends_with("+json")
    }

    /// gRPC over HTTP/2.
    fn is_grpc(&self) -> bool {
        self.begins("application/grpc")
    }

    fn grpc_web(&self) -> Option<GrpcWeb> {
        if self.begins("application/grpc-web") {
            Some(GrpcWeb::Binary)
        } else if self.begins("application/grpc-web-text") {
            Some(GrpcWeb::Text)
        } else {
            None
        }
    }

    /// Whether it is this type, with or without the format of its messages.
    fn begins(&self, essence: &str) -> bool {
        self.essence
            .strip_prefix(essence)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
    }

    /// Whether the first line of a table is declared to be names (RFC 4180).
    pub(crate) fn names_columns(&self) -> bool {
        self.says("header", "present")
    }

    fn says(&self, name: &str, value: &str) -> bool {
        self.parameters
            .iter()
            .any(|(known, said)| known == name && said == value)
    }

    pub(crate) fn kind(&self) -> BodyKind {
        let essence = self.essence.as_str();
        if self.is_grpc() || self.grpc_web().is_some() {
            // Whatever its messages are, each follows a prefix of bytes.
            return BodyKind::Bytes;
        }
        if self.is_json() && essence != "application/stream+json" {
            return BodyKind::Json;
        }
        match essence {
            "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml"
            | "text/vnd.yaml" => BodyKind::Yaml,
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/jsonlines"
            | "application/json-lines"
            | "application/json-seq"
            | "application/stream+json" => BodyKind::JsonLines,
            "text/event-stream" => BodyKind::Events,
            "application/x-www-form-urlencoded" => BodyKind::Form,
            "application/xml" | "text/xml" => BodyKind::Xml,
            // Pages and pictures, in which white space is seen and order is a place.
            "application/xhtml+xml"
            | "image/svg+xml"
            | "application/javascript"
            | "application/ecmascript"
            | "application/graphql"
            | "application/toml"
            | "application/sql" => BodyKind::Text,
            _ if essence.starts_with("multipart/") => BodyKind::Multipart,
            _ if essence.ends_with("+yaml") => BodyKind::Yaml,
            "text/csv" if !self.says("header", "absent") => BodyKind::Csv,
            _ if essence.ends_with("+xml") => BodyKind::Xml,
            _ if essence.starts_with("text/") => BodyKind::Text,
            _ => BodyKind::Bytes,
        }
    }

    /// Whether two types mean the same: parameters in any order, names and charsets without case, a `charset=utf-8`
    /// on JSON (which has no other) and the boundary of multipart bodies (which is chosen at random) left out.
    pub(crate) fn means_the_same(&self, other: &Self) -> bool {
        self.essence == other.essence && self.meaning() == other.meaning()
    }

    fn meaning(&self) -> Vec<(&str, String)> {
        self.parameters
            .iter()
            .map(|(name, value)| match name.as_str() {
                "charset" => ("charset", value.to_ascii_lowercase()),
                name => (name, value.clone()),
            })
            .filter(|(name, value)| match *name {
                "charset" => !(self.is_json() && value == "utf-8"),
                "boundary" => !self.essence.starts_with("multipart/"),
                _ => true,
            })
            .collect()
    }
}

/// The type of a body that could be gRPC. The check by prefix is cheap, and most answers are not gRPC.
fn of_grpc(headers: &FieldLines) -> Option<MediaType> {
    const START: &[u8] = b"application/grpc";
    let value = headers.get(&CONTENT_TYPE)?.as_bytes();
    let start = value.get(..START.len())?;
    start
        .eq_ignore_ascii_case(START)
        .then(|| MediaType::parse(&String::from_utf8_lossy(value)))
}

/// Whether an answer is gRPC or gRPC-Web.
pub(crate) fn is_any_grpc(headers: &FieldLines) -> bool {
    of_grpc(headers).is_some_and(|media| media.is_grpc() || media.grpc_web().is_some())
}

/// Whether and how an answer is gRPC-Web.
pub(crate) fn grpc_web(headers: &FieldLines) -> Option<GrpcWeb> {
    of_grpc(headers)?.grpc_web()
}

/// Whether the messages of a gRPC answer of either form are JSON.
pub(crate) fn is_grpc_json(headers: &FieldLines) -> bool {
    is_any_grpc(headers) && of_grpc(headers).is_some_and(|media| media.essence.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_mean_the_same() {
        for (one, two, same) in [
            ("application/json", "application/json; charset=utf-8", true),
            ("application/json", "Application/JSON;charset=UTF-8", true),
            (
                "application/problem+json",
                "application/problem+json; charset=\"utf-8\"",
                true,
            ),
            (
                "application/json",
                "application/json; charset=latin1",
                false,
            ),
            ("text/html", "text/html; charset=utf-8", false),
            ("text/html;charset=utf-8", "text/html; charset=UTF-8", true),
            ("a/b; x=1; y=2", "a/b; y=2; x=1", true),
            (
                "multipart/form-data; boundary=a",
                "multipart/form-data; boundary=b",
                true,
            ),
            ("application/json", "text/json", false),
        ] {
            assert_eq!(
                MediaType::parse(one).means_the_same(&MediaType::parse(two)),
                same,
                "{one} {two}"
            );
        }
    }

    #[test]
    fn kinds() {
        for (text, kind) in [
            ("application/hal+json", BodyKind::Json),
            ("text/csv", BodyKind::Csv),
            ("text/csv; header=absent", BodyKind::Text),
            ("image/svg+xml", BodyKind::Text),
            ("application/xhtml+xml", BodyKind::Text),
            ("application/soap+xml; charset=utf-8", BodyKind::Xml),
            ("text/xml", BodyKind::Xml),
            ("application/yaml", BodyKind::Yaml),
            ("application/octet-stream", BodyKind::Bytes),
            ("image/png", BodyKind::Bytes),
            ("application/grpc-web+json", BodyKind::Bytes),
            ("application/grpc-web-text", BodyKind::Bytes),
            ("application/grpc-website+json", BodyKind::Json),
            ("application/x-ndjson", BodyKind::JsonLines),
            ("text/event-stream; charset=utf-8", BodyKind::Events),
            ("multipart/mixed; boundary=x", BodyKind::Multipart),
            ("application/x-www-form-urlencoded", BodyKind::Form),
        ] {
            assert_eq!(MediaType::parse(text).kind(), kind, "{text}");
        }
    }

    #[test]
    fn the_charset_is_kept_where_it_is_not_utf_8() {
        for (text, kind, charset) in [
            ("application/json", BodyKind::Json, None),
            ("Application/JSON;  Charset=UTF-8", BodyKind::Json, None),
            ("application/json; charset=\"utf-8\"", BodyKind::Json, None),
            (
                "text/plain; charset=ISO-8859-1",
                BodyKind::Text,
                Some("ISO-8859-1"),
            ),
            (
                "application/json; v=1; charset=utf-16",
                BodyKind::Json,
                Some("utf-16"),
            ),
        ] {
            let headers = FieldLines::from_iter([(CONTENT_TYPE, text)]);
            let declared = Declared::of(&headers);
            assert_eq!(
                (declared.kind, declared.charset.as_deref()),
                (Some(kind), charset),
                "{text}"
            );
        }
        assert_eq!(Declared::of(&FieldLines::default()), Declared::default());
    }
}
