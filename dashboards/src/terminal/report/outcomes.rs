//! Requests without a verdict: where the candidate failed, and where nothing was compared.

use std::fmt::Write;

use crate::terminal::{BAD, BOLD, styled};
use crate::view::ReportView;
use crate::view::words::{grouped, sentence};

pub(super) fn write(out: &mut String, view: &ReportView<'_>) -> std::fmt::Result {
    for part in view.without_verdict() {
        let title = format!("{} ({})", part.title.to_uppercase(), grouped(part.total));
        writeln!(out, "\n{}", styled(BOLD, title))?;
        for (reason, count) in part.reasons {
            let style = if reason.is_candidate_failure() {
                BAD
            } else {
                anstyle::Style::new()
            };
            let word = styled(style, format_args!("{reason:20}"));
            writeln!(out, "{:>6} × {word} {}", grouped(count), reason.meaning())?;
        }
        for told in part.not_sent {
            writeln!(out, "         {}", sentence(&told))?;
        }
    }
    Ok(())
}
