//! Writing a stored decision into one file, and checking such a file: whether it is as it was written, whether deciding
//! again gives the same, and whether the store still says so.
//!
//! The digest shows that a byte was changed. It is no signature: whoever changes the content may make a new digest. What
//! was invented as a whole is only seen with the store.

use parity_comparator::decision::again::{again, differences, noise_faults};
use parity_comparator::rules::{Rehashed, rehash};
use parity_comparator::seal::sha256;
use parity_schemas::decisions::{
    Check, CheckName, CheckState, DecisionExport, EXPORT_SCHEMA, ExportContent,
    VERIFICATION_SCHEMA, Verification,
};
use parity_schemas::evidence::Decision;
use parity_schemas::json_text::{compact, escaped};
use parity_schemas::terms::Terms;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, StoreError};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::recounted::recounted;

/// A decision that is stored but cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is no decision of this program.
    #[error("decision {0} is stored, but this program cannot read it: {1}")]
    Document(Uuid, serde_json::Error),
}

/// The document of a stored decision, as it was stored, and what of it this program reads.
pub fn stored(reader: &Reader, id: Uuid) -> Result<Option<(String, Decision)>, Unreadable> {
    let Some(text) = reader.decision(id)? else {
        return Ok(None);
    };
    let decision = serde_json::from_str(&text).map_err(|error| Unreadable::Document(id, error))?;
    Ok(Some((text, decision)))
}

/// A stored decision, and the terms under which was counted what it rests on.
pub fn decision_with_terms(
    reader: &Reader,
    id: Uuid,
) -> Result<Option<(Decision, Vec<Terms>)>, Unreadable> {
    let Some((_, decision)) = stored(reader, id)? else {
        return Ok(None);
    };
    let terms = terms(reader, &decision)?;
    Ok(Some((decision, terms)))
}

/// A stored decision with all that it rests on; `None` if there is none of this id.
pub fn exported(
    reader: &Reader,
    id: Uuid,
    program: &str,
) -> Result<Option<DecisionExport>, Unreadable> {
    let Some((text, decision)) = stored(reader, id)? else {
        return Ok(None);
    };
    let unreadable = |error| Unreadable::Document(id, error);
    let content = ExportContent {
        exported: Timestamp::now(),
        program: program.to_owned(),
        decision: RawValue::from_string(text).map_err(unreadable)?,
        terms: terms(reader, &decision)?,
    };
    let content = serde_json::to_string(&content).map_err(unreadable)?;
    let content = compact(&escaped(&content));
    Ok(Some(DecisionExport {
        schema: EXPORT_SCHEMA.to_owned(),
        sha256: sha256(content.as_bytes()),
        content: RawValue::from_string(content).map_err(unreadable)?,
    }))
}

/// The terms under which was counted what a decision rests on, the latest first.
pub(super) fn terms(reader: &Reader, decision: &Decision) -> Result<Vec<Terms>, StoreError> {
    let (legacy, candidate, rules) = decision.versions();
    if decision.evidence.is_none() {
        return Ok(Vec::new());
    }
    let mut terms = reader.terms(&decision.migration, rules)?;
    terms.retain(|terms| {
        terms.identity.legacy_version == legacy && terms.identity.candidate_version == candidate
    });
    Ok(terms)
}

/// Checks a file; with a store, also that the store says the same.
pub fn verified(file: &[u8], store: Option<&Reader>) -> Result<Verification, StoreError> {
    let mut checks = Vec::new();
    let read = match opened(file) {
        Ok((content, decision)) => {
            checks.push(Check::of(CheckName::Digest, Vec::new()));
            Some((content, decision))
        }
        Err(told) => {
            checks.push(Check::of(CheckName::Digest, vec![told]));
            None
        }
    };
    let decision_id = read.as_ref().map(|(_, decision)| decision.decision_id);
    if let Some((content, decision)) = read {
        checks.push(rules(&content.terms, &decision));
        checks.push(decided_again(&decision));
        if let Some(reader) = store {
            checks.push(same_in_store(reader, &content, &decision)?);
            checks.push(recounted(reader, &decision)?);
        }
    }
    Ok(Verification {
        schema: VERIFICATION_SCHEMA.to_owned(),
        decision_id,
        holds: checks.iter().all(|check| check.state != CheckState::Fails),
        checks,
    })
}

