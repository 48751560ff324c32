//! What `parity soak` needs: all that loading needs, how long, and what counts as growth.

use std::time::Duration;

use super::Layers;
use super::problem::{Problem, Problems};
use super::settings::{soak, stress};
use super::stress::LoadSettings;

/// The part of the time that is left out at the beginning, where nobody says otherwise.
const WARM_UP: u32 = 10;
/// Samples of the whole time, where nobody says otherwise: ten for each block of the test.
const SAMPLES: u32 = 600;
/// More often, reading would be a load; less often, a restart between two would not be seen.
const INTERVALS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(10)];

/// Everything that `soak` needs.
pub(crate) struct SoakSettings {
    pub(crate) load: LoadSettings,
    pub(crate) rate: u32,
    /// The whole time.
    pub(crate) time: Duration,
    /// What of it is left out.
    pub(crate) warm_up: Duration,
    pub(crate) interval: Duration,
    pub(crate) confidence: f64,
    /// Bytes that memory may grow in the whole time.
    pub(crate) growth: f64,
    pub(crate) p99: Duration,
    pub(crate) max_errors: f64,
    pub(crate) min_answered: f64,
}

impl Layers {
    /// Everything that `soak` needs, or all that is wrong.
    pub(crate) fn soak(mut self) -> Result<SoakSettings, Problems> {
        let others = self.clone();
        let rate = self.get(&soak::RATE);
        let time = self.get(&soak::FOR);
        let warm_up = self.get(&soak::WARM_UP);
        let interval = self.get(&soak::INTERVAL);
        let confidence = self.get(&soak::CONFIDENCE);
        let growth = self.get(&soak::GROWTH);
        let p99 = self.get(&stress::P99);
        let max_errors = self.get(&stress::MAX_ERRORS);
        let min_answered = self.get(&stress::MIN_ANSWERED);
        if let (Some(time), Some(warm_up)) = (time, warm_up)
            && warm_up >= time
        {
            let message = format!(
                "{}: {warm_up:?} leave nothing of {time:?} to be measured",
                self.name(&soak::WARM_UP)
            );
            let problem = Problem::new(self.origin(&soak::WARM_UP), message);
            self.problems
                .push(problem.hint("leave out a tenth, or load for longer"));
        }
        if let (Some(rate), Some(time)) = (rate, time) {
            let warm_up = warm_up.unwrap_or(time / WARM_UP);
            let measured = time.saturating_sub(warm_up);
            if !measured.is_zero() {
                self.look_at_window(&soak::FOR, rate, measured, warm_up);
            }
        }
        let mut load = self.loading(others);
        let mut complete = || {
            let time = time?;
            let [least, most] = INTERVALS;
            let interval = interval.unwrap_or(time / SAMPLES).clamp(least, most);
            let mut load = load.take()?;
            // What a page says is read as often as what the system says.
            load.page_interval = interval;
            Some(SoakSettings {
                load,
                rate: rate?,
                time,
                warm_up: warm_up.unwrap_or(time / WARM_UP),
                interval,
                confidence: confidence?,
                growth: growth? as f64,
                p99: p99?,
                max_errors: max_errors?,
                min_answered: min_answered?,
            })
        };
        match complete() {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }
}
