//! What the configuration says of known differences, for a process that only reads: `parity ui` and `parity sink`.
//!
//! A mirror reads its configuration again when it is told to, because that begins new evidence. Nothing of the register is in any count, so
//! whoever shows a record takes it as the file says it now: else the page of a mirror and that of `parity ui` contradict each other
//! after a reload. A page looks whether the file is another one, which is one question to the system, and reads it only then. A file
//! that cannot be read, or that has a mistake, changes nothing: what it said before stays, and each page says why. All other
//! settings are those of the start.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use parity_dashboards::server::Register;
use parity_dashboards::terminal;
use parity_schemas::known::KnownEntry;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;

use crate::config::settings::Setting;
use crate::config::{DEFAULT_FILE, Differences, Layers};
use crate::error;

/// A file that was changed so shortly before it was read may be changed again without another time: the clocks of file systems have ticks.
const TICK: Duration = Duration::from_secs(2);

/// What tells whether a file is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// A file that took the place of another one.
    inode: u64,
}

impl Stamp {
    /// Of a file, wherever a link leads; `None` if it is not there.
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: found.modified().ok(),
            length: found.len(),
            inode: found.ino(),
        })
    }

    /// Whether it may be changed and keep this stamp.
    fn is_fresh(&self, now: SystemTime) -> bool {
        let Some(modified) = self.modified else {
            return true;
        };
        now.duration_since(modified).is_ok_and(|age| age < TICK)
    }
}

/// What a configuration says of differences, or why it cannot be read.
type Read = dyn Fn() -> Result<Differences, String> + Send + Sync;

/// The file, as it was looked at last.
struct Seen {
    stamp: Option<Stamp>,
    is_fresh: bool,
    register: Register,
}

/// A configuration whose register is read again when it changes.
pub(crate) struct RegisterFile {
    path: PathBuf,
    read: Box<Read>,
    seen: Mutex<Seen>,
}

impl RegisterFile {
    /// The file that was named, or the one that is read without a name. It is looked at before it is read, so that no change is missed in
    /// between.
    pub(crate) fn at(named: Option<&Path>, flags: &[(&'static Setting, &str)]) -> Self {
        let named = named.map(Path::to_owned);
        let path = named.clone().unwrap_or_else(|| DEFAULT_FILE.into());
        let flags = flags
            .iter()
            .map(|(setting, text)| (*setting, (*text).to_owned()));
        let flags: Vec<(&'static Setting, String)> = flags.collect();
        let read = move || {
            let flags = flags
                .iter()
                .map(|(setting, text)| (*setting, text.as_str()));
            let layers = Layers::load_here(named.as_deref(), &flags.collect::<Vec<_>>());
            let read = layers.register();
            read.map_err(|problems| error::line(&problems.into()))
        };
        Self::of(path, Box::new(read))
    }

    fn of(path: PathBuf, read: Box<Read>) -> Self {
        let stamp = Stamp::of(&path);
        let is_fresh = is_fresh(stamp.as_ref());
        Self {
            path,
            read,
            seen: Mutex::new(Seen {
                stamp,
                is_fresh,
                register: Register::default(),
            }),
        }
    }

    /// With what was read at the start, which checks all of the configuration.
    pub(crate) fn with(self, known: Arc<[KnownEntry]>, dated: Arc<[RuleText]>) -> Self {
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.register = Register {
                known,
                dated,
                read: Timestamp::now(),
                refused: None,
            };
        }
        self
    }

    /// What it says now; what it said before, where it cannot be read.
    pub(crate) fn now(&self) -> Register {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(&self.path);
        if stamp == seen.stamp && !seen.is_fresh {
            return seen.register.clone();
        }
        let is_other = stamp != seen.stamp;
        let was_there = seen.stamp.is_some() || seen.register.refused.is_some();
        seen.is_fresh = is_fresh(stamp.as_ref());
        let is_gone = stamp.is_none() && was_there;
        seen.stamp = stamp;
        let read = if is_gone {
            Err("it is not there any more".to_owned())
        } else {
            (self.read)()
        };
        let before = seen.register.refused.take();
        match read {
            Ok((known, dated)) => {
                if is_other || *known != *seen.register.known || before.is_some() {
                    terminal::note(&format!(
                        "{} was read again: its known differences are in force",
                        self.path.display()
                    ));
                    seen.register.read = Timestamp::now();
                }
                seen.register.known = known;
                seen.register.dated = dated;
            }
            Err(why) => {
                let told = format!("{} was not read again: {why}", self.path.display());
                if before.as_ref() != Some(&told) {
                    terminal::note(&format!("{told}; what it said before stays in force"));
                }
                seen.register.refused = Some(told);
            }
        }
        seen.register.clone()
    }
}

fn is_fresh(stamp: Option<&Stamp>) -> bool {
    stamp.is_some_and(|stamp| stamp.is_fresh(SystemTime::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose lines are the ids of entries; `no` is none that can be read.
    fn register(path: &Path) -> RegisterFile {
        let of = path.to_owned();
        let read = move || {
            let text = std::fs::read_to_string(&of).map_err(|error| error.to_string())?;
            if text.contains("no") {
                return Err("line 1: `no` is no entry".to_owned());
            }
            let entries = text.lines().map(|id| KnownEntry {
                id: id.to_owned(),
                ..KnownEntry::default()
            });
            Ok((entries.collect(), Arc::default()))
        };
        let first = read().expect("readable");
        RegisterFile::of(path.to_owned(), Box::new(read)).with(first.0, first.1)
    }

    fn ids(register: &Register) -> Vec<&str> {
        let entries = register.known.iter();
        entries.map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn a_file_is_read_again_when_it_changed_and_a_mistake_in_it_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.toml");
        let write = |text: &str| std::fs::write(&path, text).expect("written");
        write("a\n");
        let file = register(&path);
        assert_eq!(ids(&file.now()), ["a"]);
        let first = file.now().read;
        // As long as before, and within a tick of the clock of the file system.
        write("b\n");
        assert_eq!(ids(&file.now()), ["b"]);
        assert!(file.now().read > first);
        write("no\n");
        let refused = file.now();
        assert_eq!(ids(&refused), ["b"]);
        let why = refused.refused.expect("it is told");
        assert!(
            why.ends_with("parity.toml was not read again: line 1: `no` is no entry"),
            "{why}"
        );
        std::fs::remove_file(&path).expect("removed");
        for _ in 0..2 {
            let gone = file.now();
            let why = gone.refused.clone().expect("it is told");
            assert!(why.ends_with("it is not there any more"), "{why}");
            assert_eq!(ids(&gone), ["b"]);
        }
        // Editors put a new file into its place.
        let other = folder.path().join("other");
        std::fs::write(&other, "c\nd\n").expect("written");
        std::fs::rename(&other, &path).expect("renamed");
        let again = file.now();
        assert_eq!((ids(&again), &again.refused), (vec!["c", "d"], &None));
    }
}
