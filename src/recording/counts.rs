//! What was recorded, and what was not, for the metrics, the status and the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use parity_dashboards::terminal::{self, grouped, plural};
use parity_dashboards::view::RecordingStatus;
use parity_schemas::visible::visible;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Reasons that are told apart; some have the name of what is hidden, which is a client's.
const REASONS: usize = 20;

/// Requests that are not in the recording, by reason.
pub(crate) struct Dropped {
    family: Family<[(&'static str, &'static str); 1], Counter>,
    /// The writer did not keep up.
    pub(super) queue_full: Counter,
    /// Those under way and in the queue hold too many bytes.
    pub(super) no_room: Counter,
    /// The file cannot be written to.
    pub(super) disk: Counter,
    /// A fault of this program.
    pub(super) internal: Counter,
}

impl Dropped {
    fn new() -> Self {
        let family = Family::default();
        let of = |reason| Family::get_or_create_owned(&family, &[("reason", reason)]);
        Self {
            queue_full: of("queue_full"),
            no_room: of("no_room"),
            disk: of("disk"),
            internal: of("internal"),
            family,
        }
    }

    fn all(&self) -> [(&'static str, &Counter); 4] {
        [
            ("queue_full", &self.queue_full),
            ("no_room", &self.no_room),
            ("disk", &self.disk),
            ("internal", &self.internal),
        ]
    }

    fn sum(&self) -> u64 {
        self.all().iter().map(|(_, counter)| counter.get()).sum()
    }
}

/// The counts of a recording.
pub(crate) struct Counts {
    file: PathBuf,
    /// Requests in the files.
    pub(super) written: Counter,
    /// Bytes of the files, as they are on disk.
    pub(super) bytes: Counter,
    pub(super) dropped: Dropped,
    /// Requests that were looked at and are no samples, by reason.
    passed_over: Mutex<BTreeMap<String, u64>>,
    failing: Gauge,
    /// Why the file cannot be written to now.
    failure: Mutex<Option<String>>,
}

impl Counts {
    pub(super) fn of(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            written: Counter::default(),
            bytes: Counter::default(),
            dropped: Dropped::new(),
            passed_over: Mutex::default(),
            failing: Gauge::default(),
            failure: Mutex::default(),
        }
    }

    /// Adds the `parity_recording_…` families.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "parity_recording_requests_written",
            "Requests that are in the files of the recording",
            self.written.clone(),
        );
        registry.register(
            "parity_recording_written_bytes",
            "Bytes that were written to the files of the recording, packed as they are",
            self.bytes.clone(),
        );
        registry.register(
            "parity_recording_failing",
            "Whether the recording cannot be written to now",
            self.failing.clone(),
        );
        registry.register(
            "parity_recording_requests_dropped",
            "Requests that are not in the recording, by reason",
            self.dropped.family.clone(),
        );
    }

    /// Keeps why the file cannot be written to; `None` when it can be again. The first failure in a row is told.
    pub(super) fn fail(&self, failure: Option<String>) {
        let mut slot = self.failure();
        match (&*slot, &failure) {
            (None, Some(failure)) => tracing::error!(
                file = %self.file.display(),
                error = failure,
                "cannot write the recording; trying again, and counting what is lost"
            ),
            (Some(_), None) => tracing::info!("the recording is written again"),
            _ => {}
        }
        self.failing.set(i64::from(failure.is_some()));
        *slot = failure;
    }

    /// Counts a request that is no sample.
    pub(super) fn pass_over(&self, why: String) {
        let mut reasons = self.passed_over();
        let why = if reasons.len() < REASONS || reasons.contains_key(&why) {
            why
        } else {
            "other reasons".to_owned()
        };
        *reasons.entry(why).or_default() += 1;
    }

    fn passed_over(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        let reasons = self.passed_over.lock();
        reasons.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing was recorded at all.
    pub(super) fn is_empty(&self) -> bool {
        self.written.get() == 0
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the status of the mirror.
    pub(crate) fn status(&self) -> RecordingStatus {
        RecordingStatus {
            file: self.file.display().to_string(),
            written: self.written.get(),
            dropped: self.dropped.sum(),
            error: self.failure().clone(),
        }
    }

    /// Why the file lacks what it should have, as far as the disk is to blame.
    pub(super) fn lost_by_disk(&self) -> Option<String> {
        let lost = self.dropped.disk.get();
        let failure = self.failure().clone();
        if lost == 0 && failure.is_none() {
            return None;
        }
        let file = self.file.display();
        let count = plural(lost, "request is", "requests are");
        let why = failure.map_or_else(String::new, |failure| format!(": {failure}"));
        Some(format!(
            "{file} could not be written as it should be, and {count} lost{why}"
        ))
    }

    /// Says at the end what is in the recording, and what is not.
    pub(super) fn tell(&self) {
        let file = self.file.display();
        let written = plural(self.written.get(), "request", "requests");
        let bytes = match self.bytes.get() {
            0 => String::new(),
            bytes => format!(" ({} bytes)", grouped(bytes)),
        };
        // Samples have no file before the first one.
        terminal::note(&visible(&if self.file.symlink_metadata().is_ok() {
            format!("recorded {written} in {file}{bytes}")
        } else {
            format!("recorded {written}; {file} was not written")
        }));
        for (why, count) in &*self.passed_over() {
            let requests = plural(*count, "request is no sample", "requests are no samples");
            terminal::note(&visible(&format!("{requests}: {why}")));
        }
        for (reason, counter) in self.dropped.all() {
            if counter.get() > 0 {
                let why = match reason {
                    "queue_full" => "writing did not keep up",
                    "no_room" => "those under way held too much memory",
                    "disk" => "the file could not be written to",
                    _ => "an error of this program; the log has it",
                };
                terminal::note(&format!(
                    "{} not recorded: {why}",
                    plural(counter.get(), "request was", "requests were")
                ));
            }
        }
        if let Some(failure) = &*self.failure() {
            terminal::note(&visible(&format!(
                "the last error of the recording: {failure}"
            )));
        }
    }
}
