//! The rollout by HTTP: how it stands, and what a person changes in it. Who may change something may change this, too, and each
//! change has its line.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::rollout::moved::RolloutMove;
use parity_schemas::value::{self, percent};

use super::answer::{self, ErrorAnswer, no_mirror};
use super::audit::Asked;
use super::parameters::{self, Parameters};
use super::site::{RolloutAdmin, RolloutDone, RolloutSet, RolloutWish, Site};
use super::visit::{Visited, Visitor};

/// What takes all clients back.
const BACK: &str = "back";

/// A step is taken although the candidate has not served enough requests, or did worse as a shadow. The gate must pass all the same.
const INSIST: &str = "insist";

/// How a percent is set.
#[derive(Debug, Default)]
pub(super) struct Insisting(bool);

impl Parameters for Insisting {
    fn known() -> Vec<String> {
        vec![INSIST.to_owned()]
    }

    fn read(&mut self, _insist: &str, value: &str) -> Result<(), String> {
        self.0 = value::switch(value)?;
        Ok(())
    }
}

/// `GET /api/v1/rollout`.
pub(super) async fn document(State(site): State<Arc<Site>>) -> Result<Response, ErrorAnswer> {
    Ok(answer::document(&of(&site)?.document()))
}

/// `POST /api/v1/rollout/30` and `/back`.
pub(super) async fn change(
    Visited(site): Visited,
    Path(to): Path<String>,
    parameters::Asked(Insisting(insists)): parameters::Asked<Insisting>,
) -> Result<Response, ErrorAnswer> {
    let rollout = of(&site)?;
    let who = name(&site.visitor);
    if to == BACK {
        let asked = Asked::by(&site.visitor, &site, AuditAction::RolloutBack, "");
        let falling = Arc::clone(&rollout);
        // Off the runtime: it ends on the disk, which others who ask must not wait for.
        let fallen = tokio::task::spawn_blocking(move || falling.back(&who));
        let done = fallen.await.map_err(|_| panicked())?;
        let moved = moved(&done, 0.0, &[]);
        asked.at(done.at).written(AuditOutcome::Done, moved).await;
        return Ok(answer::document(&rollout.document()));
    }
    let wanted = percent(&to).map_err(|why| ErrorAnswer::bad(format!("{why}, or {BACK}")))?;
    let asked = Asked::by(&site.visitor, &site, AuditAction::RolloutSet, "");
    let deciding = Arc::clone(&rollout);
    // Off the runtime, and to its end: who asked may be gone meanwhile, and what was done has its line all the same.
    let done = tokio::task::spawn_blocking(move || {
        let wish = RolloutWish {
            percent: wanted,
            insists,
        };
        let RolloutSet {
            done,
            decision,
            lost,
        } = deciding.set(wish, &who);
        let asked = asked.about(decision);
        match &done {
            Ok(done) => {
                let lacked = done.lacked.as_ref();
                let lacked = lacked.map(|lacked| format!("insisted although {lacked}"));
                let lost = lost.map(|lost| format!("the gate passes {lost}"));
                let why: Vec<String> = lacked.into_iter().chain(lost).collect();
                let moved = moved(done, wanted, &why);
                asked.at(done.at).ended(AuditOutcome::Done, moved);
            }
            Err(why) => asked.ended(AuditOutcome::Refused, format!("{wanted} %: {why}")),
        }
        done
    });
    match done.await {
        Ok(Ok(_)) => Ok(answer::document(&rollout.document())),
        Ok(Err(why)) => Err(ErrorAnswer::conflict(why)),
        Err(_) => Err(panicked()),
    }
}

/// What its line says.
fn moved(done: &RolloutDone, to: f64, why: &[String]) -> String {
    RolloutMove {
        from: done.from,
        to,
        why: why.join("; "),
    }
    .to_string()
}

fn panicked() -> ErrorAnswer {
    ErrorAnswer::broken("changing the rollout ended by a panic; the log has it".to_owned())
}

fn of(site: &Site) -> Result<Arc<dyn RolloutAdmin>, ErrorAnswer> {
    let mirror = site.process.mirror().ok_or_else(no_mirror)?;
    mirror.rollout().ok_or_else(|| {
        ErrorAnswer::missing(
            "this mirror has no rollout; set rollout.candidate_percent or rollout.schedule and start it again".to_owned(),
        )
    })
}

/// How a person is called in the state of the rollout.
fn name(visitor: &Visitor) -> String {
    // The port is another one for each connection.
    let address = visitor.address.map(|address| address.ip().to_string());
    visitor
        .user
        .clone()
        .or(address)
        .unwrap_or_else(|| "somebody".to_owned())
}
