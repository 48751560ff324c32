//! What is in the folder of a spool, and whose it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::segment::Segment;
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

/// A folder belongs to one topic for as long as it holds anything.
pub(super) fn claim(folder: &Path, topic: &str, left_behind: bool) -> Result<(), StoreError> {
    let path = folder.join(TOPIC_FILE);
    let failed = |why: String| StoreError::Spool {
        folder: folder.to_owned(),
        why,
    };
    let owner = std::fs::read_to_string(&path).unwrap_or_default();
    if left_behind && !owner.is_empty() && owner.trim() != topic {
        return Err(failed(format!(
            "it holds records for {}; start the mirror with that topic once to send them, or name another folder with --spool",
            parity_schemas::visible::visible_up_to(owner.trim(), 200)
        )));
    }
    std::fs::write(&path, topic).map_err(|error| failed(error.to_string()))
}
