//! A recording on its way through a mirror without clients; of `parity replay` and `parity ci`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use parity_dashboards::question::Question;
use parity_dashboards::terminal::{self, grouped, plural};
use parity_mirror::replay::{Format, Pace, Recorded, Substituted};
use parity_mirror::{Progress, Replaying};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Reason;
use parity_schemas::visible::visible;
use parity_sink::{Selection, TallyBook};
use tokio::sync::mpsc;

use super::progress::{self, Telling, Told};
use super::reading::{Reading, Wanted};
use super::substituting;
use crate::asking;
use crate::cli::SendingArgs;
use crate::config::settings::{Setting, mirror, recheck};
use crate::config::{Layers, MirrorSettings, Substitute};
use crate::error;
use crate::process::instance::Instance;

/// Requests that were read and are not sent yet: enough that reading never keeps sending waiting, and few because each may be
/// large.
const READ_AHEAD: usize = 4;
/// Exchanges that may wait for comparison: more than a replay lets wait.
const QUEUE: usize = 4_096;
/// Bodies that one request in flight may have in memory: its own, and those of both answers.
const BODIES: usize = 3;
/// Requests that are asked again in a second, unless somebody sets `recheck.rate`: more than two services answer. The load is
/// ours and waits for what is asked again, so all that differs is.
const RECHECKS: &str = "20000";
/// How many of them wait at once: more than a replay lets wait for their outcome.
const RECHECKS_WAITING: &str = "4096";
/// How many of one group are asked again in a minute: all.
const RECHECKS_PER_GROUP: &str = "1200000";

/// Recordings that are open, and how they are to be sent.
pub(in crate::commands) struct Opened {
    reading: Reading,
    requests: mpsc::Receiver<Recorded>,
}

/// Recordings that are being sent.
pub(in crate::commands) struct Sending {
    reading: Reading,
    progress: Arc<Progress>,
    book: Arc<TallyBook>,
    begun: Instant,
    telling: Telling,
    /// Whether the answers of the recording were compared.
    recorded_answers: bool,
    substitutes: Vec<Substitute>,
    substituted: Arc<Substituted>,
}

/// What came of it.
pub(in crate::commands) struct Sent {
    /// Parts of the recordings that could not be read.
    unreadable: u64,
    requests: u64,
    /// Requests that were sent without what the recording hides and they need.
    incomplete: u64,
    /// Requests whose recorded answers hide the whole body, and that differ in nothing else.
    unseen: u64,
}

impl Opened {
    /// Opens them and begins to read, so that a slip in a name is told before anything is started.
    pub(in crate::commands) fn open(recordings: &[PathBuf], args: &SendingArgs) -> Result<Self> {
        let (sender, requests) = mpsc::channel(READ_AHEAD);
        let format = args
            .access_log
            .clone()
            .map(|lines| Format::AccessLog(Some(lines)));
        let reading = Reading::start(
            recordings.to_vec(),
            Wanted {
                format: format.or_else(|| args.format.clone()),
                hosts: args.hosts.clone(),
                limit: args.limit,
                one_session: args.one_session,
            },
            sender,
        )?;
        Ok(Self { reading, requests })
    }

    /// Sends them by a mirror without clients, which ends by itself.
    pub(in crate::commands) fn start(
        self,
        settings: &MirrorSettings,
        args: &SendingArgs,
    ) -> Result<(Instance, Sending)> {
        let mut settings = settings.clone();
        let substitutions = asking::substitutions(&mut settings, args.cookies)?;
        let substituted = Arc::clone(&substitutions.done);
        let progress = Arc::<Progress>::default();
        let begun = Instant::now();
        let replaying = Replaying {
            requests: self.requests,
            pace: pace(args),
            concurrency: args.concurrency.get(),
            recorded_answers: args.recorded_answers,
            substitutions,
            open: Box::new(|| 0),
            progress: Arc::clone(&progress),
        };
        let instance = Instance::replay(&settings, replaying)?;
        let telling = Telling::start(Told {
            read: self.reading.read(),
            progress: Arc::clone(&progress),
            book: instance.book(),
            limit: args.limit,
            begun,
        })?;
        let sending = Sending {
            reading: self.reading,
            progress,
            book: instance.book(),
            begun,
            telling,
            recorded_answers: args.recorded_answers,
            substitutes: settings.substitutes,
            substituted,
        };
        Ok((instance, sending))
    }
}

impl Sending {
    /// Says what was sent. Call it when the mirror has ended.
    pub(in crate::commands) fn finish(self, interrupted: bool) -> Result<Sent> {
        drop(self.telling);
        let read = self.reading.finish(interrupted)?;
        let summary = progress::summary(
            &read,
            &self.progress,
            self.begun.elapsed(),
            self.recorded_answers,
        );
        let put = substituting::summary(&self.substitutes, &self.substituted);
        for line in summary.iter().chain(&put) {
            terminal::note(&visible(line));
        }
        let not_compared = &self.book.totals().total.not_compared;
        let unseen = not_compared.get(&Reason::LegacyHidden).copied();
        Ok(Sent {
            unseen: unseen.unwrap_or_default(),
            unreadable: read.unreadable,
            requests: self.progress.sent(),
            incomplete: self.substituted.hidden().incomplete,
        })
    }
}

