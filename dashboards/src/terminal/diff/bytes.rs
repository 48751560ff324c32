//! Differences of whole bodies: only the line ends differ, or at which byte they begin to differ.

use std::fmt::Write;

use super::value::Side;
use crate::terminal::{DIM, styled};
use crate::view::diff::{FirstByte, LineEnds};
use crate::view::words::grouped;

pub(super) fn line_ends(out: &mut String, ends: &[LineEnds; 2]) -> std::fmt::Result {
    for (side, LineEnds { crlf, lf }) in Side::BOTH.into_iter().zip(ends) {
        let (crlf, lf) = (grouped(*crlf), grouped(*lf));
        let words = format!("{crlf} lines end in CRLF, {lf} in LF");
        writeln!(out, "{}", side.line(&words))?;
    }
    writeln!(out, "{}", styled(DIM, "  only the line ends differ"))
}

pub(super) fn first_byte(out: &mut String, first: &FirstByte<'_>) -> std::fmt::Result {
    let sides = Side::BOTH.into_iter().zip(&first.summaries);
    for ((side, summary), row) in sides.zip(first.rows) {
        writeln!(out, "{}", side.line(summary))?;
        writeln!(out, "{}", dump(side, first, row))?;
    }
    let same = grouped(first.first as u64);
    let note = format!("  the first {same} bytes are the same");
    writeln!(out, "{}", styled(DIM, note))
}

/// A row as `hexdump -C` writes it, with the first byte that differs marked.
fn dump(side: Side, at: &FirstByte<'_>, row: &[u8]) -> String {
    let from = at.from;
    let mut out = styled(side.style(), format_args!("{} {from:08x} ", side.sign()));
    for position in 0..FirstByte::ROW {
        let byte = row.get(position).map(|byte| format!("{byte:02x}"));
        let style = if from + position == at.first {
            side.style().bold().underline()
        } else {
            side.style()
        };
        out.push_str(&styled(side.style(), " "));
        out.push_str(&styled(style, byte.as_deref().unwrap_or("  ")));
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
    out.push_str(&styled(side.style(), format_args!("  |{text}|")));
    out
}
