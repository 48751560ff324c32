//! Tables in text: values separated by commas, semicolons, tabs or bars, or aligned in columns.
//!
//! A line with a secret name is the header of a table, and the column below that name is secret. In a line of two
//! values, the first may name the second. A line that does not fit its header is hidden whole, because its columns
//! cannot be told apart.

use std::ops::Range;

use super::Redactor;

/// What separates the values of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnSeparator {
    By(char),
    /// At least two spaces.
    Spaces,
}

const SEPARATORS: [ColumnSeparator; 6] = [
    ColumnSeparator::By('\t'),
    ColumnSeparator::By(','),
    ColumnSeparator::By(';'),
    ColumnSeparator::By('|'),
    ColumnSeparator::By('│'),
    ColumnSeparator::Spaces,
];

/// The header of a table.
struct TableHeader {
    separator: ColumnSeparator,
    columns: usize,
    secret: Vec<usize>,
}

impl Redactor {
    /// The spans of values in columns with secret names. A text that is `declared` to be one table ends only where the
    /// text does.
    pub(super) fn in_columns(&self, text: &str, declared: bool) -> Vec<Range<usize>> {
        let mut hidden = Vec::new();
        let mut header: Option<TableHeader> = None;
        // The separator and number of columns of a declared table without a secret column.
        let mut shape: Option<(ColumnSeparator, usize)> = None;
        // After an empty line another table may begin.
        let mut anew = false;
        // A line that does not fit contained a secret name, so the following lines may hold its value.
        let mut broken = false;
        let sign = line_end(text);
        let alone = |shape: Option<(ColumnSeparator, usize)>| {
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
                && let Some(before) = &mut header
                && let Some((mut found, value)) = self.header(text, at..end, declared)
            {
                hidden.extend(value);
                found.secret.extend(before.secret.iter().copied());
                *before = found;
                (at, anew) = (end + 1, false);
                continue;
            }
            anew = blank && declared;
            if blank {
                header = header.filter(|_| declared);
            } else if header.is_some() && is_rule(written) {
                // The line between header and rows has no values.
            } else if let Some(table) = &header {
                let (cells, record) = cells(text, at, table.separator, sign);
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
                    header = None;
                }
            } else if broken {
                hidden.push(at..end);
            } else if let Some((found, value)) = self.header(text, at..end, alone(shape)) {
                hidden.extend(value);
                let fits = shape.is_none_or(|shape| shape == (found.separator, found.columns));
                hidden.extend((!fits).then_some(at..end));
                header = Some(found);
            } else if declared && !is_remark(written) {
                let shape = shape.get_or_insert_with(|| shape_of(text, at..end));
                let (cells, record) = cells(text, at, shape.0, sign);
                let line = at..record;
                // An unclosed quote would swallow all lines after it.
                let fits = cells.len() == shape.1 && !(record > end && record == text.len());
                if !fits {
                    let said = text.get(line.clone()).unwrap_or_default();
                    broken = self.mentions_secret(said);
                }
                hidden.extend(broken.then_some(line));
                end = record;
            }
            at = end + 1;
        }
        hidden.retain(|span| !span.is_empty());
        hidden
    }

    /// Whether a text that is declared to be one table is consistent: its first line has no secret name, or is a header
    /// that the rows below fit. Otherwise nobody can tell which column is secret.
    pub(super) fn is_table(&self, text: &str) -> bool {
        /// Rows that are checked.
        const ROWS: usize = 64;
        let sign = line_end(text);
        // Mixed line endings mean that it was hardly one table.
        let mut returns = text.match_indices('\r');
        if sign == '\n'
            && returns.any(|(at, _)| {
                !text
                    .get(at + 1..)
                    .is_some_and(|rest| rest.starts_with('\n'))
            })
            && self.mentions_secret(text)
        {
            return false;
        }
        let mut begin = 0;
        let mut lines = text.split_inclusive(sign);
        let end = loop {
            let Some(line) = lines.next() else {
                return true;
            };
            if self.mentions_secret(line) {
                break begin + line.trim_end_matches(sign).len();
            }
            if !(line.trim().is_empty() || is_remark(line)) {
                return true;
            }
            begin += line.len();
        };
        let Some((header, _)) = self.header(text, begin..end, true) else {
            return false;
        };
        let mut at = end + 1;
        for _ in 0..ROWS {
            if at >= text.len() {
                break;
            }
            let (cells, record) = cells(text, at, header.separator, sign);
            if cells.len() == header.columns {
                return true;
            }
            at = record + 1;
        }
        false
    }

    /// The table header that a line is, and the span that the line itself must hide. In a declared table it may be the
    /// only value of its line.
    fn header(
        &self,
        text: &str,
        line: Range<usize>,
        alone: bool,
    ) -> Option<(TableHeader, Option<Range<usize>>)> {
        let written = text.get(line.clone())?;
        let remark = written.trim_start().starts_with(['#', '/']);
        let found = SEPARATORS.into_iter().find_map(|separator| {
            let (cells, _) = cells(text.get(..line.end)?, line.start, separator, '\n');
            if cells.len() < 2 {
                return None;
            }
            let names: Vec<&str> = cells.iter().map(|cell| name_in(text, cell)).collect();
            let secret: Vec<usize> = (0..names.len())
                .filter(|at| match separator {
                    // Many log lines have times and paths separated by several spaces.
                    ColumnSeparator::Spaces => {
                        !names[*at].contains(['/', ':'])
                            && self.secret_names.contains_label(names[*at])
                    }
                    ColumnSeparator::By(_) => self.secret_names.contains_label(names[*at]),
                })
                .collect();
            let sentence = remark && names.iter().any(|name| name.contains(' '));
            let columns = cells.len();
            (!secret.is_empty() && !sentence).then(|| {
                let header = TableHeader {
                    separator,
                    columns,
                    secret,
                };
                (header, self.value_of_pair(text, &cells))
            })
        });
        if found.is_some() || !alone || remark {
            return found;
        }
        let (separator, columns) = shape_of(text, line.clone());
        (columns == 1 && self.secret_names.contains_label(name_in(text, &line))).then(|| {
            let header = TableHeader {
                separator,
                columns,
                secret: vec![0],
            };
            (header, None)
        })
    }

    fn value_of_pair(&self, text: &str, cells: &[Range<usize>]) -> Option<Range<usize>> {
        let [name, value] = cells else {
            return None;
        };
        let secret = self.secret_names.contains_label(name_in(text, name))
            && !self.secret_names.contains_exactly(name_in(text, value));
        secret.then(|| value.clone())
    }
}

