//! A command that runs beside us and never outlives us: our side of its [`guard`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::future::Future;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use parity_schemas::visible::visible;
use rustix::io::Errno;
use rustix::process::Pid;
use tokio::sync::watch;

use super::descendants;
use super::guard::{Line, TERMINATE};

/// The hidden name of the command that is a guard.
pub(crate) const GUARD: &str = "supervise";
/// A line of a guard is short; more is not read at once.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// What is known of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Its process, once it runs.
    pub(crate) pid: Option<i32>,
    /// How it has ended.
    pub(crate) end: Option<End>,
    /// Processes of it that could not be ended.
    pub(crate) left: Option<String>,
    /// Whether the guard has ended, and all that came of the command with it.
    is_over: bool,
}

/// How a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It could not be started.
    NotStarted(String),
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Its guard has ended before it.
    Lost,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(why) => write!(f, "could not be started: {}", visible(why)),
            Self::Exited(code) => write!(f, "ended with exit code {code}"),
            Self::Killed(signal) => write!(f, "was ended by signal {signal}"),
            Self::Lost => f.write_str("was lost: the process that watches it was killed"),
        }
    }
}

/// A command under a guard. Dropping it ends all that came of it.
pub(crate) struct Supervised {
    guard: Child,
    /// Held open for as long as the command may run.
    control: Option<ChildStdin>,
    state: watch::Receiver<State>,
    listening: Option<JoinHandle<()>>,
}

impl Supervised {
    /// Starts it, with variables besides our own. Both of its outputs go to `output`.
    pub(crate) fn start(
        words: &[OsString],
        environment: &[(String, String)],
        output: Stdio,
    ) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program itself")?;
        let mut guard = Command::new(program)
            .args([OsStr::new(GUARD), OsStr::new("--")])
            .args(words)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output)
            .spawn()
            .context("cannot start the process that watches a command")?;
        let control = guard.stdin.take();
        let told = guard.stdout.take().context("the pipe of a guard")?;
        let (sender, state) = watch::channel(State::default());
        let listening = std::thread::Builder::new()
            .name("guard".to_owned())
            .spawn(move || listen(told, &sender))
            .context("cannot start the thread that listens to a guard")?;
        Ok(Self {
            guard,
            control,
            state,
            listening: Some(listening),
        })
    }

    /// Both outputs of the command, where they were to be piped.
    pub(crate) fn take_output(&mut self) -> Option<ChildStderr> {
        self.guard.stderr.take()
    }

    /// What is known of it now.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// The TCP ports on which it listens, or what came of it.
    pub(crate) fn listening(&self) -> BTreeSet<u16> {
        descendants::listening(Pid::from_child(&self.guard))
    }

    /// Waits until it runs, or cannot.
    pub(crate) fn begun(&self) -> impl Future<Output = State> + use<> {
        wait_for(&self.state, |state| {
            state.pid.is_some() || state.end.is_some()
        })
    }

    /// Waits until it has ended, by itself or by a signal. What it left behind may still run.
    pub(crate) fn ended(&self) -> impl Future<Output = End> + use<> {
        let ended = wait_for(&self.state, |state| state.end.is_some());
        async move { ended.await.end.unwrap_or(End::Lost) }
    }

    /// Waits until nothing is left of it.
    pub(crate) fn over(&self) -> impl Future<Output = State> + use<> {
        wait_for(&self.state, |state| state.is_over)
    }

    /// Tells it, and all that came of it, to end; whoever does not is killed after [`super::guard::GRACE`].
    pub(crate) fn terminate(&mut self) {
        if let Some(control) = &mut self.control {
            // A guard that is gone has ended everything.
            let _gone = control
                .write_all(&[TERMINATE])
                .and_then(|()| control.flush());
        }
    }

    /// Ends it at once, if it was told to end before; else as [`Self::terminate`].
    pub(crate) fn let_go(&mut self) {
        self.control = None;
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.let_go();
        // Both end with all that came of the command, which is bounded.
        let _ended = self.guard.wait();
        drop(self.listening.take().map(JoinHandle::join));
    }
}

/// Whether a program can be started, as far as can be seen: where it is looked for is a file that somebody may execute.
pub(crate) fn can_start(program: &OsStr) -> io::Result<()> {
    let look = |path: &Path| {
        let found = path.metadata()?;
        if found.is_file() && found.permissions().mode() & 0o111 != 0 {
            Ok(())
        } else {
            Err(Errno::ACCESS.into())
        }
    };
    if program.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if program.as_encoded_bytes().contains(&b'/') {
        return look(Path::new(program));
    }
    // Without a list of folders the system has one of its own.
    let Some(folders) = std::env::var_os("PATH") else {
        return Ok(());
    };
    let mut refused = Errno::NOENT;
    for folder in std::env::split_paths(&folders) {
        match look(&folder.join(program)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused = Errno::ACCESS;
            }
            Err(_) => {}
        }
    }
    Err(refused.into())
}

fn wait_for(
    state: &watch::Receiver<State>,
    what: fn(&State) -> bool,
) -> impl Future<Output = State> + use<> {
    let mut state = state.clone();
    async move {
        match state.wait_for(what).await {
            Ok(state) => state.clone(),
            // The thread that listens has ended.
            Err(_) => State {
                end: Some(End::Lost),
                is_over: true,
                ..State::default()
            },
        }
    }
}

/// Until the guard ends.
fn listen(told: ChildStdout, state: &watch::Sender<State>) {
    let mut told = BufReader::new(told);
    loop {
        let mut text = String::new();
        match (&mut told).take(MAX_LINE_BYTES).read_line(&mut text) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let line = Line::read(text.trim_end_matches('\n'));
        state.send_modify(|state| match line {
            Some(Line::Started(pid)) => state.pid = Some(pid),
            Some(Line::NotStarted(why)) => state.end = Some(End::NotStarted(why)),
            Some(Line::Exited(code)) => state.end = Some(End::Exited(code)),
            Some(Line::Killed(signal)) => state.end = Some(End::Killed(signal)),
            Some(Line::Left(which)) => state.left = Some(which),
            None => {}
        });
    }
    state.send_modify(|state| {
        state.end.get_or_insert(End::Lost);
        state.is_over = true;
    });
}
