//! How each field is compared if no rule says otherwise.

use http::HeaderName;

/// How a field is compared without a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// Any difference is ignored.
    Ignored,
    /// By presence, and by whether it is weak or strong.
    Validator,
    /// By presence.
    Presence,
    /// As a set of list elements without case.
    Set,
    /// As a set of directives whose names have no case.
    Directives,
    /// The same, separated by semicolons.
    Parameters,
    /// As an ordered list whose elements have unordered parameters.
    Parameterized,
    MediaType,
    Cookies,
    /// By the clock that wrote it.
    Clock,
    /// As an ordered list.
    List,
    /// As text, even if it contains commas.
    Single,
    /// As text, or as a list if it has several lines.
    Text,
}

pub(super) fn default_of(name: &HeaderName) -> FieldKind {
    match name.as_str() {
        "date" => FieldKind::Clock,
        "server"
        | "via"
        | "x-powered-by"
        | "age"
        | "alt-svc"
        | "content-length"
        | "transfer-encoding"
        | "content-encoding"
        | "grpc-encoding"
        | "grpc-accept-encoding"
        | "connection"
        | "keep-alive"
        | "proxy-connection"
        | "proxy-authenticate"
        | "proxy-authorization"
        | "te"
        | "trailer"
        | "upgrade" => FieldKind::Ignored,
        "etag" => FieldKind::Validator,
        "last-modified" => FieldKind::Presence,
        "vary" => FieldKind::Set,
        "cache-control" => FieldKind::Directives,
        "strict-transport-security" => FieldKind::Parameters,
        "accept"
        | "accept-charset"
        | "accept-encoding"
        | "accept-language"
        | "accept-patch"
        | "accept-post"
        | "content-disposition"
        | "link"
        | "prefer"
        | "preference-applied" => FieldKind::Parameterized,
        "content-type" => FieldKind::MediaType,
        "set-cookie" => FieldKind::Cookies,
        "accept-ch"
        | "accept-ranges"
        | "access-control-allow-headers"
        | "access-control-allow-methods"
        | "access-control-expose-headers"
        | "allow"
        | "cache-status"
        | "cdn-cache-control"
        | "clear-site-data"
        | "content-language"
        | "content-security-policy"
        | "critical-ch"
        | "permissions-policy"
        | "pragma"
        | "sec-websocket-extensions"
        | "sec-websocket-protocol"
        | "server-timing"
        | "timing-allow-origin"
        | "warning"
        | "www-authenticate"
        | "x-robots-tag" => FieldKind::List,
        "access-control-allow-origin"
        | "access-control-max-age"
        | "content-location"
        | "content-range"
        | "expires"
        | "location"
        | "refresh"
        | "retry-after" => FieldKind::Single,
        _ => FieldKind::Text,
    }
}
