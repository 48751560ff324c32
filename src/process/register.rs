//! What the configuration says of known differences, for a process that only reads: `parity ui` and `parity sink`.
//!
//! A mirror reads its configuration again when it is told to, because that begins new evidence. Nothing of the register is in any count, so
//! whoever shows a record takes it as the file says it now: else the page of a mirror and that of `parity ui` contradict each other
//! after a reload. A thread of its own looks each second whether the file is another one, which is one question to the system, and reads it
//! only then; pages take what it saw last. So a file system that hangs makes that old, and no page waits for it. A file
//! that cannot be read, or that has a mistake, changes nothing: what it said before stays, and each page says why. All other
//! settings are those of the start.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use parity_dashboards::server::Register;
use parity_dashboards::terminal;
use parity_schemas::known::KnownEntry;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use tokio::sync::watch;

use crate::config::settings::Setting;
use crate::config::{DEFAULT_FILE, Differences, Layers};
use crate::error;

/// How often the file is looked at: whoever edits it looks at a page no sooner.
const PERIOD: Duration = Duration::from_secs(1);
/// A file may be changed again for so long without another time: the clocks of file systems have ticks. It is counted from when its time was
/// first seen, because the clock that gave the time may be another one than ours.
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
}

/// What a configuration says of differences, or why it cannot be read.
type Read = dyn Fn() -> Result<Differences, String> + Send + Sync;

/// A configuration whose register is read again when it changes.
pub(crate) struct RegisterFile {
    path: PathBuf,
    read: Box<Read>,
    /// As it was looked at last.
    stamp: Option<Stamp>,
    /// When that stamp was first seen.
    seen: Instant,
    /// It was read so long after that, that no change has kept the stamp.
    is_settled: bool,
    register: Register,
}

