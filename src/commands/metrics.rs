//! `parity metrics`: both services beside each other by what they export, over some time, with limits and an exit code.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use parity_comparator::metrics::{Scrapes, compared};
use parity_dashboards::terminal::{self, plural};
use parity_schemas::metrics::MetricsOutcome;
use parity_schemas::visible::visible;

use crate::cli::{MetricsArgs, OutputFormat};
use crate::config::Layers;
use crate::error;
use crate::metrics::{Counts, Looking};
use crate::process::signals::{Hangup, Signal, Signals};

/// Between two looks of a terminal.
const LOOK: Duration = Duration::from_millis(250);

/// Runs it.
pub(crate) fn run(args: &MetricsArgs) -> Result<ExitCode> {
    let flags = args.flags.settings();
    let settings = Layers::load_here(args.file.config.as_deref(), &flags).metrics()?;
    let (thresholds, judged) = (settings.thresholds.clone(), settings.judged);
    let window = settings.window;
    let mut signals = Signals::listen(Hangup::Ends)?;
    let mut looking = Looking::start(settings)?;
    let stopper = looking.stopper();
    let mut is_interrupted = false;
    let bar =
        ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{spinner} {msg}")?);
    signals.wait(watched(&mut looking, &bar, window), |signal| {
        if signal == Signal::End {
            is_interrupted = true;
            stopper.send_replace(true);
        }
        false
    });
    bar.finish_and_clear();
    let [legacy, candidate] = looking.finish()?;
    refuse_nothing(
        [("legacy", &legacy), ("candidate", &candidate)],
        is_interrupted,
    )?;
    let mut document = compared(&legacy, &candidate, &thresholds, judged);
    if is_interrupted {
        document = document.interrupted();
        terminal::note(&format!(
            "ended before its time: this is of {:.1} s of {window:?}",
            document.seconds
        ));
    }
    match args.output {
        OutputFormat::Text => terminal::print(&terminal::metrics(&document))?,
        OutputFormat::Json => terminal::print_json(&document)?,
    }
    Ok(match document.outcome {
        MetricsOutcome::Pass => ExitCode::SUCCESS,
        MetricsOutcome::Fail => ExitCode::from(error::NO),
        MetricsOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Waits for the end, and tells a terminal how far it is.
async fn watched(looking: &mut Looking, bar: &ProgressBar, window: Duration) {
    let (counts, begun) = (looking.counts.clone(), looking.begun);
    let ended = looking.ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            () = &mut ended => return,
            () = tokio::time::sleep(LOOK), if !bar.is_hidden() => {
                let [legacy, candidate] = [&counts[0], &counts[1]].map(|counts| told(counts));
                let seconds = begun.elapsed().as_secs();
                bar.set_message(format!("{seconds} s of {window:?} · legacy {legacy} · candidate {candidate}"));
                bar.tick();
            }
        }
    }
}

fn told(counts: &Counts) -> String {
    let pages = plural(counts.read.load(Ordering::Relaxed), "page", "pages");
    match counts.failed.load(Ordering::Relaxed) {
        0 => pages,
        failed => format!("{pages}, {failed} not read"),
    }
}

/// Where a service gave no page at all there is nothing to set beside each other.
fn refuse_nothing(sides: [(&str, &Scrapes); 2], is_interrupted: bool) -> Result<()> {
    let without = sides.iter().filter(|(_, scrapes)| scrapes.read() == 0);
    // One that was only stopped because of the other is not to blame.
    let told: Vec<String> = without
        .filter_map(|(name, scrapes)| {
            let why = scrapes.failure()?;
            Some(format!("of the {name} at {}: {why}", scrapes.target()))
        })
        .collect();
    if !told.is_empty() {
        bail!(
            "nothing could be read {}; is it up, and is that the address of its metrics?",
            visible(&told.join("; "))
        );
    }
    if is_interrupted && sides.iter().any(|(_, scrapes)| scrapes.read() == 0) {
        bail!("ended before anything could be read of both services");
    }
    Ok(())
}