/// The text of a cell without quotes and underlines.
fn name_in<'t>(text: &'t str, cell: &Range<usize>) -> &'t str {
    let cell = text.get(cell.clone()).unwrap_or_default();
    cell.trim_matches(|sign: char| {
        sign.is_whitespace()
            || sign == '\u{feff}'
            || (sign.is_ascii_punctuation() && !"()".contains(sign))
    })
}

/// A separator line between header and rows.
fn is_rule(line: &str) -> bool {
    line.chars()
        .all(|sign| sign.is_whitespace() || "-=+|:│┼─".contains(sign))
}

/// A comment line before the header.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    line.starts_with('#') || (line.starts_with("sep=") && line.len() <= "sep=;".len())
}

/// The character that ends the lines of a text.
fn line_end(text: &str) -> char {
    if text.contains('\r') && !text.contains('\n') {
        '\r'
    } else {
        '\n'
    }
}

/// The separator of a line, and its number of cells.
fn shape_of(text: &str, line: Range<usize>) -> (ColumnSeparator, usize) {
    let written = text.get(..line.end).unwrap_or_default();
    let count = |separator| cells(written, line.start, separator, '\n').0.len();
    SEPARATORS
        .into_iter()
        .filter(|separator| *separator != ColumnSeparator::Spaces)
        .map(|separator| (separator, count(separator)))
        .find(|(_, count)| *count > 1)
        .unwrap_or((ColumnSeparator::By(','), 1))
}

/// The cells of the line at `from`, and where the line ends. A quoted cell may span several lines.
fn cells(
    text: &str,
    from: usize,
    separator: ColumnSeparator,
    sign: char,
) -> (Vec<Range<usize>>, usize) {
    let mut cells = Vec::new();
    let mut begin = from;
    let mut quoted = false;
    let mut end = text.len();
    let quotes = matches!(separator, ColumnSeparator::By(',' | ';' | '\t'));
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
            // A doubled quote in quotes.
            '"' if quotes && text.get(..at).is_some_and(|before| before.ends_with('"')) => {
                quoted = true;
            }
            _ if quoted => {}
            _ if character == sign => {
                end = at;
                break;
            }
            _ if separator == ColumnSeparator::By(character) => {
                cells.push(trimmed(text, begin..at));
                begin = at + character.len_utf8();
            }
            ' ' if separator == ColumnSeparator::Spaces
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
