//! `parity record`: a proxy to the legacy that records what clients send. No candidate is asked, and no store is written.

use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use parity_comparator::redact::Redactor;
use parity_dashboards::terminal;
use parity_mirror::{Drained, Mirror, Observer, Receipt, Recorder};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use parity_schemas::visible::visible;
use tokio::sync::watch;

use crate::cli::RecordArgs;
use crate::config::settings::{mirror, recheck, recording};
use crate::config::{Layers, MirrorSettings};
use crate::process::descriptors::{self, Shares};
use crate::process::instance::with_setting;
use crate::process::signals::{Hangup, Signal, Signals};
use crate::recording::{Entrance, LAST_LINES, Recording};

/// Runs it.
pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode> {
    let settings = settings(args)?;
    let mut signals = Signals::listen(Hangup::Ends)?;
    let mut config = settings.mirror.clone();
    let shares = Shares::of(descriptors::raise(), &config);
    if let Some(low) = shares.low(&config) {
        tracing::warn!("{low}");
    }
    config.connections = shares.clients;
    config.others = shares.others;
    let proxy = Mirror::bind(config).map_err(with_setting)?;
    let redactor = Redactor::new(
        &settings.redact,
        &settings.redaction_key,
        Arc::clone(&settings.rules),
    );
    let redactor = Arc::new(redactor.context("the redaction settings")?);
    let mut recording = match (args.samples, &settings.recording) {
        (Some(each), _) => Recording::samples(args.recording.clone(), each)?,
        (None, Some(settings)) => Recording::start(settings)?,
        // Not reached: the file is an argument.
        (None, None) => return Err(anyhow!("no file to record to")),
    };
    let entrance = recording
        .entrance(&redactor)
        .context("the recording has ended")?;
    terminal::note(&visible(&format!(
        "recording what clients send to http://{} into {} · legacy {} · Ctrl-C ends",
        proxy.local_addr(),
        args.recording.display(),
        settings.mirror.policy.legacy.url
    )));
    let (stop, stopped) = watch::channel(false);
    let (end, mut ended) = watch::channel(false);
    let running = std::thread::Builder::new()
        .name("mirror".to_owned())
        .spawn(move || {
            let observers = move |_| Rc::new(OnlyRecording(entrance.clone())) as Rc<dyn Observer>;
            let outcome = proxy.run(observers, None, &stopped);
            end.send_replace(true);
            outcome
        })
        .context("cannot start the proxy thread")?;
    // Ends by itself only if one of its threads panics.
    let by_itself = async {
        let _ended = ended.wait_for(|ended| *ended).await;
    };
    signals.wait(by_itself, |signal| signal == Signal::End);
    stop.send_replace(true);
    let outcome = running
        .join()
        .map_err(|_| anyhow!("the proxy ended by a panic; the log has it"))?;
    recording.end();
    let recorded = recording.finish(Instant::now() + LAST_LINES + Duration::from_secs(1));
    let Drained { cut } = outcome?;
    if cut > 0 {
        tracing::warn!(cut, "the drain was over before all requests were");
    }
    // The file is all that it is for.
    recorded?;
    Ok(ExitCode::SUCCESS)
}

fn settings(args: &RecordArgs) -> Result<MirrorSettings> {
    let mut flags = args.flags.settings();
    let file = text(&args.recording)?;
    flags.extend([
        recording::FILE.is(file),
        mirror::MODE.is("proxy"),
        mirror::SHADOW.is("off"),
        mirror::ADMIN.is("127.0.0.1:0"),
        recheck::RATE.is("0"),
        // Nobody is asked there, but there is no proxy without one.
        mirror::CANDIDATE.is("http://nobody.invalid"),
    ]);
    Ok(Layers::load_here(args.file.config.as_deref(), &flags).mirror_to_serve()?)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the name of the recording {} is not UTF-8", path.display()))
}

/// Counts nothing and compares nothing.
struct OnlyRecording(Entrance);

impl Observer for OnlyRecording {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        Receipt::default()
    }
    fn begun(&self) -> Receipt {
        Receipt::default()
    }
    fn named(&self, _: &Arc<Route>) {}
    fn not_compared(&self, _: &Arc<Route>, _: Reason, _: Receipt) {}
    fn exchange(&self, _: Exchange, _: Receipt) {}
    fn answered(&self, _: &Arc<Route>, _: u16) {}
    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
    fn recorder(&self) -> Option<Rc<dyn Recorder>> {
        Some(self.0.recorder())
    }
}
