//! `parity` as a process: run to its end, or kept running as a mirror.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use tempfile::TempDir;

use super::report::Report;
use super::{PATIENCE, client, wait_for};

/// What a command left behind.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// stdout as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

/// A temporary directory in which the program runs.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> std::path::PathBuf {
        super::write(self.path(), name, text)
    }

    /// A command that is yet to be started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parity"));
        // Nothing of the developer's own environment may change an outcome.
        let own = std::env::vars().filter(|(name, _)| name.starts_with("PARITY_"));
        for (name, _) in own {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.path())
            // Services count their requests: only tests of second looks want any.
            .env("PARITY_RECHECK_RATE", "0")
            .env_remove("NO_COLOR");
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, &[], "")
    }

    /// The same with environment variables and standard input.
    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
        input: &str,
    ) -> Ended {
        use std::io::Write;
        let mut child = self
            .command(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("parity can be started");
        // A command that does not read its input may have ended already.
        let _broken_pipe = child
            .stdin
            .take()
            .expect("piped")
            .write_all(input.as_bytes());
        let output = child.wait_with_output().expect("parity ends");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    /// Starts a mirror on free ports and waits until it listens.
    pub(crate) fn mirror(&self, legacy: &str, candidate: &str, more: &[&str]) -> Mirror<'_> {
        self.mirror_with(legacy, candidate, more, |command| command)
    }

    /// The same; `adjust` may still modify the command.
    pub(crate) fn mirror_with(
        &self,
        legacy: &str,
        candidate: &str,
        more: &[&str],
        adjust: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Mirror<'_> {
        let mut arguments = vec!["mirror", "--legacy", legacy, "--candidate", candidate];
        arguments.extend(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
        if legacy == candidate {
            arguments.extend(["--self-comparison", "on"]);
        }
        arguments.extend(more);
        let mut command = self.command(&arguments);
        command.env("PARITY_INSTANCE", "test");
        let mut mirror = self.start(adjust(&mut command));
        mirror.address = mirror.announced(if more.contains(&"--tls-certificate-file") {
            "listening on https://"
        } else {
            "listening on http://"
        });
        mirror.admin = mirror.announced("admin port on http://");
        mirror
    }

    /// The same command in a shell that has done something first: set a limit.
    pub(crate) fn under<'a>(&self, first: &str, command: &'a mut Command) -> &'a mut Command {
        let program = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        *command = Command::new("bash");
        command
            .arg("-c")
            .arg(format!("{first}; exec \"$0\" \"$@\""))
            .arg(program)
            .args(arguments)
            .envs(environment)
            .current_dir(self.path())
    }

    /// The same command as a user without rights, for root.
    pub(crate) fn under_user(&self, command: &mut Command) {
        let program = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        *command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(program)
            .args(arguments)
            .current_dir(self.path());
    }

    /// Starts `parity ui` on a free port and waits until it listens.
    pub(crate) fn ui(&self) -> Mirror<'_> {
        let mut ui = self.start(&mut self.command(&["ui", "--admin", "127.0.0.1:0"]));
        ui.admin = ui.announced("serving http://");
        ui
    }

    /// Starts `parity sink` on a free port and waits until it has joined its group.
    pub(crate) fn sink(&self, kafka: &str, clickhouse: &str, more: &[&str]) -> Mirror<'_> {
        let mut arguments = vec!["sink", "--kafka", kafka, "--clickhouse", clickhouse];
        arguments.extend(["--admin", "127.0.0.1:0"]);
        arguments.extend(more);
        let mut command = self.command(&arguments);
        // What a sink has is stored soon.
        command.env("PARITY_SINK_BATCH_INTERVAL", "100ms");
        let mut sink = self.start(&mut command);
        sink.admin = sink.announced("admin port on http://");
        sink
    }

    /// `parity report --output json` of another store than the one in this place.
    pub(crate) fn report_of(&self, store: &str) -> Report {
        let ended = self.run(&["report", "--output", "json", "--store", store]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        Report(ended.json())
    }

    /// What `SQLite` finds wrong with the store in this place: `ok` if nothing.
    pub(crate) fn integrity(&self) -> String {
        let connection =
            rusqlite::Connection::open(self.path().join("parity.db")).expect("the file opens");
        connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("the check runs")
    }

    /// Starts a command that serves.
    pub(crate) fn start(&self, command: &mut Command) -> Mirror<'_> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("parity can be started");
        let log = Arc::new(Mutex::new(String::new()));
        let mut reader = BufReader::new(child.stderr.take().expect("piped"));
        let collected = Arc::clone(&log);
        let collecting = std::thread::spawn(move || {
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 0) {
                collected
                    .lock()
                    .expect("no panic while held")
                    .push_str(&line);
                line.clear();
            }
            // Lines that are not UTF-8 are read, too, so that the process never blocks on its log.
            let _ended = reader.read_to_end(&mut Vec::new());
        });
        Mirror {
            place: self,
            child,
            log,
            collecting: Some(collecting),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
        }
    }

    /// `parity report --output json`.
    pub(crate) fn report(&self) -> Report {
        let ended = self.run(&["report", "--output", "json"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        Report(ended.json())
    }
}

/// The same command with a limit on file sizes, in KiB, which causes the same errors as a full disk. The limit can be
/// raised while it runs.
pub(crate) fn limited<'a>(place: &Place, command: &'a mut Command, kib: u32) -> &'a mut Command {
    place.under(&format!("ulimit -S -f {kib}"), command)
}

