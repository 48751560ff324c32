//! What must be known of the candidate before anything else: that it is down, or was.

use parity_schemas::time::Timestamp;

use super::super::down::{Beside, Candidate};
use super::super::words::grouped;
use super::{Alert, Now, ago};

impl Now<'_> {
    /// How it stands, where that is not well.
    pub(super) fn candidate(&self, moment: impl Fn(Timestamp) -> String) -> Option<Alert> {
        let beside = Beside {
            at: self.lately.at,
            status: self.status,
            runs: self.watermarks,
            version: self.candidate_version,
        };
        let silence = beside.silence_since(&self.lately.recent, self.history);
        let failed = |failed: u64| {
            let failed = grouped(failed);
            format!("it failed on all requests that were sent to it ({failed})")
        };
        match beside.candidate(silence) {
            Candidate::Answers => None,
            Candidate::Failed(silence) => {
                let passed = self.lately.at.as_micros() - silence.until.as_micros();
                let more = match self.status {
                    Some(_) => "; the mirror sends it requests as before",
                    None => "",
                };
                Some(Alert::bad(
                    "Candidate failed",
                    format!(
                        "from about {} to {} ({}) {}{more}",
                        moment(silence.since),
                        moment(silence.until),
                        ago(passed.max(0)),
                        failed(silence.failed)
                    ),
                ))
            }
            Candidate::Down(silence) => {
                let told = silence.map_or_else(
                    || "the mirror has just found it so".to_owned(),
                    |silence| {
                        let since = moment(silence.since);
                        format!("since about {since} {}", failed(silence.failed))
                    },
                );
                let more = match self.status {
                    Some(_) => "; it is left alone and tried again now and then",
                    None => "",
                };
                Some(Alert::bad("Candidate down", format!("{told}{more}")))
            }
        }
    }
}
