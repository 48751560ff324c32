//! What must be known of the service that serves clients before anything else: that it answers them with server errors (5xx), or did, and
//! that the legacy is slow, or was; and in the block of clients, how long they wait.

use parity_schemas::history::HistoryBucket;
use parity_schemas::time::Timestamp;

use super::super::Tone;
use super::super::down::LATELY_MICROS;
use super::super::served::{errors_told, last_errors, last_slow, slow_told, span_told};
use super::super::words::{elapsed, plural};
use super::{Alert, Now};

impl Now<'_> {
    /// Whether clients are answered with server errors now, surely more than one in twenty, or the legacy is slow now.
    pub(super) fn is_served_ill(&self) -> bool {
        self.errors_since().is_some() || self.history.slow.iter().any(|one| one.ended.is_none())
    }

    /// Since when clients are answered with server errors; `None` if they are not, or only a few are.
    pub(super) fn errors_since(&self) -> Option<Timestamp> {
        let errors = self.history.client_errors.iter();
        let open = errors.filter(|one| one.ended.is_none());
        open.map(|one| one.from).min()
    }

    /// Whether clients were so answered in the time that is shown.
    pub(super) fn has_errors(&self) -> bool {
        !self.history.client_errors.is_empty()
    }

    /// That clients are answered with errors, or were, by which service, and that the legacy is slow.
    pub(super) fn served(&self, moment: impl Fn(Timestamp) -> String + Copy) -> Vec<Alert> {
        let errors = last_errors(&self.history.client_errors).into_iter();
        let errors = errors.map(|last| {
            let one = last.one;
            let words = ["Clients are answered 5xx", "Clients were answered 5xx"];
            self.stretch(words, (one.from, one.to, one.ended), moment, |when| {
                format!("{} {when}{}", errors_told(one), last.before())
            })
        });
        let slow = last_slow(&self.history.slow).map(|last| {
            let one = last.one;
            let words = ["The legacy is slow", "The legacy was slow"];
            self.stretch(words, (one.from, one.to, one.ended), moment, |when| {
                format!("{when}: {}{}", slow_told(one), last.before())
            })
        });
        errors.chain(slow).collect()
    }

    /// What is told of a stretch of time while it lasts and behind it; `about` is told when it was.
    fn stretch(
        &self,
        [is, was]: [&str; 2],
        (from, to, ended): (Timestamp, Timestamp, Option<Timestamp>),
        moment: impl Fn(Timestamp) -> String,
        about: impl FnOnce(&str) -> String,
    ) -> Alert {
        let passed = ended.map(|_| format!(", the last {}", self.ago_of(to)));
        let span = span_told((from, to, ended), moment);
        Alert {
            tone: self.tone_of(to, ended),
            what: if ended.is_none() { is } else { was }.to_owned(),
            about: about(&format!("{span}{}", passed.unwrap_or_default())),
        }
    }

    /// What is over for long is not told as what somebody must act on.
    fn tone_of(&self, to: Timestamp, ended: Option<Timestamp>) -> Tone {
        let lately = self.lately.at.saturating_add_micros(-LATELY_MICROS);
        if ended.is_none() || to > lately {
            Tone::Bad
        } else {
            Tone::Open
        }
    }

    /// How long clients wait for the legacy, in one line; `None` if nobody can say. `moment` writes a time.
    pub(crate) fn waits(&self, moment: impl Fn(Timestamp) -> String) -> Option<String> {
        let own = self.status.and_then(|status| status.clients_now.as_ref());
        if let Some((status, own)) = self.status.zip(own) {
            let took = own.legacy_took.map(|took| {
                format!(
                    "the legacy took p50 {}, p99 {} for {} in the last 10 seconds",
                    elapsed(took.p50_us),
                    elapsed(took.p99_us),
                    plural(took.answers, "compared answer", "compared answers")
                )
            });
            let took = took.unwrap_or_else(|| {
                "no answer of the legacy was compared in the last 10 seconds".to_owned()
            });
            let added = status.added.map(|added| added.told(&moment));
            let each: Vec<String> = [Some(took), added].into_iter().flatten().collect();
            return Some(each.join("; "));
        }
        let is_known = |bucket: &&HistoryBucket| !bucket.legacy_head_us.is_empty();
        let mut buckets = self.history.buckets.iter().rev();
        let bucket = buckets.find(is_known)?;
        let of = |name: &str| bucket.legacy_head_us.get(name).copied().map(elapsed);
        Some(format!(
            "the legacy took p50 {}, p99 {} to the head of an answer, in the step of the record from {} on; what the mirror adds, and the last \
             seconds, only the page of the mirror knows",
            of("p50")?,
            of("p99")?,
            moment(bucket.from)
        ))
    }
}
