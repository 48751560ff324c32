//! `parity soak`: a steady load on both services at once, and whether memory, open files or threads grow under it: of both, and of
//! parity itself.

mod document;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use parity_comparator::metrics::shown;
use parity_dashboards::{pages, terminal};
use parity_mirror::load::{Demands, Step};
use parity_schemas::metrics::{MetricsOutcome, Unit};

use self::document::{Found, Under, document};
use super::stress::{loaded, verdict_of};
use crate::cli::{OutputFormat, SoakArgs};
use crate::commands::written::HtmlFile;
use crate::config::{Layers, ProcessSettings};
use crate::error;
use crate::loading::one_run::{Loaded, NAMES};
use crate::loading::pages::{Needed, refuse_useless};
use crate::loading::{Comparing, Requests, Sides};

/// Runs it.
pub(crate) fn run(args: &SoakArgs) -> Result<ExitCode> {
    args.sent.refuse_nothing()?;
    let flags = args.flags.settings();
    let settings = Layers::load_here(args.file.config.as_deref(), &flags).soak()?;
    let load = &settings.load;
    if load.processes[1] == ProcessSettings::Unknown && load.pages[1].is_none() {
        bail!(
            "nothing says what the candidate uses, so no growth could be seen: name its process by --candidate-pid, its control group by --candidate-cgroup, or its page of metrics by --candidate-metrics"
        );
    }
    let html = args.html.as_deref().map(HtmlFile::ready).transpose()?;
    let requests = Requests::read(&args.sent, &load.mirror)?;
    // Both are loaded at once.
    let sides = Sides::new(load, &requests.all, NAMES.len())?;
    let step = Step {
        rate: settings.rate,
        warm_up: settings.warm_up,
        window: settings.time.saturating_sub(settings.warm_up),
        first: 0,
    };
    let allow_unsafe = args.sent.allow_unsafe;
    let found = loaded(|ending| {
        sides.refuse_the_dead(ending)?;
        refuse_useless(load, Needed::Memory, ending)?;
        let comparing = Comparing::start(load, &requests.all, allow_unsafe)?;
        if let Some(comparing) = &comparing {
            comparing.begins(step);
        }
        let begun = Instant::now();
        let time = shown(settings.time.as_secs_f64(), Unit::Seconds);
        ending.tell(format!("{}/s to both for {time}", step.rate));
        let sides = &sides;
        let both = std::thread::scope(|scope| {
            let threads = [0, 1]
                .map(|side| scope.spawn(move || sides.load(side, step, settings.interval, ending)));
            threads.map(|thread| {
                let ended = thread.join();
                ended.unwrap_or_else(|_| Err(anyhow!("the load panicked; please report this")))
            })
        });
        // Each of these was one to each service.
        let besides = comparing.as_ref().map_or(0, Comparing::ends);
        let answers = comparing.map(Comparing::finish).transpose()?;
        let [legacy, candidate] = both.map(|side| side.map(|loaded| Loaded { besides, ..loaded }));
        Ok(Found {
            sides: [legacy?, candidate?],
            answers,
            interrupted: ending.is_ended(),
            seconds: begun.elapsed().as_secs_f64(),
        })
    })?;
    let demands = Demands {
        p99: settings.p99,
        errors: settings.max_errors,
        answered: settings.min_answered,
        places: sides.places,
    };
    let under = Under {
        step,
        requests: requests.told,
        targets: [0, 1].map(|side| sides.target(side).to_owned()),
        judged: [0, 1].map(|side| verdict_of(&demands, &found.sides[side].run, step.rate)),
        places: sides.places,
    };
    let document = document(found, &settings, under);
    match args.output {
        OutputFormat::Text => terminal::print(&terminal::soak(&document))?,
        OutputFormat::Json => terminal::print_json(&document)?,
    }
    if let Some(html) = html {
        html.write(&pages::soak(&document)?)?;
    }
    Ok(match document.outcome {
        MetricsOutcome::Pass => ExitCode::SUCCESS,
        MetricsOutcome::Fail => ExitCode::from(error::NO),
        MetricsOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}
