//! Who asks: what a handler knows of a request that was let in.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::access::Role;
use super::site::Site;

/// Who sent a request. The guard says it, and without a guard nobody may change anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visitor {
    pub(super) role: Role,
    /// From where; `None` where there is no connection, in tests.
    pub(super) address: Option<SocketAddr>,
    /// The name that somebody gave with the token, which proves nothing.
    pub(super) user: Option<String>,
}

impl Default for Visitor {
    fn default() -> Self {
        Self {
            role: Role::Look,
            address: None,
            user: None,
        }
    }
}

/// From where a connection came, in the extensions of its requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// A site as one visitor has it.
pub(super) struct Visit {
    pub(super) site: Arc<Site>,
    pub(super) visitor: Visitor,
}

impl Visit {
    /// What the forms on a page carry; `None` for who may change nothing, and gets no forms.
    pub(super) fn form(&self) -> Option<String> {
        match self.visitor.role {
            Role::Change => Some(self.site.access.form().to_owned()),
            Role::Look => None,
        }
    }
}

impl Deref for Visit {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

/// Takes a [`Visit`] from a request.
pub(super) struct Visited(pub(super) Visit);

impl FromRequestParts<Arc<Site>> for Visited {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Infallible> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        Ok(Self(Visit {
            site: Arc::clone(site),
            visitor: visitor.unwrap_or_default(),
        }))
    }
}
