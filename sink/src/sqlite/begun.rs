//! The note of a run that its store has not heard of yet: a symbolic link beside the file.
//!
//! A run that could never write has no watermark. Nothing in the store would show that it received requests, and a gate
//! would decide without them. So the writer leaves a note before it opens the file, and removes it when its first
//! watermark is written. A reader takes a note for a watermark that was written when the run began.
//!
//! It is a link, which leads nowhere, because its text is there at once or not at all, needs no block of a disk that is
//! full, and is read without opening a file.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Between the name of the store and the id of the run.
const INFIX: &str = "-begun-";
/// A text of this size is kept in the inode of the link by the usual file systems.
const SHORT_BYTES: usize = 59;

/// A note that was found.
pub(crate) struct Note {
    /// The first watermark of the run.
    pub(crate) run: Watermark,
    /// Whether there was room for what the run counts for. If not, it may be anything.
    pub(crate) has_identity: bool,
    link: PathBuf,
}

/// The text of a note, if there is room for it; otherwise only the name of the instance.
#[derive(Serialize, Deserialize)]
struct Text {
    instance: String,
    started: Timestamp,
    #[serde(flatten)]
    identity: Identity,
}

/// Leaves the note of a run and gives its path, or nothing if it is there already.
pub(crate) fn leave(store: &Path, run: &Watermark) -> io::Result<Option<PathBuf>> {
    let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(format!("{INFIX}{}", run.id));
    let link = folder(&store).join(name);
    if link.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let text = serde_json::to_string(&Text {
        instance: run.instance.clone(),
        started: run.started,
        identity: run.identity.clone(),
    })?;
    let end = run.instance.floor_char_boundary(SHORT_BYTES);
    let short = run.instance.get(..end).unwrap_or_default();
    symlink(text, &link).or_else(|_| symlink(short, &link))?;
    Ok(Some(link))
}

/// The notes beside a store. To be read before the store: a run whose note is gone is in the store by then.
pub(crate) fn list(store: &Path) -> io::Result<Vec<Note>> {
    let mut notes = BTreeMap::new();
    // A link to a store may have led nowhere when the note was left, so that it is beside the link.
    let real = store.canonicalize().ok();
    for store in [Some(store), real.as_deref()].into_iter().flatten() {
        let Some(prefix) = store.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        for entry in folder(store).read_dir()? {
            let entry = entry?;
            let name = entry.file_name();
            let id = name
                .to_str()
                .and_then(|name| name.strip_prefix(prefix)?.strip_prefix(INFIX));
            let Some(id) = id.and_then(|id| Uuid::parse_str(id).ok()) else {
                continue;
            };
            let link = entry.path();
            match link.read_link() {
                Ok(text) => drop(notes.insert(id, note(id, &text.to_string_lossy(), link))),
                // It was removed meanwhile, or is no note of ours.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(notes.into_values().collect())
}

/// Removes notes of runs that are in the store.
pub(crate) fn remove(notes: &[Note]) {
    for note in notes {
        withdraw(&note.link);
    }
}

/// Removes a note.
pub(crate) fn withdraw(link: &Path) {
    if let Err(error) = std::fs::remove_file(link)
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, note = %link.display(), "a note beside the store cannot be removed");
    }
}

fn note(id: Uuid, text: &str, link: PathBuf) -> Note {
    let read = serde_json::from_str::<Text>(text).ok();
    let has_identity = read.is_some();
    let text = read.unwrap_or_else(|| Text {
        instance: text.to_owned(),
        // An id begins with the time at which it was made.
        started: id.get_timestamp().map_or_else(Timestamp::default, |time| {
            let (seconds, nanos) = time.to_unix();
            let micros = seconds.saturating_mul(1_000_000) + u64::from(nanos / 1_000);
            Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
        }),
        identity: Identity::default(),
    });
    Note {
        run: Watermark {
            id,
            identity: text.identity,
            instance: text.instance,
            ..Watermark::begun(text.started)
        },
        has_identity,
        link,
    }
}

fn folder(store: &Path) -> &Path {
    match store.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::id::new_id;

    use super::*;

    #[test]
    fn what_is_noted_is_found_also_in_short_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("parity.db");
        let run = Watermark {
            id: new_id(),
            identity: Identity {
                migration: "m\0".to_owned(),
                rules_hash: "é".repeat(60),
                ..Identity::default()
            },
            instance: "one".to_owned(),
            ..Watermark::begun(Timestamp::now())
        };
        let left = [(); 2].map(|()| leave(&store, &run).expect("there is room"));
        assert!(left[0].is_some() && left[1].is_none());
        let found = list(&store).expect("it is listed");
        assert_eq!(found.len(), 1);
        assert!(found[0].has_identity);
        assert_eq!(found[0].run, run);
        remove(&found);
        // The file system refuses so long a text.
        let mut long = run;
        long.identity.rules_hash = "é".repeat(5_000);
        long.instance = "é".repeat(40);
        leave(&store, &long).expect("in short");
        std::fs::write(folder.path().join("parity.db-begun-x"), "").expect("a file");
        std::fs::write(
            folder.path().join(format!("parity.db-begun-{}", new_id())),
            "",
        )
        .expect("a file");
        let found = list(&store).expect("it is listed");
        assert_eq!(found.len(), 1);
        assert!(!found[0].has_identity);
        assert_eq!(found[0].run.instance, "é".repeat(29));
        let apart = found[0].run.started.as_micros() - long.started.as_micros();
        assert!(apart.abs() < 60_000_000, "{apart}");
    }
}
