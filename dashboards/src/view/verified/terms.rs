//! Whether the terms of a file are those under which was counted: their text has the hash that the decision names, their ids
//! follow from their content, the decision names just these, and the store has them.

use parity_comparator::rules::{Rehashed, rehash};
use parity_comparator::seal;
use parity_schemas::decisions::{Check, CheckName, CheckState, ExportContent};
use parity_schemas::differing::differing;
use parity_schemas::evidence::{DecidedTerms, Decision};
use parity_schemas::terms::Terms;
use parity_sink::read::TermsFilter;
use parity_sink::{Reader, StoreError};

use super::super::exported::counted_under;

/// Whether the file has the text of all rules under which something was counted, and each text has its hash.
pub(super) fn rules(content: &ExportContent, decision: &Decision) -> Check {
    let mut wrong = Vec::new();
    let mut open = Vec::new();
    for hash in counted_under(decision) {
        let of_hash = content.terms.iter();
        let of_hash: Vec<&Terms> = of_hash
            .filter(|terms| terms.identity.rules_hash == hash)
            .collect();
        if of_hash.is_empty() {
            open.push(format!(
                "the file has no text of the rules `{hash}`: older programs did not record it"
            ));
        }
        let mut unreadable = None;
        let mut any = false;
        for terms in of_hash {
            match rehash(&terms.rules) {
                Rehashed::Hash(actual) if actual == hash => any = true,
                Rehashed::Hash(actual) => wrong.push(format!(
                    "the rules in force from {} have the hash {actual}, and the decision says {hash}",
                    terms.time
                )),
                Rehashed::Unknown(why) => unreadable = unreadable.or(Some(why)),
            }
        }
        open.extend(unreadable.filter(|_| !any));
    }
    settled(CheckName::Rules, wrong, open)
}

/// What is wrong fails; otherwise what is open leaves it unknown.
fn settled(name: CheckName, wrong: Vec<String>, open: Vec<String>) -> Check {
    if !wrong.is_empty() || open.is_empty() {
        return Check::of(name, wrong);
    }
    Check {
        state: CheckState::Unknown,
        ..Check::of(name, open)
    }
}

/// Whether the terms are those of the decision, and as they were written.
pub(super) fn named(content: &ExportContent, decision: &Decision, program: &str) -> Check {
    let mut wrong = Vec::new();
    let mut open = Vec::new();
    let (legacy, candidate, _) = decision.versions();
    let hashes = counted_under(decision);
    for terms in &content.terms {
        let of = &terms.identity;
        let versions = (of.legacy_version.as_str(), of.candidate_version.as_str());
        let is_counted = of.migration == decision.migration
            && versions == (legacy, candidate)
            && hashes.contains(&of.rules_hash.as_str());
        if !is_counted {
            wrong.push(format!(
                "terms {}: they are of another migration, of other versions, or of other rules than the decision",
                terms.id
            ));
        }
        let identified = terms.identified(seal::id_of);
        if identified != (terms.id, terms.rank) {
            let told = format!(
                "terms {}: their id does not follow from their content",
                terms.id
            );
            // A program that knows other fields writes the same terms otherwise.
            if terms.program == program {
                wrong.push(told);
            } else {
                open.push(format!("{told}; `{}` wrote them", terms.program));
            }
        }
    }
    if decision.terms.is_empty() && !content.terms.is_empty() {
        open.push("the decision does not name its terms: an older program wrote it".to_owned());
    } else {
        wrong.extend(other_than_named(content, decision));
    }
    if content.terms_cut {
        open.push("there are more terms than the file has; the latest are in it".to_owned());
    }
    settled(CheckName::Terms, wrong, open)
}

/// Where the terms of a file are not those that its decision names.
fn other_than_named(content: &ExportContent, decision: &Decision) -> Vec<String> {
    let mut told = Vec::new();
    for named in &decision.terms {
        match content.terms.iter().find(|terms| terms.id == named.id) {
            None => told.push(format!(
                "terms {}: the decision names them, and the file does not have them",
                named.id
            )),
            Some(terms) => {
                let found = DecidedTerms::of(terms.clone());
                let found = differing(named, &found);
                let found = found
                    .iter()
                    .map(|found| found.told("in the decision", "in the terms"));
                told.extend(found.map(|told| format!("terms {}: {told}", named.id)));
            }
        }
    }
    for terms in &content.terms {
        if decision.terms.iter().all(|named| named.id != terms.id) {
            told.push(format!(
                "terms {}: the file has them, and the decision does not name them",
                terms.id
            ));
        }
    }
    if told.is_empty()
        && decision
            .terms
            .iter()
            .map(|named| named.id)
            .ne(content.terms.iter().map(|terms| terms.id))
    {
        told.push("the terms are in another order than in the decision, or twice".to_owned());
    }
    told
}

/// Whether the store has the same terms.
pub(super) fn same_in_store(reader: &Reader, content: &ExportContent) -> Result<Check, StoreError> {
    let mut told = Vec::new();
    for terms in &content.terms {
        let found = reader.terms(&TermsFilter {
            migration: terms.identity.migration.clone(),
            rules_hash: terms.identity.rules_hash.clone(),
            versions: None,
            ids: vec![terms.id],
        })?;
        let Some(stored) = found.terms.first() else {
            told.push(format!(
                "terms {}: the store has none of this id under the rules `{}`",
                terms.id, terms.identity.rules_hash
            ));
            continue;
        };
        let found = differing(terms, stored);
        let found = found
            .iter()
            .map(|found| found.told("in the file", "in the store"));
        told.extend(found.map(|told| format!("terms {}: {told}", terms.id)));
    }
    Ok(Check::of(CheckName::StoredTerms, told))
}
