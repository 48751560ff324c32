//! What must be known of the rollout before anything else.

use super::super::Tone;
use super::super::words::sentence;
use super::{Alert, Now};

impl Now<'_> {
    /// Who serves, as long as it is not the legacy alone, and what took the clients back to it.
    pub(super) fn rollout(&self) -> Option<Alert> {
        let rollout = self.status?.rollout.as_ref()?;
        if rollout.fell_back.is_some() {
            let told = format!(
                "{}; it stays so until somebody sets a percent",
                rollout.told()
            );
            return Some(Alert::bad(
                "The rollout is back at the legacy",
                sentence(&told),
            ));
        }
        let is_plain = rollout.percent > 0.0 || rollout.waits.is_some();
        is_plain.then(|| Alert {
            tone: Tone::Plain,
            what: "Rollout".to_owned(),
            about: sentence(&rollout.told_whole()),
        })
    }
}
