//! What `parity rerun` prints: each difference with what became of it, drawn as `parity diff` draws one.

use std::fmt::Write;

use parity_schemas::rerun::RerunDocument;
use parity_schemas::visible::visible;

use super::{BOLD, DIM, Layout, OPEN, PLACE, place, signed, style, styled};
use crate::view::{Change, RerunView};

/// The result of running a request again.
pub fn rerun(document: &RerunDocument, layout: Layout) -> String {
    let mut out = String::new();
    let _infallible = write(&mut out, RerunView { document }, layout);
    out
}

fn write(out: &mut String, view: RerunView<'_>, layout: Layout) -> std::fmt::Result {
    writeln!(out, "{}", styled(BOLD, view.request()))?;
    for look in view.looks() {
        writeln!(out, "{}", styled(DIM, look))?;
    }
    for change in view.changes() {
        write_change(out, &change, layout)?;
    }
    for hidden in view.hidden() {
        writeln!(out, "{}", styled(OPEN, format_args!("hidden: {hidden}")))?;
    }
    if let Some(remedy) = view.remedy() {
        writeln!(out, "{remedy}")?;
    }
    if view.is_kept_back() {
        writeln!(out, "--accept-hidden sends it without that.")?;
    }
    if view.is_open() {
        writeln!(
            out,
            "--accept-left-out takes what was sent for the whole request."
        )?;
    }
    if view.is_unsafe() {
        writeln!(
            out,
            "--allow-unsafe sends it all the same: both services do again what it did."
        )?;
    }
    let outcome = styled(style(view.tone()), view.document.outcome);
    writeln!(out, "{outcome}: {}", view.conclusion())
}

fn write_change(out: &mut String, change: &Change<'_>, layout: Layout) -> std::fmt::Result {
    writeln!(
        out,
        "{} {} {} {} {}",
        styled(PLACE, "@@"),
        styled(style(change.tone()), change.state()),
        styled(BOLD, place(change.place())),
        styled(PLACE, "@@"),
        change.how()
    )?;
    if let Some(why) = change.excused() {
        writeln!(out, "  counts as equal: {}", visible(&why))?;
    }
    // Of what is gone or not known, what was recorded is all there is.
    for seen in change.seen(layout.into()) {
        writeln!(out, "  {}", styled(DIM, &seen.when))?;
        for row in &seen.rows {
            writeln!(out, "{}", signed(row))?;
        }
        if let Some(near) = seen.near {
            writeln!(out, "  {}", styled(DIM, near))?;
        }
    }
    Ok(())
}
