//! The result of `parity diff` in words: a unified diff with paths, or counts by pattern.
//!
//! The form is that of a unified diff, so that eyes, editors and pull requests know it: `@@` with the place, `-` for the
//! legacy, `+` for the candidate. Many findings of one cause are folded to a few and a count, and what is long is cut
//! where it does not differ, so that any pair reads as a page; `--all` shows everything. The inputs are the user's own
//! files, so values are shown clear, but never raw: file names, keys and values are hostile all the same.

mod bytes;
mod changed;
mod groups;
mod lines;
mod pretty;
mod stat;
mod tolerated;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use parity_comparator::{Comparison, Limits, Rules};
use parity_schemas::verdict::{Explanation, Finding, Kind, Note, Part, Reason, Verdict};
use parity_schemas::visible::visible;

use super::report::kind as kind_in_words;
use super::{BAD, BOLD, DIM, GOOD, OPEN, PLACE, explained, grouped, shown, styled};
use groups::{Group, Groups};
use value::{Room, Side};

/// Characters of a path that are shown whole: what people write has fewer.
const MAX_PATH: usize = 120;
/// Findings listed before the rest is folded: with their values, a few screens.
const MAX_LISTED: usize = 40;
/// Findings shown of a group that is folded; one might be a freak, three show what they have in common.
const MAX_EXAMPLES: u64 = 3;
/// Findings of one group up to which all are shown: to fold a single one saves nothing.
const MAX_UNFOLDED: u64 = MAX_EXAMPLES + 1;

