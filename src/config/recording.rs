//! What is recorded of live traffic, to be replayed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use parity_mirror::Mode;

use super::Layers;
use super::problem::Problem;
use super::settings::{mirror, recording};

/// What is recorded of live traffic, and where.
#[derive(Clone, Debug)]
pub(crate) struct RecordingSettings {
    /// The file; packed by zstd if its name ends so.
    pub(crate) file: PathBuf,
    /// Whether the legacy's answers are recorded, too.
    pub(crate) answers: bool,
    /// Bytes of a file before the next one is begun.
    pub(crate) file_size: u64,
    /// Files that are kept.
    pub(crate) files: NonZeroUsize,
}

impl Layers {
    /// What is recorded of live traffic, if a file is named.
    pub(super) fn recording(&mut self) -> Option<RecordingSettings> {
        let file = self.get(&recording::FILE);
        let answers = self.get(&recording::ANSWERS);
        let file_size = self.get(&recording::FILE_SIZE);
        let files = self.get(&recording::FILES);
        let mode = self.get(&mirror::MODE);
        let file = file?;
        if answers == Some(true) && mode == Some(Mode::Tap) {
            let message = format!(
                "{}: a tap has no client to answer, so it records requests only",
                recording::ANSWERS.key
            );
            let origin = self.origin(&recording::ANSWERS);
            self.problems.push(
                Problem::new(origin, message)
                    .hint("switch it off, or record where clients connect"),
            );
        }
        Some(RecordingSettings {
            file: file.into(),
            answers: answers?,
            file_size: file_size?,
            files: NonZeroUsize::new(files?)?,
        })
    }
}
