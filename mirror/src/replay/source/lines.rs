//! Lines of a recording, with their numbers and within a limit: a line that is too long is passed over, not kept.

use std::io::{self, BufRead};

/// A line that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Its end was seen; otherwise the recording ended in it.
    pub(super) is_whole: bool,
    /// It did not fit, and nothing of it was kept.
    pub(super) is_too_long: bool,
}

/// Reads lines one by one.
pub(super) struct Lines<R> {
    reader: R,
    /// Lines that were read.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    /// Lines that were read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Passes over lines of blanks, all those that are in the buffer at once: to read each by itself costs over ten times as much.
    pub(super) fn skip_blank(&mut self) -> io::Result<()> {
        loop {
            let read = match self.reader.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let blank = read.iter().position(|byte| !byte.is_ascii_whitespace());
            let blank = &read[..blank.unwrap_or(read.len())];
            let Some(last) = memchr::memrchr(b'\n', blank) else {
                return Ok(());
            };
            self.number += memchr::memchr_iter(b'\n', &blank[..=last]).count() as u64;
            self.reader.consume(last + 1);
        }
    }

    /// Appends the next line to `text` without its end, unless that would make `text` longer than `limit`. `None` at the end.
    pub(super) fn append(&mut self, text: &mut Vec<u8>, limit: usize) -> io::Result<Option<Line>> {
        let before = text.len();
        let mut line = Line {
            number: self.number + 1,
            is_whole: false,
            is_too_long: false,
        };
        let mut is_there = false;
        loop {
            let read = match self.reader.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read.is_empty() {
                break;
            }
            is_there = true;
            let end = memchr::memchr(b'\n', read);
            let part = &read[..end.unwrap_or(read.len())];
            if !line.is_too_long && text.len() + part.len() > limit {
                line.is_too_long = true;
                text.truncate(before);
            }
            if !line.is_too_long {
                text.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                line.is_whole = true;
                break;
            }
        }
        self.number += u64::from(is_there);
        Ok(is_there.then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let text = "\n\r\n \t\n\n one\n\n\ntwo\n  \n \x0c";
        for buffer in [1, 2, 3, 100] {
            let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()));
            let mut found = Vec::new();
            loop {
                lines.skip_blank().expect("memory");
                let mut line = Vec::new();
                let Some(read) = lines.append(&mut line, 100).expect("memory") else {
                    break;
                };
                let line = String::from_utf8(line).expect("text");
                found.push((read.number, line.trim().to_owned()));
            }
            found.retain(|(_, line)| !line.is_empty());
            assert_eq!(found, [(5, "one".to_owned()), (8, "two".to_owned())]);
        }
    }

    #[test]
    fn a_run_of_blank_lines_costs_as_much_as_its_bytes_and_not_as_its_lines() {
        /// Counts how often it is asked.
        struct Asked<'a>(&'a [u8], usize);
        impl io::Read for Asked<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(buffer)
            }
        }
        impl BufRead for Asked<'_> {
            fn fill_buf(&mut self) -> io::Result<&[u8]> {
                self.1 += 1;
                Ok(self.0)
            }
            fn consume(&mut self, used: usize) {
                self.0.consume(used);
            }
        }
        let text = "\n".repeat(100_000);
        let mut lines = Lines::new(Asked(text.as_bytes(), 0));
        lines.skip_blank().expect("memory");
        assert_eq!((lines.number(), lines.reader.1), (100_000, 2));
    }

    #[test]
    fn lines_are_numbered_also_those_that_are_passed_over() {
        let text = "one\n\nmuch too long\nfour\r\nfive";
        for buffer in [1, 2, 100] {
            let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()));
            let mut found = Vec::new();
            loop {
                let mut line = Vec::new();
                let Some(read) = lines.append(&mut line, 6).expect("memory") else {
                    break;
                };
                let line = String::from_utf8(line).expect("text");
                found.push((read.number, line, read.is_whole, read.is_too_long));
            }
            let line = |number, text: &str, whole, long| (number, text.to_owned(), whole, long);
            assert_eq!(
                found,
                [
                    line(1, "one", true, false),
                    line(2, "", true, false),
                    line(3, "", true, true),
                    line(4, "four\r", true, false),
                    line(5, "five", false, false),
                ]
            );
        }
    }
}
