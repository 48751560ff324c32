//! What holds for every pair of answers, whatever is in them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method};
use parity_comparator::{AnswerPair, Comparator, Comparison, Limits, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Finding, Kind, Reason, Verdict};

/// Bytes that a cut value may have beyond its limit: the mark.
const MARK_BYTES: usize = parity_schemas::side::CUT_MARK.len_utf8();
/// Longest path of a finding; keys are the services' text.
const PATH_BYTES: usize = 1_024 + MARK_BYTES;

/// An answer of this type with this body.
pub(super) fn answer(content_type: &'static str, body: &[u8]) -> Capture {
    let mut headers = HeaderMap::new();
    headers.insert(
        http::header::CONTENT_TYPE,
        HeaderValue::from_static(content_type),
    );
    Capture {
        status: 200,
        headers: (&headers).into(),
        body: body.to_vec().into(),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

/// One comparator that is used for every law, so that the next comparison starts with the memory that the last one
/// left.
pub(super) struct Judge {
    comparator: Comparator,
    limits: Limits,
    method: Method,
    directed: bool,
}

impl Judge {
    pub(super) fn new(rules: Rules, limits: Limits) -> Self {
        Self {
            comparator: Comparator::new(Arc::new(rules), limits),
            limits,
            method: Method::GET,
            directed: false,
        }
    }

    /// The rules say something else of the legacy than of the candidate, so nothing follows from swapping the sides.
    pub(super) fn directed(mut self, directed: bool) -> Self {
        self.directed = directed;
        self
    }

    pub(super) fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Compares, and tries every law that needs no knowledge of what the answers hold.
    pub(super) fn compare(&mut self, legacy: &Capture, candidate: &Capture) -> Comparison {
        let forth = self.both_passes(legacy, candidate);
        let back = if self.directed {
            forth.clone()
        } else {
            self.both_passes(candidate, legacy)
        };
        assert!(
            self.agree(&forth, &back),
            "the sides swapped, {:?} and {:?}: {} and {}",
            forth.verdict,
            back.verdict,
            text(legacy),
            text(candidate)
        );
        // All alignments share one budget, in the order of the legacy. Once it is spent, the sides differ in which
        // findings are readable.
        let ample = self.limits.work >= Limits::default().work;
        if ample && !self.directed && !forth.findings_cut && !back.findings_cut {
            assert_eq!(
                kinds(&forth.findings, false),
                kinds(&back.findings, true),
                "the sides swapped"
            );
        }
        for same in [legacy, candidate] {
            let comparison = self.both_passes(same, same);
            assert_eq!(comparison.verdict, Verdict::Match, "an answer and itself");
        }
        forth
    }

    /// The verdict of the quick pass is that of the detailed one.
    fn both_passes(&mut self, legacy: &Capture, candidate: &Capture) -> Comparison {
        let pair = AnswerPair {
            route: "GET /",
            method: &self.method,
            request: None,
            time: Timestamp::from_micros(0),
            legacy,
            candidate,
            asked_together: true,
        };
        let quick = self.comparator.compare_answers(pair);
        let detailed = self.comparator.explain_answers(pair);
        assert!(
            self.agree(&quick, &detailed),
            "the two passes, {:?} and {:?}: {} and {}",
            quick.verdict,
            detailed.verdict,
            text(legacy),
            text(candidate)
        );
        // Only a mismatch is walked twice; only then is anything listed.
        assert!(
            quick.verdict == Verdict::Mismatch
                || (quick.findings.is_empty() && quick.tolerated.is_empty()),
            "the quick pass saw a mismatch and the detailed one did not"
        );
        for comparison in [&quick, &detailed] {
            self.within_limits(comparison);
        }
        assert!(
            quick.findings == detailed.findings || quick.verdict != detailed.verdict,
            "the two passes list different findings"
        );
        detailed
    }

    /// Whether two verdicts are the same. With a small budget, the work of a matching depends on where it begins; then
    /// one of them may be that the budget ran out.
    fn agree(&self, one: &Comparison, two: &Comparison) -> bool {
        let spent = Verdict::NotCompared(Reason::CandidateWorkBudget);
        let may_run_out = self.limits.work < Limits::default().work;
        let verdicts = [one.verdict, two.verdict].map(whoever_caused);
        verdicts[0] == verdicts[1] || (may_run_out && verdicts.contains(&spent))
    }

    fn within_limits(&self, comparison: &Comparison) {
        let listed = !comparison.findings.is_empty();
        assert_eq!(listed, comparison.verdict == Verdict::Mismatch);
        assert!(comparison.findings.len() <= self.limits.findings);
        assert!(comparison.tolerated.len() <= self.limits.tolerated);
        for finding in &comparison.findings {
            for path in [Some(&finding.path), finding.candidate_path.as_ref()] {
                assert!(path.is_none_or(|path| path.len() <= PATH_BYTES));
            }
            for value in [&finding.legacy, &finding.candidate] {
                let Some(value) = value.shown() else {
                    continue;
                };
                // Replaced bytes and summaries of bytes may be longer than what they stand for, and our own words on
                // what is wrong with a body are not cut.
                let longest = (self.limits.value_bytes * 3 + MARK_BYTES) * 2 + 100;
                assert!(value.len() <= longest, "{} bytes of a value", value.len());
            }
            let diff = finding
                .text_diff
                .as_ref()
                .map_or(0, |diff| diff.lines.len());
            assert!(diff <= self.limits.text_diff_bytes);
        }
    }
}

/// The verdict without the side that is to blame.
fn whoever_caused(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::NotCompared(reason) => Verdict::NotCompared(reason.of_candidate_alone()),
        verdict => verdict,
    }
}

/// The body as a message shows it.
fn text(answer: &Capture) -> String {
    String::from_utf8_lossy(&answer.body.contiguous()).into_owned()
}

type Seen<'a> = (
    &'a str,
    &'static str,
    Option<Cow<'a, str>>,
    Option<Cow<'a, str>>,
);

/// The findings as the other side sees them, sorted.
fn kinds(findings: &[Finding], swapped: bool) -> Vec<Seen<'_>> {
    let mut seen: Vec<Seen<'_>> = findings
        .iter()
        .map(|finding| {
            let kind = match (finding.kind, swapped) {
                // Errors of the candidate alone are graver, and of the legacy alone just missing.
                (Kind::Missing, true) | (Kind::Errors, false) => Kind::Extra,
                (Kind::Extra | Kind::Errors, true) => Kind::Missing,
                (kind, _) => kind,
            };
            let mut sides = [finding.legacy.shown(), finding.candidate.shown()];
            if swapped {
                sides.reverse();
            }
            let [legacy, candidate] = sides;
            // A value that one side lacks has a position only in the other.
            let path = match &finding.candidate_path {
                Some(path) if swapped && legacy.is_some() && candidate.is_some() => path,
                _ => &finding.path,
            };
            (path.as_str(), kind.as_str(), legacy, candidate)
        })
        .collect();
    seen.sort_unstable();
    seen
}
