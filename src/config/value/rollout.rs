//! Reading the steps of a rollout.

use std::time::Duration;

use parity_schemas::time::Timestamp;

use super::{decimal, duration, percent};

/// One step of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Percent of the clients, 0 to 100.
    pub(crate) percent: f64,
    /// When it falls due.
    pub(crate) due: Due,
}

/// When a step falls due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// So long after the rollout began.
    After(Duration),
    At(Timestamp),
}

impl Due {
    /// The time, of a rollout that began at `began`.
    pub(crate) fn of(self, began: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::After(after) => {
                let micros = i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
                began.saturating_add_micros(micros)
            }
        }
    }
}

/// `10 after 3d`, or `10 at 2027-03-01T09:00:00Z`.
pub(crate) fn step(text: &str) -> Result<Step, String> {
    let wrong = |why: &str| {
        format!(
            "`{text}` is no step{why}; write for example \"10 after 0s\", \"30 after 3d\" or \"100 at 2027-03-01T09:00:00Z\""
        )
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let [share, when, time] = words.as_slice() else {
        return Err(wrong(""));
    };
    let told = |why: String| wrong(&format!(": {why}"));
    let due = match *when {
        "after" => Due::After(duration(time).map_err(told)?),
        "at" => Due::At(
            time.parse()
                .map_err(|_| wrong(&format!(": `{time}` is no time")))?,
        ),
        _ => return Err(wrong("")),
    };
    Ok(Step {
        percent: percent(share).map_err(told)?,
        due,
    })
}

/// How many times as much something may be: at least once.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    decimal(text)
        .ok()
        .filter(|ratio| *ratio >= 1.0)
        .ok_or_else(|| {
            format!("`{text}` is not a number of at least 1; write for example 2 for twice as much")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_percent_and_a_time() {
        let after = |percent, seconds| Step {
            percent,
            due: Due::After(Duration::from_secs(seconds)),
        };
        assert_eq!(step("10 after 0s"), Ok(after(10.0, 0)));
        assert_eq!(step(" 0.5  after 3d "), Ok(after(0.5, 259_200)));
        let at = step("100 at 2027-03-01T09:00:00Z").expect("a step");
        assert_eq!(
            at.due.of(Timestamp::now()).to_string(),
            "2027-03-01T09:00:00.000000Z"
        );
        let began = Timestamp::from_micros(5);
        assert_eq!(
            after(1.0, 2).due.of(began),
            Timestamp::from_micros(2_000_005)
        );
    }

    #[test]
    fn what_is_no_step_is_refused_with_its_text() {
        for text in [
            "",
            "10",
            "10 after",
            "101 after 1s",
            "-1 after 1s",
            "NaN after 1s",
            "10 after 1",
            "10 at noon",
            "10 in 3d",
            "10 after 3d please",
        ] {
            assert!(
                step(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
        for text in ["0.5", "NaN", "inf", "-2", "twice"] {
            assert!(
                ratio(text).is_err_and(|error| error.contains(text)),
                "{text}"
            );
        }
        assert_eq!(ratio("1.5"), Ok(1.5));
    }
}
