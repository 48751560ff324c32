//! The two services of a job: those that it starts, those that are there already, and how the former end.

use std::ffi::OsString;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_dashboards::terminal;
use parity_mirror::{Target, UpstreamUrl};
use parity_schemas::visible::visible;
use rustix::process::Signal as Kind;
use tokio::time::{sleep, timeout};

use super::log::Log;
use super::plan::{Side, Start};
use super::ready;
use crate::process::descendants;
use crate::process::guard::GRACE;
use crate::process::signals::{Signal, Signals};
use crate::process::supervised::{End, State, Supervised};

/// How long a command whose service answers may take to listen itself. One that does not is a client of what listens, such as that
/// of a container, and is believed.
const LISTENS_WITHIN: Duration = Duration::from_secs(2);
/// How long what nobody watches any more may take to end after SIGKILL.
const SWEPT_WITHIN: Duration = Duration::from_secs(2);

/// A service of the job failed it.
#[derive(Debug, thiserror::Error)]
#[error("the {side} {what}")]
pub(super) struct Broken {
    pub(super) side: Side,
    what: String,
}

/// A command that runs.
struct Service {
    side: Side,
    supervised: Supervised,
    log: Log,
}

/// Those that the job has started. Dropping them ends them.
#[derive(Default)]
pub(super) struct Services {
    started: Vec<Service>,
    /// Whether somebody has asked twice that the job ends: then nothing has time to end by itself.
    is_hurried: bool,
}

impl Services {
    /// Starts one. Its log is a file of this folder.
    pub(super) fn start(&mut self, start: &Start, folder: &Path) -> Result<()> {
        let side = start.side;
        let words = ["sh", "-c", &*start.command].map(OsString::from);
        let environment = [("PORT".to_owned(), start.port.number.to_string())];
        let mut supervised = Supervised::start(&words, &environment, Stdio::piped())
            .with_context(|| format!("cannot start the {side}"))?;
        let output = supervised
            .take_output()
            .context("the output of a service")?;
        let log = Log::start(folder.join(format!("{side}.log")), output)?;
        self.started.push(Service {
            side,
            supervised,
            log,
        });
        Ok(())
    }

    /// Waits until one of them ends, which none should; for ever, if there is none.
    pub(super) fn broken(&self) -> impl Future<Output = Broken> + use<> {
        let mut ends: Vec<_> = self
            .started
            .iter()
            .map(|service| Box::pin(broken(service.side, service.supervised.ended())))
            .collect();
        std::future::poll_fn(move |context| {
            let ended = ends.iter_mut().map(|end| end.as_mut().poll(context));
            ended
                .into_iter()
                .find(std::task::Poll::is_ready)
                .unwrap_or(std::task::Poll::Pending)
        })
    }

    /// Whether one of them has ended by now.
    pub(super) fn is_broken(&self) -> Result<(), Broken> {
        for service in &self.started {
            if let Some(end) = service.supervised.state().end {
                return Err(told(service.side, &end));
            }
        }
        Ok(())
    }

    /// Waits until each runs, or cannot, and says so.
    pub(super) async fn begun(&self) {
        for service in &self.started {
            if let Some(pid) = service.supervised.begun().await.pid {
                terminal::note(&format!("started the {} as process {pid}", service.side));
            }
        }
    }

    /// Waits until a service answers, and says so.
    pub(super) async fn ready(
        &self,
        side: Side,
        target: &Target,
        (path, within): (&str, Duration),
    ) -> Result<(), Broken> {
        let since = Instant::now();
        let mut last = "it was not asked yet".to_owned();
        let asked = ready::ready(target, path, |why| last = why);
        let is_ready = timeout(within, asked).await.is_ok();
        let patience = if is_ready {
            LISTENS_WITHIN
        } else {
            Duration::ZERO
        };
        let ports = self.ports(side, patience).await;
        let listens = format!("its command listens on port {}", ports.join(", "));
        let url = &target.url;
        let has_its_port = match url {
            UpstreamUrl::Http(place) | UpstreamUrl::Https(place) => {
                ports.contains(&place.port.to_string())
            }
            UpstreamUrl::Unix(_) => true,
        };
        if let Some(other) = self.answers_for(side, url).filter(|_| is_ready) {
            let listens = if ports.is_empty() {
                format!("the command of the {side} listens on no port")
            } else {
                listens
            };
            let what = format!(
                "{url} is answered by the command of the {other}; {listens}: compared would be the {other} with itself"
            );
            return Err(Broken { side, what });
        }
        let what = match (is_ready, ports.is_empty() || has_its_port) {
            (true, true) => {
                terminal::note(&format!(
                    "the {side} {url} answers after {:.1} s",
                    since.elapsed().as_secs_f64()
                ));
                return Ok(());
            }
            // Where a command listens on none, as a client of a container does, nothing is known.
            (true, false) => format!("{url} is answered by somebody else; {listens}"),
            (false, true) => {
                format!("{url} was not ready within {within:?}: {}", visible(&last))
            }
            (false, false) => format!(
                "{url} was not ready within {within:?}: {}; {listens}",
                visible(&last)
            ),
        };
        Err(Broken { side, what })
    }

