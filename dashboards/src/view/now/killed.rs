//! That a process was killed: what it received last is in no count, and clients were refused until the next one began. They were whatever
//! version they were compared with, so that is told on the pages of all versions.

use parity_schemas::history::{History, MarkKind};
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};

use super::super::words::{grouped, shown};
use super::Alert;

/// That processes were killed whose last requests are in no count: as long as that leaves the verdict open. `moment` writes a time.
pub(crate) fn killed(
    watermarks: &[InstanceWatermark],
    moment: impl Fn(Timestamp) -> String,
) -> Option<Alert> {
    let killed = watermarks.iter();
    let killed = killed.filter_map(|run| match (run.state, run.last_heard, run.succeeded) {
        (RunState::Replaced, Some(heard), Some(next)) => Some((run, heard, next)),
        _ => None,
    });
    let all: Vec<_> = killed.collect();
    let (run, heard, next) = all.iter().max_by_key(|(_, heard, _)| *heard)?;
    // The one that was heard of last need not be the one that began anew last, and each loss must be over.
    let since = all.iter().map(|(_, _, next)| *next).max()?;
    let others = match all.len() as u64 - 1 {
        0 => String::new(),
        1 => "; so did another before".to_owned(),
        some => format!("; so did {} others before", grouped(some)),
    };
    Some(Alert::bad(
        "A process was killed",
        format!(
            "{} was last heard of at {} and began anew at {}: clients were refused in between, unless something else served them, and \
             what it received last is in no count{others}; `parity gate` on all of it does not pass, and with --since \
             {since} it leaves that out",
            shown(&run.instance),
            moment(*heard),
            moment(*next),
        ),
    ))
}

/// The same of a process that counted for another version: the verdict of this one lacks nothing by it.
pub(super) fn killed_before(
    history: &History,
    moment: impl Fn(Timestamp) -> String,
) -> Option<Alert> {
    let killed = history.marks.iter();
    let killed = killed.filter(|mark| mark.kind == MarkKind::Killed);
    let last = killed.max_by_key(|mark| mark.time)?;
    let next = last.to.parse().map(&moment);
    Some(Alert::bad(
        "A process was killed",
        format!(
            "{} was last heard of at {} and began anew at {}, for another version or other rules: clients were refused in between, unless \
             something else served them; what it received last is in no count, and the verdict of this page lacks nothing by it",
            shown(&last.from),
            moment(last.time),
            next.unwrap_or_else(|_| shown(&last.to)),
        ),
    ))
}
