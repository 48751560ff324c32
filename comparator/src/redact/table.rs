//! Tables in text: values parted by commas, semicolons, tabs or bars, or set in columns.
//!
//! A line that names a secret is the head of a table, and what stands in that column below it is secret; of two values
//! in a line, the first may name the second. A line that does not fit its head is hidden whole, since there is no telling
//! what stands where.

use std::ops::Range;

use super::Redactor;

/// What parts the values of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parted {
    By(char),
    /// Two spaces or more.
    Spaces,
}

const WAYS: [Parted; 6] = [
    Parted::By('\t'),
    Parted::By(','),
    Parted::By(';'),
    Parted::By('|'),
    Parted::By('│'),
    Parted::Spaces,
];

/// The head of a table.
struct Head {
    parted: Parted,
    columns: usize,
    secret: Vec<usize>,
}

impl Redactor {
    /// The values in columns with secret names. A text that is `declared` to be one table has no end before its own.
    pub(super) fn in_columns(&self, text: &str, declared: bool) -> Vec<Range<usize>> {
        let mut hidden = Vec::new();
        let mut head: Option<Head> = None;
        // How the lines of a declared table are parted that has no secret column.
        let mut shape: Option<(Parted, usize)> = None;
        // Below an empty line another table may begin.
        let mut anew = false;
        // A line that does not fit named a secret, so the next ones may hold it.
        let mut broken = false;
        let sign = line_end(text);
        let alone = |shape: Option<(Parted, usize)>| {
            declared && shape.is_none_or(|(_, columns)| columns == 1)
        };
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let line = rest.find(sign).unwrap_or(rest.len());
            let mut end = at + line;
            let written = text.get(at..end).unwrap_or_default();
            let blank = written.trim().is_empty();
            if anew
                && !blank
                && let Some(before) = &mut head
                && let Some((mut found, value)) = self.head(text, at..end, declared)
            {
                hidden.extend(value);
                found.secret.extend(before.secret.iter().copied());
                *before = found;
                (at, anew) = (end + 1, false);
                continue;
            }
            anew = blank && declared;
            if blank {
                head = head.filter(|_| declared);
            } else if head.is_some() && is_rule(written) {
                // Nothing is in it.
            } else if let Some(table) = &head {
                let (cells, record) = cells(text, at, table.parted, sign);
                if cells.len() == table.columns {
                    hidden.extend(
                        table
                            .secret
                            .iter()
                            .filter_map(|column| cells.get(*column).cloned()),
                    );
                    hidden.extend(self.value_of_pair(text, &cells));
                    end = record;
                } else if cells.len() > 1 || declared {
                    hidden.push(at..record);
                    end = record;
                } else {
                    head = None;
                }
            } else if broken {
                hidden.push(at..end);
            } else if let Some((found, value)) = self.head(text, at..end, alone(shape)) {
                hidden.extend(value);
                let fits = shape.is_none_or(|shape| shape == (found.parted, found.columns));
                hidden.extend((!fits).then_some(at..end));
                head = Some(found);
            } else if declared && !is_remark(written) {
                let shape = shape.get_or_insert_with(|| shape_of(text, at..end));
                let (cells, record) = cells(text, at, shape.0, sign);
                let line = at..record;
                // A quote that does not end takes up all lines below.
                let fits = cells.len() == shape.1 && !(record > end && record == text.len());
                if !fits {
                    let said = text.get(line.clone()).unwrap_or_default();
                    broken = self.speaks_of_a_secret(said);
                }
                hidden.extend(broken.then_some(line));
                end = record;
            }
            at = end + 1;
        }
        hidden.retain(|span| !span.is_empty());
        hidden
    }

    /// Whether a text that is declared to be one table may be one: its first line names no secret, or is a head with rows
    /// below that fit. Else there is no telling which column is secret.
    pub(super) fn is_table(&self, text: &str) -> bool {
        /// Rows that are looked at.
        const ROWS: usize = 64;
        let sign = line_end(text);
        // Lines that end in several ways have hardly been one table.
        let mut returns = text.match_indices('\r');
        if sign == '\n'
            && returns.any(|(at, _)| {
                !text
                    .get(at + 1..)
                    .is_some_and(|rest| rest.starts_with('\n'))
            })
            && self.speaks_of_a_secret(text)
        {
            return false;
        }
        let mut begin = 0;
        let mut lines = text.split_inclusive(sign);
        let end = loop {
            let Some(line) = lines.next() else {
                return true;
            };
            if self.speaks_of_a_secret(line) {
                break begin + line.trim_end_matches(sign).len();
            }
            if !(line.trim().is_empty() || is_remark(line)) {
                return true;
            }
            begin += line.len();
        };
        let Some((head, _)) = self.head(text, begin..end, true) else {
            return false;
        };
        let mut at = end + 1;
        for _ in 0..ROWS {
            if at >= text.len() {
                break;
            }
            let (cells, record) = cells(text, at, head.parted, sign);
            if cells.len() == head.columns {
                return true;
            }
            at = record + 1;
        }
        false
    }

    /// The head of a table in a line, and what it hides itself. It may stand `alone` in its line where a table is declared.
    fn head(
        &self,
        text: &str,
        line: Range<usize>,
        alone: bool,
    ) -> Option<(Head, Option<Range<usize>>)> {
        let written = text.get(line.clone())?;
        let remark = written.trim_start().starts_with(['#', '/']);
        let found = WAYS.into_iter().find_map(|parted| {
            let (cells, _) = cells(text.get(..line.end)?, line.start, parted, '\n');
            if cells.len() < 2 {
                return None;
            }
            let names: Vec<&str> = cells.iter().map(|cell| name_in(text, cell)).collect();
            let secret: Vec<usize> = (0..names.len())
                .filter(|at| match parted {
                    // Times and paths stand apart in many lines.
                    Parted::Spaces => {
                        !names[*at].contains(['/', ':']) && self.names.are_named(names[*at])
                    }
                    Parted::By(_) => self.names.are_named(names[*at]),
                })
                .collect();
            let sentence = remark && names.iter().any(|name| name.contains(' '));
            let columns = cells.len();
            (!secret.is_empty() && !sentence).then(|| {
                let head = Head {
                    parted,
                    columns,
                    secret,
                };
                (head, self.value_of_pair(text, &cells))
            })
        });
        if found.is_some() || !alone || remark {
            return found;
        }
        let (parted, columns) = shape_of(text, line.clone());
        (columns == 1 && self.names.are_named(name_in(text, &line))).then(|| {
            let head = Head {
                parted,
                columns,
                secret: vec![0],
            };
            (head, None)
        })
    }

    fn value_of_pair(&self, text: &str, cells: &[Range<usize>]) -> Option<Range<usize>> {
        let [name, value] = cells else {
            return None;
        };
        let secret = self.names.are_named(name_in(text, name))
            && !self.names.are_exactly(name_in(text, value));
        secret.then(|| value.clone())
    }
}

