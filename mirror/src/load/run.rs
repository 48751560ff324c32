//! What became of the requests of one step.
//!
//! Every request that was due in the measured part is in exactly one count: an answer by the class of its status, or a failure.
//! Memory does not grow with the number of requests.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest latency that is told apart, in microseconds; a longer one counts as this.
const LONGEST: u64 = 600_000_000;
/// Digits that count.
const DIGITS: u8 = 3;

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection could be opened.
    Refused,
    /// The answer was not whole in time.
    Timeout,
    /// The TLS handshake failed.
    Tls,
    /// The connection ended before an answer began.
    Reset,
    /// What came is not HTTP.
    Protocol,
    /// The connection ended within an answer.
    Truncated,
    /// Far more came than the answer needed.
    Flood,
    /// As many requests as have a place were unanswered, so it was not sent.
    NoPlace,
    /// Nothing could be sent from here: no descriptor or no port was free.
    NoPort,
}

impl Failure {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::Timeout,
        Self::Tls,
        Self::Reset,
        Self::Protocol,
        Self::Truncated,
        Self::Flood,
        Self::NoPlace,
        Self::NoPort,
    ];

    /// Whether it is the generator's and says nothing of the service: nothing was sent.
    pub fn is_own(self) -> bool {
        matches!(self, Self::NoPlace | Self::NoPort)
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
            Self::Truncated => "truncated",
            Self::Flood => "flood",
            Self::NoPlace => "no_place",
            Self::NoPort => "no_port",
        }
    }
}

/// What was measured of a step. Counts are of requests that were due in its measured part, unless they say otherwise.
#[derive(Clone)]
pub struct Run {
    /// Requests that were due.
    pub due: u64,
    /// Whole answers by the first digit of their status; 0 is a status that has another one.
    pub classes: [u64; 6],
    /// Answers 429: the service says that it is too much.
    pub throttled: u64,
    /// Requests without an answer, in the order of [`Failure::ALL`].
    pub failures: [u64; Failure::ALL.len()],
    /// Requests that were due and that the generator did not get to.
    pub unsent: u64,
    /// Whole answers that came in the measured part, whenever their requests were due.
    pub in_time: u64,
    /// Bytes of the bodies of answers.
    pub bytes: u64,
    /// The most requests that were unanswered at once.
    pub most_open: u64,
    /// Whether it was ended before its time.
    pub is_cut: bool,
    /// Whether it was given up because nothing was answered at all.
    pub is_given_up: bool,
    /// From when a request was due to the last byte of its answer, or to the end of the time for it; in microseconds.
    pub(super) latency: Histogram<u64>,
    /// From when a request was due to when it was sent: what the generator was late itself.
    pub(super) lateness: Histogram<u64>,
}

impl Default for Run {
    fn default() -> Self {
        let histogram =
            || Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("bounds that are constants");
        Self {
            due: 0,
            classes: [0; 6],
            throttled: 0,
            failures: [0; Failure::ALL.len()],
            unsent: 0,
            in_time: 0,
            bytes: 0,
            most_open: 0,
            is_cut: false,
            is_given_up: false,
            latency: histogram(),
            lateness: histogram(),
        }
    }
}

/// Bodies are nobody's concern here, and a histogram is long.
impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("due", &self.due)
            .field("classes", &self.classes)
            .field("failures", &self.failures)
            .field("unsent", &self.unsent)
            .field("in_time", &self.in_time)
            .field("p99", &self.latency(0.99))
            .field("lateness", &self.lateness(0.99))
            .finish_non_exhaustive()
    }
}

impl Run {
    /// A whole answer.
    pub(super) fn answered(&mut self, status: u16, latency: Duration) {
        let class = usize::from(status / 100);
        let class = if (1..=5).contains(&class) { class } else { 0 };
        self.classes[class] += 1;
        self.throttled += u64::from(status == 429);
        record(&mut self.latency, latency);
    }

    /// None. What was waited for counts as a latency: else a service would be the faster, the more it leaves unanswered.
    pub(super) fn failed(&mut self, failure: Failure, waited: Duration) {
        self.failures[failure as usize] += 1;
        if failure == Failure::Timeout {
            record(&mut self.latency, waited);
        }
    }

    pub(super) fn was_late(&mut self, lateness: Duration) {
        record(&mut self.lateness, lateness);
    }

    /// Adds what another thread did of the same step.
    pub(super) fn add(&mut self, other: &Self) {
        self.due += other.due;
        for (own, more) in self.classes.iter_mut().zip(other.classes) {
            *own += more;
        }
        for (own, more) in self.failures.iter_mut().zip(other.failures) {
            *own += more;
        }
        self.throttled += other.throttled;
        self.unsent += other.unsent;
        self.in_time += other.in_time;
        self.bytes += other.bytes;
        self.most_open += other.most_open;
        self.is_cut |= other.is_cut;
        self.is_given_up |= other.is_given_up;
        // Both have the same bounds.
        self.latency += &other.latency;
        self.lateness += &other.lateness;
    }

    /// A quantile of the latency; `None` if nothing was answered or waited for.
    pub fn latency(&self, quantile: f64) -> Option<Duration> {
        at(&self.latency, quantile)
    }

    /// A quantile of how late the generator was itself.
    pub fn lateness(&self, quantile: f64) -> Option<Duration> {
        at(&self.lateness, quantile)
    }

    /// Whole answers.
    pub fn answers(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// Requests that failed in this way.
    pub fn failures_of(&self, failure: Failure) -> u64 {
        self.failures[failure as usize]
    }

    /// Requests that were due and could not be sent from here.
    pub fn not_sent(&self) -> u64 {
        self.failures_of(Failure::NoPlace) + self.failures_of(Failure::NoPort)
    }

    /// What counts as an error of the service: no answer, 5xx, and 429. Without what could not be sent from here, or had no place.
    pub fn errors(&self) -> u64 {
        let of_service = Failure::ALL.iter().filter(|failure| !failure.is_own());
        let failures: u64 = of_service.map(|failure| self.failures_of(*failure)).sum();
        failures + self.classes[5] + self.throttled
    }
}

fn record(histogram: &mut Histogram<u64>, time: Duration) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(LONGEST);
    histogram.saturating_record(micros);
}

fn at(histogram: &Histogram<u64>, quantile: f64) -> Option<Duration> {
    let is_some = !histogram.is_empty();
    is_some.then(|| Duration::from_micros(histogram.value_at_quantile(quantile)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_answer_in_time_was_waited_for_and_each_is_counted_once() {
        let millis = Duration::from_millis;
        let (mut one, mut other) = (Run::default(), Run::default());
        for status in [200, 204, 301, 404, 429, 503, 999] {
            one.due += 1;
            one.answered(status, millis(10));
        }
        for failure in Failure::ALL {
            other.due += 1;
            other.failed(failure, millis(5_000));
        }
        one.add(&other);
        assert_eq!(one.classes, [1, 0, 2, 1, 2, 1]);
        assert_eq!(one.due, one.answers() + one.failures.iter().sum::<u64>());
        // 503 and 429, and all but what could not be sent.
        assert_eq!(one.errors(), 2 + 7);
        let longest = one.latency(1.0).expect("some");
        assert!(
            longest >= millis(5_000) && longest < millis(5_010),
            "{longest:?}"
        );
        // A failure that is fast is no fast answer.
        let median = one.latency(0.5).expect("some");
        assert!(median >= millis(10) && median < millis(11), "{median:?}");
        assert_eq!(Run::default().latency(0.5), None);
        one.answered(200, Duration::MAX);
        assert!(one.latency(1.0) >= Some(millis(590_000)));
    }
}
