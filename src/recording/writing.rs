//! The thread that records: takes what waits, hides what is secret, and writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use parity_comparator::redact::Recording as Captured;
use parity_schemas::recording::RecordedExchange;

use super::Waiting;
use super::counts::Counts;
use super::files::Files;
use super::samples::Samples;

/// How often it is looked whether what was gathered is due to be written.
const LOOK: Duration = Duration::from_millis(250);

/// Where the lines go.
pub(super) enum Output {
    Files(Files),
    Samples(Samples),
}

/// What the thread has.
pub(super) struct Writing {
    pub(super) waiting: Receiver<Waiting>,
    pub(super) output: Output,
    pub(super) counts: Arc<Counts>,
    /// Set when no more will come.
    pub(super) over: Arc<AtomicBool>,
}

impl Writing {
    /// Until nobody sends any more.
    pub(super) fn run(&mut self) {
        let mut looked = Instant::now();
        loop {
            match self.waiting.recv_timeout(LOOK) {
                Ok(waiting) => {
                    // A fault costs the request that shows it, and not the recording.
                    let taken = catch_unwind(AssertUnwindSafe(|| self.take(&waiting)));
                    if taken.is_err() {
                        self.counts.dropped.internal.inc();
                    }
                }
                // A worker that is stuck in its last request still holds a sender.
                Err(RecvTimeoutError::Timeout) if self.over.load(Ordering::Relaxed) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                match &mut self.output {
                    Output::Files(files) => files.look(now),
                    Output::Samples(samples) => samples.look(now, &self.counts),
                }
            }
        }
        match &mut self.output {
            Output::Files(files) => files.finish(),
            Output::Samples(samples) => samples.write(&self.counts),
        }
    }

    fn take(&mut self, waiting: &Waiting) {
        let live = &waiting.live;
        let exchange = waiting.redactor.recorded(&Captured {
            time: live.time,
            route: live.route.label(),
            request: &live.request,
            left_out: live.left_out,
            answer: live.answer.as_ref(),
        });
        match &mut self.output {
            Output::Files(files) => files.push(&line(&exchange)),
            Output::Samples(samples) => samples.offer(&live.route, exchange, &self.counts),
        }
    }
}

/// One line of NDJSON, with its end. Characters that a terminal could act on are escapes in it: people look into such files.
pub(super) fn line(exchange: &RecordedExchange) -> Vec<u8> {
    let text =
        serde_json::to_string(exchange).expect("a line is made of strings, numbers and lists only");
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if acts(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            line.push(character);
        }
    }
    line.push('\n');
    line.into_bytes()
}

/// Whether a character controls how text is shown, or is a line break to some. JSON escapes those of ASCII itself.
fn acts(character: char) -> bool {
    matches!(
        character,
        '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use parity_schemas::recording::RecordedBody;
    use parity_schemas::time::Timestamp;

    use super::*;

    #[test]
    fn a_line_is_one_line_on_any_terminal_and_reads_as_what_was_written() {
        let text = "a\u{9b}31m\u{202e}\r\n\u{1b}[31m\u{2028}\u{7f}é😀";
        let exchange = RecordedExchange {
            schema: "parity.exchange/v1".to_owned(),
            time: Timestamp::default(),
            session: None,
            method: "POST".to_owned(),
            url: "/".to_owned(),
            headers: vec![("x".to_owned(), text.to_owned())],
            body: RecordedBody {
                text: Some(text.to_owned()),
                ..RecordedBody::default()
            },
            hidden: Vec::new(),
            response: None,
        };
        let written = line(&exchange);
        let shown = String::from_utf8(written.clone()).expect("UTF-8");
        assert_eq!(shown.matches('\n').count(), 1);
        assert!(
            !shown
                .trim_end()
                .chars()
                .any(|one| one.is_control() || acts(one)),
            "{shown:?}"
        );
        assert!(shown.contains("é😀"));
        let read: RecordedExchange = serde_json::from_slice(&written).expect("JSON");
        assert_eq!(read, exchange);
    }
}
