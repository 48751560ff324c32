//! The folder of a spool: its files, its lock, and the topic that it belongs to.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::segment::Segment;
use super::{LOCK_FILE, TALLIES_FILE};
use crate::error::StoreError;

/// Holds the topic that the records are for.
const TOPIC_FILE: &str = "topic";
const SUFFIX: &str = "spool";

pub(super) fn segment_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:010}.{SUFFIX}"))
}

pub(super) fn find_segments(folder: &Path) -> std::io::Result<BTreeMap<u32, Segment>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number = path
            .file_stem()
            .filter(|_| path.extension().is_some_and(|suffix| suffix == SUFFIX))
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(number) = number {
            let bytes = path.metadata()?.len();
            found.insert(number, Segment::found(path, bytes));
        }
    }
    Ok(found)
}

/// Creates the folder if it does not exist, and takes its lock; `None` if another process holds it.
pub(super) fn hold(folder: &Path) -> std::io::Result<Option<File>> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join(LOCK_FILE))?;
    Ok(lock.try_lock().is_ok().then_some(lock))
}

/// Moves the segments that a process left in the subfolder `from` into `into`, after those already there. Does nothing
/// while another process uses `from`.
pub(super) fn take_over(from: &Path, into: &Path, topic: &str) -> Result<(), StoreError> {
    if !from.exists() {
        return Ok(());
    }
    let failed = |source: std::io::Error| StoreError::SpoolIo {
        folder: from.to_owned(),
        source,
    };
    let Some(_lock) = hold(from).map_err(failed)? else {
        return Ok(());
    };
    let moving = || {
        let left = find_segments(from)?;
        let mut next = find_segments(into)?
            .keys()
            .next_back()
            .map_or(0, |last| last.wrapping_add(1));
        let tallies = Some(from.join(TALLIES_FILE)).filter(|path| path.exists());
        let paths = left.keys().map(|number| segment_path(from, *number));
        for path in paths.chain(tallies) {
            std::fs::rename(path, segment_path(into, next))?;
            next = next.wrapping_add(1);
        }
        Ok(())
    };
    let left_behind =
        !find_segments(from).map_err(failed)?.is_empty() || from.join(TALLIES_FILE).exists();
    if left_behind {
        claim(from, topic, true)?;
        moving().map_err(failed)?;
    }
    Ok(())
}

/// A folder belongs to one topic for as long as it holds records.
pub(super) fn claim(folder: &Path, topic: &str, left_behind: bool) -> Result<(), StoreError> {
    let path = folder.join(TOPIC_FILE);
    let owner = std::fs::read_to_string(&path).unwrap_or_default();
    if owner.trim() == topic {
        // Not written again: on a full disk that would leave the file empty, and the topic would be lost.
        return Ok(());
    }
    if left_behind && !owner.is_empty() {
        return Err(StoreError::Spool {
            folder: folder.to_owned(),
            why: format!(
                "it holds records for {}; start the mirror with that topic once to send them, or name another folder with --spool",
                parity_schemas::visible::visible_up_to(owner.trim(), 200)
            ),
        });
    }
    std::fs::write(&path, topic).map_err(|source| StoreError::SpoolIo {
        folder: folder.to_owned(),
        source,
    })
}