/// A running `parity mirror` or `parity ui`.
pub(crate) struct Mirror<'a> {
    place: &'a Place,
    child: Child,
    log: Arc<Mutex<String>>,
    collecting: Option<std::thread::JoinHandle<()>>,
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
}

fn is_settled(report: &Report, received: u64) -> bool {
    let settled = report.count("received") == received && report.settled() == received;
    let differ = report.count("mismatch");
    let transient = report.0["classes"]["transient"].as_u64().unwrap_or(0);
    settled && report.grouped() >= differ && report.in_sets() >= differ - transient
}

impl Mirror<'_> {
    /// Waits until it has said where it listens.
    pub(crate) fn announced(&mut self, words: &str) -> SocketAddr {
        wait_for(words, || {
            let log = self.log();
            let ended = self.child.try_wait().expect("the child can be asked");
            assert!(ended.is_none(), "parity ended with {ended:?}: {log}");
            let rest = log.split(words).nth(1)?;
            let end = rest.find(['/', ' ', '\n'])?;
            rest.get(..end)?.parse().ok()
        })
    }

    /// What it has written to stderr so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no panic while held").clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in bytes: now, and at its highest.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("it runs");
        let read = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.expect("a number") << 10
        };
        (read("VmRSS:"), read("VmHWM:"))
    }

    /// Lifts the limit of [`limited`]: there is room on the disk again.
    pub(crate) fn make_room(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let unlimited = Rlimit {
            current: None,
            maximum: None,
        };
        prlimit(pid, Resource::Fsize, unlimited).expect("the limit is raised");
    }

    /// From now on no file has room for a byte more: the disk is full.
    pub(crate) fn take_room(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let full = Rlimit {
            current: Some(0),
            maximum: None,
        };
        prlimit(pid, Resource::Fsize, full).expect("the limit is lowered");
    }

    /// The status of the mirror.
    pub(crate) fn status(&self) -> Value {
        self.ask("/api/v1/status").json()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status();
        assert!(sent.expect("kill can be run").success());
    }

    /// GET through the proxy.
    pub(crate) fn get(&self, path: &str) -> client::Answer {
        client::get(self.address, path)
    }

    /// GET on the admin port.
    pub(crate) fn ask(&self, path: &str) -> client::Answer {
        client::get(self.admin, path)
    }

    /// Waits until every received request is settled in the store, and gives the report. The store may have to come first.
    pub(crate) fn settled(&self, received: u64) -> Report {
        self.reported("sqlite:parity.db", |report| {
            report.count("received") == received && report.settled() == received
        })
    }

    /// Waits for a report of a store that is as expected.
    fn reported(&self, store: &str, expected: impl Fn(&Report) -> bool) -> Report {
        let begin = Instant::now();
        loop {
            let ended = self
                .place
                .run(&["report", "--output", "json", "--store", store]);
            let report = (ended.code == 0).then(|| Report(ended.json()));
            if let Some(report) = report.filter(&expected) {
                return report;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "the record does not settle: {} {}\n{}",
                ended.stdout,
                ended.stderr,
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a store has every received request, settled, and gives its report.
    ///
    /// Through Kafka and into `ClickHouse`, counts of requests, of groups and of sets come in inserts of their own; so all
    /// of them are waited for.
    pub(crate) fn settled_in(&self, store: &str, received: u64) -> Report {
        self.reported(store, |report| is_settled(report, received))
    }

    /// The same, where it is counted, too, what each client got: that may come behind the verdict.
    pub(crate) fn answered_in(&self, store: &str, received: u64) -> Report {
        self.reported(store, |report| {
            let clients = report.0["clients"].as_object().into_iter().flatten();
            let answered: u64 = clients.filter_map(|(_, count)| count.as_u64()).sum();
            answered == received && is_settled(report, received)
        })
    }

    /// SIGTERM, and the exit code after the drain.
    pub(crate) fn stop(self) -> (i32, String) {
        self.signal("TERM");
        self.ended()
    }

    /// The exit code and the log, once it has ended by itself.
    pub(crate) fn ended(mut self) -> (i32, String) {
        let status = wait_for("the end of the mirror", || {
            self.child.try_wait().expect("the child can be asked")
        });
        self.collecting
            .take()
            .expect("joined once")
            .join()
            .expect("the log is collected");
        (status.code().unwrap_or(-1), self.log())
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the child can be killed");
        self.child.wait().expect("the child has ended");
    }
}

impl Drop for Mirror<'_> {
    fn drop(&mut self) {
        // A failed test must not leave a process behind; one that has ended is no error.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
