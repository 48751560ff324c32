//! `parity ci`: a whole job. It starts the two services, waits until they answer, replays a recording to them or runs the team's own
//! tests through the proxy, decides, and ends all that it has started.
//!
//! Whatever it starts stands under a guard (`process/guard`), so that nothing outlives the job, however that ends. A signal ends the
//! job in each of its phases. What could not be done (a service that is never ready, or ends before the job does) is an error, exit
//! code 2, and never a decision: a pass would say something of services that were not there.

mod log;
mod plan;
mod ports;
mod ready;
mod service;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use parity_dashboards::question::Question;
use parity_dashboards::{terminal, view};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use tempfile::TempDir;

use self::plan::{Plan, Side};
use self::service::{Broken, Services};
use super::gate;
use super::replay::sending::{Opened, Sent, question, warn_of_unsafe};
use super::written::{self, Written};
use crate::cli::{CiArgs, ReportFormat};
use crate::config::MirrorSettings;
use crate::config::environment::URL;
use crate::config::settings::record;
use crate::error;
use crate::process::descendants::inherit_orphans;
use crate::process::handover::Inherited;
use crate::process::instance::Instance;
use crate::process::signals::{Hangup, Signal, Signals};
use crate::process::supervised::{self, End, Supervised};

/// How long what the tests have caused may take to get its outcome: being asked again takes the longest, and is bounded by the
/// deadline of the candidate and a delay before it.
const SETTLED_WITHIN: Duration = Duration::from_mins(1);
/// Between two looks how much is open.
const LOOK: Duration = Duration::from_millis(10);

/// Runs it.
pub(crate) fn run(args: &CiArgs) -> Result<ExitCode> {
    let written = Written::ready(&args.written, args.output, args.file.config.as_deref())?;
    let folder = tempfile::Builder::new()
        .prefix("parity-ci-")
        .tempdir()
        .context("no place for the record and the logs of the job")?;
    let store = format!("sqlite:{}", folder.path().join("parity.db").display());
    let plan = Plan::of(args, &store)?;
    // Before two services are started in vain.
    if let Some(program) = args.command.first()
        && let Err(error) = supervised::can_start(program)
    {
        let program = program.to_string_lossy().into_owned();
        let end = End::NotStarted(format!("{program}: {error}"));
        bail!("the test command {end}");
    }
    let mut asked = args.asked.question().clone();
    gate::demand_operations(&mut asked, args.openapi.as_deref())?;
    let opened = match args.recordings.as_slice() {
        [] => None,
        recordings => Some(Opened::open(recordings, &args.sending)?),
    };
    let logs = match &args.logs {
        Some(logs) => {
            std::fs::create_dir_all(logs)
                .with_context(|| format!("cannot create {}", logs.display()))?;
            logs.clone()
        }
        None => folder.path().to_owned(),
    };
    warn_of_unsafe(&args.sending);
    let mut signals = Signals::listen(Hangup::Ends)?;
    // Of a guard that somebody killed.
    inherit_orphans();
    let mut services = Services::default();
    let job = Job {
        args,
        asked: &asked,
        settings: &plan.settings,
        written: &written,
    };
    let ended = job.run(&plan, opened, &logs, &mut services, &mut signals);
    if services.is_broken().is_ok() && !services.logs().is_empty() {
        terminal::note("ending the services");
    }
    services.end(&mut signals);
    let ended = ended.and_then(|evidence| job.conclude(&evidence));
    keep(&ended, folder, args, &services);
    ended
}

/// Keeps what says why, unless all is well. The error itself is printed last.
fn keep(ended: &Result<ExitCode>, folder: TempDir, args: &CiArgs, services: &Services) {
    if ended.as_ref().is_ok_and(|code| *code == ExitCode::SUCCESS) {
        return;
    }
    if let Err(error) = ended
        && let Some(Broken { side, .. }) = error.downcast_ref()
    {
        let tail = services.tail(*side);
        terminal::note(&match tail.as_slice() {
            [] => format!("the {side} printed nothing"),
            _ => format!("the last that the {side} printed:"),
        });
        for line in tail {
            terminal::note(&line);
        }
    }
    let mut kept: Vec<PathBuf> = services.logs();
    let has_own_store = args
        .flags
        .settings()
        .iter()
        .all(|(setting, _)| setting.key != record::STORE.key);
    let store = folder.path().join("parity.db");
    // Who names a folder for the logs looks there, and names a store to keep the record.
    if args.logs.is_none() && has_own_store && store.exists() {
        kept.push(store);
    }
    if kept.is_empty() {
        return;
    }
    if kept.iter().any(|path| path.starts_with(folder.path())) {
        leave_only(&kept, &folder.keep());
    }
    let kept: Vec<String> = kept.iter().map(|path| path.display().to_string()).collect();
    terminal::note(&visible(&format!("kept: {}", kept.join(" "))));
}

