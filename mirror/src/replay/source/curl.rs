//! Files of curl commands, as browsers copy them and people keep them.
//!
//! A command is split as a POSIX shell would, without running anything: what a shell would replace (`$NAME`, `` `command` ``) is
//! refused. Options that only say how curl works or prints are passed over; one that is not known is refused, because it might
//! change what is sent.

mod command;
mod data;
mod known;

use std::io::BufRead;

use super::lines::Lines;
use super::words::{self, Split, split};
use super::{MAX_RECORD, SourceError, Where};
use crate::replay::recorded::{Recorded, Why, malformed};

use command::recorded;

/// Reads such a file.
pub(super) struct Curl<R> {
    lines: Lines<R>,
    of: Where,
    command: Vec<u8>,
    has_ended: bool,
}

/// Whether a text begins with such a command.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let mut lines = beginning
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(b"curl "))
}

impl<R: BufRead> Curl<R> {
    pub(super) fn new(reader: R, of: Where) -> Self {
        Self {
            lines: Lines::new(reader),
            of,
            command: Vec::new(),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        if self.has_ended {
            return None;
        }
        self.command.clear();
        let mut begin = None;
        let mut end = words::Command::default();
        let why = loop {
            let before = self.command.len();
            let read = match self.lines.append(&mut self.command, MAX_RECORD) {
                Ok(Some(read)) => read,
                Ok(None) => {
                    self.has_ended = true;
                    begin?;
                    break Why::CutOff;
                }
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(self.of.io(&error, self.lines.number()).into()));
                }
            };
            begin.get_or_insert(read.number);
            if read.is_too_long {
                break Why::TooLarge { limit: MAX_RECORD };
            }
            if end.goes_on_after(self.command.get(before..).unwrap_or_default()) {
                self.command.push(b'\n');
                continue;
            }
            match self.whole() {
                Ok(Some(mut recorded)) => {
                    recorded.place = self.of.place(begin.unwrap_or(1));
                    return Some(Ok(recorded));
                }
                Ok(None) => {
                    begin = None;
                    self.command.clear();
                }
                Err(why) => break why,
            }
        };
        Some(Err(self.of.unreadable(begin.unwrap_or(1), why).into()))
    }

    /// Reads a whole command; `None` if it is only a comment.
    fn whole(&self) -> Result<Option<Recorded>, Why> {
        let Ok(text) = std::str::from_utf8(&self.command) else {
            return Err(malformed("not UTF-8"));
        };
        match split(text) {
            Ok(Split::Open) => Err(Why::CutOff),
            Ok(Split::Words(words)) if words.is_empty() => Ok(None),
            Ok(Split::Words(words)) => recorded(&words, self.of.directory().as_deref()).map(Some),
            Err(what) => Err(malformed(what)),
        }
    }
}
