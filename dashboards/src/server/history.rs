//! `GET /api/v1/history`: how parity held over time.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use parity_schemas::time::Timestamp;
use parity_schemas::value;
use parity_sink::read::history::MAX_GROUPS;

use super::answer::{self, ErrorAnswer, read};
use super::parameters::{Asked, Parameters};
use super::question::Asking;
use super::site::Site;
use crate::question::values;
use crate::view::{self, HistoryQuestion};

/// What is asked of a history: the same as of a report, and more.
#[derive(Debug, Default)]
pub(super) struct HistoryAsking {
    asking: Asking,
    until: Option<Timestamp>,
    route: Option<String>,
    fingerprints: Vec<String>,
    count_excused: bool,
}

/// Its end.
const UNTIL: &str = "until";
/// Only one route.
const ROUTE: &str = "route";
/// A group to be told of.
const FINGERPRINT: &str = "fingerprint";
/// Whether noise and known differences count.
const COUNT_EXCUSED: &str = "count_excused";

impl Parameters for HistoryAsking {
    fn known() -> Vec<String> {
        let own = [UNTIL, ROUTE, FINGERPRINT, COUNT_EXCUSED].map(str::to_owned);
        Asking::known().into_iter().chain(own).collect()
    }

    fn is_repeated(name: &str) -> bool {
        name == FINGERPRINT || Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        Asking::why_not(name)
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            UNTIL => self.until = Some(values::since(value)?),
            ROUTE => self.route = Some(value.to_owned()),
            COUNT_EXCUSED => self.count_excused = value::switch(value)?,
            FINGERPRINT => {
                if self.fingerprints.len() >= MAX_GROUPS {
                    return Err(format!("there are at most {MAX_GROUPS} groups"));
                }
                self.fingerprints.push(value.to_owned());
            }
            _ => return self.asking.read(name, value),
        }
        Ok(())
    }
}

impl HistoryAsking {
    fn of(self, site: &Site) -> HistoryQuestion {
        HistoryQuestion {
            question: self.asking.of(site),
            until: self.until,
            route: self.route,
            fingerprints: self.fingerprints,
            count_excused: self.count_excused,
        }
    }
}

/// `parity.history/v1`.
pub(super) async fn history(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<HistoryAsking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let mut history = read(&site, move |reader| view::history(reader, &question)).await?;
    if let Some(status) = site.process.mirror_status() {
        view::witness(&mut history, &status);
    }
    Ok(answer::document(&history))
}
