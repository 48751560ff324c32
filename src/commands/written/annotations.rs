//! `--annotations`: what a CI job shows at the lines of a change.
//!
//! They are workflow commands of GitHub Actions, which a job reads from what a step prints. They go to stderr, because stdout is
//! for data, and a job reads both. No line of them begins with captured text, and what is quoted in them is escaped as the
//! commands demand. Nothing else that the program prints is one ([`terminal::tame`](parity_dashboards::terminal::tame)).

use std::path::{Path, PathBuf};

use parity_dashboards::view::Decided;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible_up_to;

use crate::cli::Annotations;
use crate::config::DEFAULT_FILE;
use crate::config::lines::Lines;
use crate::config::problem::{Origin, Problem};

/// Most annotations: GitHub shows ten of a step, and drops the others.
const MOST: usize = 10;
/// Longest text of one: a few lines where it is shown.
const MAX_CHARS: usize = 600;

/// What can be annotated: the lines of the configuration.
pub(super) struct Annotated {
    lines: Lines,
}

/// How grave one is.
#[derive(Clone, Copy)]
enum Level {
    Error,
    Warning,
}

/// One of them.
struct Annotation {
    level: Level,
    origin: Option<Origin>,
    text: String,
}

impl Annotated {
    /// For this kind of job, with the lines of the file that is named, or of parity.toml if it is there.
    pub(super) fn of(job: Annotations, config: Option<&Path>) -> Self {
        let Annotations::Github = job;
        let default = Path::new(DEFAULT_FILE);
        let file = config.or_else(|| default.exists().then_some(default));
        let lines = file.map(|file| Lines::of(file, Timestamp::now()));
        Self {
            lines: lines.unwrap_or_default(),
        }
    }

    /// The commands, a line each. Rules that excused nothing are in a report.
    pub(super) fn commands(&self, decision: &Decision, decided: Option<&Decided>) -> Vec<String> {
        let mut all = Vec::new();
        if decision.outcome != Outcome::Pass {
            let reason = decision.reasons.first().map_or("", String::as_str);
            all.push(Annotation {
                level: Level::Error,
                origin: None,
                text: format!("parity: {}: {reason}", decision.outcome),
            });
        }
        let of = |level| {
            move |problem: &Problem| Annotation {
                level,
                origin: Some(problem.origin.clone()),
                text: problem.message.clone(),
            }
        };
        all.extend(self.lines.ended.iter().map(of(Level::Error)));
        let required = decision.routes.iter().filter(|route| route.required);
        let absent = required.filter(|route| route.unserved || route.compared == 0);
        all.extend(absent.map(|route| {
            let why = if route.unserved {
                "clients only ever got client errors, so it is not served"
            } else if route.received == 0 {
                "it was never received"
            } else {
                "none of its requests was compared"
            };
            Annotation {
                level: Level::Error,
                origin: self.lines.route(&route.route).cloned(),
                text: format!("{} must be proven, and {why}", route.route),
            }
        }));
        all.extend(self.lines.ending.iter().map(of(Level::Warning)));
        let idle = decided.map_or(&[][..], |decided| &decided.report.idle_rules);
        all.extend(idle.iter().map(|rule| Annotation {
            level: Level::Warning,
            origin: self.lines.rule(&rule.id).cloned(),
            text: format!(
                "rule `{}` excused nothing in {} requests that were compared where it applies",
                rule.id, rule.compared
            ),
        }));
        let more = all.len().saturating_sub(MOST);
        if more > 0 {
            all.truncate(MOST - 1);
            all.push(Annotation {
                level: Level::Warning,
                origin: None,
                text: format!("parity: {} more annotations than a job shows", more + 1),
            });
        }
        all.iter().map(Annotation::command).collect()
    }
}

impl Annotation {
    fn command(&self) -> String {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let text = data(&visible_up_to(&self.text, MAX_CHARS));
        match &self.origin {
            Some(Origin::File { path, line, column }) => {
                let file = property(&from_checkout(path).display().to_string());
                format!("::{level} file={file},line={line},col={column}::{text}")
            }
            _ => format!("::{level}::{text}"),
        }
    }
}

/// The file as the job names it: from the root of what was checked out, wherever the command was run.
fn from_checkout(path: &Path) -> PathBuf {
    let inner = || {
        let root = std::env::var_os("GITHUB_WORKSPACE").filter(|root| !root.is_empty())?;
        let root = PathBuf::from(root).canonicalize().ok()?;
        let whole = path.canonicalize().ok()?;
        whole.strip_prefix(root).ok().map(Path::to_path_buf)
    };
    inner().unwrap_or_else(|| path.to_path_buf())
}

/// Text of a command, in which nothing ends its line.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, in which nothing ends the property either.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_command_is_one_line_whatever_is_in_it() {
        let origin = Origin::File {
            path: Arc::from(Path::new("a,b:100%\n::x.toml")),
            line: 3,
            column: 7,
        };
        let annotation = |origin| Annotation {
            level: Level::Error,
            origin,
            text: "50 %\r\n::stop-commands::x, y: z".to_owned(),
        };
        assert_eq!(
            annotation(Some(origin)).command(),
            "::error file=a%2Cb%3A100%25%0A%3A%3Ax.toml,line=3,col=7::50 %25\\u{d}\\u{a}::stop-commands::x, y: z"
        );
        assert!(annotation(None).command().starts_with("::error::50 %25"));
        assert_eq!(data("a\r\nb%"), "a%0D%0Ab%25");
    }
}
