//! Sessions: runs the commands of a page one after the other, in one folder. A serving command runs until its block ends.
//!
//! Commands run as printed, except for addresses, topic, database, and the program, which is the one under test (also for
//! `cargo run --release --`). Every mirror gets traffic, so that there is something to report.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::page::{Block, Check, Step, blocks};
use super::shown::{lines, matches};
use super::story::{is_too_busy, tell_busy};
use super::words::checks_words;
use crate::command_diff_text::sample;
use crate::servers::{ClickHouse, Kafka, free_port};
use crate::support::client::Connection;
use crate::support::exporter::{Counted, busy};
use crate::support::process::{Ended, Mirror, Place};
use crate::support::served::{self, executable};
use crate::support::service::Service;
use crate::support::wait_for;

/// Enough to prove 0.1 % at 95 %.
const REQUESTS: u64 = 4_000;
/// How a command is shown that the tests run with their own build.
pub(super) const CARGO_RUN: &str = "cargo run --release -- ";
/// Longer than any printed command takes.
const SECONDS: &str = "120";

/// The sessions of a page that need no servers.
pub(super) fn run_page(file: &str) {
    let place = Place::new();
    let mut session = Session::new(&place, BTreeMap::new());
    let mut blocks = blocks(file);
    blocks.retain(|block| block.check() == (Check::Session { services: false }));
    assert!(!blocks.is_empty(), "{file} has no session");
    for block in blocks {
        session.run(&block);
    }
}

/// One that has a topic and a database of its own.
pub(super) fn run_with_services(block: &Block) {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let names = [
        (
            "kafka://127.0.0.1:9092/parity.records",
            kafka.url(&kafka.topic(3)),
        ),
        ("clickhouse://127.0.0.1:8123/parity", database.url()),
    ];
    let place = Place::new();
    Session::new(&place, names.into()).run(block);
}

/// The files that commands and configurations name.
pub(super) fn with_files(place: &Place) {
    let [legacy, candidate] = sample();
    place.write("old.json", legacy);
    place.write("new.json", candidate);
    let log = r#"10.0.0.1 - - [24/Nov/2026:03:00:00 +0000] "GET /users/42 HTTP/1.1" 200 612 "-" "curl/8.5.0"
10.0.0.2 - - [24/Nov/2026:03:00:01 +0000] "GET /users/43?full=1 HTTP/1.1" 200 977 "-" "curl/8.5.0"
"#;
    place.write("access.log", log);
    let answers = crate::support::root().join("examples/items/answers.toml");
    let answers = std::fs::read_to_string(answers).expect("an example");
    let answers = answers.split_once('\n').expect("a comment").1;
    place.write("answers.toml", answers);
    let mut requests = String::new();
    for number in 0..3_000 {
        let target = serde_json::json!({"method": "GET", "url": format!("/items/{number}")});
        writeln!(requests, "{target}").expect("memory");
    }
    place.write("traffic.ndjson", requests);
    for service in ["old-service", "new-service"] {
        executable(place.path(), service, &served::command("equal"));
    }
    let tests = "curl --silent --fail \"$BASE_URL/items/[1-4000]\" --output /dev/null";
    executable(place.path(), "api-tests", tests);
    let answered = r#"{"schema":"parity.exchange/v1","time":"2026-11-24T03:00:00.000000Z","method":"GET","url":"/users/42","response":{"status":200,"headers":[["content-type","application/json"]],"body":"{\"a\":1}"}}"#;
    place.write("answered.ndjson", format!("{answered}\n"));
    place.write("candidate.headers", "authorization: Bearer abc\n");
    place.write("admin.token", "0123456789abcdef0123456789abcdef\n");
    place.write("look.token", "fedcba9876543210fedcba9876543210\n");
}

struct Session<'a> {
    place: &'a Place,
    /// Replacements for printed names.
    names: BTreeMap<&'static str, String>,
    /// Addresses by the port that is printed.
    addresses: RefCell<BTreeMap<u16, String>>,
    /// Legacy, candidate, and a second instance of the legacy.
    _services: [Service; 3],
    running: Vec<Mirror<'a>>,
}

