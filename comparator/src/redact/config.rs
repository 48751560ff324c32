//! The operator's settings for redaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shortest key: as many bytes as a hash keeps.
pub(super) const MIN_KEY_BYTES: usize = 16;

/// Fields that carry credentials; they can never be put on the list of those to keep.
pub(super) const CREDENTIAL_HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "authentication-info",
    "www-authenticate",
];

/// What may be recorded as it is, and what must not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedactConfig {
    /// Header and trailer fields whose values are recorded. Replaces the default list.
    pub keep_headers: Vec<String>,
    /// Query parameters whose values are recorded. Replaces the default list.
    pub keep_query: Vec<String>,
    /// Keys whose values in bodies are hashed, besides those that always are (`password`, `token`, …).
    pub mask_keys: Vec<String>,
    /// Places in bodies, as JSON Pointers, whose values are hashed: those that have no name, such as the first element of a list
    /// that is the whole body. Not a setting: a replay hides there what it puts or takes.
    #[serde(skip)]
    pub mask_places: Vec<String>,
    /// What is recorded of plain text, in which secrets can only be guessed at.
    pub text: PlainText,
}

/// What is recorded of a text without a structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlainText {
    /// The text, without what looks like a secret. No pattern finds them all.
    #[default]
    Patterns,
    /// Its length and keyed hash.
    Hidden,
}

impl Default for RedactConfig {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            keep_headers: owned(&[
                "accept",
                "accept-encoding",
                "accept-language",
                "accept-ranges",
                "access-control-allow-credentials",
                "access-control-allow-headers",
                "access-control-allow-methods",
                "access-control-allow-origin",
                "access-control-max-age",
                "age",
                "allow",
                "cache-control",
                "connection",
                "content-encoding",
                "content-language",
                "content-length",
                "content-range",
                "content-type",
                "date",
                "etag",
                "expires",
                "grpc-status",
                "last-modified",
                "pragma",
                "retry-after",
                "server",
                "strict-transport-security",
                "transfer-encoding",
                "vary",
                "via",
                "x-content-type-options",
                "x-frame-options",
                "x-powered-by",
                "x-total-count",
            ]),
            keep_query: owned(&[
                "page",
                "limit",
                "offset",
                "size",
                "per_page",
                "page_size",
                "sort",
                "order",
                "_page",
                "_limit",
                "_per_page",
                "_sort",
                "_order",
                "_start",
                "_end",
            ]),
            mask_keys: Vec::new(),
            mask_places: Vec::new(),
            text: PlainText::default(),
        }
    }
}

/// What is wrong with the configuration of redaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactError {
    /// A name on the list of fields to keep is not a header name.
    #[error("keep_headers: `{0}` is not a header name")]
    HeaderName(String),
    /// A field that carries credentials.
    #[error(
        "keep_headers: `{0}` carries credentials and is always recorded as a keyed hash; remove it"
    )]
    CredentialHeader(String),
    /// A place that is no JSON Pointer, or too deep.
    #[error("no value at `{0}` can be hidden: {1}")]
    MaskPlace(String, String),
    /// A key of nothing but punctuation.
    #[error("mask_keys: `{0}` names no key")]
    MaskKey(String),
    /// A key that could be guessed.
    #[error(
        "the redaction key has {length} bytes, at least {MIN_KEY_BYTES} are needed; make one with `openssl rand -hex 32`"
    )]
    ShortKey {
        /// Bytes it has.
        length: usize,
    },
}
