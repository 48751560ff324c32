//! From an error to what the user reads and the shell sees.
//!
//! Libraries have typed errors; here they become a chain of `error:` and `caused by:` lines, hints, and one exit
//! code: 2 for usage, configuration and internal errors, whatever the command.

use std::io::Write;
use std::process::ExitCode;

use parity_schemas::visible::visible;

use crate::config::problem::Problems;

/// Usage, configuration or internal error.
pub(crate) const ERROR: u8 = 2;
/// The verdict or decision is no.
pub(crate) const NO: u8 = 1;
/// There is no verdict, or the decision is open.
pub(crate) const UNDECIDED: u8 = 3;

/// Prints the error on stderr and gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    // When stderr itself is gone there is nobody left to tell; the exit code still speaks.
    let _gone = match error.downcast_ref::<Problems>() {
        Some(problems) => write_problems(&mut stderr, problems),
        None => write_chain(&mut stderr, error),
    };
    ExitCode::from(ERROR)
}

/// The same in one line, for a page or a field.
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

/// What is told of the world (names of files, lines of what was read) as the terminal may have it; its lines stay.
fn safe(told: impl std::fmt::Display) -> String {
    let lines: Vec<String> = told.to_string().split('\n').map(visible).collect();
    lines.join("\n")
}

fn write_chain(out: &mut impl Write, error: &anyhow::Error) -> std::io::Result<()> {
    writeln!(out, "error: {}", safe(error))?;
    for cause in error.chain().skip(1) {
        writeln!(out, "  caused by: {}", safe(cause))?;
    }
    Ok(())
}
