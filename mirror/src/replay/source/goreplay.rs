//! GoReplay's `.gor` files: for each message a line `TYPE ID TIME [LATENCY]`, the message as HTTP/1 wrote it, and a line with
//! three monkeys.
//!
//! Messages of type 1 are requests. One of type 2 is the answer of the service of then, by the ID of its request, some messages
//! later; requests wait for their answers, as many as [`MAX_WAITING`] and [`MAX_WAITING_BYTES`] allow, so that they come out in
//! their order. Type 3, an answer to an earlier replay, is passed over.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};
use std::time::Duration;

use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;

use super::http1;
use super::lines::Lines;
use super::{MAX_RECORD, SourceError, Where};
use crate::replay::recorded::{Recorded, Unreadable, Why, believed, malformed};

/// The line between two messages.
const SEPARATOR: &[u8] = "🐵🙈🙉".as_bytes();
/// Requests that wait for their answers: those of some seconds of a busy service.
const MAX_WAITING: usize = 10_000;
/// Bytes of the requests that wait.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Whether a text begins as such a file does.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let line = beginning.split(|byte| *byte == b'\n').next();
    line.is_some_and(|line| header(line).is_some())
}

/// Reads such a file.
pub(super) struct GoReplay<R> {
    lines: Lines<R>,
    of: Where,
    message: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// Each request that waits and has no answer yet: its ID, and its number since the beginning.
    by_id: HashMap<Box<[u8]>, u64>,
    held: usize,
    /// The number of the first one that waits.
    first: u64,
    has_ended: bool,
}

/// What comes out when its turn has come.
struct Waiting {
    id: Box<[u8]>,
    what: Result<Box<Recorded>, Unreadable>,
    held: usize,
    is_answered: bool,
}

/// The line before a message.
struct Header<'a> {
    kind: u8,
    id: &'a [u8],
    nanos: i64,
    latency: Option<Duration>,
}

