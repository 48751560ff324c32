//! What is known now: the documents that were last answered, and what follows from two of them.

use std::sync::Arc;

use parity_schemas::audit::{Audit, AuditAction};
use parity_schemas::evidence::Decision;
use parity_schemas::history::History;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;

use super::meter::{Live, Overhead};
use crate::view::changes::{stopped, who};
use crate::view::words::{percent, shown, version};
use crate::view::{
    Beside, Between, Candidate, Decided, Listing, Outage, SinkStatus, Standing, Status,
};

/// Everything that is shown. Cheap to clone.
#[derive(Clone)]
pub struct Seen {
    /// Which admin port is asked.
    pub source: String,
    /// Whether it answers.
    pub connection: Connection,
    /// Whose it is.
    pub process: Process,
    /// What the last two answers say of the clients between them.
    pub live: Option<Live>,
    /// The time that the mirror added to them.
    pub overhead: Option<Overhead>,
    /// The report with the decision on it; `None` until both came.
    pub(crate) decided: Option<Arc<Decided>>,
    /// How parity held lately.
    pub history: Option<Arc<History>>,
    /// When the status was answered last.
    pub status_read: Option<Timestamp>,
    /// When the record was asked for the last time and answered: report, decision and history come one after the other, and rarer than
    /// the status. From the first question to the last answer.
    pub record_read: Option<(Timestamp, Timestamp)>,
    /// The switches of shadowing, asked for while it is off: since when, and by whom.
    pub switches: Arc<[Audit]>,
    /// Why there is no report although the port answers.
    pub trouble: Option<String>,
}

/// Whether the port answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It was not asked yet.
    Asking,
    /// It answered then.
    Answered(Timestamp),
    /// It does not.
    Lost {
        /// Why, in one line.
        why: String,
        /// When it last answered; `None` if it never did.
        last: Option<Timestamp>,
        /// When it is asked again.
        again: Timestamp,
    },
}

impl Connection {
    /// When it last answered.
    const fn last(&self) -> Option<Timestamp> {
        match self {
            Self::Asking => None,
            Self::Answered(at) => Some(*at),
            Self::Lost { last, .. } => *last,
        }
    }
}

/// Whose port it is.
#[derive(Clone, Debug, Default)]
pub enum Process {
    /// Not known yet.
    #[default]
    Unknown,
    /// A mirror.
    Mirror(Box<Status>),
    /// A sink.
    Sink(SinkStatus),
    /// A process that only reads a store.
    Reader,
}

