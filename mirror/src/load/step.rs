//! One step of a load: at which rate, for how long, and when each of its requests is due.

use std::time::Duration;

/// A stretch of time at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Requests in a second, evenly.
    pub rate: u32,
    /// The first part, which is not measured: connections are opened, caches and compilers warm up.
    pub warm_up: Duration,
    /// The part that is measured.
    pub window: Duration,
    /// Which of the requests it begins with: the same for both services, and another one for each step, so that no step is answered
    /// from the caches of the one before it.
    pub first: u64,
}

impl Step {
    /// When a request is due, since the beginning; the first one is number 0.
    pub fn due(&self, number: u64) -> Duration {
        let rate = u64::from(self.rate.max(1));
        let rest = number % rate * 1_000_000_000 / rate;
        Duration::from_secs(number / rate) + Duration::from_nanos(rest)
    }

    /// How long it takes.
    pub fn time(&self) -> Duration {
        self.warm_up + self.window
    }

    /// Whether what is due then is measured.
    pub fn measures(&self, due: Duration) -> bool {
        due >= self.warm_up && due < self.time()
    }

    /// Requests that are due in it, warm-up included.
    pub fn requests(&self) -> u64 {
        (self.time().as_secs_f64() * f64::from(self.rate)).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly_and_those_of_the_warm_up_do_not_count() {
        let step = Step {
            rate: 3,
            warm_up: Duration::from_secs(1),
            window: Duration::from_secs(2),
            first: 0,
        };
        let dues = (0..7).map(|number| step.due(number).as_millis());
        assert_eq!(
            dues.collect::<Vec<_>>(),
            [0, 333, 666, 1000, 1333, 1666, 2000]
        );
        assert_eq!(step.requests(), 9);
        let measured = (0..20).filter(|number| step.measures(step.due(*number)));
        assert_eq!(measured.collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8]);
        let far = step.due(3_000_000_000_001);
        assert_eq!(far.as_secs(), 1_000_000_000_000);
    }
}
