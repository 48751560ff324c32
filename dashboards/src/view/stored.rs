//! Stored mismatches of the groups of a report: what its numbers cannot say is read from them.

use parity_schemas::record::Mismatch;
use parity_schemas::report::Report;
use parity_sink::{MismatchFilter, Reader, StoreError};

/// Groups that a report asks for. Nothing is said of the others.
const MAX_ASKED: usize = 500;

/// Reads examples of groups, as long as they are few.
pub(super) struct Stored<'a> {
    reader: &'a Reader,
    report: &'a Report,
    /// How many groups may still be asked for.
    left: usize,
}

impl<'a> Stored<'a> {
    /// Of the groups of this report.
    pub(super) fn new(reader: &'a Reader, report: &'a Report) -> Self {
        Self {
            reader,
            report,
            left: MAX_ASKED,
        }
    }

    /// So many at the most that were found under the same rules, for the same versions.
    pub(super) fn of(
        &mut self,
        fingerprint: &str,
        at_most: usize,
    ) -> Result<Vec<Mismatch>, StoreError> {
        if self.left == 0 {
            return Ok(Vec::new());
        }
        self.left -= 1;
        let report = self.report;
        let filter = MismatchFilter {
            migration: Some(report.migration.clone()),
            fingerprint: Some(fingerprint.to_owned()),
            ..MismatchFilter::default()
        };
        let mut found = self.reader.mismatches(&filter, at_most)?;
        found.retain(|mismatch| {
            let of = &mismatch.identity;
            of.rules_hash == report.rules_hash
                && of.candidate_version == report.candidate_version
                && of.legacy_version == report.legacy_version
        });
        Ok(found)
    }
}
