//! What must be known of the candidate before anything else: that it is down, or was, or answers with errors; and of which version, where
//! several run.

use parity_schemas::time::Timestamp;

use super::super::down::{Beginning, Beside, Candidate, Erring, OfVersion, Outage};
use super::super::words::{grouped, version};
use super::super::{Standing, Status};
use super::{Alert, Now};

impl Now<'_> {
    /// How it stands, where that is not well.
    pub(super) fn candidate(&self, moment: impl Fn(Timestamp) -> String + Copy) -> Vec<Alert> {
        let beside = Beside {
            at: self.lately.at,
            status: self.status,
            runs: self.watermarks,
            version: self.candidate_version,
        };
        let all = beside.candidates(Some(&self.lately.recent), Some(self.history));
        let alerts = all.iter().filter_map(|one| self.of_version(one, moment));
        let erring = beside.erring(Some(self.history));
        let errors = erring.iter().map(|one| self.of_errors(one, moment));
        alerts.chain(errors).collect()
    }

    /// That it answers with errors where the legacy does not.
    fn of_errors(&self, erring: &Erring<'_>, moment: impl Fn(Timestamp) -> String) -> Alert {
        let how = if erring.goes_on() {
            "answers with errors"
        } else {
            "answered with errors"
        };
        let passed = if erring.goes_on() {
            String::new()
        } else {
            format!(", the last {}", self.ago_of(erring.errors.to))
        };
        Alert::bad(
            named(erring.version, how),
            format!("{}{passed}", erring.told(moment)),
        )
    }

    fn of_version(
        &self,
        of: &OfVersion<'_>,
        moment: impl Fn(Timestamp) -> String + Copy,
    ) -> Option<Alert> {
        let failed = |failed: u64, before: Option<Beginning>| {
            let before = before.map(|before| before.told(moment));
            let before = before.unwrap_or_default();
            match failed {
                // What was sent to it ended for another reason, such as a client that left; or nothing was.
                0 => format!("it answered nothing{before}"),
                _ => format!(
                    "it failed on all requests that were sent to it ({}){before}",
                    grouped(failed)
                ),
            }
        };
        let named = |how: &str| named(of.version, how);
        let own = self.status.filter(|own| {
            of.version
                .is_none_or(|version| version == own.candidate_version)
        });
        match of.candidate {
            Candidate::Answers => None,
            Candidate::Fails(outage) => {
                let more = match own.map(|own| own.shadowing) {
                    Some(false) => "; it is asked nothing now",
                    _ => "; it is still asked",
                };
                let told = Self::since(outage, failed, moment);
                Some(Alert::bad(named("fails"), format!("{told}{more}")))
            }
            Candidate::FailedMostly(Beginning {
                from, sent, failed, ..
            }) => Some(Alert::bad(
                named(&format!("failed since {}", moment(from))),
                format!(
                    "on {} of {} requests; the record counts by minutes, so whether it still does is known where it is asked",
                    grouped(failed),
                    grouped(sent)
                ),
            )),
            Candidate::FailedUntil(exact) => Some(Alert::bad(
                named("failed"),
                format!(
                    "{}, {}: {}",
                    exact.span(moment),
                    self.ago_of(exact.end()),
                    exact.counted()
                ),
            )),
            Candidate::Failed(silence) => {
                let more = match own.map(Status::candidate) {
                    Some(Standing::Answers) => "; the mirror sends it requests as before",
                    _ => "",
                };
                Some(Alert::bad(
                    named("failed"),
                    format!(
                        "between {} and {}{} {}{more}",
                        moment(silence.since.from),
                        moment(silence.until),
                        self.at_least(silence.until),
                        failed(silence.failed, silence.before)
                    ),
                ))
            }
            Candidate::Down(outage) => {
                let told = Self::since(outage, failed, moment);
                let more = match own {
                    Some(_) => "; it is left alone and tried again now and then",
                    None => "",
                };
                Some(Alert::bad(named("down"), format!("{told}{more}")))
            }
        }
    }

    /// Since when it answers nothing, and on how many requests it failed.
    fn since(
        outage: Outage,
        failed: impl Fn(u64, Option<Beginning>) -> String,
        moment: impl Fn(Timestamp) -> String + Copy,
    ) -> String {
        let Outage {
            since,
            failed: of,
            before,
            exact,
        } = outage;
        if let (Some(since), Some(exact)) = (since, exact) {
            return format!("since {}: {}", since.told(moment), exact.counted());
        }
        match (since, of) {
            (Some(since), Some(of)) => {
                format!("since {} {}", since.told(moment), failed(of, before))
            }
            (Some(since), None) => format!("since {} it answered nothing", since.told(moment)),
            (None, _) => "the mirror has just found it so".to_owned(),
        }
    }
}

/// A candidate, with its version where several get requests.
fn named(of: Option<&str>, how: &str) -> String {
    match of {
        Some(name) => format!("Candidate {} {how}", version(name)),
        None => format!("Candidate {how}"),
    }
}
