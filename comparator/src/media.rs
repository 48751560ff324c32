//! What a `Content-Type` says, as far as the comparison of bodies needs it.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// How a body is compared, from the richest to the poorest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Json,
    Yaml,
    Text,
    Bytes,
}

/// A media type with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// `type/subtype` in lower case.
    pub(crate) essence: String,
    /// Names in lower case, values as received without quotes; sorted, because their order means nothing.
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
        parameters.sort();
        Self {
            essence,
            parameters,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        matches!(self.essence.as_str(), "application/json" | "text/json")
            || self.essence.ends_with("+json")
    }

    /// gRPC over HTTP/2. gRPC-Web has another framing.
    fn is_grpc(&self) -> bool {
        self.essence
            .strip_prefix("application/grpc")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
    }

    pub(crate) fn kind(&self) -> BodyKind {
        let essence = self.essence.as_str();
        if self.is_grpc() {
            // Whatever its messages are, they stand behind prefixes.
            return BodyKind::Bytes;
        }
        if self.is_json() {
            return BodyKind::Json;
        }
        match essence {
            "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml"
            | "text/vnd.yaml" => BodyKind::Yaml,
            "application/xml"
            | "application/javascript"
            | "application/ecmascript"
            | "application/graphql"
            | "application/x-www-form-urlencoded"
            | "application/x-ndjson"
            | "application/toml"
            | "application/sql" => BodyKind::Text,
            _ if essence.ends_with("+yaml") => BodyKind::Yaml,
            _ if essence.starts_with("text/") || essence.ends_with("+xml") => BodyKind::Text,
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

/// What the headers say of the body; `None` when they say nothing.
pub(crate) fn body_kind(headers: &HeaderMap) -> Option<BodyKind> {
    let value = headers.get(CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    // By far the most frequent one, without an allocation.
    if text == "application/json" {
        return Some(BodyKind::Json);
    }
    Some(MediaType::parse(&text).kind())
}

/// Whether an answer is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    // The first look costs next to nothing, and most answers are none.
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        const START: &[u8] = b"application/grpc";
        let value = value.as_bytes();
        value
            .get(..START.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(START))
            && MediaType::parse(&String::from_utf8_lossy(value)).is_grpc()
    })
}

/// Whether the messages of a gRPC answer are JSON.
pub(crate) fn is_grpc_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        MediaType::parse(&String::from_utf8_lossy(value.as_bytes())).essence
            == "application/grpc+json"
    })
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
            ("text/csv", BodyKind::Text),
            ("image/svg+xml", BodyKind::Text),
            ("application/yaml", BodyKind::Yaml),
            ("application/octet-stream", BodyKind::Bytes),
            ("image/png", BodyKind::Bytes),
        ] {
            assert_eq!(MediaType::parse(text).kind(), kind, "{text}");
        }
    }
}