    /// The side whose command listens where another one should answer.
    fn answers_for(&self, side: Side, url: &UpstreamUrl) -> Option<Side> {
        let (UpstreamUrl::Http(place) | UpstreamUrl::Https(place)) = url else {
            return None;
        };
        let listens = |service: &&Service| {
            cfg!(target_os = "linux") && service.supervised.listening().contains(&place.port)
        };
        let own = self.started.iter().find(|service| service.side == side);
        if own.is_some_and(|own| listens(&own)) {
            return None;
        }
        let mut others = self.started.iter().filter(|service| service.side != side);
        others.find(listens).map(|other| other.side)
    }

    /// The ports on which a service's command listens, as soon as there is one.
    async fn ports(&self, side: Side, patience: Duration) -> Vec<String> {
        let begun = Instant::now();
        let own = self.started.iter().find(|service| service.side == side);
        let Some(own) = own.filter(|_| cfg!(target_os = "linux")) else {
            return Vec::new();
        };
        loop {
            let ports = own.supervised.listening();
            if !ports.is_empty() || begun.elapsed() >= patience {
                return ports.iter().map(u16::to_string).collect();
            }
            sleep(ready::LOOK).await;
        }
    }

    /// Tells all to end, and waits for none.
    pub(super) fn terminate(&mut self) {
        for service in &mut self.started {
            service.supervised.terminate();
        }
    }

    /// From now on, nothing has time to end by itself.
    pub(super) fn hurry(&mut self) {
        self.is_hurried = true;
    }

    /// Ends all that came of them, and says what could not be ended. A signal meanwhile ends them at once.
    pub(super) fn end(&mut self, signals: &mut Signals) {
        let commands = self.started.iter_mut();
        let mut commands: Vec<_> = commands.map(|service| &mut service.supervised).collect();
        end(&mut commands, &mut self.is_hurried, signals);
        sweep();
        for service in &mut self.started {
            service.log.finish();
            if let Some(why) = service.log.failed() {
                terminal::note(&visible(&format!(
                    "the log of the {} lacks its end: {why}",
                    service.side
                )));
            }
        }
    }

    /// Ends a command that was run for them.
    pub(super) fn end_beside(&mut self, command: &mut Supervised, signals: &mut Signals) {
        end(&mut [command], &mut self.is_hurried, signals);
    }

    /// The last lines of one's log.
    pub(super) fn tail(&self, side: Side) -> Vec<String> {
        let own = self.started.iter().find(|service| service.side == side);
        own.map(|service| service.log.tail()).unwrap_or_default()
    }

    /// Where the logs are.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let logs = self
            .started
            .iter()
            .map(|service| service.log.path().to_owned());
        logs.collect()
    }
}

async fn broken(side: Side, ended: impl Future<Output = End>) -> Broken {
    told(side, &ended.await)
}

fn told(side: Side, end: &End) -> Broken {
    let what = match end {
        End::NotStarted(_) | End::Lost => end.to_string(),
        End::Exited(0) => {
            "ended with exit code 0; its command must stay in the foreground".to_owned()
        }
        End::Exited(_) | End::Killed(_) => format!("{end}; it is needed to the end of the job"),
    };
    Broken { side, what }
}

/// Ends commands and all that came of them: first by SIGTERM, then by SIGKILL; at once if that is a hurry, or when a signal says so.
fn end(commands: &mut [&mut Supervised], is_hurried: &mut bool, signals: &mut Signals) {
    for command in commands.iter_mut() {
        command.terminate();
    }
    let mut states = Vec::new();
    if !*is_hurried {
        let (over, told) = (all_over(commands), &mut states);
        signals.wait(async move { *told = over.await }, |signal| {
            *is_hurried = signal == Signal::End;
            *is_hurried
        });
        if *is_hurried {
            terminal::note("ending at once");
        }
    }
    if *is_hurried {
        for command in commands.iter_mut() {
            command.let_go();
        }
        // Bounded, as a guard's end is.
        let (over, told) = (all_over(commands), &mut states);
        signals.wait(async move { *told = over.await }, |_| false);
    }
    let left: Vec<String> = states
        .into_iter()
        .filter_map(|state: State| state.left)
        .collect();
    if !left.is_empty() {
        terminal::note(&visible(&format!(
            "warning: not ended within {} s: {}",
            GRACE.as_secs(),
            left.join(", ")
        )));
    }
}

/// Waits until nothing is left of any.
fn all_over(commands: &[&mut Supervised]) -> impl Future<Output = Vec<State>> + use<> {
    let over: Vec<_> = commands.iter().map(|command| command.over()).collect();
    async move {
        let mut states = Vec::new();
        for over in over {
            states.push(over.await);
        }
        states
    }
}

/// Ends what a guard has left that was itself killed: it is ours then.
fn sweep() {
    let begun = Instant::now();
    while begun.elapsed() < SWEPT_WITHIN {
        let left = descendants::descendants();
        if left.is_empty() {
            return;
        }
        for process in &left {
            descendants::signal(process, Kind::KILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
