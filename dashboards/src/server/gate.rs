//! The gate for rollout controllers: a document for those that read one, a status for those that only see that, series for those
//! that ask Prometheus.
//!
//! `GET` asks and `POST` also stores the decision; both answer 200 whatever the outcome is, because a controller takes another
//! status for a broken measurement. A store that cannot be read is one: it is no decision, and an error is asked again.

mod desk;
mod flagger;
mod series;

use std::sync::Arc;

use axum::extract::State;
use axum::middleware;
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::documents::{GATE_BRIEF_SCHEMA, GateBrief, GateBriefDocument};
use parity_schemas::evidence::Decision;
use schemars::JsonSchema;
use serde::Serialize;

use self::desk::Desk;
pub(super) use self::series::{Series, judge};
use super::answer::{self, ErrorAnswer};
use super::audit;
use super::guard;
use super::openapi::Api;
use super::parameters::Asked;
use super::question::{GateAsking, Given};
use super::site::Site;
use super::visit::Visitor;
use crate::question::Question;

/// What the handlers here need.
pub(super) struct Gate {
    site: Arc<Site>,
    desk: Desk,
}

impl Gate {
    /// Stores a decision, and who asked for that.
    async fn keep(
        &self,
        visitor: &Visitor,
        given: &Given,
        question: &Question,
        decision: &Decision,
    ) -> Decision {
        let site = &self.site;
        // One that was stored a moment ago has its line.
        let id = decision.decision_id.to_string();
        let asked = audit::Asked::by(visitor, site, AuditAction::Decision, &id);
        let asked = asked.of(&decision.migration);
        let written = move |kept: &Decision| asked.ended(AuditOutcome::Done, kept.outcome.as_str());
        self.desk
            .keep(&site.store, given, &question.known, decision, written)
            .await
    }
}

/// The endpoint that tells a decision by a document.
pub(super) fn api() -> Api<Arc<Gate>> {
    Api::new()
        .get::<GateAsking, GateAnswer<'static>, _>(
            "/api/v1/gate",
            "The decision now; it is not stored",
            ask,
        )
        .post::<GateAsking, GateAnswer<'static>, _>(
            "/api/v1/gate",
            "The decision now, and it is stored",
            store,
        )
}

/// The gate's paths, each with its own guard.
pub(super) fn router(site: &Arc<Site>) -> Router {
    let gate = Arc::new(Gate {
        site: Arc::clone(site),
        desk: Desk::new(),
    });
    let guarded = Router::new()
        .merge(api().into_router())
        .layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::admit,
        ));
    let hooks = Router::new()
        .route("/gate/flagger/confirm", post(confirm))
        .route("/gate/flagger/rollback", post(roll_back))
        .layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::admit_hook,
        ));
    guarded.merge(hooks).with_state(gate)
}

/// `parity.gate/v1` with a short form of it first, or `parity.gate_brief/v1`, which is only that.
async fn ask(
    State(gate): State<Arc<Gate>>,
    Asked(asking): Asked<GateAsking>,
) -> Result<Response, ErrorAnswer> {
    decision(&gate, asking, None).await
}

/// The same, and the decision is stored.
async fn store(
    State(gate): State<Arc<Gate>>,
    Extension(visitor): Extension<Visitor>,
    Asked(asking): Asked<GateAsking>,
) -> Result<Response, ErrorAnswer> {
    decision(&gate, asking, Some(&visitor)).await
}

/// The document of a decision, with what a controller reads in its first member.
#[derive(Serialize, JsonSchema)]
struct Whole<'a> {
    gate: GateBrief,
    #[serde(flatten)]
    decision: &'a Decision,
}

/// What the gate answers.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum GateAnswer<'a> {
    Whole(Box<Whole<'a>>),
    Brief(GateBriefDocument),
}

/// The answer to a question; the decision is stored for who asks for that.
async fn decision(
    gate: &Gate,
    asking: GateAsking,
    store: Option<&Visitor>,
) -> Result<Response, ErrorAnswer> {
    let site = &gate.site;
    let is_brief = asking.brief;
    let (given, question) = asking.of(site);
    let mut decision = gate.desk.decide(&site.store, &given, &question).await?;
    if let Some(visitor) = store {
        decision = Arc::new(gate.keep(visitor, &given, &question, &decision).await);
    }
    let brief = GateBrief::of(&decision);
    Ok(answer::document(&if is_brief {
        GateAnswer::Brief(GateBriefDocument {
            schema: GATE_BRIEF_SCHEMA.to_owned(),
            gate: brief,
        })
    } else {
        GateAnswer::Whole(Box::new(Whole {
            gate: brief,
            decision: &decision,
        }))
    }))
}

/// Flagger goes on if this is 200.
async fn confirm(State(gate): State<Arc<Gate>>, request: axum::extract::Request) -> Response {
    flagger::answer(flagger::Hook::Confirm, &gate, request).await
}

/// Flagger rolls back if this is 200.
async fn roll_back(State(gate): State<Arc<Gate>>, request: axum::extract::Request) -> Response {
    flagger::answer(flagger::Hook::RollBack, &gate, request).await
}
