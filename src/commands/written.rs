//! `--report KIND=FILE`: the result of a command in files, whatever the outcome is.
//!
//! What is wrong with the flags is told before any work is done, all of it at once ([`Written::ready`]). When the result is there,
//! each file is written beside its place and renamed, so that a reader sees a whole file or none. A file that cannot be written
//! takes nothing from what was decided: it is told, the others are written, and fail and undecided keep their exit code. Only a
//! pass ends as an error then, because a job that publishes its report must not be green without one.
//!
//! The kinds `text` and `json` are what the command prints in that form. `markdown` of a decision also has what differs, and
//! `html` and `junit` have report and decision whatever the command is.

mod annotations;
mod destination;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::question::Question;
use parity_dashboards::view::{self, Decided};
use parity_dashboards::{junit, markdown, pages, terminal};
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::json_text::escaped;
use parity_schemas::visible::visible;
use parity_sink::Reader;
use serde::Serialize;

use self::annotations::Annotated;
use self::destination::{Destination, Kind, Target, destinations};
use crate::cli::{ReportFormat, WrittenArgs};
use crate::config::problem::{Origin, Problem, Problems};
use crate::error;

/// Where the result of a command goes: to standard output in one form, and into files.
pub(crate) struct Written {
    output: ReportFormat,
    destinations: Vec<Destination>,
    annotated: Option<Annotated>,
}

/// What a command has to say.
enum Told<'a> {
    /// A report, and the decision that goes with it.
    Report(&'a Decided),
    /// A decision, and the report to it, or why there is none.
    Decision(&'a Decision, Option<&'a Result<Decided>>),
}

impl Told<'_> {
    fn decision(&self) -> &Decision {
        match self {
            Self::Report(decided) => &decided.decision,
            Self::Decision(decision, _) => decision,
        }
    }

    fn decided(&self) -> Result<&Decided> {
        match self {
            Self::Report(decided) => Ok(decided),
            Self::Decision(_, Some(Ok(decided))) => Ok(decided),
            Self::Decision(_, Some(Err(error))) => {
                Err(anyhow!("the report cannot be read: {}", error::line(error)))
            }
            Self::Decision(_, None) => Err(anyhow!("the report was not read")),
        }
    }

    /// As a document of this kind.
    fn text(&self, kind: Kind, reader: &Reader) -> Result<String> {
        Ok(match (kind, self) {
            (Kind::Text, Self::Report(decided)) => plain(&terminal::report(decided)),
            (Kind::Text, Self::Decision(decision, _)) => plain(&terminal::gate(decision)),
            (Kind::Json, Self::Report(decided)) => json(&decided.report)?,
            (Kind::Json, Self::Decision(decision, _)) => json(decision)?,
            (Kind::Markdown, Self::Report(decided)) => markdown::report(decided),
            (Kind::Markdown, Self::Decision(..)) => markdown::gate_with_report(self.decided()?),
            (Kind::Junit, _) => junit::junit(self.decided()?),
            (Kind::Html, _) => {
                let decided = self.decided()?;
                pages::file(decided, &view::examples(reader, decided)?)?
            }
        })
    }
}

impl Written {
    /// Where the result goes, after a check that it can get there: the directory of each file is there and can be written to.
    /// `output` is the form of what is printed, and `config` the file of rules as it was named.
    pub(crate) fn ready(
        args: &WrittenArgs,
        output: ReportFormat,
        config: Option<&Path>,
    ) -> Result<Self, Problems> {
        let annotated = args.annotations;
        Ok(Self {
            output,
            destinations: destinations(&args.reports)?,
            annotated: annotated.map(|job| Annotated::of(job, config)),
        })
    }

    /// Writes and prints a report. What it tells is a success whatever is in it.
    pub(crate) fn report(&self, reader: &Reader, decided: &Decided) -> Result<ExitCode> {
        let is_whole = self.report_files(reader, decided);
        if !self.owns_stdout() {
            print(decided, self.output)?;
        }
        Ok(code(Outcome::Pass, is_whole))
    }

    /// Only the files of a report; returns whether all are written.
    pub(crate) fn report_files(&self, reader: &Reader, decided: &Decided) -> bool {
        self.tell(&Told::Report(decided), reader)
    }

    /// Writes and prints a decision, with the report to it where one is asked for, and gives the exit code.
    pub(crate) fn decision(
        &self,
        reader: &Reader,
        question: &Question,
        decision: &Decision,
    ) -> Result<ExitCode> {
        let needs_report = |one: &Destination| !matches!(one.kind, Kind::Text | Kind::Json);
        let needed = self.annotated.is_some() || self.destinations.iter().any(needs_report);
        let decided = needed.then(|| {
            let decided = view::reported(reader, question, decision.clone());
            decided.map_err(anyhow::Error::from)
        });
        let is_whole = self.tell(&Told::Decision(decision, decided.as_ref()), reader);
        if !self.owns_stdout() {
            match self.output {
                ReportFormat::Json => terminal::print_json(decision)?,
                ReportFormat::Text => terminal::print(&terminal::gate(decision))?,
                ReportFormat::Markdown => terminal::print(&markdown::gate(decision))?,
            }
        }
        Ok(code(decision.outcome, is_whole))
    }

