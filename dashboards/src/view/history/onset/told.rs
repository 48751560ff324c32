//! Since when the services differ, in words.

use parity_schemas::history::{Compared, Earlier, History, Onset, OnsetState};

use super::super::hour::{Hour, length};
use super::found::would_show;
use crate::view::words::{grouped, percent};

/// Of what a sentence tells.
pub(in super::super) struct Of<'a> {
    /// The route; `None` for all together.
    pub(in super::super) route: Option<&'a str>,
    /// The version of the candidate, where the history has others, too.
    pub(in super::super) version: Option<&'a str>,
}

/// What is known of it and what is not, in one sentence or two; `None` if there is nothing to say.
pub(in super::super) fn sentence(
    onset: &Onset,
    about: &Of<'_>,
    history: &History,
    hour: &Hour,
) -> Option<String> {
    let named = |lower: &str, upper: &str| match (about.route, about.version) {
        (Some(route), _) => format!("{route} {lower}"),
        (None, Some(version)) => format!("Candidate {version} {lower}"),
        (None, None) => upper.to_owned(),
    };
    let of = |part: Compared| format!("{} of {}", percent(part.rate()), grouped(part.compared));
    let allowed = percent(onset.allowed);
    let begin = match (onset.state, onset.from, onset.to) {
        (OnsetState::Differs, Some(from), _) => format!(
            "{} since {}: {} compared requests since then, {allowed} allowed",
            named("differs", "Differs"),
            hour.told(from),
            of(onset.stretch),
        ),
        (OnsetState::Differed, Some(from), Some(to)) => format!(
            "{} from {} to {}, {} compared requests; since then {}, {allowed} allowed",
            named("differed", "Differed"),
            hour.told(from),
            hour.told(to),
            of(onset.stretch),
            of(onset.since)
        ),
        (OnsetState::Open, Some(from), _) => format!(
            "{} since {} than the {allowed} allowed ({} compared requests), which is too few to prove it",
            named("may differ more", "May differ more"),
            hour.told(from),
            of(onset.stretch)
        ),
        _ => return None,
    };
    let length = length(match onset.step_seconds {
        0 => history.bucket_seconds,
        known => known,
    });
    let from = onset.from?;
    let since = match onset.after {
        None if about.version.is_some() => {
            "; that is when this version was first compared".to_owned()
        }
        None => format!(
            "; nothing was compared before {}, so it may be older",
            if history.window.is_some_and(|window| window.from == from) {
                "in this range"
            } else {
                "that"
            }
        ),
        // What would not have shown it proves nothing of when it began.
        Some(_) if !would_show(onset.before.compared, onset.stretch.rate()) => format!(
            "; only {} compared before that, too few to tell whether it differed then, too",
            if onset.before.compared == 1 {
                "1 request was".to_owned()
            } else {
                format!("{} requests were", grouped(onset.before.compared))
            }
        ),
        Some(after) if after < from => format!(
            ". Before that, {} differed; nothing was compared from {} to then, so it may have begun at any time since",
            of(onset.before),
            hour.told(after)
        ),
        Some(_) => format!(
            ". Before that, {} differed, so it began about then, to within {length}",
            of(onset.before)
        ),
    };
    let before = onset.earlier.as_ref();
    let before = before.map(|earlier| before_that(earlier, hour));
    Some(begin + &since + &before.unwrap_or_default())
}

/// That it differed before, too: who reads only when it began now takes it for the first time.
fn before_that(earlier: &Earlier, hour: &Hour) -> String {
    let (from, to) = (hour.told(earlier.from), hour.told(earlier.to));
    if earlier.times == 1 {
        format!(". It differed before, too, from {from} to {to}")
    } else {
        let times = grouped(earlier.times);
        format!(". It differed {times} times before, first from {from}, last until {to}")
    }
}
