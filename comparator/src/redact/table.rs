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
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let line = rest.find('\n').unwrap_or(rest.len());
            let mut end = at + line;
            let written = text.get(at..end).unwrap_or_default();
            if written.trim().is_empty() {
                head = head.filter(|_| declared);
            } else if head.is_some() && is_rule(written) {
                // Nothing is in it.
            } else if let Some(table) = &head {
                let (cells, record) = cells(text, at, table.parted);
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
            } else if let Some((found, value)) = self.head(text, at..end) {
                hidden.extend(value);
                head = Some(found);
            }
            at = end + 1;
        }
        hidden.retain(|span| !span.is_empty());
        hidden
    }

    /// The head of a table in a line, and what it hides itself.
    fn head(&self, text: &str, line: Range<usize>) -> Option<(Head, Option<Range<usize>>)> {
        let written = text.get(line.clone())?;
        let remark = written.trim_start().starts_with(['#', '/']);
        WAYS.into_iter().find_map(|parted| {
            let (cells, _) = cells(text.get(..line.end)?, line.start, parted);
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
    cell.trim_matches(|sign: char| sign.is_whitespace() || "\"'`*_#\u{feff}".contains(sign))
}

/// A line between head and rows.
fn is_rule(line: &str) -> bool {
    line.chars()
        .all(|sign| sign.is_whitespace() || "-=+|:│┼─".contains(sign))
}

/// The cells of the line at `from`, and where it ends; what is in quotes may have several lines.
fn cells(text: &str, from: usize, parted: Parted) -> (Vec<Range<usize>>, usize) {
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
            '\n' => {
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