impl Seen {
    /// Nothing is known yet.
    pub fn nothing(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            connection: Connection::Asking,
            process: Process::Unknown,
            live: None,
            overhead: None,
            decided: None,
            history: None,
            status_read: None,
            record_read: None,
            switches: Arc::default(),
            trouble: None,
        }
    }

    /// Takes over a report and the decision that was answered beside it. They are of about the same moment.
    pub fn decided(&mut self, report: Report, decision: Decision) {
        // The port has taken over from its own decision what of the report does not count.
        let listing = Listing::of(&report, decision.thresholds.noise);
        self.trouble = None;
        self.decided = Some(Arc::new(Decided {
            report,
            decision,
            listing,
            absent: None,
        }));
    }

    /// The first line.
    pub(crate) fn title(&self) -> String {
        let whose = match &self.process {
            Process::Unknown => "",
            Process::Mirror(_) => "mirror ",
            Process::Sink(_) => "sink ",
            Process::Reader => "ui ",
        };
        let migration = match (&self.decided, &self.process) {
            (Some(decided), _) => shown(&decided.report.migration),
            (None, Process::Mirror(status)) => shown(&status.migration),
            _ => "–".to_owned(),
        };
        let source = shown(&self.source);
        let told = match &self.connection {
            Connection::Asking => "asking".to_owned(),
            Connection::Answered(at) => {
                let record = self.record_span().map(|read| format!(", {read}"));
                format!("updated {}{}", clock(*at), record.unwrap_or_default())
            }
            Connection::Lost { last, .. } => match last {
                Some(last) => format!("NO CONNECTION since {}", clock(*last)),
                None => "NO CONNECTION".to_owned(),
            },
        };
        format!("parity top · {whose}{source} · {migration} · {told}")
    }

    /// When the record was read, as short as it can be told; `None` before it was.
    pub(crate) fn record_span(&self) -> Option<String> {
        let read = self.record_read;
        read.map(|(from, to)| format!("record read {}", span(Between { from, to })))
    }

    /// What must be known before anything else, each in a few words, the gravest first.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        let status = self.status();
        if let Some(status) = status {
            if !status.ready {
                alarms.push("DRAINING".to_owned());
            }
            if let Standing::Down(since) = status.legacy() {
                alarms.push(legacy_down(since));
            }
        }
        let failed = self.live.map_or(0.0, |live| live.failed);
        if failed > 0.0 {
            alarms.push(format!("CLIENTS FAIL: {}", percent(failed)));
        }
        for one in status.map(Status::given_up).unwrap_or_default() {
            alarms.push(format!("CLIENTS LEAVE the {}", one.service));
        }
        let down = self.candidates().into_iter();
        alarms.extend(down.filter_map(|(name, candidate)| match candidate {
            Candidate::Down(outage) => Some(down_told(&name, &outage)),
            Candidate::Fails(_)
            | Candidate::FailedMostly(_)
            | Candidate::Failed(_)
            | Candidate::FailedUntil(_)
            | Candidate::Answers => None,
        }));
        if status.is_some_and(|status| !status.shadowing) {
            let since = self
                .stopped()
                .map(|off| format!(" since {}", clock(off.time)));
            alarms.push(format!("SHADOWING IS OFF{}", since.unwrap_or_default()));
        }
        alarms
    }

    /// The switch that left shadowing off, if it is known.
    fn stopped(&self) -> Option<&Audit> {
        stopped(&self.switches)
    }

    /// That shadowing is off, since when and by whom, as far as that is known.
    pub(crate) fn shadowing_off(&self) -> String {
        match self.stopped() {
            None => "SHADOWING IS OFF; the record does not say since when".to_owned(),
            Some(off) => {
                let how = match off.action {
                    AuditAction::Started => "it began so, as it is configured".to_owned(),
                    _ => format!("stopped {}", shown(&who(off))),
                };
                let instance = shown(&off.instance);
                format!(
                    "SHADOWING IS OFF since {} ({instance}): {how}",
                    clock(off.time)
                )
            }
        }
    }

    /// What the mirror says, if one is asked.
    fn status(&self) -> Option<&Status> {
        match &self.process {
            Process::Mirror(status) => Some(status),
            _ => None,
        }
    }

    /// What is known of the candidate beside the counts, when the port last answered; `None` if it never has.
    fn beside(&self) -> Option<Beside<'_>> {
        let at = self.connection.last()?;
        let report = self.decided.as_ref().map(|decided| &decided.report);
        Some(Beside {
            at,
            status: self.status(),
            runs: report.map_or(&[], |report| &report.watermarks),
            version: report.map_or("", |report| &report.candidate_version),
        })
    }

    /// How those versions of the candidate stood when the port last answered that are not well: each with its version behind a
    /// space, where there are several.
    pub(crate) fn candidates(&self) -> Vec<(String, Candidate)> {
        let Some(beside) = self.beside() else {
            return Vec::new();
        };
        let each = beside.candidates(self.history.as_deref(), None);
        each.into_iter()
            .map(|of| (named(of.version), of.candidate))
            .collect()
    }

    /// What the candidate answers with errors where the legacy does not, or did lately, in a few words for each version.
    pub(crate) fn erring(&self) -> Vec<String> {
        let Some(beside) = self.beside() else {
            return Vec::new();
        };
        let told = beside.erring(self.history.as_deref());
        let each = told.iter().map(|one| {
            let how = if one.goes_on() { "answers" } else { "answered" };
            let name = named(one.version);
            format!("candidate{name} {how} with errors: {}", one.told(clock))
        });
        each.collect()
    }
}

/// A version behind a space; nothing where only one gets requests.
fn named(of: Option<&str>) -> String {
    of.map(|name| format!(" {}", version(name)))
        .unwrap_or_default()
}

/// That a candidate is down, and since when, as far as that is known. `name` is its version behind a space, or nothing.
pub(crate) fn down_told(name: &str, outage: &Outage) -> String {
    let since = outage.since.map(|since| format!(" since {}", span(since)));
    format!("CANDIDATE{name} DOWN{}", since.unwrap_or_default())
}

/// That a candidate fails and is still asked, and since when.
pub(crate) fn fails_told(name: &str, outage: &Outage) -> String {
    let since = outage.since.map(|since| format!(" since {}", span(since)));
    format!(
        "candidate{name} fails{}, and is still asked",
        since.unwrap_or_default()
    )
}

/// That the legacy is down, and since when, if its mirror says so.
pub(crate) fn legacy_down(since: Option<Timestamp>) -> String {
    let since = since.map(|since| format!(" since {}", clock(since)));
    format!("LEGACY DOWN{}", since.unwrap_or_default())
}

/// When something was, by the clock; within a span it is as short as the smallest screen needs it.
fn span(when: Between) -> String {
    let [from, to] = [when.from, when.to].map(clock);
    if from == to {
        return from;
    }
    format!("{}–{to}", from.trim_end_matches(UTC))
}

/// What stands behind a time of day.
const UTC: &str = " UTC";

/// A time of day in UTC.
pub(crate) fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    let clock = text.split_once('T').and_then(|(_, clock)| clock.get(..8));
    clock.unwrap_or(&text).to_owned() + UTC
}
