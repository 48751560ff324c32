//! `parity demo`: the whole job on a sample, in one process and without a network.
//!
//! Nothing is faked: the two services listen on real sockets, the traffic goes through the same proxy as in
//! `parity mirror`, and the report is read back from the store that the mirror wrote. Only the services are samples.

mod sample;
mod serving;
mod traffic;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use parity_dashboards::question::Question;
use parity_dashboards::view::{self, Decided};
use parity_dashboards::{markdown, terminal};
use parity_sink::{Reader, Selection, StoreConfig};

use crate::cli::{DemoArgs, ReportFormat};
use crate::config::Layers;
use crate::config::environment::Environment;
use crate::config::settings::{mirror, record, top};
use crate::process::handover::Inherited;
use crate::process::instance::Instance;
use crate::process::signals::{Hangup, Signal, Signals};
use sample::Sample;

/// The store is written several times a second, and what is asked again is so soon after, so this is ample.
const RECORDED_WITHIN: Duration = Duration::from_secs(30);

/// Runs it.
pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode> {
    let directory = tempfile::tempdir().context("no place for the demo's store")?;
    let store = format!("sqlite:{}", directory.path().join("demo.db").display());
    let sample = Sample::of(args.sample);
    let [legacy, candidate] = sample.start(args.same)?;
    let requests = args.requests.unwrap_or(sample.requests);
    let mut values = vec![
        mirror::LEGACY.is(&legacy.url),
        mirror::CANDIDATE.is(&candidate.url),
        mirror::LEGACY_VERSION.is(sample.legacy_version),
        mirror::CANDIDATE_VERSION.is(sample.candidate_version(args.same)),
        mirror::INSTANCE.is("demo"),
        top::MIGRATION.is(sample.migration),
        mirror::LISTEN.is("127.0.0.1:0"),
        mirror::ADMIN.is("127.0.0.1:0"),
        record::STORE.is(&store),
    ];
    values.extend_from_slice(&sample.settings);
    // The demo shows the defaults, so it reads neither a configuration file nor the environment.
    let settings = Layers::load(None, &Environment::default(), &values).mirror()?;
    let url = settings.store.clone();
    let instance = Instance::start(&settings, &mut Inherited::default())?;
    terminal::note(&format!(
        "legacy {} and candidate {} behind http://{}; sending {requests} requests",
        legacy.url,
        candidate.url,
        instance.address(),
    ));
    let selection = Selection {
        migration: Some(sample.migration.to_owned()),
        ..Selection::default()
    };
    // What waits to be asked again would be counted as it is if the mirror ended before.
    let recorded = |sent| wait_until_recorded(&url, &selection, u64::from(sent));
    traffic::drive(
        instance.address(),
        requests,
        sample.round.unwrap_or(requests),
        sample.request,
        |sent| match sample.round {
            Some(round) if sent < requests => recorded(sent.saturating_sub(round)),
            Some(_) => recorded(sent),
            None => Ok(()),
        },
    )?;
    recorded(requests)?;
    if args.serve {
        print(&read(&url, &selection)?, &sample, args.output)?;
        terminal::note(&format!(
            "proxy on http://{} · report on {}",
            instance.address(),
            instance.admin_url()
        ));
        terminal::note(&format!("store {url} · Ctrl-C ends and removes it"));
        Signals::listen(Hangup::Ends)?.wait(std::future::pending(), |signal| signal == Signal::End);
        instance.finish()?;
    } else {
        instance.finish()?;
        print(&read(&url, &selection)?, &sample, args.output)?;
    }
    legacy.stop()?;
    candidate.stop()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the report and, of a sample that is about it, the decision of the gate.
fn print(decided: &Decided, sample: &Sample, format: ReportFormat) -> Result<()> {
    super::written::print(decided, format)?;
    if !sample.shows_decision {
        return Ok(());
    }
    match format {
        ReportFormat::Json => terminal::print_json(&decided.decision)?,
        ReportFormat::Text => terminal::print(&terminal::gate(&decided.decision))?,
        ReportFormat::Markdown => terminal::print(&markdown::gate(&decided.decision))?,
    }
    Ok(())
}

/// Reads the store again and again until every request has its outcome there.
fn wait_until_recorded(url: &StoreConfig, selection: &Selection, requests: u64) -> Result<()> {
    let begin = Instant::now();
    loop {
        let settled = match Reader::open(url) {
            Ok(reader) => reader.find_report(selection)?.value.counts.settled(),
            // It is created by the mirror, on another thread.
            Err(error) if error.may_come() => 0,
            Err(error) => return Err(error.into()),
        };
        if settled >= requests {
            return Ok(());
        }
        ensure!(
            begin.elapsed() < RECORDED_WITHIN,
            "only {settled} of {requests} outcomes are recorded"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn read(url: &StoreConfig, selection: &Selection) -> Result<Decided> {
    let reader = view::reader(url)?;
    let question = Question {
        selection: selection.clone(),
        ..Question::default()
    };
    Ok(view::decided(&reader, &question)?)
}
