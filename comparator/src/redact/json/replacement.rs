//! Replacements of spans of a text.

use std::ops::Range;

/// A span of a text and its replacement.
pub(super) struct Replacement {
    pub(super) span: Range<usize>,
    pub(super) with: String,
}

/// The text of a span, with replacements applied.
pub(super) fn applied(text: &[u8], span: &Range<usize>, replacements: &[Replacement]) -> String {
    let mut out = String::with_capacity(span.len());
    let mut at = span.start;
    let copy = |out: &mut String, range: Range<usize>| {
        out.push_str(&String::from_utf8_lossy(
            text.get(range).unwrap_or_default(),
        ));
    };
    let first = replacements.partition_point(|replacement| replacement.span.end <= span.start);
    for replacement in replacements.get(first..).unwrap_or_default() {
        if replacement.span.start >= span.end {
            break;
        }
        copy(&mut out, at..replacement.span.start);
        out.push_str(&replacement.with);
        at = replacement.span.end;
    }
    copy(&mut out, at..span.end.max(at));
    out
}
