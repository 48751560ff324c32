//! `parity replay`: recorded requests through the same pipeline as those of clients.
//!
//! A thread reads the recordings, the mirror sends what comes of them, and everything behind is that of `parity mirror`: what is
//! recorded of a replay is read by the same report and judged by the same gate.

mod progress;
mod reading;
mod substituting;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parity_dashboards::question::Question;
use parity_dashboards::terminal::{self, plural};
use parity_dashboards::view;
use parity_mirror::replay::{Format, Pace};
use parity_mirror::{Progress, Replaying};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use parity_sink::Selection;
use tokio::sync::mpsc;

use self::progress::{Telling, Told};
use self::reading::{Reading, Wanted};
use super::{gate, report};
use crate::cli::ReplayArgs;
use crate::config::settings::{mirror, recheck};
use crate::config::{Layers, MirrorSettings};
use crate::error;
use crate::process::instance::Instance;
use crate::process::signals::{Hangup, Signal, Signals};

/// Requests that were read and are not sent yet: enough that reading never keeps sending waiting, and few because each may be
/// large.
const READ_AHEAD: usize = 4;
/// Exchanges that may wait for comparison: more than a replay lets wait.
const QUEUE: usize = 4_096;
/// Bodies that one request in flight may have in memory: its own, and those of both answers.
const BODIES: usize = 3;

/// Runs it.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    if args.asked.is_given() && !args.gate {
        bail!("what the gate demands has no effect without --gate");
    }
    let mut settings = settings(args)?;
    if args.allow_unsafe {
        terminal::note(unsafe_warning(args.recorded_answers));
    }
    let mut signals = Signals::listen(Hangup::Ends)?;
    let progress = Arc::<Progress>::default();
    let substitutions = substituting::substitutions(&mut settings, args)?;
    let substituted = Arc::clone(&substitutions.done);
    let (sender, requests) = mpsc::channel(READ_AHEAD);
    let format = args
        .access_log
        .clone()
        .map(|lines| Format::AccessLog(Some(lines)));
    let reading = Reading::start(
        args.recordings.clone(),
        Wanted {
            format: format.or_else(|| args.format.clone()),
            hosts: args.hosts.clone(),
            limit: args.limit,
            one_session: args.one_session,
        },
        sender,
    )?;
    let replaying = Replaying {
        requests,
        pace: pace(args),
        concurrency: args.concurrency.get(),
        recorded_answers: args.recorded_answers,
        substitutions,
        open: Box::new(|| 0),
        progress: Arc::clone(&progress),
    };
    let (since, begun) = (Timestamp::now(), Instant::now());
    let mut instance = Instance::replay(&settings, replaying)?;
    terminal::note(&visible(&format!(
        "replaying to legacy {} and candidate {}; store {}; admin port on http://{}/",
        if args.recorded_answers {
            "(its recorded answers)".to_owned()
        } else {
            settings.mirror.policy.legacy.url.to_string()
        },
        settings.mirror.policy.candidate.url,
        settings.store,
        instance.admin_address()
    )));
    let telling = Telling::start(Told {
        read: reading.read(),
        progress: Arc::clone(&progress),
        book: instance.book(),
        limit: args.limit,
        begun,
    })?;
    let mut interrupted = false;
    let ended = instance.ended();
    signals.wait(ended, |signal| {
        interrupted = signal == Signal::End;
        interrupted
    });
    instance.drain();
    instance.finish()?;
    drop(telling);
    let read = reading.finish(interrupted)?;
    let summary = progress::summary(&read, &progress, begun.elapsed());
    let put = substituting::summary(&settings.substitutes, &substituted);
    for line in summary.iter().chain(&put) {
        terminal::note(&visible(line));
    }
    if interrupted {
        bail!("ended before all was replayed; what was sent is recorded");
    }
    if progress.sent() == 0 {
        bail!("nothing could be replayed");
    }
    let outcome = conclude(args, &settings, since)?;
    if args.strict && read.unreadable > 0 {
        terminal::note(&format!(
            "--strict: {} could not be read, so this is an error",
            plural(
                read.unreadable,
                "part of the recordings",
                "parts of the recordings"
            )
        ));
        return Ok(ExitCode::from(error::ERROR));
    }
    Ok(outcome)
}

/// The report of what was replayed, or the decision on it.
fn conclude(args: &ReplayArgs, settings: &MirrorSettings, since: Timestamp) -> Result<ExitCode> {
    let mut question: Question = args.asked.question().clone();
    question.selection = Selection {
        migration: Some(settings.identity.migration.clone()),
        candidate_version: Some(settings.identity.candidate_version.clone()),
        since: Some(since),
        ..question.selection
    };
    question.known = Arc::clone(&settings.known);
    if args.gate {
        return gate::judge(
            &settings.store,
            &question,
            Duration::ZERO,
            false,
            args.output,
        );
    }
    let reader = view::reader(&settings.store)?;
    report::print(&view::decided(&reader, &question)?, args.output)?;
    Ok(ExitCode::SUCCESS)
}

fn unsafe_warning(recorded: bool) -> &'static str {
    if recorded {
        "warning: --allow-unsafe sends every method, such as POST and DELETE: the candidate does again what they did"
    } else {
        "warning: --allow-unsafe sends every method, such as POST and DELETE: both services do again what they did"
    }
}

fn pace(args: &ReplayArgs) -> Pace {
    match (args.rate, args.speed) {
        (Some(rate), _) => Pace::Rate(rate),
        (None, Some(speed)) => Pace::Recorded(speed),
        (None, None) => Pace::Fast,
    }
}

/// The settings of a mirror without clients: its page is on any free port, and nothing is shed that can wait.
fn settings(args: &ReplayArgs) -> Result<MirrorSettings> {
    let mut flags = args.flags.settings();
    if flags
        .iter()
        .all(|(setting, _)| setting.key != mirror::ADMIN.key)
    {
        flags.push(mirror::ADMIN.is("127.0.0.1:0"));
    }
    flags.push(mirror::SHADOW.is("on"));
    if args.recorded_answers {
        // Nobody could ask the legacy again. Its address is not used, but there is none without one.
        flags.retain(|(setting, _)| {
            setting.key != recheck::RATE.key && setting.key != mirror::LEGACY.key
        });
        flags.push(recheck::RATE.is("0"));
        flags.push(mirror::LEGACY.is("http://recorded.invalid"));
    }
    let mut settings = Layers::load_here(args.file.config.as_deref(), &flags).mirror()?;
    settings.may_wait = true;
    settings.queue = settings.queue.max(QUEUE);
    let policy = &mut settings.mirror.policy;
    policy.unsafe_methods = args.allow_unsafe;
    // A candidate that fails counts as failing each time: nobody is spared by not asking it.
    policy.limits.breaker_failures = u32::MAX;
    let concurrency = args.concurrency.get();
    policy.limits.in_flight = policy.limits.in_flight.max(concurrency);
    // Half of it is for those in flight.
    let bodies = concurrency
        .saturating_mul(BODIES)
        .saturating_mul(policy.limits.body);
    policy.limits.shadow_bytes = policy.limits.shadow_bytes.max(bodies.saturating_mul(2));
    if policy.candidate.url == policy.legacy.url {
        terminal::note("legacy and candidate are one service: what differs is noise");
    }
    Ok(settings)
}