    /// Whether a document is printed in place of what `--output` says.
    pub(crate) fn owns_stdout(&self) -> bool {
        let mut all = self.destinations.iter();
        all.any(|one| matches!(one.target, Target::Stdout))
    }

    /// Writes all files, and says which could not be written; returns whether all are.
    fn tell(&self, told: &Told<'_>, reader: &Reader) -> bool {
        let mut is_whole = true;
        for one in &self.destinations {
            if let Err(error) = write(one, told, reader) {
                is_whole = false;
                let kind = one.kind.as_str();
                terminal::note(&visible(&format!(
                    "the report as {kind} is not written: {}",
                    error::line(&error)
                )));
            }
        }
        if let Some(annotated) = &self.annotated {
            let commands = annotated.commands(told.decision(), told.decided().ok());
            let mut stderr = anstream::stderr().lock();
            for command in commands {
                // A closed stderr is no reason to fail.
                let _gone = writeln!(stderr, "{command}");
            }
        }
        is_whole
    }
}

/// The page of a command that has no other file: checked before any work is done, and written whole.
pub(crate) struct HtmlFile(Destination);

impl HtmlFile {
    /// Whether it can be written, or what is wrong.
    pub(crate) fn ready(path: &Path) -> Result<Self, Problems> {
        destination::html(path).map(Self)
    }

    /// Writes it.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        put(&self.0, text)
    }
}

/// The files of a command whose result is a text or a document.
pub(crate) struct TextOrJson(Vec<Destination>);

impl TextOrJson {
    /// Whether they can be written, or all that is wrong.
    pub(crate) fn ready(given: &[String]) -> Result<Self, Problems> {
        let found = destinations(given)?;
        let is_wrong = |one: &&Destination| {
            !matches!(one.kind, Kind::Text | Kind::Json) || matches!(one.target, Target::Stdout)
        };
        let wrong = found.iter().filter(is_wrong).map(|one| {
            let kind = one.kind.as_str();
            let message = format!("this command writes text=FILE and json=FILE, not {kind} to there; --output says what is printed");
            Problem::new(Origin::Flag("--report"), message)
        });
        let wrong: Vec<Problem> = wrong.collect();
        if wrong.is_empty() {
            Ok(Self(found))
        } else {
            Err(Problems(wrong))
        }
    }

    /// Writes all; says of those that cannot be, and returns whether there was none.
    pub(crate) fn write(&self, text: &str, document: &impl Serialize) -> bool {
        let mut is_whole = true;
        for one in &self.0 {
            let written = match one.kind {
                Kind::Json => json(document).and_then(|document| put(one, &document)),
                _ => put(one, &plain(text)),
            };
            if let Err(error) = written {
                is_whole = false;
                let kind = one.kind.as_str();
                terminal::note(&visible(&format!(
                    "the result as {kind} is not written: {}",
                    error::line(&error)
                )));
            }
        }
        is_whole
    }
}

fn write(one: &Destination, told: &Told<'_>, reader: &Reader) -> Result<()> {
    put(one, &told.text(one.kind, reader)?)
}

fn put(one: &Destination, text: &str) -> Result<()> {
    match &one.target {
        Target::Stdout => terminal::print(text).context("cannot write to standard output"),
        Target::File(path) => destination::write(path, text)
            .with_context(|| format!("cannot write {}", path.display())),
        Target::Device(path) => destination::pass_on(path, text)
            .with_context(|| format!("cannot write to {}", path.display())),
    }
}

/// The exit code of an outcome. A pass without a file that was asked for is none.
fn code(outcome: Outcome, is_whole: bool) -> ExitCode {
    match outcome {
        Outcome::Pass if !is_whole => ExitCode::from(error::ERROR),
        outcome => error::code(outcome),
    }
}

/// Prints a report.
pub(super) fn print(decided: &Decided, format: ReportFormat) -> Result<()> {
    match format {
        ReportFormat::Json => terminal::print_json(&decided.report)?,
        ReportFormat::Text => terminal::print(&terminal::report(decided))?,
        ReportFormat::Markdown => terminal::print(&markdown::report(decided))?,
    }
    Ok(())
}

/// Without colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn json(document: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(document)?;
    Ok(escaped(&format!("{text}\n")).into_owned())
}
