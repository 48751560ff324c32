//! The keys of the JSON object that a part of a multipart body is compared as, for all who name a place in one.

/// The key of the header fields of a part.
pub(crate) const HEADERS: &str = "part-headers";
/// The key of a body that is JSON.
pub(crate) const JSON: &str = "json";
/// The key of a body that is text.
pub(crate) const TEXT: &str = "text";
/// The key of the hash of a body.
pub(crate) const DIGEST: &str = "sha256";
/// The keys of a body.
pub(crate) const BODIES: [&str; 3] = [JSON, TEXT, DIGEST];
