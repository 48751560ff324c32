//! When a recorded request is sent: at once, at a rate, or at the times of the recording.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use parity_schemas::time::Timestamp;

/// A rate is caught up with after a delay of this at most, which timers have.
const CATCH_UP: Duration = Duration::from_millis(50);
/// Longest pause of a recording that is kept.
const MAX_GAP: Duration = Duration::from_hours(1);

/// How fast a recording is replayed. In all of them, a request waits while there are as many in flight as are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as the services answer.
    #[default]
    Fast,
    /// So many requests a second, evenly.
    Rate(NonZeroU32),
    /// As recorded, times this. A request without a time is sent with the one before it.
    Recorded(Speed),
}

/// How many times faster than it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(f64);

/// The text is no speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no speed: write for example `2x`, `0.5x` or `1x`, from 0.001x to 1000x")]
pub struct SpeedError(String);

impl std::str::FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        let times = text.strip_suffix('x').unwrap_or(text).parse::<f64>();
        let times = times.ok().filter(|times| (0.001..=1000.0).contains(times));
        times.map(Self).ok_or_else(|| SpeedError(text.to_owned()))
    }
}

impl Pace {
    /// A clock for a replay that begins now.
    pub(crate) fn start(self, now: Instant) -> Clock {
        Clock {
            pace: self,
            begun: now,
            sent: 0,
            first: None,
            last: now,
        }
    }
}

/// Tells when each request is due.
pub(crate) struct Clock {
    pace: Pace,
    begun: Instant,
    sent: u32,
    /// A time of the recording, and when it was due: what comes later is due as much later.
    first: Option<(Timestamp, Instant)>,
    last: Instant,
}

impl Clock {
    /// When the next request is due, which was recorded at `time`. Never before an earlier one.
    pub(crate) fn due(&mut self, time: Option<Timestamp>, now: Instant) -> Instant {
        let due = match self.pace {
            Pace::Fast => now,
            Pace::Rate(rate) => {
                if now > self.begun + Duration::from_secs(1) * self.sent / rate.get() + CATCH_UP {
                    // After a pause, nothing is made up for: it would be a burst.
                    (self.begun, self.sent) = (now, 0);
                }
                let due = self.begun + Duration::from_secs(1) * self.sent / rate.get();
                self.sent += 1;
                if self.sent == rate.get() {
                    // So that the count does not overflow, whatever the recording's length.
                    self.begun += Duration::from_secs(1);
                    self.sent = 0;
                }
                due
            }
            Pace::Recorded(Speed(times)) => match (time, self.first) {
                (None, _) => self.last,
                (Some(time), None) => {
                    self.first = Some((time, now));
                    now
                }
                (Some(time), Some((first, begun))) => {
                    let micros = time.as_micros().saturating_sub(first.as_micros()).max(0);
                    let due = begun + Duration::from_micros(micros as u64).div_f64(times);
                    if due > self.last.max(now) + MAX_GAP {
                        // Recorded by a wrong clock, or after a night: the rest goes on from here.
                        self.first = Some((time, self.last.max(now)));
                        self.last.max(now)
                    } else {
                        due
                    }
                }
            },
        };
        self.last = self.last.max(due);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly_or_as_they_were_recorded() {
        let now = Instant::now();
        let dues = |pace: Pace, times: &[Option<i64>]| -> Vec<u128> {
            let mut clock = pace.start(now);
            let due = |time: &Option<i64>| clock.due(time.map(Timestamp::from_micros), now);
            let dues = times.iter().map(due);
            dues.map(|due| due.duration_since(now).as_millis())
                .collect()
        };
        let rate = |rate| Pace::Rate(NonZeroU32::new(rate).expect("not zero"));
        assert_eq!(dues(Pace::Fast, &[Some(0), Some(5_000_000)]), [0, 0]);
        assert_eq!(dues(rate(4), &[None; 6]), [0, 250, 500, 750, 1000, 1250]);
        assert_eq!(
            dues(rate(3), &[None; 7]),
            [0, 333, 666, 1000, 1333, 1666, 2000]
        );
        let speed = |text: &str| Pace::Recorded(text.parse().expect("a speed"));
        // One that comes too late in the file, and one without a time.
        let times = [
            Some(7_000_000),
            Some(8_000_000),
            Some(7_500_000),
            None,
            Some(9_000_000),
        ];
        assert_eq!(dues(speed("1x"), &times), [0, 1000, 1000, 1000, 2000]);
        assert_eq!(dues(speed("2"), &times), [0, 500, 500, 500, 1000]);
        assert_eq!(dues(speed("0.5x"), &times), [0, 2000, 2000, 2000, 4000]);
        for wrong in ["", "x", "0", "-1", "NaN", "1e9", "2xx"] {
            assert!(wrong.parse::<Speed>().is_err(), "{wrong}");
        }
    }
}
