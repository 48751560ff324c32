//! Asks an admin port again and again.
//!
//! The status is in memory there and is asked each time. The report, the decision and the history are read from a store, so
//! they are asked again only when as much time has passed as [`PATIENCE`] times that which they took: whoever watches must
//! not be a load. A port that does not answer is asked after ever longer pauses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use parity_dashboards::top::{Connection, Meter, Overhead, Process, Seen};
use parity_dashboards::view::{SinkStatus, Status};
use parity_schemas::audit::{Audit, AuditAction, AuditPage};
use parity_schemas::evidence::Decision;
use parity_schemas::history::History;
use parity_schemas::report::Report;
use parity_schemas::time::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use super::port::{LONG, Refused, SHORT};
use super::source::Source;
use super::window::Board;

/// So many times as long as the report took is waited until it is asked again.
const PATIENCE: u32 = 5;
/// Longest pause between two attempts to reach a port.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time of the history unless somebody says since when: a night's trouble and what was before it.
const USUAL: &str = "since=3h";
/// The metric with the time that a mirror adds.
const OVERHEAD: &str = "parity_proxy_overhead_seconds_";

/// What switches shadowing.
const SWITCHES: [AuditAction; 3] = [
    AuditAction::ShadowingOff,
    AuditAction::ShadowingOn,
    AuditAction::Started,
];
/// Switches of each way that are asked for: the last one of each of some dozens of mirrors.
const MOST_SWITCHES: usize = 100;

/// What is known, and when it was learnt.
pub(super) struct Poll<'a> {
    source: &'a Source,
    seen: Seen,
    meter: Meter,
    last_status: Option<Instant>,
    /// When the report is asked again.
    report_due: Instant,
    last_answer: Option<Timestamp>,
    failures: u32,
}

impl<'a> Poll<'a> {
    pub(super) fn new(source: &'a Source) -> Self {
        Self {
            seen: Seen::nothing(source.name()),
            source,
            meter: Meter::default(),
            last_status: None,
            report_due: Instant::now(),
            last_answer: None,
            failures: 0,
        }
    }

    /// Whether it counts clients.
    const fn is_of_mirror(&self) -> bool {
        matches!(self.seen.process, Process::Mirror(_))
    }

    pub(super) fn into_seen(self) -> Seen {
        self.seen
    }

    /// Asks for the status alone, and says whether it is one by which the next one tells what happened between the two; `None` if nothing
    /// answers, which is told then.
    pub(super) async fn meets(&mut self) -> Option<bool> {
        match self.status().await {
            Ok(()) => Some(self.is_of_mirror()),
            Err(refused) => {
                self.lost(refused.told());
                None
            }
        }
    }

    /// Asks for everything that is due, and calls `told` when something is known before the rest of it.
    pub(super) async fn ask(&mut self, told: impl Fn(&Seen)) {
        let asked = async {
            self.status().await?;
            if self.failures == 0 {
                self.answered();
                told(&self.seen);
            }
            if Instant::now() >= self.report_due {
                let began = Instant::now();
                let read = self.record().await;
                // Also one that was waited for in vain: whoever watches must not be a load.
                self.report_due = Instant::now() + began.elapsed() * PATIENCE;
                read?;
            }
            Ok::<_, Refused>(())
        };
        match asked.await {
            Ok(()) => self.answered(),
            Err(refused) => self.lost(refused.told()),
        }
    }

    fn answered(&mut self) {
        let now = Timestamp::now();
        self.failures = 0;
        self.last_answer = Some(now);
        self.seen.connection = Connection::Answered(now);
    }

    fn lost(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        // What it counts when it answers again may be of another process.
        self.meter = Meter::default();
        self.seen.live = None;
        self.last_status = None;
        let micros = i64::try_from(self.pause(Duration::ZERO).as_micros()).unwrap_or(i64::MAX);
        self.seen.connection = Connection::Lost {
            why: why.to_owned(),
            last: self.last_answer,
            again: Timestamp::now().saturating_add_micros(micros),
        };
    }

    /// How long to wait until it is asked again.
    fn pause(&self, interval: Duration) -> Duration {
        match self.failures {
            0 => interval,
            failures => {
                let doubled = Duration::from_secs(1) * 2_u32.saturating_pow((failures - 1).min(5));
                doubled.clamp(interval.min(LONGEST_PAUSE), LONGEST_PAUSE)
            }
        }
    }

    async fn status(&mut self) -> Result<(), Refused> {
        let found: Result<Value, Refused> = self.source.document("/api/v1/status", SHORT).await;
        let answered = Timestamp::now();
        let status = match found {
            Ok(status) => status,
            Err(Refused::Answered(StatusCode::NOT_FOUND, _)) => {
                self.seen.process = Process::Reader;
                return Ok(());
            }
            Err(refused) => return Err(refused),
        };
        let unknown = |error: serde_json::Error| {
            Refused::Unreachable(format!(
                "its status is not what this program knows: {error}"
            ))
        };
        self.seen.status_read = Some(answered);
        // Only a sink has partitions.
        if status.get("partitions").is_some() {
            let status: SinkStatus = serde_json::from_value(status).map_err(unknown)?;
            self.seen.process = Process::Sink(status);
            return Ok(());
        }
        let status: Status = serde_json::from_value(status).map_err(unknown)?;
        let now = Instant::now();
        let passed = self
            .last_status
            .replace(now)
            .map(|last| now.duration_since(last));
        self.seen.live = self.meter.clients(&status, passed.unwrap_or_default());
        self.seen.process = Process::Mirror(Box::new(status));
        let metrics = self.source.get("/metrics", SHORT).await?;
        let overhead = overhead(&String::from_utf8_lossy(&metrics));
        self.seen.overhead = Some(self.meter.overhead(overhead));
        Ok(())
    }

