//! Turns an error into the text that the user reads and the exit code that the shell sees.
//!
//! Libraries have typed errors; here they become a chain of `error:` and `caused by:` lines, hints, and one exit
//! code: 2 for usage, configuration and internal errors, whatever the command.

use std::io::Write;
use std::process::ExitCode;

use parity_dashboards::terminal::tame;
use parity_schemas::evidence::Outcome;
use parity_schemas::visible::visible;

use crate::config::problem::Problems;

/// Usage, configuration or internal error.
pub(crate) const ERROR: u8 = 2;
/// The verdict is mismatch, or the decision is fail.
pub(crate) const NO: u8 = 1;
/// Nothing was compared, or the decision is undecided.
pub(crate) const UNDECIDED: u8 = 3;

/// The exit code of a decision.
pub(crate) fn code(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Pass => ExitCode::SUCCESS,
        Outcome::Fail => ExitCode::from(NO),
        Outcome::Undecided => ExitCode::from(UNDECIDED),
    }
}

/// Prints the error on stderr and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    // When stderr is closed, the exit code still reports the error.
    let _gone = match error.downcast_ref::<Problems>() {
        Some(problems) => write_problems(&mut stderr, problems),
        None => write_chain(&mut stderr, error),
    };
    ExitCode::from(ERROR)
}

/// The error and its causes in one line, for a page or a log field.
pub(crate) fn line(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Problems>() {
        Some(problems) => {
            let all: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            all.join("; ")
        }
        None => format!("{error:#}"),
    }
}

fn write_problems(out: &mut impl Write, problems: &Problems) -> std::io::Result<()> {
    for problem in &problems.0 {
        writeln!(out, "error: {}", safe(problem))?;
        if let Some(hint) = &problem.hint {
            writeln!(out, "  hint: {}", safe(hint))?;
        }
    }
    Ok(())
}

/// Makes text that may quote file names and file content safe for a terminal and for the log of a CI job. Line breaks stay.
fn safe(told: impl std::fmt::Display) -> String {
    let lines: Vec<String> = told.to_string().split('\n').map(visible).collect();
    tame(&lines.join("\n")).into_owned()
}

fn write_chain(out: &mut impl Write, error: &anyhow::Error) -> std::io::Result<()> {
    writeln!(out, "error: {}", safe(error))?;
    for cause in error.chain().skip(1) {
        writeln!(out, "  caused by: {}", safe(cause))?;
    }
    Ok(())
}
