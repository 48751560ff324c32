//! The process that stands between us and a command that we start: it runs the command and, when we end, whatever ends us, it ends
//! all that came of the command.
//!
//! ```text
//! parity ──standard input: `t`, or its end──► guard ──► command ──► its children, daemons …
//!        ◄──standard output: what became of the command──┘
//! ```
//!
//! It is this program under a hidden name. Its standard input is a pipe of which only we hold the other end, so it ends even when we
//! are killed. It is in a session of its own, so that Ctrl-C in a terminal, which is for us, does not reach it or the command.
//! What came of the command gets SIGTERM, and SIGKILL after [`GRACE`].

use std::ffi::OsString;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal as Kind, WaitOptions, WaitStatus};
use tokio::sync::mpsc;

use super::descendants::{self, Process, inherit_orphans};
use super::signals::{Hangup, Signal, Signals};

/// Time between SIGTERM and SIGKILL: enough for a service to close its files, and little beside what a job takes.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long a process may take to end after SIGKILL. One that takes longer hangs in the kernel, and is told and left.
const KILLED_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks for what is left.
const LOOK: Duration = Duration::from_millis(10);
/// Things to be told at once: at most a request, an end of input, and two ends of children.
const TOLD: usize = 8;
/// On standard input: end what came of the command. The end of the input after it: at once.
pub(super) const TERMINATE: u8 = b't';

/// A line on standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The command runs as this process.
    Started(i32),
    /// It could not be started.
    NotStarted(String),
    /// It has ended with this code.
    Exited(i32),
    /// It was ended by this signal.
    Killed(i32),
    /// These could not be ended.
    Left(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(pid) => write!(f, "started {pid}"),
            // One line, whatever a name holds.
            Self::NotStarted(why) => write!(f, "not-started {}", why.replace(['\n', '\r'], " ")),
            Self::Exited(code) => write!(f, "exited {code}"),
            Self::Killed(signal) => write!(f, "killed {signal}"),
            Self::Left(which) => write!(f, "left {}", which.replace(['\n', '\r'], " ")),
        }
    }
}

impl Line {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ')?;
        let number = || rest.parse().ok();
        match word {
            "started" => number().map(Self::Started),
            "not-started" => Some(Self::NotStarted(rest.to_owned())),
            "exited" => number().map(Self::Exited),
            "killed" => number().map(Self::Killed),
            "left" => Some(Self::Left(rest.to_owned())),
            _ => None,
        }
    }
}

/// What a guard is told.
enum Told {
    /// The command has ended so.
    Ended(WaitStatus),
    /// [`TERMINATE`] was read.
    Terminate,
    /// The other end of the input is closed.
    Over,
}

/// Runs a command and ends all that came of it: when it has ended itself, when it is told to, or when whoever started this is gone.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode> {
    // It cannot fail: a process that was just started leads no group.
    let _own = rustix::process::setsid();
    let mut signals = Signals::listen(Hangup::Ends)?;
    inherit_orphans();
    let (program, arguments) = words.split_first().context("no command")?;
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        // Standard output is for what is told of it; its own goes where its errors go.
        .stdout(Stdio::from(std::io::stderr()))
        .process_group(0)
        .spawn();
    let child = match started {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let program = program.to_string_lossy();
            tell(&Line::NotStarted(format!("{program}: {error}")));
            return Ok(ExitCode::FAILURE);
        }
    };
    tell(&Line::Started(child.as_raw_nonzero().get()));
    let (sender, mut told) = mpsc::channel(TOLD);
    let of_input = sender.clone();
    let threads = || std::thread::Builder::new();
    threads()
        .name("input".to_owned())
        .spawn(move || read_input(&of_input))?;
    threads()
        .name("reaper".to_owned())
        .spawn(move || reap(child, &sender))?;
    let mut first = None;
    signals.wait(async { first = told.recv().await }, |signal| {
        signal == Signal::End
    });
    let mut ending = Ending {
        told,
        has_ended: false,
        is_hurried: false,
    };
    // The end of the input is no hurry where it is the first that is told: whoever would say so is gone.
    if let Some(ended @ Told::Ended(_)) = first {
        ending.take(&ended);
    }
    ending.end_all(child);
    Ok(ExitCode::SUCCESS)
}

fn tell(line: &Line) {
    // Whoever would read it may be gone.
    let mut out = std::io::stdout().lock();
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn line(status: WaitStatus) -> Line {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Line::Exited(code),
        (None, signal) => Line::Killed(signal.unwrap_or_default()),
    }
}

/// Until the input ends.
fn read_input(told: &mpsc::Sender<Told>) {
    let mut input = std::io::stdin().lock();
    let mut byte = [0];
    // An error is an end, too.
    while input.read(&mut byte).unwrap_or(0) > 0 {
        if byte == [TERMINATE] && told.blocking_send(Told::Terminate).is_err() {
            return;
        }
    }
    let _over = told.blocking_send(Told::Over);
}

/// Until there are no children: the command, and orphans of it.
fn reap(child: Pid, told: &mpsc::Sender<Told>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let _over = told.blocking_send(Told::Ended(status));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The end of all that came of the command.
struct Ending {
    told: mpsc::Receiver<Told>,
    /// Whether it was told how the command itself has ended.
    has_ended: bool,
    /// Whether whoever said that it ends does not want to wait.
    is_hurried: bool,
}

impl Ending {
    fn end_all(&mut self, child: Pid) {
        let mut left = self.until_gone(child, Kind::TERM, GRACE);
        if !left.is_empty() {
            left = self.until_gone(child, Kind::KILL, KILLED_WITHIN);
        }
        if !left.is_empty() {
            let names = left.iter().map(|one| format!("{} ({})", one.pid, one.name));
            tell(&Line::Left(names.collect::<Vec<_>>().join(", ")));
        }
    }

    /// Sends a signal, once to each, until all are gone or the time is over.
    fn until_gone(&mut self, child: Pid, kind: Kind, within: Duration) -> Vec<Process> {
        let begun = Instant::now();
        let mut signalled: Vec<Process> = Vec::new();
        loop {
            self.listen();
            let left = descendants::of_command(child);
            // Also those that were started since the last look.
            let new: Vec<Process> = left
                .iter()
                .filter(|one| !signalled.contains(one))
                .cloned()
                .collect();
            for process in &new {
                descendants::signal(process, kind);
            }
            signalled.extend(new);
            let is_over = begun.elapsed() >= within || (kind == Kind::TERM && self.is_hurried);
            // One that has ended lives no more before the other thread has taken its end.
            if (left.is_empty() && self.has_ended) || is_over {
                return left;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn listen(&mut self) {
        while let Ok(told) = self.told.try_recv() {
            self.take(&told);
        }
    }

    fn take(&mut self, told: &Told) {
        match told {
            Told::Ended(status) => {
                tell(&line(*status));
                self.has_ended = true;
            }
            Told::Terminate => {}
            Told::Over => self.is_hurried = true,
        }
    }
}
