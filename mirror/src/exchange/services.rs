//! The two services of a policy: their addresses, and how to connect to them.

use std::path::Path;
use std::sync::Arc;

use crate::exchange::side::{BySide, Side};
use crate::upstream::{self, Connector, Target, TlsError};

/// Both services, with the files that are needed to connect to them loaded from disk.
#[derive(Clone)]
pub(crate) struct Services(BySide<(Connector, Target)>);

impl Services {
    /// `ca_file` has certificate authorities that are trusted besides the system's. It is read only if a service needs
    /// TLS.
    pub(crate) fn load(
        legacy: &Target,
        candidate: &Target,
        ca_file: Option<&Path>,
    ) -> Result<Self, TlsError> {
        let mut client = None;
        let mut load = |target: &Target| {
            let connector = Connector::new(&target.url, || {
                if let Some(client) = &client {
                    return Ok(Arc::clone(client));
                }
                let loaded = upstream::client_config(ca_file, &target.url.to_string())?;
                Ok(Arc::clone(client.insert(loaded)))
            })?;
            Ok((connector, target.clone()))
        };
        let legacy = load(legacy)?;
        let candidate = load(candidate)?;
        Ok(Self(BySide::of(legacy, candidate)))
    }

    pub(super) fn of(&self, side: Side) -> (Connector, Target) {
        self.0[side].clone()
    }
}