impl<R: BufRead> GoReplay<R> {
    pub(super) fn new(reader: R, of: Where) -> Self {
        Self {
            lines: Lines::new(reader),
            of,
            message: Vec::new(),
            waiting: VecDeque::new(),
            by_id: HashMap::new(),
            held: 0,
            first: 0,
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        while !self.has_ended && !self.is_first_ready() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => self.has_ended = true,
                Err(error) => {
                    self.has_ended = true;
                    // What was read before comes first.
                    let line = self.lines.number();
                    let cut = self.of.io(&error, line);
                    self.push(Box::default(), Err(cut));
                }
            }
        }
        let first = self.waiting.pop_front()?;
        if self.by_id.get(&first.id) == Some(&self.first) {
            self.by_id.remove(&first.id);
        }
        self.first += 1;
        self.held -= first.held;
        Some(
            first
                .what
                .map(|recorded| *recorded)
                .map_err(SourceError::from),
        )
    }

    fn is_first_ready(&self) -> bool {
        let is_full = self.waiting.len() >= MAX_WAITING || self.held >= MAX_WAITING_BYTES;
        let is_ready = |first: &Waiting| first.is_answered || first.what.is_err() || is_full;
        self.waiting.front().is_some_and(is_ready)
    }

    /// Reads one message; `false` at the end.
    fn read(&mut self) -> io::Result<bool> {
        self.message.clear();
        let mut begin = None;
        let mut is_too_large = false;
        loop {
            let before = self.message.len();
            let Some(line) = self.lines.append(&mut self.message, MAX_RECORD)? else {
                break;
            };
            let begin = *begin.get_or_insert(line.number);
            is_too_large |= line.is_too_long;
            if self.message.get(before..) == Some(SEPARATOR) {
                self.message.truncate(before);
                // The line end before the separator belongs to it.
                if self.message.last() == Some(&b'\n') {
                    self.message.pop();
                }
                self.take(begin, is_too_large);
                return Ok(true);
            }
            if is_too_large {
                self.message.truncate(before);
            } else if line.is_whole {
                self.message.push(b'\n');
            }
        }
        if let Some(begin) = begin
            && !self.message.trim_ascii().is_empty()
        {
            let why = Why::CutOff;
            self.push(Box::default(), Err(self.of.unreadable(begin, why)));
        }
        Ok(false)
    }

    /// Takes a message.
    fn take(&mut self, line: u64, is_too_large: bool) {
        let message = std::mem::take(&mut self.message);
        self.sort(line, &message, is_too_large);
        self.message = message;
    }

    fn sort(&mut self, line: u64, message: &[u8], is_too_large: bool) {
        let message = message.trim_ascii_start();
        if message.is_empty() && !is_too_large {
            return;
        }
        let end = memchr::memchr(b'\n', message).unwrap_or(message.len());
        let (first, rest) = (&message[..end], message.get(end + 1..).unwrap_or_default());
        let refused = |this: &mut Self, why| {
            let unreadable = this.of.unreadable(line, why);
            this.push(Box::default(), Err(unreadable));
        };
        let Some(header) = header(first) else {
            return refused(self, malformed("not the header of a GoReplay message"));
        };
        if is_too_large && header.kind == b'1' {
            return refused(self, Why::TooLarge { limit: MAX_RECORD });
        }
        match header.kind {
            b'1' => match self.request(line, &header, rest) {
                Ok(recorded) => self.push(header.id.into(), Ok(recorded.into())),
                Err(why) => refused(self, why),
            },
            b'2' if !is_too_large => self.answer(&header, rest),
            _ => {}
        }
    }

    fn request(&self, line: u64, header: &Header<'_>, message: &[u8]) -> Result<Recorded, Why> {
        let (request, host) = http1::request(message)?;
        Ok(Recorded {
            place: self.of.place(line),
            time: Some(Timestamp::from_micros(header.nanos / 1_000)),
            session: None,
            host,
            request,
            answer: None,
            hidden: Box::default(),
        })
    }

    fn answer(&mut self, header: &Header<'_>, message: &[u8]) {
        let Some(number) = self.by_id.remove(header.id) else {
            return;
        };
        let index = usize::try_from(number - self.first).unwrap_or(usize::MAX);
        let Some(waiting) = self.waiting.get_mut(index) else {
            return;
        };
        waiting.is_answered = true;
        if let Ok(recorded) = &mut waiting.what {
            let answer = http1::answer(message, &recorded.request.method);
            // GoReplay writes no latency of its own captures, but when each message began.
            let begun = recorded.time.map_or(0, Timestamp::as_micros);
            let between = (header.nanos / 1_000).saturating_sub(begun).max(0);
            let latency = header.latency.filter(|latency| !latency.is_zero());
            let latency = latency.unwrap_or(Duration::from_micros(between as u64));
            recorded.answer = answer.map(|mut answer: Capture| {
                answer.elapsed = believed(latency);
                answer.head_elapsed = answer.elapsed;
                answer
            });
            let held = recorded.held();
            self.held = self.held - waiting.held + held;
            waiting.held = held;
        }
    }

    fn push(&mut self, id: Box<[u8]>, what: Result<Box<Recorded>, Unreadable>) {
        let held = what.as_ref().map_or(0, |recorded| recorded.held());
        let number = self.first + self.waiting.len() as u64;
        if what.is_ok() {
            self.by_id.insert(id.clone(), number);
        }
        self.held += held;
        self.waiting.push_back(Waiting {
            id,
            what,
            held,
            is_answered: false,
        });
    }
}

fn header(line: &[u8]) -> Option<Header<'_>> {
    let mut words = line
        .strip_suffix(b"\r")
        .unwrap_or(line)
        .split(|byte| *byte == b' ');
    let kind = words.next().filter(|word| matches!(word, [b'1'..=b'3']))?;
    let id = words.next().filter(|id| !id.is_empty())?;
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<i64>().ok();
    let nanos = number(words.next()?)?;
    // Of a request it is -1.
    let latency = words.next().and_then(number);
    let latency = latency.and_then(|nanos| u64::try_from(nanos).ok());
    Some(Header {
        kind: *kind.first()?,
        id,
        nanos,
        latency: latency.map(Duration::from_nanos),
    })
}