impl<'a> Session<'a> {
    fn new(place: &'a Place, names: BTreeMap<&'static str, String>) -> Self {
        with_files(place);
        let programs = place.path().join("programs");
        std::fs::create_dir(&programs).expect("a folder");
        symlink(env!("CARGO_BIN_EXE_parity"), programs.join("parity")).expect("a link");
        let (old, new) = (Counted::OLD, Counted::NEW);
        let services = [
            busy(old, 2_000.0, Counted::go),
            busy(new, 2_000.0, Counted::rust),
            busy(old, 2_000.0, Counted::go),
        ];
        let addresses = [7001, 7002, 7003].into_iter().zip(&services);
        let addresses = addresses.map(|(port, service)| {
            let address = service.url();
            (port, address.trim_start_matches("http://").to_owned())
        });
        Self {
            place,
            names,
            addresses: RefCell::new(addresses.collect()),
            _services: services,
            running: Vec::new(),
        }
    }

    /// The address that stands for the printed one with this port.
    fn address(&self, port: u16) -> String {
        let mut addresses = self.addresses.borrow_mut();
        let free = || format!("127.0.0.1:{}", free_port());
        addresses.entry(port).or_insert_with(free).clone()
    }

    /// What is printed, as it is on this machine.
    fn translated(&self, text: &str) -> String {
        let mut text = text.replace(CARGO_RUN, "parity ");
        for (name, own) in &self.names {
            text = text.replace(name, own);
        }
        if !self.names.is_empty() {
            // The addresses of the servers must stay as they are.
            text = text.replace("http://127.0.0.1:", "http://@:");
        }
        let mark = if self.names.is_empty() {
            "127.0.0.1:"
        } else {
            "@:"
        };
        let mut parts = text.split(mark);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (port, rest) = part.split_at(digits);
            out.push_str(&self.address(port.parse().expect("a port")));
            out.push_str(rest);
        }
        out
    }

    fn run(&mut self, block: &Block) {
        let steps = block.steps();
        let exit: i32 = block
            .values("exit")
            .next()
            .map_or(0, |code| code.parse().expect("a number"));
        for (number, step) in steps.iter().enumerate() {
            let program = step.command.split(' ').next().unwrap_or_default();
            let is_ours = step.command.starts_with(CARGO_RUN);
            if !is_ours && block.values("not-run").any(|name| name == program) {
                checks_words(self.place, block, &step.command);
                assert!(step.output.is_empty(), "{block}: nobody checks its output");
                continue;
            }
            let command = self.translated(&step.command);
            let words: Vec<&str> = command.split(' ').collect();
            let serves = match words.as_slice() {
                ["parity", "mirror" | "sink", ..] if command.contains(" --admin-tls-") => {
                    Some("admin port on https://")
                }
                ["parity", "mirror" | "sink", ..] => Some("admin port on http://"),
                ["parity", "ui", ..] => Some("serving http://"),
                ["parity", "record", ..] => Some("clients send to http://"),
                _ => None,
            };
            let last = number + 1 == steps.len();
            match serves {
                Some(announcement) if exit == 0 || !last => {
                    let is_mirror = words[1] == "mirror";
                    self.start(block, &command, announcement, is_mirror, &step.output);
                }
                _ => {
                    if ["report", "gate", "ui"].contains(words.get(1).unwrap_or(&"")) {
                        self.has_something_to_read(block, &command);
                    }
                    let ended = self.ended(&command);
                    let is_load = ["stress", "soak"].contains(words.get(1).unwrap_or(&""));
                    if is_load && (is_too_busy(&ended.stdout) || is_too_busy(&ended.stderr)) {
                        tell_busy(&command);
                        continue;
                    }
                    let expected = if last { exit } else { 0 };
                    assert_eq!(
                        ended.code, expected,
                        "{block}: `{command}`: {}{}",
                        ended.stdout, ended.stderr
                    );
                    // The printed output is that of stdout, or of stderr if stdout is empty.
                    let said = match ended.stdout.as_str() {
                        "" => &ended.stderr,
                        stdout => stdout,
                    };
                    self.shows(block, step, said);
                }
            }
        }
        for mirror in self.running.drain(..) {
            let (code, log) = mirror.stop();
            assert_eq!(code, 0, "{block}: {log}");
        }
    }

    /// A command with the program on its path, and ports that are free.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PARITY_")) {
            command.env_remove(name);
        }
        let programs = self.place.path().join("programs");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.place.path())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("PARITY_LISTEN", self.address(8080))
            .env("PARITY_ADMIN", self.address(9900))
            .env("PARITY_SINK_ADMIN", self.address(9901))
            .env_remove("NO_COLOR");
        command
    }

    fn ended(&self, command: &str) -> Ended {
        let mut bash = self.command("timeout");
        let output = bash
            .args([SECONDS, "bash", "-c", command])
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn start(
        &mut self,
        block: &Block,
        command: &str,
        announcement: &str,
        is_mirror: bool,
        output: &[String],
    ) {
        let mut bash = self.command("bash");
        bash.args(["-c", &format!("exec {command}")]);
        let mut started = self.place.start(&mut bash);
        started.admin = started.announced(announcement);
        started.address = started.admin;
        // The log may have further lines, also between the printed ones.
        let mut shown = vec!["…".to_owned()];
        for line in output {
            shown.extend([self.translated(line), "…".to_owned()]);
        }
        let log = started.log();
        assert!(matches(&shown, &lines(&log)), "{block}: {log}");
        if is_mirror {
            started.address = started.announced("listening on http://");
        }
        if is_mirror || command.starts_with("parity record") {
            sends(&started);
        }
        self.running.push(started);
    }

    /// A page that begins with a report or a gate needs a record, as after the quickstart. Waits until the traffic is in it.
    fn has_something_to_read(&mut self, block: &Block, command: &str) {
        let missing = command.contains("missing.db");
        if missing || command.contains("--help") {
            return;
        }
        if !self.place.path().join("parity.db").exists() && self.names.is_empty() {
            let mirror =
                "parity mirror --legacy http://127.0.0.1:7001 --candidate http://127.0.0.1:7002";
            let command = self.translated(mirror);
            self.start(block, &command, "admin port on http://", true, &[]);
            let mirror = self.running.pop().expect("it was started");
            assert_eq!(mirror.stop().0, 0);
        }
        if !command.starts_with("parity report") {
            return;
        }
        let question = if command.contains("--output json") {
            command.to_owned()
        } else {
            let bare = command.split('#').next().unwrap_or_default();
            let bare = bare.replace("--output markdown", "");
            format!("{bare} --output json")
        };
        wait_for("a report of what was sent", || {
            let ended = self.ended(&question);
            let report: serde_json::Value = serde_json::from_str(&ended.stdout).ok()?;
            let [received, equal] = ["received", "match"].map(|key| report[key].as_u64());
            (received >= Some(REQUESTS) && equal >= Some(REQUESTS)).then_some(())
        });
    }

    fn shows(&self, block: &Block, step: &Step, said: &str) {
        if step.output.is_empty() {
            return;
        }
        let output = step.output.iter().map(|line| self.translated(line));
        let shown: Vec<String> = output.collect();
        assert!(
            matches(&shown, &lines(said)),
            "{block}: `{}` says something else:\n{said}",
            step.command
        );
    }
}

/// Requests that both services answer in the same way.
fn sends(mirror: &Mirror<'_>) {
    let mut connection = Connection::open(mirror.address);
    for number in 0..REQUESTS {
        let mut target = String::from("/items/");
        write!(target, "{number}").expect("memory");
        connection.send("GET", &target, &[], b"");
        let status = connection.answer("GET").expect("answered").status;
        assert!(status == 200 || status == 204, "{status}");
    }
}