/// What is printed, and how.
pub(crate) struct View<'a> {
    pub(crate) comparison: &'a Comparison,
    /// By which it was compared.
    pub(crate) rules: &'a Rules,
    pub(crate) limits: &'a Limits,
    /// What the user calls the two.
    pub(crate) names: [&'a str; 2],
    /// The two bodies, as far as they are what was compared.
    pub(crate) bodies: [&'a [u8]; 2],
    /// They are answers, which have more parts than a body.
    pub(crate) answers: bool,
    /// Every finding, every value as a whole, everything that was tolerated.
    pub(crate) all: bool,
    /// Characters of a line.
    pub(crate) width: usize,
}

impl View<'_> {
    /// Every cause with examples.
    pub(crate) fn diff(&self) -> String {
        self.text(Self::write_findings)
    }

    /// One line for each cause.
    pub(crate) fn stat(&self) -> String {
        self.text(stat::write)
    }

    fn text(&self, findings: impl FnOnce(&Self, &mut String) -> std::fmt::Result) -> String {
        let mut out = String::new();
        let _infallible = self.write(&mut out, findings);
        out
    }

    fn write(
        &self,
        out: &mut String,
        findings: impl FnOnce(&Self, &mut String) -> std::fmt::Result,
    ) -> std::fmt::Result {
        if !self.comparison.findings.is_empty() {
            let [legacy, candidate] = self.names.map(shown);
            writeln!(
                out,
                "{}",
                styled(BOLD, format_args!("--- {legacy} (legacy)"))
            )?;
            writeln!(
                out,
                "{}",
                styled(BOLD, format_args!("+++ {candidate} (candidate)"))
            )?;
            findings(self, out)?;
        }
        tolerated::write(self, out)?;
        self.notes(out)?;
        self.verdict(out)
    }

    /// What the verdict does not say: two files may be equal and both broken.
    fn notes(&self, out: &mut String) -> std::fmt::Result {
        for note in &self.comparison.notes {
            let words = match note {
                Note::BothEmpty => "both are empty",
                Note::BothInvalid => {
                    "both are not what they were compared as; what is said is of their text"
                }
            };
            writeln!(out, "{}", styled(OPEN, format_args!("note: {words}")))?;
        }
        Ok(())
    }

    fn room(&self) -> Room {
        Room {
            width: self.width,
            all: self.all,
        }
    }

    fn write_findings(&self, out: &mut String) -> std::fmt::Result {
        let groups = Groups::new(&self.comparison.findings);
        let quotas = self.quotas(&groups);
        let mut shown = vec![0; groups.groups.len()];
        for (finding, &position) in self.comparison.findings.iter().zip(&groups.of) {
            if shown[position] >= quotas[position] {
                continue;
            }
            shown[position] += 1;
            self.write_finding(out, finding)?;
            let group = &groups.groups[position];
            if shown[position] == quotas[position] && group.count > shown[position] {
                let more = grouped(group.count - shown[position]);
                let place = self.place(group.shared.part, &group.shared.pattern);
                let how = how(group);
                writeln!(
                    out,
                    "{}",
                    styled(PLACE, format_args!("… and {more} more at {place}  {how}"))
                )?;
            }
        }
        let unlisted = |(group, quota): &(&Group, &u64)| (**quota == 0).then_some(group.count);
        let rest: Vec<u64> = groups
            .groups
            .iter()
            .zip(&quotas)
            .filter_map(|pair| unlisted(&pair))
            .collect();
        if !rest.is_empty() {
            let places = plural(rest.len() as u64, "pattern", "patterns");
            let count = plural(rest.iter().sum(), "difference", "differences");
            let note = format!(
                "… and {count} of {places} that are not listed: --stat counts them, --all lists them"
            );
            writeln!(out, "{}", styled(PLACE, note))?;
        }
        Ok(())
    }

    /// How many findings of each group are listed. Where there are many groups, the most frequent ones, each with fewer.
    fn quotas(&self, groups: &Groups) -> Vec<u64> {
        let count = groups.groups.len();
        if self.all {
            return groups.groups.iter().map(|group| group.count).collect();
        }
        let examples = ((MAX_LISTED / count.max(1)) as u64).clamp(1, MAX_EXAMPLES);
        let mut quotas = vec![0; count];
        for position in groups.by_count().into_iter().take(MAX_LISTED) {
            let of = groups.groups[position].count;
            let unfolded = examples == MAX_EXAMPLES && of <= MAX_UNFOLDED;
            quotas[position] = if unfolded { of } else { of.min(examples) };
        }
        quotas
    }

    fn place(&self, part: Part, path: &str) -> String {
        match (part, path) {
            (Part::Status, _) => "status".to_owned(),
            (Part::Body, "") if self.answers => "body".to_owned(),
            (Part::Body, "") => "(whole document)".to_owned(),
            (Part::Body, path) if !self.answers => self.path(path),
            (part, path) => format!("{part} {}", self.path(path)),
        }
    }

    /// A path, cut in the middle: where it begins and where it ends both tell it from others.
    fn path(&self, path: &str) -> String {
        let length = path.chars().count();
        if self.all || length <= MAX_PATH {
            return visible(path);
        }
        let head: String = path.chars().take(MAX_PATH / 2).collect();
        let tail: String = path.chars().skip(length - MAX_PATH / 2).collect();
        format!("{}…{}", visible(&head), visible(&tail))
    }

    fn write_finding(&self, out: &mut String, finding: &Finding) -> std::fmt::Result {
        let place = self.place(finding.part, &finding.path);
        let moved = finding
            .candidate_path
            .as_ref()
            .map(|path| format!(" (candidate: {})", self.path(path)))
            .unwrap_or_default();
        writeln!(
            out,
            "{} {}{moved} {} {}",
            styled(PLACE, "@@"),
            styled(BOLD, place),
            styled(PLACE, "@@"),
            kind_in_words(finding.kind)
        )?;
        self.write_values(out, finding)?;
        if let Some(explanation) = finding.explanation {
            let words = explained(explanation);
            writeln!(
                out,
                "  {}",
                styled(DIM, format_args!("{explanation}: {words}"))
            )?;
        }
        Ok(())
    }

    fn write_values(&self, out: &mut String, finding: &Finding) -> std::fmt::Result {
        let room = self.room();
        if finding.part == Part::Body && finding.path.is_empty() && finding.kind == Kind::Value {
            if bytes::line_ends(out, finding, self.bodies)? {
                return Ok(());
            }
            if let Some(diff) = &finding.text_diff
                && !lines::is_one_line(diff)
            {
                return lines::unified(out, diff, room);
            }
            if bytes::first_difference(out, finding, self.bodies)? {
                return Ok(());
            }
        }
        match (finding.legacy.shown(), finding.candidate.shown()) {
            (Some(legacy), Some(candidate)) => match finding.kind {
                Kind::Order => lines::order(out, &legacy, &candidate, room),
                Kind::Decode => value::apart(out, &legacy, &candidate, room),
                _ => {
                    if !lines::strings(out, &legacy, &candidate, self.limits, room)? {
                        value::both(out, &legacy, &candidate, room)?;
                    }
                    Ok(())
                }
            },
            (Some(legacy), None) => value::alone(out, Side::Legacy, &legacy, room),
            (None, Some(candidate)) => value::alone(out, Side::Candidate, &candidate, room),
            (None, None) => Ok(()),
        }
    }

    fn verdict(&self, out: &mut String) -> std::fmt::Result {
        let findings = &self.comparison.findings;
        match self.comparison.verdict {
            Verdict::Match => writeln!(out, "{}", styled(GOOD, "match")),
            Verdict::NotCompared(reason) => {
                let word = styled(OPEN, "not compared");
                writeln!(out, "{word}: {reason}, {}", why(reason))
            }
            Verdict::Mismatch => {
                let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
                for finding in findings {
                    *kinds.entry(finding.kind).or_default() += 1;
                }
                let alone = kinds.len() == 1;
                let kinds = kinds.into_iter().map(|(kind, count)| {
                    if alone {
                        kind.to_string()
                    } else {
                        format!("{} {kind}", grouped(count))
                    }
                });
                let kinds: Vec<String> = kinds.collect();
                let count = plural(findings.len() as u64, "difference", "differences");
                let (least, cut) = if let Some(reason) = self.comparison.body_not_compared {
                    let cut = format!("; the bodies were not compared: {reason}, {}", why(reason));
                    ("at least ", Cow::Owned(cut))
                } else if self.comparison.findings_cut {
                    let cut = if findings.len() >= self.limits.findings {
                        "; the comparison stops there"
                    } else {
                        "; a limit ended the comparison there"
                    };
                    ("at least ", Cow::Borrowed(cut))
                } else {
                    ("", Cow::Borrowed(""))
                };
                let word = styled(BAD, "mismatch");
                writeln!(out, "{word}: {least}{count} ({}){cut}", kinds.join(", "))
            }
        }
    }
}