impl Sent {
    /// That nothing was sent is an error.
    pub(in crate::commands) fn something(&self) -> Result<()> {
        if self.requests == 0 {
            bail!("nothing could be replayed");
        }
        Ok(())
    }

    /// The exit code of the job, if that of the decision is `decided`. Two services that refuse the same broken request agree, and
    /// an answer whose body is hidden was not compared, so no pass rests on such requests unless somebody accepts it.
    pub(in crate::commands) fn exit(&self, args: &SendingArgs, decided: ExitCode) -> ExitCode {
        let is_proof = self.incomplete == 0 && self.unseen == 0;
        if decided != ExitCode::SUCCESS || is_proof || args.accept_hidden {
            return decided;
        }
        let requests = plural(self.requests, "request", "requests");
        if self.incomplete > 0 {
            terminal::note(&format!(
                "this is no proof, so the exit code is 3: {} of {} sent without what the recording hides; set it by \
                 [[substitute]], keep it in clear when you record (redact.keep_query), or accept that with --accept-hidden",
                grouped(self.incomplete),
                plural(self.requests, "request was", "requests were")
            ));
        }
        if self.unseen > 0 {
            terminal::note(&format!(
                "this is no proof, so the exit code is 3: of {} of {requests} the recording lacks what the legacy answered, \
                 its body or the end of a gRPC call (legacy_hidden); record it in a format that is read, with its trailers, or accept that \
                 with --accept-hidden",
                grouped(self.unseen)
            ));
        }
        ExitCode::from(error::UNDECIDED)
    }

    /// Whether `--strict` makes it an error, which it tells.
    pub(in crate::commands) fn is_refused(&self, args: &SendingArgs) -> bool {
        let refused = args.strict && self.unreadable > 0;
        if refused {
            terminal::note(&format!(
                "--strict: {} could not be read, so this is an error",
                plural(
                    self.unreadable,
                    "part of the recordings",
                    "parts of the recordings"
                )
            ));
        }
        refused
    }
}

/// Warns of what `--allow-unsafe` does.
pub(in crate::commands) fn warn_of_unsafe(args: &SendingArgs) {
    if args.allow_unsafe {
        terminal::note(if args.recorded_answers {
            "warning: --allow-unsafe sends every method, such as POST and DELETE: the candidate does again what they did"
        } else {
            "warning: --allow-unsafe sends every method, such as POST and DELETE: both services do again what they did"
        });
    }
}

/// What is set for a load of ours, where nobody sets anything else.
pub(in crate::commands) fn of_own_load(layers: Layers) -> Layers {
    if layers.is_given(&recheck::RATE) {
        return layers;
    }
    layers.or(&[
        recheck::RATE.is(RECHECKS),
        recheck::IN_FLIGHT.is(RECHECKS_WAITING),
        recheck::PER_GROUP.is(RECHECKS_PER_GROUP),
    ])
}

/// Sets what holds where the answers of a recording stand for the legacy's.
pub(in crate::commands) fn without_legacy(flags: &mut Vec<(&'static Setting, &str)>) {
    let is_of_legacy =
        |setting: &Setting| setting.key == recheck::RATE.key || setting.key == mirror::LEGACY.key;
    flags.retain(|(setting, _)| !is_of_legacy(setting));
    // Nobody could ask the legacy again. Its address is not used, but there is none without one.
    flags.push(recheck::RATE.is("0"));
    flags.push(mirror::LEGACY.is("http://recorded.invalid"));
}

/// What no setting says: a candidate that fails counts as failing each time, and nothing is shed that can wait.
pub(in crate::commands) fn adjust(settings: &mut MirrorSettings, args: &SendingArgs) {
    settings.queue = settings.queue.max(QUEUE);
    let policy = &mut settings.mirror.policy;
    policy.unsafe_methods = args.allow_unsafe;
    // Nobody is spared by not asking the candidate.
    policy.limits.breaker_failures = u32::MAX;
    let concurrency = args.concurrency.get();
    policy.limits.in_flight = policy.limits.in_flight.max(concurrency);
    // Half of it is for those in flight.
    let bodies = concurrency
        .saturating_mul(BODIES)
        .saturating_mul(policy.limits.body);
    policy.limits.shadow_bytes = policy.limits.shadow_bytes.max(bodies.saturating_mul(2));
}

/// What is asked of the record: what was added since then.
pub(in crate::commands) fn question(
    asked: &Question,
    settings: &MirrorSettings,
    since: Timestamp,
) -> Question {
    let mut question = asked.clone();
    question.selection = Selection {
        migration: Some(settings.identity.migration.clone()),
        candidate_version: Some(settings.identity.candidate_version.clone()),
        since: Some(since),
        ..question.selection
    };
    question.known = Arc::clone(&settings.known);
    question
}

fn pace(args: &SendingArgs) -> Pace {
    match (args.rate, args.speed) {
        (Some(rate), _) => Pace::Rate(rate),
        (None, Some(speed)) => Pace::Recorded(speed),
        (None, None) => Pace::Fast,
    }
}