/// A cell without what quotes or underlines it.
fn name_in<'t>(text: &'t str, cell: &Range<usize>) -> &'t str {
    let cell = text.get(cell.clone()).unwrap_or_default();
    cell.trim_matches(|sign: char| {
        sign.is_whitespace()
            || sign == '\u{feff}'
            || (sign.is_ascii_punctuation() && !"()".contains(sign))
    })
}

/// A line between head and rows.
fn is_rule(line: &str) -> bool {
    line.chars()
        .all(|sign| sign.is_whitespace() || "-=+|:│┼─".contains(sign))
}

/// A line before the head.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    line.starts_with('#') || (line.starts_with("sep=") && line.len() <= "sep=;".len())
}

/// What ends the lines of a text.
fn line_end(text: &str) -> char {
    if text.contains('\r') && !text.contains('\n') {
        '\r'
    } else {
        '\n'
    }
}

/// How a line is parted, and into how many cells.
fn shape_of(text: &str, line: Range<usize>) -> (Parted, usize) {
    let written = text.get(..line.end).unwrap_or_default();
    let count = |parted| cells(written, line.start, parted, '\n').0.len();
    WAYS.into_iter()
        .filter(|parted| *parted != Parted::Spaces)
        .map(|parted| (parted, count(parted)))
        .find(|(_, count)| *count > 1)
        .unwrap_or((Parted::By(','), 1))
}

/// The cells of the line at `from`, and where it ends; what is in quotes may have several lines.
fn cells(text: &str, from: usize, parted: Parted, sign: char) -> (Vec<Range<usize>>, usize) {
    let mut cells = Vec::new();
    let mut begin = from;
    let mut quoted = false;
    let mut end = text.len();
    let quotes = matches!(parted, Parted::By(',' | ';' | '\t'));
    let rest = text.get(from..).unwrap_or_default();
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let at = from + at;
        match character {
            '"' if quotes
                && (quoted
                    || text
                        .get(begin..at)
                        .is_some_and(|before| before.trim().is_empty())) =>
            {
                quoted = !quoted;
            }
            // A quote that is doubled within quotes.
            '"' if quotes && text.get(..at).is_some_and(|before| before.ends_with('"')) => {
                quoted = true;
            }
            _ if quoted => {}
            _ if character == sign => {
                end = at;
                break;
            }
            _ if parted == Parted::By(character) => {
                cells.push(trimmed(text, begin..at));
                begin = at + character.len_utf8();
            }
            ' ' if parted == Parted::Spaces
                && characters.peek().is_some_and(|(_, next)| *next == ' ') =>
            {
                if begin < at {
                    cells.push(trimmed(text, begin..at));
                }
                while characters.next_if(|(_, next)| *next == ' ').is_some() {}
                begin = characters
                    .peek()
                    .map_or(text.len(), |(next, _)| from + next);
            }
            _ => {}
        }
    }
    cells.push(trimmed(text, begin.min(end)..end));
    (cells, end)
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let cell = text.get(span.clone()).unwrap_or_default();
    let from = span.start + (cell.len() - cell.trim_start().len());
    from..from + cell.trim().len()
}
