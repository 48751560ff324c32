//! How times and lengths are told beside a history.

use parity_schemas::history::History;
use parity_schemas::time::Timestamp;

use crate::view::words::plural;

/// Times as they are told: without the date where the range is of one day.
pub(super) struct Hour {
    day: Option<String>,
    with_hours: bool,
}

impl Hour {
    pub(super) fn of(history: &History) -> Self {
        let day = history.window.and_then(|window| {
            let from = date(window.from);
            let last = window.to.saturating_add_micros(-1);
            (from == date(last)).then_some(from)
        });
        Self {
            day,
            with_hours: history.bucket_seconds < 86_400,
        }
    }

    /// In a sentence.
    pub(super) fn told(&self, time: Timestamp) -> String {
        let of_day = self.day.as_ref() == Some(&date(time));
        if of_day {
            format!("{} UTC", clock(time))
        } else {
            format!("{} {} UTC", date(time), clock(time))
        }
    }

    /// In a sentence, to the second.
    pub(super) fn exactly(&self, time: Timestamp) -> String {
        let of_day = self.day.as_ref() == Some(&date(time));
        if of_day {
            format!("{} UTC", second(time))
        } else {
            format!("{} {} UTC", date(time), second(time))
        }
    }

    /// Below a chart.
    pub(super) fn short(&self, time: Timestamp) -> String {
        let date = date(time);
        let day = date.get(5..).unwrap_or(&date).to_owned();
        match (&self.day, self.with_hours) {
            (Some(_), _) => clock(time),
            (None, true) => format!("{day} {}", clock(time)),
            (None, false) => day,
        }
    }
}

fn date(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').next().unwrap_or(&text).to_owned()
}

fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    let hour = text.split_once('T').and_then(|(_, hour)| hour.get(..5));
    hour.unwrap_or(&text).to_owned()
}

fn second(time: Timestamp) -> String {
    let text = time.to_string();
    let clock = text.split_once('T').and_then(|(_, hour)| hour.get(..8));
    clock.unwrap_or(&text).to_owned()
}

/// The length of a bucket in words.
pub(super) fn length(seconds: u64) -> String {
    let of = |count: u64, one: &str, many: &str| plural(count, one, many);
    match seconds {
        0..60 => of(seconds, "second", "seconds"),
        60..3_600 => of(seconds / 60, "minute", "minutes"),
        3_600..86_400 => of(seconds / 3_600, "hour", "hours"),
        _ => of(seconds / 86_400, "day", "days"),
    }
}
