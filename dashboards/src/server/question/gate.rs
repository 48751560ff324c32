//! What is asked of the gate, by rollout controllers and by webhooks.

use parity_schemas::value;

use super::super::parameters::Parameters;
use super::super::site::Site;
use super::Asking;
use crate::question::{MIGRATION, Question};

/// What is asked of the gate: a decision, and what becomes of it.
#[derive(Debug, Default)]
pub(in crate::server) struct GateAsking {
    asking: Asking,
    /// The parameters that the decision depends on, as they were given: equal ones ask for the same.
    given: Vec<(String, String)>,
    /// Only the short answer is wanted.
    pub(in crate::server) brief: bool,
}

impl Parameters for GateAsking {
    fn known() -> Vec<String> {
        let mut known = Asking::known();
        known.push(BRIEF.to_owned());
        known
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        match name {
            STORE => Some("store is no parameter here: a GET stores nothing; POST does".to_owned()),
            _ => Asking::why_not(name),
        }
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == BRIEF {
            self.brief = value::switch(value)?;
            return Ok(());
        }
        self.given.push((name.to_owned(), value.to_owned()));
        self.asking.read(name, value)?;
        self.asking.demands_something(name)
    }
}

impl Asking {
    /// Refuses what would let every candidate go on, and what a template that was not filled in would ask: nobody looks at the
    /// answers that a controller gets.
    fn demands_something(&self, name: &str) -> Result<(), String> {
        let Question {
            selection,
            thresholds,
            ..
        } = &self.0;
        let is_empty = |text: &Option<String>| {
            let text = text.as_deref();
            text.is_some_and(|text| text.trim().is_empty())
        };
        match name {
            "max_mismatch_rate" if thresholds.max_mismatch_rate >= 1.0 => Err(
                "`1` lets every candidate pass; write the share that may differ, for example 0.001".to_owned(),
            ),
            "candidate_version" if is_empty(&selection.candidate_version) => Err(
                "it is empty, so it names no build; write what --candidate-version of the mirror says, or leave it out for the latest"
                    .to_owned(),
            ),
            MIGRATION if is_empty(&selection.migration) => Err(
                "it is empty, so it names no migration; leave it out for that of this process".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

impl GateAsking {
    /// What is asked for, and the question to the record of this site.
    pub(in crate::server) fn of(self, site: &Site) -> (Given, Question) {
        (self.given, self.asking.of(site))
    }
}

/// Parameters as they were given.
pub(in crate::server) type Given = Vec<(String, String)>;

/// Only the short answer of the gate.
const BRIEF: &str = "brief";
/// The decision shall be stored.
const STORE: &str = "store";

/// What a webhook asks of the gate.
#[derive(Debug, Default)]
pub(in crate::server) struct HookAsking {
    gate: GateAsking,
    /// The decision shall be stored.
    pub(in crate::server) store: bool,
}

impl Parameters for HookAsking {
    fn known() -> Vec<String> {
        let mut known = Asking::known();
        known.push(STORE.to_owned());
        known
    }

    fn is_repeated(name: &str) -> bool {
        Asking::is_repeated(name)
    }

    fn why_not(name: &str) -> Option<String> {
        match name {
            TOKEN => Some("token belongs into the metadata: an address is logged".to_owned()),
            BRIEF => Some("brief is no parameter here: the answer is one line".to_owned()),
            _ => Asking::why_not(name),
        }
    }

    fn read(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == STORE {
            self.store = value::switch(value)?;
            return Ok(());
        }
        self.gate.read(name, value)
    }
}

impl HookAsking {
    /// What is asked for, and the question to the record of this site.
    pub(in crate::server) fn of(self, site: &Site) -> (Given, Question) {
        self.gate.of(site)
    }
}

/// Where a webhook, which cannot send headers, has the token.
pub(in crate::server) const TOKEN: &str = "token";
