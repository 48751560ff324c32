//! What the summary of a whole body cannot say: that only its line ends differ, or at which byte it does.

use std::fmt::Write;

use parity_schemas::verdict::{self, Finding};

use super::value::Side;
use crate::output::{DIM, grouped, styled};

/// Bytes in a row of a dump.
const ROW_BYTES: usize = 16;

/// Says that two texts differ in their line ends only, if so.
pub(super) fn line_ends(
    out: &mut String,
    finding: &Finding,
    [legacy, candidate]: [&[u8]; 2],
) -> Result<bool, std::fmt::Error> {
    // Only of texts is there a diff by line; and the inputs must be what it is of.
    let text = matches!(finding.legacy, verdict::Side::Line(_));
    if !text || legacy.is_empty() || candidate.is_empty() || !lines(legacy).eq(lines(candidate)) {
        return Ok(false);
    }
    for (side, text) in [(Side::Legacy, legacy), (Side::Candidate, candidate)] {
        let (total, crlf) = text
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
            .fold((0, 0), |(total, crlf), line| {
                (total + 1, crlf + u64::from(line.ends_with(b"\r\n")))
            });
        let words = format!(
            "{} lines end in CRLF, {} in LF",
            grouped(crlf),
            grouped(total - crlf)
        );
        writeln!(out, "{}", side.line(&words))?;
    }
    writeln!(out, "{}", styled(DIM, "  only the line ends differ"))?;
    Ok(true)
}

/// The lines without their ends. The last one may lack its end, which is tolerated on its own.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Shows the bytes around the first that differ, if the finding is of these two bodies as bytes.
pub(super) fn first_difference(
    out: &mut String,
    finding: &Finding,
    bodies: [&[u8]; 2],
) -> Result<bool, std::fmt::Error> {
    let summaries = [&finding.legacy, &finding.candidate];
    let are_these = summaries.iter().zip(bodies).all(|(summary, body)| {
        matches!(summary, verdict::Side::Bytes(digest) if digest.length == body.len())
    });
    if !are_these {
        return Ok(false);
    }
    let [legacy, candidate] = bodies;
    let same = legacy
        .iter()
        .zip(candidate)
        .take_while(|(one, two)| one == two);
    let first = same.count();
    let from = first - first % ROW_BYTES;
    for ((side, body), summary) in [(Side::Legacy, legacy), (Side::Candidate, candidate)]
        .into_iter()
        .zip(summaries)
    {
        writeln!(out, "{}", side.line(&summary.shown().unwrap_or_default()))?;
        let row = body.get(from..).unwrap_or_default();
        let row = &row[..row.len().min(ROW_BYTES)];
        writeln!(out, "{}", dump(side, from, first, row))?;
    }
    let note = format!("  the first {} bytes are the same", grouped(first as u64));
    writeln!(out, "{}", styled(DIM, note))?;
    Ok(true)
}

/// A row as `hexdump -C` writes it, with the first byte that differs marked.
fn dump(side: Side, from: usize, first: usize, row: &[u8]) -> String {
    let mut out = styled(side.style(), format_args!("{} {from:08x} ", side.sign()));
    for position in 0..ROW_BYTES {
        let byte = row.get(position).map(|byte| format!("{byte:02x}"));
        let style = if from + position == first {
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
