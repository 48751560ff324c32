//! That a process was killed: what it received last is in no count, and clients were refused until the next one began.

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
