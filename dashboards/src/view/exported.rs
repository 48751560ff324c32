//! A stored decision with all that it rests on, as it is shown and as it is written into one file.

use parity_comparator::seal::sha256;
use parity_schemas::decisions::{DecisionExport, EXPORT_SCHEMA, ExportContent};
use parity_schemas::evidence::Decision;
use parity_schemas::json_text::{compact, escaped};
use parity_schemas::time::Timestamp;
use parity_sink::read::{FoundTerms, TermsFilter};
use parity_sink::{Reader, StoreError};
use serde_json::value::RawValue;
use uuid::Uuid;

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
) -> Result<Option<(Decision, FoundTerms)>, Unreadable> {
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
    let found = terms(reader, &decision)?;
    let content = ExportContent {
        exported: Timestamp::now(),
        program: program.to_owned(),
        decision: RawValue::from_string(text).map_err(unreadable)?,
        terms: found.terms,
        terms_cut: found.cut,
    };
    let content = serde_json::to_string(&content).map_err(unreadable)?;
    let content = compact(&escaped(&content));
    Ok(Some(DecisionExport {
        schema: EXPORT_SCHEMA.to_owned(),
        sha256: sha256(content.as_bytes()),
        content: RawValue::from_string(content).map_err(unreadable)?,
    }))
}

/// The terms under which was counted what a decision rests on: those of its rules, the latest first, and behind them those of
/// each earlier rules whose counts still hold. If it names terms, just those: later ones say nothing of it.
pub(super) fn terms(reader: &Reader, decision: &Decision) -> Result<FoundTerms, StoreError> {
    let (legacy, candidate, _) = decision.versions();
    let mut all = FoundTerms {
        terms: Vec::new(),
        cut: decision.terms_cut,
        missing: false,
    };
    for rules_hash in counted_under(decision) {
        let found = reader.terms(&TermsFilter {
            migration: decision.migration.clone(),
            rules_hash: rules_hash.to_owned(),
            versions: Some((legacy.to_owned(), candidate.to_owned())),
            ids: decision.terms.iter().map(|terms| terms.id).collect(),
        })?;
        all.terms.extend(found.terms);
        all.cut |= found.cut;
        all.missing |= found.missing;
    }
    // Which of them were in force then is told by their order.
    all.terms.sort_by_key(|terms| {
        let mut named = decision.terms.iter();
        named.position(|named| named.id == terms.id)
    });
    Ok(all)
}

/// The hashes of the rules under which something was counted: the present ones, and earlier ones whose counts still hold.
pub(super) fn counted_under(decision: &Decision) -> Vec<&str> {
    let Some(evidence) = &decision.evidence else {
        return Vec::new();
    };
    let mut hashes = vec![evidence.rules_hash.as_str()];
    for carried in &evidence.carried {
        if !hashes.contains(&carried.rules_hash.as_str()) {
            hashes.push(&carried.rules_hash);
        }
    }
    hashes
}
