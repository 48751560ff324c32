//! Checking a file with a decision: whether it is as it was written, whether deciding again gives the same, and whether the
//! store still says so.
//!
//! The digest shows that a byte was changed. It is no signature: whoever changes the content may make a new digest. So whatever
//! follows from something else in the file is made again. What was counted follows from nothing; that is only seen with
//! the store, and without one it is said what was not checked.

mod counted;
mod terms;

use parity_comparator::decision::again::{again, differences, noise_faults, other_method, taken};
use parity_comparator::seal::sha256;
use parity_schemas::decisions::{
    Check, CheckName, CheckState, DecisionExport, EXPORT_SCHEMA, ExportContent,
    VERIFICATION_SCHEMA, Verification,
};
use parity_schemas::differing;
use parity_schemas::evidence::Decision;
use parity_schemas::json_text::{compact, escaped};
use parity_sink::{Reader, StoreError};
use serde_json::Value;

use super::recounted::recounted;

/// Checks a file; with a store, also that the store says the same. `program` is this one.
pub fn verified(
    file: &[u8],
    store: Option<&Reader>,
    program: &str,
) -> Result<Verification, StoreError> {
    let mut checks = Vec::new();
    let read = match opened(file) {
        Ok(opened) => {
            checks.push(Check::of(CheckName::Digest, Vec::new()));
            Some(opened)
        }
        Err(told) => {
            checks.push(Check::of(CheckName::Digest, vec![told]));
            None
        }
    };
    let decision_id = read.as_ref().map(|opened| opened.decision.decision_id);
    if let Some(opened) = read {
        let Opened {
            written,
            content,
            decision,
        } = opened;
        checks.push(fields(&written, &content, &decision));
        checks.push(terms::rules(&content, &decision));
        checks.push(terms::named(&content, &decision, program));
        checks.push(decided_again(&decision));
        match store {
            Some(reader) => {
                checks.push(same_in_store(reader, &content, &decision)?);
                checks.push(terms::same_in_store(reader, &content)?);
                checks.push(recounted(reader, &decision)?);
            }
            None => checks.push(unknown(CheckName::Stored, not_checked(&decision))),
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

/// The content of a file whose digest is right.
struct Opened {
    /// As it was written.
    written: Value,
    /// What of it this program reads.
    content: ExportContent,
    decision: Decision,
}

/// Reads a file; the error says what is wrong with it.
fn opened(file: &[u8]) -> Result<Opened, String> {
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
    let unreadable = |error| format!("its content cannot be read by this program: {error}");
    let written: Value = serde_json::from_str(export.content.get()).map_err(unreadable)?;
    if let Some(told) = counted::impossible(&written["decision"]) {
        return Err(told);
    }
    let content: ExportContent = serde_json::from_str(export.content.get()).map_err(unreadable)?;
    let decision = serde_json::from_str(content.decision.get())
        .map_err(|error| format!("its decision cannot be read by this program: {error}"))?;
    Ok(Opened {
        written,
        content,
        decision,
    })
}

/// What only a store can tell, which is not asked.
fn not_checked(decision: &Decision) -> String {
    let mut words: Vec<&str> = Vec::new();
    for (_, what) in taken(decision) {
        if !words.contains(&what) {
            words.push(what);
        }
    }
    format!(
        "only the store can tell (--store) whether this is what was recorded: {}; and the file alone says who exported it, and \
         when",
        words.join(", ")
    )
}

/// What a later program says that this one does not know: it is not checked, and not dropped in silence.
fn fields(written: &Value, content: &ExportContent, decision: &Decision) -> Check {
    let mut told = differing::unknown(written, content);
    let of_decision = differing::unknown(&written["decision"], decision).into_iter();
    told.extend(of_decision.map(|place| format!("decision.{place}")));
    if told.is_empty() {
        return Check::of(CheckName::Fields, told);
    }
    let told = format!(
        "it says more than this program knows, which is not checked: {}; `{}` wrote the file",
        told.join(", "),
        content.program
    );
    unknown(CheckName::Fields, told)
}

fn decided_again(decision: &Decision) -> Check {
    if let Some(why) = other_method(decision) {
        return Check::of(CheckName::Again, vec![why]);
    }
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
            Ok(stored) => differing::differing(&stored, decision).first().map_or_else(
                || "the store has another text of this decision, with the same numbers".to_owned(),
                |first| {
                    let first = first.told("in the store", "in the file");
                    format!("the store has another decision of this id: {first}")
                },
            ),
            Err(error) => format!("the store has a text of this id that is no decision: {error}"),
        }],
    };
    Ok(Check::of(CheckName::Stored, told))
}
