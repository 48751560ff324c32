//! Documents that are answers to a question and nothing that is stored: a page of mismatches, and the settings that hold.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::known::{KnownEntry, KnownState, NewGroup};
use crate::record::Mismatch;

/// Name and version of a page of mismatches.
pub const MISMATCHES_SCHEMA: &str = "parity.mismatches/v1";
/// Name and version of the settings that hold.
pub const CONFIG_SCHEMA: &str = "parity.config/v1";

/// Name and version of the register of known differences.
pub const KNOWN_SCHEMA: &str = "parity.known/v1";

/// The register of known differences, and what is not in it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KnownList {
    /// [`KNOWN_SCHEMA`].
    pub schema: String,
    /// Of which record the counts are.
    pub migration: String,
    /// In the order of the configuration.
    pub entries: Vec<KnownListed>,
    /// Differences that count and that no entry means, the most frequent first. Groups that differ only in their shape are one.
    pub not_known: Vec<NewGroup>,
    /// Mismatches that do not count because all that differs in them is known.
    pub excused: u64,
}

/// An entry of the register.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KnownListed {
    /// Its text; of one that was seen without what looks like a secret.
    pub entry: KnownEntry,
    /// How it stands.
    pub state: KnownState,
    /// Mismatches with one of its groups.
    pub mismatches: u64,
    /// Groups that it means.
    pub groups: u64,
    /// Whether it expires within a week.
    pub ends_soon: bool,
}

/// Recorded mismatches, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MismatchPage {
    /// [`MISMATCHES_SCHEMA`].
    pub schema: String,
    /// Those of this page.
    pub mismatches: Vec<Mismatch>,
    /// The parameter `after` of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// Every setting with its value.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigDocument {
    /// [`CONFIG_SCHEMA`].
    pub schema: String,
    /// By key.
    pub settings: BTreeMap<String, ShownSetting>,
}

/// A setting as it holds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShownSetting {
    /// As a variable would give it, without what is secret in it; `None` when nobody gives it and it has no default.
    pub value: Option<String>,
    /// Which layer it comes from.
    pub from: Layer,
    /// The same for a person: `default`, line and column of the file, the variable or the flag.
    pub origin: String,
}

/// What a setting can be given by, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Nobody gives it.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment,
    /// A flag of the command line.
    Flag,
}
