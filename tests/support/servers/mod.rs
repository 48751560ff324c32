//! A real Kafka broker and a real ClickHouse server, started for the tests, and where other proxies and tools are.
//!
//! `tests/services/fetch` has put the programs into target/services; each test process starts one of each for all of
//! its tests, and a test that wants to stop or kill one starts its own. They end with the test process, however it
//! ends: a shell beside each of them waits for our end of a pipe to close.
//!
//! Tests that use this are ignored, with what they need as the reason, because a plain `cargo test` must work without
//! it; `tests/run` runs them all.

// Two test binaries include this file, and neither uses all of it.
#![allow(dead_code, unused_imports)]

mod clickhouse;
mod kafka;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) use self::clickhouse::{CLUSTER, ClickHouse, Database, READER};
pub(crate) use self::kafka::{Kafka, Raw, header, key};

/// Far longer than anything here takes, so that a slow machine is no failure.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a server and ends it when our standard input closes. Says its process id first.
const WATCHED: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
child=$!
echo "$child"
{ cat >/dev/null; kill -9 "$child" 2>/dev/null; } <&0 &
watch=$!
wait "$child"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
"#;

/// A number that no other test of this process has.
fn unique() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A name that no other test, process or run has.
pub(crate) fn name(prefix: &str) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("the clock is not before 1970");
    format!(
        "{prefix}_{}_{}_{}",
        now.as_micros(),
        std::process::id(),
        unique()
    )
}

fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A port that nobody listens on, outside of the range from which connections take theirs, so that it is still free
/// when a server is started again.
pub(crate) fn free_port() -> u16 {
    const FIRST: u32 = 15_000;
    const COUNT: u32 = 17_000;
    let seed = std::process::id().wrapping_mul(7_919);
    (0..COUNT)
        .map(|_| FIRST + seed.wrapping_add(unique().wrapping_mul(37)) % COUNT)
        .map(|port| u16::try_from(port).expect("it is below 32,000"))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

fn services() -> PathBuf {
    if let Some(folder) = std::env::var_os("PARITY_SERVICES_DIR") {
        return folder.into();
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("tests/services/fetch").exists())
        .expect("the workspace")
        .join("target/services")
}

/// A program that tests/services/fetch has put there, or has found and linked there.
pub(crate) fn program(name: &str) -> PathBuf {
    let path = services().join(name);
    assert!(
        path.exists(),
        "{} is missing: `tests/run` fetches it (tests/services/fetch)",
        path.display()
    );
    path
}

/// A program of `target/services/bin`.
pub(crate) fn tool(name: &str) -> PathBuf {
    program(&format!("bin/{name}"))
}

/// A server process.
pub(crate) struct Process {
    shell: Child,
    id: u32,
}

impl Process {
    pub(crate) fn start(log: &Path, command: &[String]) -> Self {
        let mut shell = Command::new("bash")
            .arg("-c")
            .arg(WATCHED)
            .arg("bash")
            .arg(log)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It tells of every process that it sees killed.
            .stderr(Stdio::null())
            .spawn()
            .expect("bash can be started");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("the shell says the process id");
        let id = line.trim().parse().expect("a process id");
        Self { shell, id }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.id.to_string())
            .status();
        assert!(sent.expect("kill can be run").success());
    }

    fn end(&mut self, signal: &str) {
        self.signal(signal);
        self.shell.wait().expect("the shell ends with its server");
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.shell.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            // The pipe closes with it.
            drop(self.shell.stdin.take());
            let _ended = self.shell.wait();
        }
    }
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
