//! What somebody shows: a token, with a name beside it or without one.
//!
//! It is read here and compared elsewhere (`access`). A name comes to logs and pages, so none leaves here that may have a token in it.

use axum::http::HeaderMap;
use axum::http::header::{self, HeaderValue};
use base64::Engine as _;
use parity_schemas::visible::visible_up_to;

use super::super::access::Access;

/// What stands in `Authorization`.
pub(super) enum Given {
    Nothing,
    /// Something that has no token.
    Unreadable,
    Bearer(Vec<u8>),
    /// User and password.
    Basic(Vec<u8>, Vec<u8>),
}

impl Given {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        match headers.get(header::AUTHORIZATION) {
            Some(value) => Self::read(value).unwrap_or(Self::Unreadable),
            None => Self::Nothing,
        }
    }

    fn read(value: &HeaderValue) -> Option<Self> {
        let (scheme, credentials) = value.to_str().ok()?.split_once(' ')?;
        let credentials = credentials.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Self::Bearer(credentials.into()));
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let engine = base64::engine::general_purpose::STANDARD;
        let decoded = engine.decode(credentials).ok()?;
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        let (user, password) = decoded.split_at(colon);
        Some(Self::Basic(user.into(), password.get(1..)?.into()))
    }

    pub(super) fn token(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing | Self::Unreadable => None,
            Self::Bearer(token) | Self::Basic(_, token) => Some(token),
        }
    }

    /// The name that somebody gave, made visible; `None` if a token of this port is in it, of which a cut name would show a part.
    pub(super) fn user(&self, access: &Access) -> Option<String> {
        let Self::Basic(user, _) = self else {
            return None;
        };
        if access.has_token(user) {
            return None;
        }
        let user = visible_up_to(&String::from_utf8_lossy(user), MAX_USER);
        Some(user).filter(|user| !user.is_empty())
    }
}

/// Characters of a name that are kept.
const MAX_USER: usize = 64;
