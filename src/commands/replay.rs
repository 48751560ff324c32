//! `parity replay`: recorded requests through the same pipeline as those of clients.
//!
//! A thread reads the recordings, the mirror sends what comes of them, and everything behind is that of `parity mirror`: what is
//! recorded of a replay is read by the same report and judged by the same gate.

mod progress;
mod reading;
pub(super) mod sending;
pub(super) mod substituting;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use parity_dashboards::{terminal, view};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use self::sending::{Opened, adjust, of_own_load, question, warn_of_unsafe, without_legacy};
use super::gate;
use super::written::Written;
use crate::cli::ReplayArgs;
use crate::config::settings::mirror;
use crate::config::{Layers, MirrorSettings};
use crate::error;
use crate::process::signals::{Hangup, Signal, Signals};

/// Runs it.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    if args.asked.is_given() && !args.gate {
        bail!("what the gate demands has no effect without --gate");
    }
    let config = args.file.config.as_deref();
    let written = Written::ready(&args.written, args.output, config)?;
    let settings = settings(args)?;
    warn_of_unsafe(&args.sending);
    let mut signals = Signals::listen(Hangup::Ends)?;
    let opened = Opened::open(&args.recordings, &args.sending)?;
    let (mut instance, sending) = opened.start(&settings, &args.sending)?;
    // What an earlier process of this name had not written when it was killed was before.
    let since = instance.book().totals().since;
    terminal::note(&visible(&format!(
        "replaying to legacy {} and candidate {}; store {}; admin port on {}",
        if args.sending.recorded_answers {
            "(its recorded answers)".to_owned()
        } else {
            settings.mirror.policy.legacy.url.to_string()
        },
        settings.mirror.policy.candidate.url,
        settings.store,
        instance.admin_url()
    )));
    let mut interrupted = false;
    let ended = instance.ended();
    signals.wait(ended, |signal| {
        interrupted = signal == Signal::End;
        interrupted
    });
    instance.drain();
    instance.finish()?;
    let sent = sending.finish(interrupted)?;
    if interrupted {
        bail!("ended before all was replayed; what was sent is recorded");
    }
    sent.something()?;
    let outcome = conclude(args, &settings, since, &written)?;
    if sent.is_refused(&args.sending) {
        return Ok(ExitCode::from(error::ERROR));
    }
    if args.gate {
        return Ok(sent.exit(&args.sending, outcome));
    }
    Ok(outcome)
}

/// The report of what was replayed, or the decision on it.
fn conclude(
    args: &ReplayArgs,
    settings: &MirrorSettings,
    since: Timestamp,
    written: &Written,
) -> Result<ExitCode> {
    let question = question(args.asked.question(), settings, since);
    if args.gate {
        return gate::judge(&settings.store, &question, Duration::ZERO, false, written);
    }
    let reader = view::reader(&settings.store)?;
    written.report(&reader, &view::decided(&reader, &question)?)
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
    if args.sending.recorded_answers {
        without_legacy(&mut flags);
    }
    let layers = Layers::load_here(args.file.config.as_deref(), &flags);
    let mut settings = of_own_load(layers).mirror()?;
    settings.may_wait = true;
    // What comes from a recording is in one.
    settings.recording = None;
    adjust(&mut settings, &args.sending);
    let policy = &settings.mirror.policy;
    if policy.candidate.url == policy.legacy.url {
        terminal::note("legacy and candidate are one service: what differs is noise");
    }
    Ok(settings)
}
