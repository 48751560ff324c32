//! What is particular to each service in one recorded request: what it gets in its own form, and who learns what it answered.
//!
//! A service knows only the sessions and tokens that it gave out itself. So the request is the same for both but for those, and
//! the parts go on with the exchange, so that a service that is asked again is asked with its own.

use std::sync::Arc;

use parity_schemas::exchange::{Body, Capture, OwnParts, PerService, Request};

use crate::exchange::head::RequestHead;
use crate::exchange::side::{BySide, Side};

/// Is told of each whole answer, before the request ends.
pub(crate) type Heard = Box<dyn Fn(Side, &Capture)>;

/// What is particular to each service.
pub(crate) struct Own {
    parts: Option<Arc<PerService>>,
    heads: BySide<Option<RequestHead>>,
    heard: Option<Heard>,
}

impl Own {
    /// `None` if there is nothing particular. The error is that HTTP cannot send what a service would get.
    pub(super) fn new(
        request: &Request,
        parts: Option<Arc<PerService>>,
        heard: Option<Heard>,
    ) -> Result<Option<Box<Self>>, NotSendable> {
        if parts.is_none() && heard.is_none() {
            return Ok(None);
        }
        let head = |side| match parts.as_deref().map(|parts| of_side(parts, side)) {
            Some(own) if !own.is_empty() => {
                let head = RequestHead::of(&own.of(request));
                head.map(Some).ok_or(NotSendable)
            }
            _ => Ok(None),
        };
        let heads = BySide::of(head(Side::Legacy)?, head(Side::Candidate)?);
        Ok(Some(Box::new(Self {
            parts,
            heads,
            heard,
        })))
    }

    /// The head that a service gets, if it is not the request's.
    pub(super) fn head(&self, side: Side) -> Option<&RequestHead> {
        self.heads[side].as_ref()
    }

    /// The body that a service gets, if it is not the request's.
    pub(super) fn body(&self, side: Side) -> Option<&Body> {
        let parts = self.parts.as_deref()?;
        of_side(parts, side).body.as_ref()
    }

    pub(super) fn parts(&self) -> Option<Arc<PerService>> {
        self.parts.clone()
    }

    pub(super) fn is_heard(&self) -> bool {
        self.heard.is_some()
    }

    pub(super) fn hear(&self, side: Side, capture: &Capture) {
        if let Some(heard) = &self.heard {
            heard(side, capture);
        }
    }
}

/// HTTP cannot send it.
pub(super) struct NotSendable;

/// What a service gets in its own form, if anything.
pub(super) fn parts(request: &Request, side: Side) -> Option<&OwnParts> {
    let own = of_side(request.origin.own.as_deref()?, side);
    (!own.is_empty()).then_some(own)
}

fn of_side(parts: &PerService, side: Side) -> &OwnParts {
    match side {
        Side::Legacy => &parts.legacy,
        Side::Candidate => &parts.candidate,
    }
}
