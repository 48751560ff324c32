//! From an error to what the user reads and the shell sees.
//!
//! Libraries have typed errors; here they become a chain of `error:` and `caused by:` lines, hints, and one exit
//! code: 2 for usage, configuration and internal errors, whatever the command (DESIGN.md §4).

use std::io::Write;
use std::process::ExitCode;

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
        writeln!(out, "error: {problem}")?;
        if let Some(hint) = &problem.hint {
            writeln!(out, "  hint: {hint}")?;
        }
    }
    Ok(())
}

fn write_chain(out: &mut impl Write, error: &anyhow::Error) -> std::io::Result<()> {
    writeln!(out, "error: {error}")?;
    for cause in error.chain().skip(1) {
        writeln!(out, "  caused by: {cause}")?;
    }
    Ok(())
}