fn unknown(name: CheckName, told: String) -> Check {
    Check {
        name,
        state: CheckState::Unknown,
        told: vec![told],
    }
}

/// The content of a file whose digest is right, or what is wrong with it.
fn opened(file: &[u8]) -> Result<(ExportContent, Decision), String> {
    let text = std::str::from_utf8(file).map_err(|_| "the file is not UTF-8 text".to_owned())?;
    let export: DecisionExport = serde_json::from_str(text)
        .map_err(|error| format!("the file is no exported decision, or it is damaged: {error}"))?;
    if export.schema != EXPORT_SCHEMA {
        return Err(format!(
            "its schema is `{}`, and this program reads `{EXPORT_SCHEMA}`",
            export.schema
        ));
    }
    let actual = sha256(compact(export.content.get()).as_bytes());
    if actual != export.sha256 {
        return Err(format!(
            "the content was changed after it was written: its SHA-256 is {actual}, and the file says {}",
            export.sha256
        ));
    }
    let content: ExportContent = serde_json::from_str(export.content.get())
        .map_err(|error| format!("its content cannot be read by this program: {error}"))?;
    let decision = serde_json::from_str(content.decision.get())
        .map_err(|error| format!("its decision cannot be read by this program: {error}"))?;
    Ok((content, decision))
}

fn rules(terms: &[Terms], decision: &Decision) -> Check {
    let (_, _, expected) = decision.versions();
    if decision.evidence.is_none() {
        return Check::of(CheckName::Rules, Vec::new());
    }
    let Some(latest) = terms.first() else {
        let told = "the file has no text of the rules: older programs did not record it".to_owned();
        return unknown(CheckName::Rules, told);
    };
    let mut wrong = Vec::new();
    for terms in terms {
        if let Rehashed::Hash(hash) = rehash(&terms.rules)
            && hash != expected
        {
            wrong.push(format!(
                "the rules in force from {} have the hash {hash}, and the decision says {expected}",
                terms.time
            ));
        }
    }
    match rehash(&latest.rules) {
        Rehashed::Unknown(why) if wrong.is_empty() => unknown(CheckName::Rules, why),
        _ => Check::of(CheckName::Rules, wrong),
    }
}

fn decided_again(decision: &Decision) -> Check {
    let told = match again(decision) {
        Some(again) => {
            let mut told = differences(decision, &again);
            told.extend(noise_faults(decision));
            told
        }
        None => vec![
            "the decision does not hold the counts that it was made from: an older program wrote it".to_owned(),
        ],
    };
    Check::of(CheckName::Again, told)
}

fn same_in_store(
    reader: &Reader,
    content: &ExportContent,
    decision: &Decision,
) -> Result<Check, StoreError> {
    let told = match reader.decision(decision.decision_id)? {
        None => vec![format!(
            "the store has no decision {}; it is another store, or the decision was removed from it",
            decision.decision_id
        )],
        Some(text) if compact(&escaped(&text)) == compact(content.decision.get()) => Vec::new(),
        Some(text) => vec![match serde_json::from_str::<Decision>(&text) {
            Ok(stored) => differences(&stored, decision)
                .into_iter()
                .next()
                .map_or_else(
                    || {
                        "the store has another text of this decision, with the same numbers"
                            .to_owned()
                    },
                    |first| format!("the store has another decision of this id: {first}"),
                ),
            Err(error) => format!("the store has a text of this id that is no decision: {error}"),
        }],
    };
    Ok(Check::of(CheckName::Stored, told))
}
