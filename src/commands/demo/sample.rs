//! The samples: their services, the traffic to them, and what is set for them besides the defaults.

#[path = "../../../examples/noisy/service.rs"]
mod noisy;
#[path = "../../../examples/demo/service.rs"]
mod payments;

use anyhow::{Context, Result};
use http::{Method, StatusCode};

use super::serving::Serving;
use super::traffic::NumberedRequest;
use crate::cli::DemoSample;
use crate::config::settings::{Setting, recheck};
use noisy::{Fault, Shop, Shows, World};
use payments::Role;

/// One of the samples.
pub(super) struct Sample {
    which: DemoSample,
    pub(super) migration: &'static str,
    pub(super) legacy_version: &'static str,
    candidate_version: &'static str,
    /// How many are sent unless the user says otherwise.
    pub(super) requests: u32,
    /// After each so many, it waits until those before are recorded. `None`: all are sent at once.
    pub(super) round: Option<u32>,
    pub(super) request: NumberedRequest,
    /// Besides the defaults.
    pub(super) settings: Vec<(&'static Setting, &'static str)>,
    /// Whether it is about what the gate says.
    pub(super) shows_decision: bool,
}

impl Sample {
    pub(super) fn of(which: DemoSample) -> Self {
        match which {
            DemoSample::Payments => Self {
                which,
                migration: "payments-rust",
                legacy_version: "go-4.2.1",
                candidate_version: "rust-0.9.0",
                requests: 4_000,
                round: None,
                request: payments_request,
                settings: asked_at_once(),
                shows_decision: false,
            },
            DemoSample::Noisy => Self {
                which,
                migration: "noisy-shop",
                legacy_version: "1.4.0",
                candidate_version: "2.0.0",
                requests: 20_000,
                // No more than fit the queue: all of them are compared four times.
                round: Some(300),
                request: noisy_request,
                settings: asked_at_once(),
                shows_decision: true,
            },
        }
    }

    /// Starts legacy and candidate, which is the legacy once more if they are to be the `same`.
    pub(super) fn start(&self, same: bool) -> Result<[Serving; 2]> {
        match self.which {
            DemoSample::Payments => {
                let start = |name, role| {
                    Serving::start(name, move |request| payments::answer(role, request))
                };
                let candidate = if same { Role::Legacy } else { Role::Candidate };
                Ok([
                    start("legacy", Role::Legacy)?,
                    start("candidate", candidate)?,
                ])
            }
            DemoSample::Noisy => {
                let world = World::new();
                let start =
                    |name, shop: Shop| Serving::start(name, move |request| shop.answer(request));
                let candidate = if same {
                    Shop::faultless(&world)
                } else {
                    let fault = Fault::named("cent").context("the sample has this fault")?;
                    let shows = Shows::named("by-record").context("faults show so")?;
                    Shop::with(&world, &[fault], shows)
                };
                let legacy = Shop::faultless(&world);
                Ok([start("legacy", legacy)?, start("candidate", candidate)?])
            }
        }
    }

    pub(super) fn candidate_version(&self, same: bool) -> &'static str {
        if same {
            self.legacy_version
        } else {
            self.candidate_version
        }
    }
}

/// The load is ours, and so short that every difference can be asked about again, soon.
fn asked_at_once() -> Vec<(&'static Setting, &'static str)> {
    vec![
        recheck::RATE.is("100000"),
        recheck::DELAY.is("20ms"),
        recheck::IN_FLIGHT.is("4096"),
        recheck::PER_GROUP.is("100000"),
    ]
}

/// Of twenty requests, seven ask for a balance, five for statistics, four for a list, three for an order (in every tenth
/// round an unknown one), and one writes.
fn payments_request(number: u32) -> (Method, String, StatusCode) {
    let round = number / 20;
    let account = 1000 + (round * 7 + number) % payments::ACCOUNTS;
    match number % 20 {
        0..7 => (
            Method::GET,
            format!("/accounts/acc-{account}/balance"),
            StatusCode::OK,
        ),
        7..12 => (
            Method::GET,
            format!("/accounts/acc-{account}/statistics"),
            StatusCode::OK,
        ),
        12..16 => (
            Method::GET,
            format!("/accounts/acc-{account}/orders"),
            StatusCode::OK,
        ),
        16..19 if round % 10 == 9 => (
            Method::GET,
            format!("/orders/ord-{}", 90_000 + number),
            StatusCode::NOT_FOUND,
        ),
        16..19 => (
            Method::GET,
            format!("/orders/ord-{}", 20_000 + number % payments::ORDERS),
            StatusCode::OK,
        ),
        _ => (Method::POST, "/orders".to_owned(), StatusCode::CREATED),
    }
}

/// Each of the five routes in turn, for each of its records in turn.
fn noisy_request(number: u32) -> (Method, String, StatusCode) {
    let record = number / 5 * 7 % noisy::RECORDS;
    let path = match number % 5 {
        0 => format!("/orders/ord-{}", 20_000 + record),
        1 => format!("/accounts/acc-{}/session", 1_000 + record),
        2 => format!("/accounts/acc-{}/balance", 1_000 + record),
        3 => format!("/stock/item-{}", 1 + record),
        _ => format!("/search/item-{}", 1 + record),
    };
    (Method::GET, path, StatusCode::OK)
}
