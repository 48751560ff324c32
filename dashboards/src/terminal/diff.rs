//! The result of `parity diff` in words: a unified diff with paths, or counts by pattern.
//!
//! The form is that of a unified diff, which people, editors and pull requests know: `@@` with the place, `-` for the
//! legacy, `+` for the candidate. Long values are cut where they do not differ; [`Layout::all`] shows everything.

mod excused;
mod stat;

use std::fmt::Write;

use parity_comparator::groups::FindingGroup;
use parity_schemas::verdict::{Explanation, Finding, Part};
use parity_schemas::visible::visible;

use super::{BOLD, DIM, OPEN, PLACE, signed, style, styled};
use crate::view::diff::Diff;
use crate::view::words::{grouped, plural, shown};
use crate::view::{Place, Room};

/// Longest path that is shown whole. Usual paths are shorter.
const MAX_PATH: usize = 120;

/// Lines shown of a value that only one side has, and of each of two containers.
const MAX_VALUE_LINES: usize = 12;
/// Lines shown of one unified diff: a screen.
const MAX_DIFF_LINES: usize = 60;
/// Lines shown of a reordered array.
const MAX_ELEMENTS: usize = 12;

/// How much is shown.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Characters of a line.
    pub width: usize,
    /// Every finding, every value as a whole, everything that was tolerated.
    pub all: bool,
}

impl From<Layout> for Room {
    fn from(layout: Layout) -> Self {
        // Behind the sign of a side and a space.
        let wrap = layout.width.saturating_sub(2);
        let most = |most| if layout.all { usize::MAX } else { most };
        Self {
            line: most(wrap),
            wrap,
            value_lines: most(MAX_VALUE_LINES),
            diff_lines: most(MAX_DIFF_LINES),
            elements: most(MAX_ELEMENTS),
        }
    }
}

/// Every cause with examples.
pub fn diff(diff: &Diff<'_>, layout: Layout) -> String {
    Writer { diff, layout }.text(Writer::write_findings)
}

/// One line for each cause.
pub fn stat(diff: &Diff<'_>, layout: Layout) -> String {
    Writer { diff, layout }.text(stat::write)
}

#[derive(Clone, Copy)]
struct Writer<'a> {
    diff: &'a Diff<'a>,
    layout: Layout,
}

impl Writer<'_> {
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
        if !self.diff.comparison.findings.is_empty() {
            let [legacy, candidate] = self.diff.names.map(shown);
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
        excused::write(self, out)?;
        for note in self.diff.notes() {
            writeln!(out, "{}", styled(OPEN, format_args!("note: {note}")))?;
        }
        let conclusion = self.diff.conclusion();
        let word = styled(style(conclusion.tone), conclusion.word);
        match conclusion.rest {
            Some(rest) => writeln!(out, "{word}: {rest}"),
            None => writeln!(out, "{word}"),
        }
    }

    fn write_findings(&self, out: &mut String) -> std::fmt::Result {
        let groups = self.diff.groups();
        let quotas = if self.layout.all {
            groups.groups.iter().map(|group| group.count).collect()
        } else {
            Diff::quotas(&groups)
        };
        let mut shown = vec![0; groups.groups.len()];
        for (finding, &position) in self.diff.comparison.findings.iter().zip(&groups.group_of) {
            if shown[position] >= quotas[position] {
                continue;
            }
            shown[position] += 1;
            self.write_finding(out, finding)?;
            let group = &groups.groups[position];
            if shown[position] == quotas[position] && group.count > shown[position] {
                let more = grouped(group.count - shown[position]);
                let place = self.place(group.into());
                let how = how(group);
                writeln!(
                    out,
                    "{}",
                    styled(PLACE, format_args!("… and {more} more at {place}  {how}"))
                )?;
            }
        }
        let unlisted =
            |(group, quota): &(&FindingGroup, &u64)| (**quota == 0).then_some(group.count);
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

    /// The place of a difference. Two documents have only a body, so the path alone is enough.
    fn place(&self, place: Place<'_>) -> String {
        match (place.part, place.path) {
            (Part::Status, _) => Part::Status.to_string(),
            (Part::Body, "") if self.diff.answers => Part::Body.to_string(),
            (Part::Body, "") => "(whole document)".to_owned(),
            (Part::Body, path) if !self.diff.answers => self.path(path),
            (part, path) => format!("{part} {}", self.path(path)),
        }
    }

    /// A path, cut in the middle if it is long, because both its begin and its end distinguish it from others.
    fn path(&self, path: &str) -> String {
        let length = path.chars().count();
        if self.layout.all || length <= MAX_PATH {
            return visible(path);
        }
        let head: String = path.chars().take(MAX_PATH / 2).collect();
        let tail: String = path.chars().skip(length - MAX_PATH / 2).collect();
        format!("{}…{}", visible(&head), visible(&tail))
    }

    fn write_finding(&self, out: &mut String, finding: &Finding) -> std::fmt::Result {
        let difference = self.diff.difference(finding);
        let place = self.place(difference.place);
        let moved = difference
            .candidate_path
            .map(|path| format!(" (candidate: {})", self.path(path)))
            .unwrap_or_default();
        writeln!(
            out,
            "{} {}{moved} {} {}",
            styled(PLACE, "@@"),
            styled(BOLD, place),
            styled(PLACE, "@@"),
            difference.kind.meaning()
        )?;
        let drawing = difference.draw(self.layout.into());
        for row in drawing.iter().flat_map(|drawing| &drawing.rows) {
            writeln!(out, "{}", signed(row))?;
        }
        if let Some(near) = difference.near() {
            writeln!(out, "  {}", styled(DIM, near))?;
        }
        Ok(())
    }
}

/// Kind and explanation of a group.
fn how(group: &FindingGroup) -> String {
    let words = group.key.kind.meaning();
    let near = group.key.explanation.map(Explanation::as_str);
    near.map_or_else(|| words.to_owned(), |near| format!("{words} ({near})"))
}