/// Removes what is in the folder and is not kept. The files beside a record are a part of it.
fn leave_only(kept: &[PathBuf], folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_part = |whole: &PathBuf| {
            let names = (path.file_name(), whole.file_name());
            matches!(names, (Some(part), Some(whole)) if part.as_encoded_bytes().starts_with(whole.as_encoded_bytes()))
        };
        // An earlier piece of a log, `legacy.log.1`, begins with its name, too.
        if !kept.iter().any(is_part) {
            let _stays = std::fs::remove_file(&path);
        }
    }
}

/// A job under way.
struct Job<'a> {
    args: &'a CiArgs,
    asked: &'a Question,
    settings: &'a MirrorSettings,
    written: &'a Written,
}

/// What a job has gathered.
struct Evidence {
    since: Timestamp,
    /// How the tests failed, if they did.
    failed: Option<End>,
    /// What was replayed, if anything was.
    sent: Option<Sent>,
}

impl Job<'_> {
    /// All but the decision.
    fn run(
        &self,
        plan: &Plan,
        opened: Option<Opened>,
        logs: &Path,
        services: &mut Services,
        signals: &mut Signals,
    ) -> Result<Evidence> {
        self.start(plan, logs, services, signals)?;
        match opened {
            Some(opened) => self.replay(opened, services, signals),
            None => self.test(services, signals),
        }
    }

    /// Starts the services and waits until both answer.
    fn start(
        &self,
        plan: &Plan,
        logs: &Path,
        services: &mut Services,
        signals: &mut Signals,
    ) -> Result<()> {
        let policy = &self.settings.mirror.policy;
        for start in &plan.start {
            let (side, url) = match start.side {
                Side::Legacy => (Side::Legacy, &policy.legacy.url),
                Side::Candidate => (Side::Candidate, &policy.candidate.url),
            };
            if until(signals, ready::is_taken(url))? {
                bail!(
                    "somebody listens on {url} before the {side} is started, whose answers would be taken for those of the \
                     {side}: end that process, or give no --{side}, so that a free port is found"
                );
            }
        }
        for start in &plan.start {
            terminal::note(&visible(&format!(
                "starting the {}: {}",
                start.side, start.command
            )));
            services.start(start, logs)?;
        }
        let asked = (self.args.ready_path.as_str(), self.args.ready_timeout);
        let broken = services.broken();
        let ready = async {
            services.begun().await;
            let legacy = async {
                if self.args.sending.recorded_answers {
                    return Ok(());
                }
                services.ready(Side::Legacy, &policy.legacy, asked).await
            };
            let candidate = services.ready(Side::Candidate, &policy.candidate, asked);
            tokio::try_join!(legacy, candidate).map(|_| ())
        };
        until(signals, async {
            tokio::select! {
                biased;
                broken = broken => Err(broken),
                ready = ready => ready,
            }
        })??;
        // It may have answered for another one that was there a moment before.
        services.is_broken()?;
        Ok(())
    }

    fn replay(
        &self,
        opened: Opened,
        services: &mut Services,
        signals: &mut Signals,
    ) -> Result<Evidence> {
        let sending = &self.args.sending;
        let (mut instance, under_way) = opened.start(self.settings, sending)?;
        let begun = instance.book().totals().since;
        terminal::note("replaying");
        let (broken, ended) = (services.broken(), instance.ended());
        let outcome = until(
            signals,
            self.within("the replay", async {
                tokio::select! {
                    biased;
                    broken = broken => Err(Error::new(broken)),
                    () = ended => Ok(()),
                }
            }),
        );
        let outcome = outcome.and_then(|ended| ended);
        if outcome.is_err() {
            services.terminate();
        }
        instance.drain();
        let drained = instance.finish_or_abandon(signals);
        if outcome.is_err() && drained.is_err() {
            services.hurry();
        }
        let sent = under_way.finish(outcome.is_err())?;
        outcome.and(drained)?;
        sent.something()?;
        services.is_broken()?;
        Ok(Evidence {
            since: begun,
            failed: None,
            sent: Some(sent),
        })
    }

    fn test(&self, services: &mut Services, signals: &mut Signals) -> Result<Evidence> {
        let instance = Instance::start(self.settings, &mut Inherited::default())?;
        let begun = instance.book().totals().since;
        let mut address = instance.address();
        if address.ip().is_unspecified() {
            // It listens on every address, and no test connects to none.
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        let url = format!("http://{address}");
        let names = std::iter::once(URL).chain(self.args.url_variables.iter().map(String::as_str));
        let environment: Vec<_> = names.map(|name| (name.to_owned(), url.clone())).collect();
        let shown: Vec<_> = self
            .args
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let running = format!(
            "running {} with {URL}={url}; admin port on {}",
            shown.join(" "),
            instance.admin_url()
        );
        let tested = self.run_tests((&environment, &running), &instance, services, signals);
        let settled = tested.and_then(|end| {
            settle(&instance, services, signals)?;
            if instance.received() == 0 {
                terminal::note(&format!(
                    "no request came through the proxy; the tests must send theirs to the address in {URL}"
                ));
            }
            Ok(end)
        });
        if settled.is_err() {
            services.terminate();
        }
        let drained = instance.finish_or_abandon(signals);
        if settled.is_err() && drained.is_err() {
            services.hurry();
        }
        let end = settled?;
        drained?;
        services.is_broken()?;
        let failed = match end {
            End::Exited(0) => None,
            End::NotStarted(_) | End::Lost => bail!("the test command {end}"),
            End::Exited(_) | End::Killed(_) => Some(end),
        };
        Ok(Evidence {
            since: begun,
            failed,
            sent: None,
        })
    }

    /// Runs the tests to their end, and ends what they leave behind.
    fn run_tests(
        &self,
        (environment, running): (&[(String, String)], &str),
        instance: &Instance,
        services: &mut Services,
        signals: &mut Signals,
    ) -> Result<End> {
        // Standard output is for the decision.
        let mut command = Supervised::start(&self.args.command, environment, Stdio::inherit())?;
        let begun = command.begun();
        let (tested, broken, proxy) = (command.ended(), services.broken(), instance.ended());
        let tested = async {
            if begun.await.pid.is_some() {
                terminal::note(&visible(running));
            }
            tested.await
        };
        let outcome = until(
            signals,
            self.within("the test command", async {
                tokio::select! {
                    biased;
                    broken = broken => Err(Error::new(broken)),
                    () = proxy => Err(anyhow!("the proxy has ended before the tests; the log says why")),
                    end = tested => Ok(end),
                }
            }),
        );
        services.end_beside(&mut command, signals);
        outcome.and_then(|ended| ended)
    }

    /// What comes of it, unless the time of the job is over before.
    async fn within<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self.args.timeout {
            Some(time) => tokio::time::timeout(time, work)
                .await
                .map_err(|_| anyhow!("{what} was not done within {time:?} (--timeout)"))?,
            None => work.await,
        }
    }

    /// Under a decision for people, what it rests on. Documents have places of their own for that.
    fn tell_what_differs(&self, question: &Question) -> Result<()> {
        if self.args.output != ReportFormat::Text || self.written.owns_stdout() {
            return Ok(());
        }
        let reader = view::reader(&self.settings.store)?;
        let decided = view::decided(&reader, question)?;
        if decided.report.window.is_none() {
            // Nothing was recorded, as the decision has said.
            return Ok(());
        }
        terminal::print("\n")?;
        written::print(&decided, ReportFormat::Text)
    }

    /// The decision, and the exit code of the job.
    fn conclude(&self, evidence: &Evidence) -> Result<ExitCode> {
        let question = question(self.asked, self.settings, evidence.since);
        let decided = gate::judge(
            &self.settings.store,
            &question,
            Duration::ZERO,
            false,
            self.written,
        )?;
        if decided != ExitCode::SUCCESS {
            self.tell_what_differs(&question)?;
        }
        let sending = &self.args.sending;
        let mut decided = decided;
        if let Some(sent) = &evidence.sent {
            if sent.is_refused(sending) {
                return Ok(ExitCode::from(error::ERROR));
            }
            decided = sent.exit(sending, decided);
        }
        if let Some(end) = &evidence.failed {
            terminal::note(&format!(
                "the test command {end}, so the job fails, whatever was decided"
            ));
            return Ok(ExitCode::from(error::NO));
        }
        Ok(decided)
    }
}

/// Waits for something, unless an ending signal comes before.
fn until<T>(signals: &mut Signals, work: impl Future<Output = T>) -> Result<T> {
    let mut outcome = None;
    signals.wait(async { outcome = Some(work.await) }, |signal| {
        signal == Signal::End
    });
    outcome.context("ended by a signal before the job was done")
}

/// Waits until each request of the tests has its outcome: an end before that would leave out what is asked again.
fn settle(instance: &Instance, services: &Services, signals: &mut Signals) -> Result<()> {
    let (open, broken) = (instance.open(), services.broken());
    let settled = async {
        while open() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    until(signals, async {
        tokio::select! {
            biased;
            broken = broken => Err(broken),
            settled = tokio::time::timeout(SETTLED_WITHIN, settled) => {
                if settled.is_err() {
                    terminal::note(&format!(
                        "{} requests have no outcome {} s after the tests; they are cut",
                        open(),
                        SETTLED_WITHIN.as_secs()
                    ));
                }
                Ok(())
            }
        }
    })??;
    Ok(())
}
