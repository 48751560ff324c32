//! What a service prints: into a file that cannot grow beyond a bound, and the last of it in memory, for a message.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_schemas::visible::visible_up_to;

/// A file is as large as this; then it becomes the one before, and another one is begun. Enough for thousands of lines.
const FILE_BYTES: usize = 8 << 20;
/// What is kept in memory: more than is told.
const TAIL_BYTES: usize = 16 << 10;
/// Lines that are told of a service that failed: a stack trace, in most languages.
const TAIL_LINES: usize = 20;
/// Longest line that is told.
const LINE_CHARACTERS: usize = 300;
/// How long reading the rest may take: a pipe holds 64 KiB, which takes no time.
const READ_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks whether it is read.
const LOOK: Duration = Duration::from_millis(5);
/// What is read at once.
const PIECE: usize = 16 << 10;

/// What a service prints.
pub(super) struct Log {
    path: PathBuf,
    kept: Arc<Mutex<Kept>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Kept {
    tail: VecDeque<u8>,
    /// Why the file does not have all of it.
    failed: Option<String>,
}

impl Log {
    /// Reads `output` to its end, on a thread: a service must never wait for its log.
    pub(super) fn start(path: PathBuf, output: impl Read + Send + 'static) -> Result<Self> {
        let file = File::create(&path)
            .with_context(|| format!("cannot create the log {}", path.display()))?;
        let kept = Arc::<Mutex<Kept>>::default();
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn({
                let (path, kept) = (path.clone(), Arc::clone(&kept));
                move || keep(output, file, &path, &kept)
            })
            .context("cannot start the thread that reads a log")?;
        Ok(Self {
            path,
            kept,
            thread: Some(thread),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the end of what is printed. Call it when nothing is left of the service. What could not be ended may hold the
    /// pipe open for ever, so the wait is bounded; the thread then ends with the process.
    pub(super) fn finish(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let begun = Instant::now();
        while !thread.is_finished() && begun.elapsed() < READ_WITHIN {
            std::thread::sleep(LOOK);
        }
        if thread.is_finished() {
            // A panic there has been told, and takes nothing from the job.
            drop(thread.join());
        }
    }

    /// Why the file lacks something.
    pub(super) fn failed(&self) -> Option<String> {
        self.kept().failed.clone()
    }

    /// The last lines, each safe to print: nothing in them is a command to a terminal or to a CI job.
    pub(super) fn tail(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.kept().tail.iter().copied().collect();
        lines(&bytes)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines
        .into_iter()
        .skip(from)
        // The bar keeps `::` from the beginning of a line, where it would be a command to a job of GitHub's.
        .map(|line| format!("  | {}", visible_up_to(line, LINE_CHARACTERS)))
        .collect()
}

fn keep(mut output: impl Read, file: File, path: &Path, kept: &Mutex<Kept>) {
    let mut file = Some(Rotated {
        file,
        written: 0,
        path,
    });
    let mut piece = vec![0; PIECE];
    loop {
        let read = match output.read(&mut piece) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let bytes = piece.get(..read).unwrap_or_default();
        let written = file.as_mut().map_or(Ok(()), |file| file.write(bytes));
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.tail.extend(bytes);
        let more = kept.tail.len().saturating_sub(TAIL_BYTES);
        kept.tail.drain(..more);
        if let Err(error) = written {
            // A full disk: what is printed is still read, so that the service does not wait.
            kept.failed = Some(error.to_string());
            file = None;
        }
    }
}

/// A file that gives way to another one.
struct Rotated<'a> {
    file: File,
    written: usize,
    path: &'a Path,
}

impl Rotated<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written >= FILE_BYTES {
            std::fs::rename(self.path, before(self.path))?;
            self.file = File::create(self.path)?;
            self.written = 0;
        }
        self.written += bytes.len();
        self.file.write_all(bytes)
    }
}

/// What was printed before a file was begun anew.
fn before(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_safe_and_few() {
        let mut text = (0..50).fold(String::new(), |text, number| {
            format!("{text}line {number}\n")
        });
        text.push_str("::set-output name=x::y\n\u{1b}[2J\u{202e}\n");
        let mut bytes = text.into_bytes();
        bytes.extend(b"\xff\n");
        bytes.extend("x".repeat(1_000).into_bytes());
        let told = lines(&bytes);
        assert_eq!(told.len(), TAIL_LINES);
        assert_eq!(told.first().map(String::as_str), Some("  | line 34"));
        assert!(told.contains(&"  | ::set-output name=x::y".to_owned()));
        assert!(
            told.iter()
                .all(|line| !line.contains(['\u{1b}', '\u{202e}']))
        );
        assert!(
            told.iter()
                .all(|line| line.chars().count() < LINE_CHARACTERS + 10)
        );
    }

    #[test]
    fn the_files_are_bounded_and_have_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("legacy.log");
        let length = 3 * FILE_BYTES as u64 + 5;
        let printed = io::repeat(b'a').take(length).chain(&b"\nthe end\n"[..]);
        let mut log = Log::start(path.clone(), printed).expect("a file");
        log.finish();
        assert_eq!(log.failed(), None);
        let size = |path: &Path| std::fs::metadata(path).expect("it is there").len() as usize;
        assert!(size(&path) + size(&before(&path)) <= 2 * (FILE_BYTES + PIECE));
        assert_eq!(log.tail().last().map(String::as_str), Some("  | the end"));
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(text.ends_with("the end\n"));
    }
}
