//! What the tests share: the program as a process, services that answer as told, a client that sees every byte.

pub(crate) mod client;
pub(crate) mod exporter;
pub(crate) mod process;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod served;
pub(crate) mod service;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Nothing on one machine takes this long; a test that waits for it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// `short` in tests/run, `long` in tests/long.
pub(crate) fn length(short: u64, long: u64) -> u64 {
    if std::env::var("PARITY_TEST_LENGTH").is_ok_and(|length| length == "long") {
        long
    } else {
        short
    }
}

/// The root of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Waits until `look` finds something, and says what was waited for if it never does.
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_or_tell(look, || what.to_owned())
}

/// The same where a word is not enough to know why: `tell` collects what is known at the end.
pub(crate) fn wait_or_tell<T>(
    mut look: impl FnMut() -> Option<T>,
    tell: impl FnOnce() -> String,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        if begin.elapsed() >= PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain for {}", tell());
}

/// Sets a flag when it is dropped: what ends the threads of a scope when its test is over, or has failed.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes a file and gives its path.
pub(crate) fn write(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("a test file can be written");
    path
}
