//! The file of the rollout, as the one that steers has it: made ours before anything is changed, and written until it says what is in force.

use std::io;

use super::state::{self, Saved};
use super::{Controller, Inner};

impl Controller {
    /// Makes the file ours, and says whether it was read again: what another process wrote in it until now is newer than what was read at the
    /// start. Until then nobody was served here by the candidate, and the gate says whether that changes.
    pub(super) fn own(&self, inner: &mut Inner) -> io::Result<bool> {
        let file = &self.settings.state_file;
        if !inner.owned.take(file)? {
            return Ok(false);
        }
        let kept = Saved::open(file, &inner.served, &self.settings.plan);
        let mine = std::mem::replace(&mut inner.saved, kept);
        inner.saved.percent = inner.saved.percent.min(mine.percent);
        if std::mem::take(&mut inner.fell_alone) {
            inner.saved.fell_back = mine.fell_back;
        }
        Ok(true)
    }

    /// Writes what has already happened. If that fails it is tried again with the next look; until then the file says nothing, so that a
    /// restart does not go on from a percent that was taken back.
    pub(super) fn save(&self, inner: &mut Inner) {
        let file = &self.settings.state_file;
        let written = self.own(inner).and_then(|_read_again| {
            inner
                .saved
                .write(file)
                .map_err(|error| match state::void(file) {
                    Ok(()) => error,
                    Err(also) => {
                        io::Error::new(error.kind(), format!("{error}; nor emptied: {also}"))
                    }
                })
        });
        let failed = written.err().map(|error| error.to_string());
        if let Some(error) = failed.as_ref().filter(|_| inner.unsaved.is_none()) {
            tracing::error!(
                error,
                "the state of the rollout cannot be kept; it is tried again"
            );
        }
        inner.unsaved = failed;
    }
}
