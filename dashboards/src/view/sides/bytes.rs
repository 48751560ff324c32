//! Details of two differing bodies: whether only their line ends differ, or at which byte they begin to differ.

use super::rows::{Ink, Piece, Row, Weight};
use crate::view::words::grouped;

/// Bytes in a row of a dump.
const ROW_BYTES: usize = 16;

/// The line ends of two texts, if nothing else differs.
pub(super) fn line_ends([legacy, candidate]: [&[u8]; 2]) -> Option<Vec<Row>> {
    if legacy.is_empty() || candidate.is_empty() || !lines(legacy).eq(lines(candidate)) {
        return None;
    }
    let sides = Ink::SIDES.into_iter().zip([legacy, candidate]);
    let mut rows: Vec<Row> = sides
        .map(|(side, text)| {
            let (total, crlf) = text
                .split_inclusive(|byte| *byte == b'\n')
                .filter(|line| line.ends_with(b"\n"))
                .fold((0, 0), |(total, crlf), line| {
                    (total + 1, crlf + u64::from(line.ends_with(b"\r\n")))
                });
            let (crlf, lf) = (grouped(crlf), grouped(total - crlf));
            Row::of_side(side, format!("{crlf} lines end in CRLF, {lf} in LF"))
        })
        .collect();
    rows.push(Row::remark("  only the line ends differ"));
    Some(rows)
}

/// The lines without their ends. The last one may lack its end, which is tolerated on its own.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// The bytes around the first that differ, each side behind its summary.
pub(super) fn first_byte(bodies: [&[u8]; 2], summaries: [&str; 2]) -> Vec<Row> {
    let [legacy, candidate] = bodies;
    let same = legacy
        .iter()
        .zip(candidate)
        .take_while(|(one, two)| one == two);
    let first = same.count();
    let from = first - first % ROW_BYTES;
    let mut rows = Vec::new();
    for ((side, body), summary) in Ink::SIDES.into_iter().zip(bodies).zip(summaries) {
        let row = body.get(from..).unwrap_or_default();
        rows.push(Row::of_side(side, summary));
        rows.push(dump(side, from, first, &row[..row.len().min(ROW_BYTES)]));
    }
    let same = grouped(first as u64);
    rows.push(Row::remark(format!(
        "  the first {same} bytes are the same"
    )));
    rows
}

/// A row as `hexdump -C` writes it, with the first byte that differs marked.
fn dump(side: Ink, from: usize, first: usize, row: &[u8]) -> Row {
    let mut before = format!("{from:08x} ");
    let mut marked = String::new();
    let mut after = String::new();
    for position in 0..ROW_BYTES {
        let byte = row.get(position).map(|byte| format!("{byte:02x}"));
        let byte = byte.as_deref().unwrap_or("  ");
        match (from + position).cmp(&first) {
            std::cmp::Ordering::Less => before.extend([" ", byte]),
            std::cmp::Ordering::Equal => {
                before.push(' ');
                marked.push_str(byte);
            }
            std::cmp::Ordering::Greater => after.extend([" ", byte]),
        }
    }
    let text: String = row
        .iter()
        .map(|byte| {
            if byte.is_ascii_graphic() || *byte == b' ' {
                char::from(*byte)
            } else {
                '.'
            }
        })
        .collect();
    after.extend(["  |", &text, "|"]);
    let marked = Piece {
        text: marked,
        weight: Weight::Changed,
    };
    Row::in_pieces(
        side,
        vec![Piece::plain(before), marked, Piece::plain(after)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_without_their_ends() {
        for (one, two, same) in [
            (&b"a\r\nb\r\n"[..], &b"a\nb\n"[..], true),
            (b"a\r\nb", b"a\nb\n", true),
            (b"a\r\nb", b"a\nc", false),
            (b"a\n\nb", b"a\nb", false),
        ] {
            assert_eq!(lines(one).eq(lines(two)), same);
        }
    }
}