/// Kind and explanation of a group.
fn how(group: &Group) -> String {
    let words = kind_in_words(group.shared.kind);
    let near = group.shared.explanation.map(Explanation::as_str);
    near.map_or_else(|| words.to_owned(), |near| format!("{words} ({near})"))
}

/// `1 difference`, `1,234 differences`.
fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// What a reason means where two files are compared.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::TooDeep => "nested deeper than is followed, and the bytes differ",
        Reason::CandidateTooDeep => "only the candidate is nested deeper than is followed",
        Reason::ResponseTooLarge => {
            "larger than is followed, as read or once decompressed or expanded"
        }
        Reason::CandidateTooLarge => {
            "only the candidate is larger than is followed, as read or once decompressed or expanded"
        }
        Reason::WorkBudget | Reason::CandidateWorkBudget => {
            "matching elements in any order would cost more work than allowed"
        }
        Reason::Undecodable => "a content encoding that cannot be undone",
        Reason::CandidateUndecodable => {
            "only the candidate has a content encoding that cannot be undone"
        }
        Reason::LegacyTruncated => "the legacy's body is shorter than its Content-Length says",
        Reason::CandidateTruncated => {
            "the candidate's body is shorter than its Content-Length says"
        }
        _ => "no verdict can be had",
    }
}