    /// The latest switches of shadowing, if it is off: who did it is in the record alone.
    async fn switches(&self) -> Result<Vec<Audit>, Refused> {
        let mut found = Vec::new();
        let is_off = match &self.seen.process {
            Process::Mirror(status) => !status.shadowing,
            _ => false,
        };
        let migration = self.source.migration_parameter();
        for action in SWITCHES.into_iter().filter(|_| is_off) {
            let path = format!("/api/v1/audit?limit={MOST_SWITCHES}&action={action}{migration}");
            let page: AuditPage = self.source.document(&path, LONG).await?;
            found.extend(page.changes);
        }
        Ok(found)
    }

    /// Report, decision and history. What the store refuses is told, and what was known stays.
    async fn record(&mut self) -> Result<(), Refused> {
        let began = Timestamp::now();
        let given = self.source.parameters();
        let asked = async {
            let report: Report = self
                .source
                .document(
                    &format!("/api/v1/report?{}", given.trim_start_matches('&')),
                    LONG,
                )
                .await?;
            let decision: Decision = self
                .source
                .document(
                    &format!("/api/v1/gate?{}", given.trim_start_matches('&')),
                    LONG,
                )
                .await?;
            let range = if self.source.has_since() { "" } else { USUAL };
            let path = format!("/api/v1/history?{range}{given}");
            let path = path.replace("?&", "?");
            let history: History = self.source.document(&path, LONG).await?;
            let switches = self.switches().await?;
            Ok::<_, Refused>((report, decision, history, switches))
        };
        match asked.await {
            Ok((report, decision, history, switches)) => {
                self.seen.switches = switches.into();
                self.seen.decided(report, decision);
                self.seen.history = Some(Arc::new(history));
                self.seen.record_read = Some((began, Timestamp::now()));
                Ok(())
            }
            // The port answered just before, so what takes too long is the store.
            Err(Refused::Answered(_, why) | Refused::TooLong(why)) => {
                self.seen.trouble = Some(why);
                Ok(())
            }
            Err(refused) => Err(refused),
        }
    }
}

/// The time that is added to requests, of the metrics in their text form.
fn overhead(metrics: &str) -> Overhead {
    let mut found = Overhead::default();
    for line in metrics.lines() {
        let Some((name, number)) = line
            .strip_prefix(OVERHEAD)
            .and_then(|line| line.rsplit_once(' '))
        else {
            continue;
        };
        let Ok(number) = number.trim().parse::<f64>() else {
            continue;
        };
        if name == "count" {
            found.count = number as u64;
        }
        let bound = name
            .strip_prefix("bucket{le=\"")
            .and_then(|rest| rest.strip_suffix("\"}"))
            .and_then(|bound| bound.parse::<f64>().ok())
            .filter(|bound| bound.is_finite());
        if let Some(bound) = bound {
            found
                .within
                .push(((bound * 1e6).round() as u64, number as u64));
        }
    }
    found
}

/// Asks until it is stopped, and hands over what is known each time.
pub(super) fn run(
    source: &Source,
    interval: Duration,
    board: &Board,
    mut stopped: watch::Receiver<bool>,
    mut paused: watch::Receiver<bool>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            board.failed(error.to_string());
            return;
        }
    };
    runtime.block_on(async {
        let mut poll = Poll::new(source);
        board.show(&poll.seen);
        let asking = async {
            loop {
                poll.ask(|seen| board.show(seen)).await;
                board.show(&poll.seen);
                tokio::time::sleep(poll.pause(interval)).await;
                // Somebody who pauses wants nothing to change.
                if paused.wait_for(|paused| !paused).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = asking => {}
            _ = stopped.wait_for(|stop| *stop) => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_added_time_is_read_from_the_metrics() {
        let text = "# HELP parity_proxy_overhead_seconds x\n\
                    parity_proxy_overhead_seconds_sum 0.5\n\
                    parity_proxy_overhead_seconds_count 10\n\
                    parity_proxy_overhead_seconds_bucket{le=\"0.0001\"} 4\n\
                    parity_proxy_overhead_seconds_bucket{le=\"0.001\"} 10\n\
                    parity_proxy_overhead_seconds_bucket{le=\"+Inf\"} 10\n\
                    parity_proxy_overhead_seconds_bucket{le=\"bad\"} x\nother 1\n";
        let found = overhead(text);
        assert_eq!(
            (found.count, found.within),
            (10, vec![(100, 4), (1_000, 10)])
        );
        assert_eq!(overhead("nonsense"), Overhead::default());
    }
}
