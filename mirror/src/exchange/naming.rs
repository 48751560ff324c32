//! The route that a request is counted under, also while it is not known.
//!
//! The operation of a GraphQL request may be in its body. Until that is complete, the request is open in its epoch, but
//! counted under no route. It is counted once: when its operation is known, or else when somebody needs a route, for its
//! outcome or its client's.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use parity_schemas::graphql::Operation;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;

use crate::exchange::eligibility;
use crate::exchange::head::RequestHead;
use crate::exchange::terms::Terms;

/// The route that a request is counted under.
#[derive(Clone)]
pub(crate) enum CountedRoute {
    Known(Arc<Route>),
    Later(Rc<Naming>),
}

impl CountedRoute {
    /// The route. From now on it is this one.
    pub(crate) fn get(&self) -> &Arc<Route> {
        match self {
            Self::Known(route) => route,
            Self::Later(naming) => naming.route(),
        }
    }
}

/// The route of a request whose operation is in its body.
pub(crate) struct Naming {
    terms: Rc<Terms>,
    route: Arc<Route>,
    /// That of its operation, once it is counted.
    named: OnceCell<Arc<Route>>,
    /// Why it is not shadowed whatever it asks for.
    refusal: Option<Reason>,
}

impl Naming {
    /// `refusal` is why the request is not shadowed whatever it asks for, if so.
    pub(super) fn new(terms: &Rc<Terms>, route: Arc<Route>, refusal: Option<Reason>) -> Rc<Self> {
        Rc::new(Self {
            terms: Rc::clone(terms),
            route,
            named: OnceCell::new(),
            refusal,
        })
    }

    fn route(&self) -> &Arc<Route> {
        self.named.get_or_init(|| self.count(&Operation::UNKNOWN))
    }

    fn count(&self, operation: &Operation) -> Arc<Route> {
        let route = self.terms.operation_route(&self.route, operation);
        self.terms.observer().named(&route);
        route
    }

    /// Why it is not shadowed, as far as its head tells.
    pub(super) fn refusal(&self) -> Option<Reason> {
        self.refusal
    }

    /// Whether an operation that cannot be read would be shadowed, too.
    pub(super) fn takes_any(&self) -> bool {
        eligibility::allows_all_operations(&self.route)
    }

    /// Counts the request under the operation that its body asks for; returns why it must not be shadowed, if so.
    pub(super) fn read(&self, head: &RequestHead, body: &[u8]) -> Option<Reason> {
        let media = head.headers.get(CONTENT_TYPE);
        let media = media.map(HeaderValue::as_bytes).unwrap_or_default();
        let operation = Operation::of_body(media, head.uri.query(), body);
        let named = self.named.get_or_init(|| self.count(&operation));
        if !eligibility::allows_operation(&self.route, &head.method, &operation) {
            return Some(Reason::UnsafeMethod);
        }
        let is_share = matches!(self.refusal, None | Some(Reason::SampledOut));
        if is_share && named.policy().sample != self.route.policy().sample {
            // Its own share applies, not that of the endpoint.
            return eligibility::refusal(&self.terms, named.policy(), true, &head.headers);
        }
        self.refusal
    }
}
