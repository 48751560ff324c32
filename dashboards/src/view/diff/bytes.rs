//! Details of two differing bodies: whether only their line ends differ, or at which byte they begin to differ.

use parity_schemas::verdict::{Finding, Side};

/// Bytes in a row of a dump.
const ROW_BYTES: usize = 16;

/// How the lines of a text end.
pub(crate) struct LineEnds {
    /// In CRLF.
    pub(crate) crlf: u64,
    /// In LF alone.
    pub(crate) lf: u64,
}

/// The line ends of both bodies, if the finding is of these two as texts and nothing else differs.
pub(super) fn line_ends(
    finding: &Finding,
    [legacy, candidate]: [&[u8]; 2],
) -> Option<[LineEnds; 2]> {
    // Only texts have a diff by line; and it must be of these two inputs.
    let text = matches!(finding.legacy, Side::Line(_));
    if !text || legacy.is_empty() || candidate.is_empty() || !lines(legacy).eq(lines(candidate)) {
        return None;
    }
    Some([legacy, candidate].map(|text| {
        let (total, crlf) = text
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\n"))
            .fold((0, 0), |(total, crlf), line| {
                (total + 1, crlf + u64::from(line.ends_with(b"\r\n")))
            });
        LineEnds {
            crlf,
            lf: total - crlf,
        }
    }))
}

/// The lines without their ends. The last one may lack its end, which is tolerated on its own.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Where two bodies begin to differ.
pub(crate) struct FirstByte<'a> {
    /// The position of the first byte that differs.
    pub(crate) first: usize,
    /// The position of the row that it stands in.
    pub(crate) from: usize,
    /// That row of both bodies; one may have ended before.
    pub(crate) rows: [&'a [u8]; 2],
    /// The summary of each body: its hash and length.
    pub(crate) summaries: [String; 2],
}

impl FirstByte<'_> {
    /// Bytes of a whole row.
    pub(crate) const ROW: usize = ROW_BYTES;
}

/// The bytes around the first that differ, if the finding is of these two bodies as bytes.
pub(super) fn first_byte<'a>(finding: &Finding, bodies: [&'a [u8]; 2]) -> Option<FirstByte<'a>> {
    let sides = [&finding.legacy, &finding.candidate];
    let are_these = sides
        .iter()
        .zip(bodies)
        .all(|(side, body)| matches!(side, Side::Bytes(digest) if digest.length == body.len()));
    if !are_these {
        return None;
    }
    let [legacy, candidate] = bodies;
    let same = legacy
        .iter()
        .zip(candidate)
        .take_while(|(one, two)| one == two);
    let first = same.count();
    let from = first - first % ROW_BYTES;
    Some(FirstByte {
        first,
        from,
        rows: bodies.map(|body| {
            let row = body.get(from..).unwrap_or_default();
            &row[..row.len().min(ROW_BYTES)]
        }),
        summaries: sides.map(|side| side.shown().unwrap_or_default().into_owned()),
    })
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
