//! `parity stress`: the same escalating load on both services, in turn, until each breaks; what each holds, at what cost, and whether
//! they still answer alike.
//!
//! The load runs on a thread of its own, so that a signal ends it at any time: what was measured until then is told, and is no pass.

mod climb;
mod document;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use parity_comparator::metrics::shown;
use parity_dashboards::terminal::plural;
use parity_dashboards::{pages, terminal};
use parity_mirror::load::{Demands, LEAST_REQUESTS, Run, Step, Verdict};
use parity_schemas::metrics::{MetricsOutcome, Unit};
use parity_schemas::stress::{LoadRun, StressStep, StressVerdict};
use parity_schemas::visible::visible;

use self::climb::Climb;
use self::document::{Found, document};
use crate::cli::{OutputFormat, StressArgs};
use crate::commands::written::HtmlFile;
use crate::config::{Layers, StressSettings};
use crate::error;
use crate::loading::one_run::{Judged, Loaded, NAMES};
use crate::loading::pages::{Needed, refuse_useless};
use crate::loading::{Comparing, Ending, Requests, Sides};
use crate::process::signals::{Hangup, Signal, Signals};

/// Between two looks of a terminal, and for the end of the load.
const LOOK: Duration = Duration::from_millis(100);
/// Between two lines of a log in one stretch of load.
const BETWEEN_LINES: Duration = Duration::from_mins(1);
/// How often CPU and memory are read.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs it.
pub(crate) fn run(args: &StressArgs) -> Result<ExitCode> {
    args.sent.refuse_nothing()?;
    let flags = args.flags.settings();
    let settings = Layers::load_here(args.file.config.as_deref(), &flags).stress()?;
    let html = args.html.as_deref().map(HtmlFile::ready).transpose()?;
    let requests = Requests::read(&args.sent, &settings.load.mirror)?;
    let sides = Sides::new(&settings.load, &requests.all, 1)?;
    let told = requests.told.clone();
    let allow_unsafe = args.sent.allow_unsafe;
    let (threads, places) = (settings.load.threads.get(), sides.places);
    let (found, settings) = loaded(move |ending| {
        sides.refuse_the_dead(ending)?;
        refuse_useless(&settings.load, Needed::Anything, ending)?;
        let comparing = Comparing::start(&settings.load, &requests.all, allow_unsafe)?;
        let mut stressing = Stressing {
            settings,
            sides,
            ending,
            comparing,
            steps: [Vec::new(), Vec::new()],
            notes: [Vec::new(), Vec::new()],
            sent: 0,
        };
        let begun = Instant::now();
        let climb = stressing.run()?;
        let answers = stressing.comparing.take().map(Comparing::finish);
        let targets = [0, 1].map(|side| stressing.sides.target(side).to_owned());
        let found = Found {
            targets,
            standings: [0, 1].map(|side| climb.standing(side)),
            steps: stressing.steps,
            notes: stressing.notes,
            answers: answers.transpose()?,
            interrupted: ending.is_ended(),
            seconds: begun.elapsed().as_secs_f64(),
        };
        Ok((found, stressing.settings))
    })?;
    let document = document(found, told, &settings, threads, places);
    match args.output {
        OutputFormat::Text => terminal::print(&terminal::stress(&document))?,
        OutputFormat::Json => terminal::print_json(&document)?,
    }
    if let Some(html) = html {
        html.write(&pages::stress(&document)?)?;
    }
    Ok(match document.outcome {
        MetricsOutcome::Pass => ExitCode::SUCCESS,
        MetricsOutcome::Fail => ExitCode::from(error::NO),
        MetricsOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Runs a load on a thread of its own, ends it by a signal, and tells a terminal how far it is.
pub(crate) fn loaded<T: Send>(load: impl FnOnce(&Ending) -> Result<T> + Send) -> Result<T> {
    let mut signals = Signals::listen(Hangup::Ends)?;
    let bar =
        ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{spinner} {msg}")?);
    // `--quiet` leaves out what is no error.
    let prints = bar.is_hidden() && tracing::enabled!(tracing::Level::INFO);
    let ending = Ending::printing(prints);
    let result = std::thread::scope(|scope| {
        let load = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, || load(&ending))?;
        let ended = async {
            let begun = Instant::now();
            let mut told = Duration::ZERO;
            while !load.is_finished() {
                tokio::time::sleep(LOOK).await;
                let elapsed = begun.elapsed();
                if prints && elapsed >= told + BETWEEN_LINES {
                    told = elapsed;
                    let time = shown(elapsed.as_secs_f64(), Unit::Seconds);
                    terminal::note(&format!("after {time}: {}", ending.told()));
                }
                if !bar.is_hidden() {
                    bar.set_message(ending.told());
                    bar.tick();
                }
            }
        };
        signals.wait(ended, |signal| {
            if signal == Signal::End {
                ending.end();
            }
            false
        });
        let ended = load.join();
        ended.unwrap_or_else(|_| Err(anyhow!("the load panicked; please report this")))
    });
    bar.finish_and_clear();
    result
}

/// Both services while they are loaded in turn.
struct Stressing<'a> {
    settings: StressSettings,
    sides: Sides,
    ending: &'a Ending,
    comparing: Option<Comparing>,
    steps: [Vec<StressStep>; 2],
    notes: [Vec<String>; 2],
    /// Requests of the steps so far, so that each begins with others.
    sent: u64,
}

impl Stressing<'_> {
    /// Loads both until all is known, or it is ended.
    fn run(&mut self) -> Result<Climb> {
        let StressSettings {
            rates,
            refine,
            window,
            ..
        } = &self.settings;
        let least = (LEAST_REQUESTS as f64 / window.as_secs_f64()).ceil() as u32;
        let mut climb = Climb::new(rates.clone(), *refine, least);
        self.ending.tell(self.estimate());
        while !self.ending.is_ended()
            && let Some((rate, loaded)) = climb.next()
        {
            self.rung(rate, loaded, &mut climb)?;
        }
        for steps in &mut self.steps {
            steps.sort_by_key(|step| step.rate);
        }
        Ok(climb)
    }

    /// How long it may take.
    fn estimate(&self) -> String {
        let settings = &self.settings;
        let of_run = settings.warm_up + settings.window + settings.pause;
        let steps = settings.rates.len() + settings.refine;
        let runs = steps * settings.repeats * NAMES.len();
        let most = of_run.as_secs_f64() * runs as f64;
        format!(
            "{} from {}/s on, and {} between two of them: at most {}, less where a service breaks before the last rate",
            plural(settings.rates.len() as u64, "rate", "rates"),
            settings.rates.first().copied().unwrap_or_default(),
            settings.refine,
            shown(most, Unit::Seconds)
        )
    }

    /// All runs at one rate, both services in turn; which one begins changes from run to run.
    fn rung(&mut self, rate: u32, loaded: [bool; 2], climb: &mut Climb) -> Result<()> {
        let repeats = self.settings.repeats;
        let mut runs: [Vec<LoadRun>; 2] = [Vec::new(), Vec::new()];
        let mut is_gone = [false; 2];
        for repeat in 0..repeats {
            let step = Step {
                rate,
                warm_up: self.settings.warm_up,
                window: self.settings.window,
                first: self.sent,
            };
            let order = if repeat % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                let is_certain = verdict(&runs[side], repeats).is_some_and(is_failed);
                if !loaded[side] || is_certain || is_gone[side] || self.ending.is_ended() {
                    continue;
                }
                self.ending.tell(format!(
                    "{rate}/s to the {}, run {} of {repeats}",
                    NAMES[side],
                    repeat + 1
                ));
                let run = self.one(side, step)?;
                let broke = run.verdict == StressVerdict::Broken;
                runs[side].push(run);
                is_gone[side] = broke && !self.recovers(side, rate)?;
                self.ending.pause(self.settings.pause);
            }
            self.sent = self.sent.wrapping_add(step.requests());
        }
        for (side, runs) in runs.into_iter().enumerate() {
            if runs.is_empty() {
                continue;
            }
            let verdict = if is_gone[side] {
                StressVerdict::Broken
            } else {
                verdict(&runs, repeats).unwrap_or(StressVerdict::Unclear)
            };
            climb.learn(side, rate, verdict);
            if is_gone[side] {
                climb.give_up(side);
            }
            let why = runs.iter().rev().find(|run| run.verdict == verdict);
            self.steps[side].push(StressStep {
                rate,
                verdict,
                why: why.and_then(|run| run.why.clone()),
                runs,
            });
        }
        Ok(())
    }

    fn one(&mut self, side: usize, step: Step) -> Result<LoadRun> {
        if let Some(comparing) = &self.comparing {
            comparing.begins(step);
        }
        let loaded = self.sides.load(side, step, INTERVAL, self.ending);
        let besides = self.comparing.as_ref().map_or(0, Comparing::ends);
        let loaded = Loaded { besides, ..loaded? };
        if let Some(lost) = loaded.seen.as_ref().and_then(|seen| seen.lost.as_ref()) {
            self.note(side, &format!("its processes: {lost}"));
        }
        let demands = Demands {
            p99: self.settings.p99,
            errors: self.settings.max_errors,
            answered: self.settings.min_answered,
            places: self.sides.places,
        };
        let judged = verdict_of(&demands, &loaded.run, step.rate);
        Ok(loaded.told(judged, step))
    }

    /// Waits until a service that broke answers again; `false` if it does not.
    fn recovers(&mut self, side: usize, rate: u32) -> Result<bool> {
        let begun = Instant::now();
        self.ending
            .tell(format!("waits for the {} to answer again", NAMES[side]));
        loop {
            let Err(failure) = self.sides.answers(side, self.ending)? else {
                return Ok(true);
            };
            if begun.elapsed() >= self.settings.recovery {
                let note = format!(
                    "it answers no more since {rate}/s ({failure}): it did not survive the load, and was asked nothing further"
                );
                self.note(side, &note);
                return Ok(false);
            }
            self.ending.pause(LOOK);
        }
    }

    fn note(&mut self, side: usize, note: &str) {
        let note = visible(note);
        let notes = &mut self.notes[side];
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Judges a run.
pub(crate) fn verdict_of(demands: &Demands, run: &Run, rate: u32) -> Judged {
    let (verdict, why) = match demands.judge(run, rate) {
        Verdict::Held => (StressVerdict::Held, None),
        Verdict::Broken(why) => (StressVerdict::Broken, Some(why)),
        Verdict::Generator(why) => (StressVerdict::Generator, Some(why)),
        Verdict::Unclear(why) => (StressVerdict::Unclear, Some(why)),
    };
    Judged {
        verdict,
        why,
        errors: demands.share_of_errors(run, rate),
    }
}

fn is_failed(verdict: StressVerdict) -> bool {
    verdict == StressVerdict::Broken
}

/// What most of the runs say, as soon as that is certain.
fn verdict(runs: &[LoadRun], repeats: usize) -> Option<StressVerdict> {
    let count = |verdict| runs.iter().filter(|run| run.verdict == verdict).count();
    for verdict in [StressVerdict::Broken, StressVerdict::Held] {
        if count(verdict) * 2 > repeats {
            return Some(verdict);
        }
    }
    if runs.len() < repeats {
        return None;
    }
    Some(if count(StressVerdict::Generator) > 0 {
        StressVerdict::Generator
    } else {
        StressVerdict::Unclear
    })
}
