//! What one comparison may cost. Every limit counts bytes or steps, so the same exchange always ends the same way.

/// The limits of a comparator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a body may have once decompressed; more is `response_too_large`.
    pub decoded_bytes: usize,
    /// Nested containers that are followed; more is `too_deep` when the bytes differ.
    pub depth: usize,
    /// Steps of matching elements whose order does not count; more is `work_budget`. As many again for aligning the
    /// elements of arrays that differ; beyond them elements are reported by position.
    pub work: u64,
    /// Findings listed for one exchange; more set `findings_cut`.
    pub findings: usize,
    /// Bytes of paths and values of all findings together; more set `findings_cut`.
    pub finding_bytes: usize,
    /// Tolerated differences listed for one exchange; the rest is only counted.
    pub tolerated: usize,
    /// Bytes of each value in a finding; what is cut ends in `…`.
    pub value_bytes: usize,
    /// Bytes of the unified diff of two texts.
    pub text_diff_bytes: usize,
    /// Lines between the equal ends of two texts that are aligned for the diff; beyond it the diff is left out.
    pub text_diff_lines: usize,
}

/// The same as the mirror's default cap of a body as sent: decompressed, an answer is worth no more memory.
pub const DECODED_BYTES: usize = 1 << 20;
/// The depth that `serde_json` and most parsers accept. The comparison of two values recurses, and this bounds its
/// stack.
pub const DEPTH: usize = 128;
/// Largest effective value of [`Limits::depth`], so that no setting can exhaust the stack of a thread.
pub const MAX_DEPTH: usize = 256;
/// About 50 ms of matching on one core; an answer that needs more would delay the queue. A step is one visited value,
/// or 64 bytes of one.
pub const WORK: u64 = 2_000_000;
/// A person reads a handful; beyond this a mismatch is a different document.
pub const FINDINGS: usize = 256;
/// Twice the size of that many findings with values and paths of full length, so that this limit never applies first.
pub const FINDING_BYTES: usize = 4 << 20;
/// As many as findings.
pub const TOLERATED: usize = 256;
/// Shows any scalar that people write and the beginning of the rest; 256 findings stay within 512 KiB.
pub const VALUE_BYTES: usize = 1_024;
/// Some hundred lines: enough to see what a text's difference is about.
pub const TEXT_DIFF_BYTES: usize = 8_192;
/// Some milliseconds in the worst case.
pub const TEXT_DIFF_LINES: usize = 2_000;

/// Longest path of a finding. The service chooses its keys and field names, and they may be as long as the answer.
pub(crate) const PATH_BYTES: usize = 1_024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            decoded_bytes: DECODED_BYTES,
            depth: DEPTH,
            work: WORK,
            findings: FINDINGS,
            finding_bytes: FINDING_BYTES,
            tolerated: TOLERATED,
            value_bytes: VALUE_BYTES,
            text_diff_bytes: TEXT_DIFF_BYTES,
            text_diff_lines: TEXT_DIFF_LINES,
        }
    }
}

impl Limits {
    pub(crate) fn honoured_depth(&self) -> usize {
        self.depth.min(MAX_DEPTH)
    }
}