/// What a file says, for those who must not wait.
pub(crate) type Followed = Arc<dyn Fn() -> Register + Send + Sync>;

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
        Self {
            stamp: Stamp::of(&path),
            seen: Instant::now(),
            is_settled: false,
            register: Register::default(),
            path,
            read,
        }
    }

    /// With what was read at the start, which checks all of the configuration.
    pub(crate) fn with(mut self, known: Arc<[KnownEntry]>, dated: Arc<[RuleText]>) -> Self {
        self.register = Register {
            known,
            dated,
            read: Timestamp::now(),
            refused: None,
        };
        self
    }

    /// Looks at it on a thread of its own, which ends when what is returned is dropped. Nobody waits for that end: a file system that hangs
    /// must not delay the end of the process.
    pub(crate) fn follow(self) -> Result<Followed> {
        self.follow_each(PERIOD)
    }

    fn follow_each(mut self, period: Duration) -> Result<Followed> {
        let (says, said) = watch::channel(self.register.clone());
        let (held, released) = mpsc::channel::<()>();
        std::thread::Builder::new()
            .name("register".to_owned())
            .spawn(move || {
                while released.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                    says.send_replace(self.now(Instant::now()));
                }
            })
            .context("cannot start the thread that looks at the configuration")?;
        Ok(Arc::new(move || {
            let _held = &held;
            said.borrow().clone()
        }))
    }

    /// What it says now; what it said before, where it cannot be read.
    fn now(&mut self, now: Instant) -> Register {
        let stamp = Stamp::of(&self.path);
        let is_other = stamp != self.stamp;
        if !is_other && self.is_settled {
            return self.register.clone();
        }
        let was_there = self.stamp.is_some() || self.register.refused.is_some();
        if is_other {
            self.seen = now;
        }
        self.is_settled = now.saturating_duration_since(self.seen) >= TICK;
        let is_gone = stamp.is_none() && was_there;
        self.stamp = stamp;
        let read = if is_gone {
            Err("it is not there any more".to_owned())
        } else {
            (self.read)()
        };
        let before = self.register.refused.take();
        match read {
            Ok((known, dated)) => {
                if is_other || *known != *self.register.known || before.is_some() {
                    terminal::note(&format!(
                        "{} was read again: its known differences are in force",
                        self.path.display()
                    ));
                    self.register.read = Timestamp::now();
                }
                self.register.known = known;
                self.register.dated = dated;
            }
            Err(why) => {
                let told = format!("{} was not read again: {why}", self.path.display());
                if before.as_ref() != Some(&told) {
                    terminal::note(&format!("{told}; what it said before stays in force"));
                }
                self.register.refused = Some(told);
            }
        }
        self.register.clone()
    }
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
        let mut file = register(&path);
        let mut now = || file.now(Instant::now());
        assert_eq!(ids(&now()), ["a"]);
        let first = now().read;
        // As long as before, and within a tick of the clock of the file system.
        write("b\n");
        assert_eq!(ids(&now()), ["b"]);
        assert!(now().read > first);
        write("no\n");
        let refused = now();
        assert_eq!(ids(&refused), ["b"]);
        let why = refused.refused.expect("it is told");
        assert!(
            why.ends_with("parity.toml was not read again: line 1: `no` is no entry"),
            "{why}"
        );
        std::fs::remove_file(&path).expect("removed");
        for _ in 0..2 {
            let gone = now();
            let why = gone.refused.clone().expect("it is told");
            assert!(why.ends_with("it is not there any more"), "{why}");
            assert_eq!(ids(&gone), ["b"]);
        }
        // Editors put a new file into its place.
        let other = folder.path().join("other");
        std::fs::write(&other, "c\nd\n").expect("written");
        std::fs::rename(&other, &path).expect("renamed");
        let again = now();
        assert_eq!((ids(&again), &again.refused), (vec!["c", "d"], &None));
    }

    #[test]
    fn a_change_that_keeps_the_time_of_a_clock_ahead_is_seen_and_then_no_more_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.toml");
        let ahead = SystemTime::now() + Duration::from_hours(1);
        let write = |text: &str| {
            std::fs::write(&path, text).expect("written");
            let file = std::fs::File::options().write(true).open(&path);
            let set = file.expect("it is there").set_modified(ahead);
            set.expect("it has a time");
        };
        write("a\n");
        let mut file = register(&path);
        let begun = file.seen;
        write("b\n");
        assert_eq!(ids(&file.now(begun)), ["b"]);
        write("c\n");
        assert_eq!(ids(&file.now(begun + TICK)), ["c"]);
        // Only one that sets the time back by hand is missed, and nothing is read each second for an hour.
        write("d\n");
        assert_eq!(ids(&file.now(begun + 2 * TICK)), ["c"]);
    }

    #[test]
    fn nobody_waits_for_a_file_system_that_hangs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.toml");
        let write = |text: &str| std::fs::write(&path, text).expect("written");
        write("");
        let (asks, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel::<()>();
        let answers = std::sync::Mutex::new(answers);
        let read = move || {
            let _unheard = asks.send(());
            // Until somebody answers, or nobody will.
            let answers = answers.lock().expect("one thread");
            let _released = answers.recv();
            Err("it came late".to_owned())
        };
        let entry = KnownEntry {
            id: "a".to_owned(),
            ..KnownEntry::default()
        };
        let file = RegisterFile::of(path.clone(), Box::new(read));
        let file = file.with([entry].into(), Arc::default());
        let says = file
            .follow_each(Duration::from_millis(1))
            .expect("it begins");
        asked.recv().expect("it is read");
        // The thread is in there.
        assert_eq!(ids(&says()), ["a"]);
        write("other");
        answer.send(()).expect("it waits");
        asked.recv().expect("it is read again");
        assert!(
            says()
                .refused
                .is_some_and(|why| why.contains("it came late"))
        );
        drop(says);
        drop(answer);
        // The thread ends, and what it holds is dropped.
        while asked.recv().is_ok() {}
    }
}
