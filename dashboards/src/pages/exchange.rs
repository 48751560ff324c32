//! The screen of one exchange: what differs in it, all that was recorded of it, the exchanges beside it, and what can be copied.

use askama::Template;
use parity_schemas::record::Mismatch;
use parity_schemas::visible::visible;
use parity_sink::read::Neighbours;
use uuid::Uuid;

use super::shell::Shell;
use super::{Layout, MAX_OPEN, ROOM, group_path, lines, moment, places, time};
use crate::links::{Elsewhere, Known};
use crate::view::words::{grouped, version};
use crate::view::{Curl, MismatchView, Weight};

/// What the page of an exchange is made of.
pub(crate) struct ExchangeFound<'a> {
    /// Its record.
    pub(crate) mismatch: &'a Mismatch,
    /// The group from which somebody came to it.
    pub(crate) group: Option<&'a str>,
    /// Where it stands among those of its group; the newest is the first.
    pub(crate) neighbours: Neighbours,
    /// Whether the bodies stand side by side.
    pub(crate) is_split: bool,
    /// Whether its request can be run again here.
    pub(crate) reruns: bool,
}

/// The exchanges beside one.
struct Beside {
    /// Where it stands.
    told: String,
    /// The address of the one before it, which is newer.
    previous: Option<String>,
    /// The address of the one behind it.
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "mismatch.html")]
struct ExchangePage<'a> {
    shell: &'a Shell,
    mismatch: &'a Mismatch,
    view: MismatchView<'a>,
    group: Option<&'a str>,
    layout: Layout,
    reruns: bool,
    beside: Beside,
    curl: Option<Curl>,
    /// The address of the page.
    link: String,
    elsewhere: Vec<Elsewhere>,
}

/// What a link to elsewhere shows before and after an exchange: enough to see what else happened.
const AROUND_MICROS: i64 = 5 * 60 * 1_000_000;

/// One exchange.
pub(crate) fn exchange(shell: &Shell, found: &ExchangeFound<'_>) -> askama::Result<String> {
    let mismatch = found.mismatch;
    let address = |id: Uuid, is_split: bool| {
        let split = if is_split { "true" } else { "" };
        let more = [("group", found.group.unwrap_or_default()), ("split", split)];
        shell.scope.with(&format!("/mismatches/{id}"), &more)
    };
    let beside = |id: Option<Uuid>| id.map(|id| address(id, found.is_split));
    ExchangePage {
        layout: Layout {
            is_split: found.is_split,
            other: Some(address(mismatch.id, !found.is_split)),
            route: Some(shell.scope.route(&mismatch.route)),
        },
        beside: Beside {
            told: place(&found.neighbours),
            previous: beside(found.neighbours.newer),
            next: beside(found.neighbours.older),
        },
        curl: Curl::of(mismatch),
        link: address(mismatch.id, found.is_split),
        elsewhere: shell.elsewhere(&Known {
            trace_id: Some(&mismatch.trace_id),
            from: mismatch.time.saturating_add_micros(-AROUND_MICROS),
            to: mismatch.time.saturating_add_micros(AROUND_MICROS),
            route: Some(&mismatch.route),
            group: found
                .group
                .or(mismatch.fingerprints.first().map(String::as_str)),
            migration: &mismatch.identity.migration,
            candidate_version: &mismatch.identity.candidate_version,
        }),
        shell,
        mismatch,
        view: MismatchView { mismatch },
        group: found.group,
        reruns: found.reruns,
    }
    .render()
}

/// Where an exchange stands among those that are kept.
fn place(among: &Neighbours) -> String {
    let place = among.newer_count + 1;
    let all = grouped((place + among.older_count) as u64);
    match (among.more_newer, among.more_older) {
        (false, false) => format!("{} of {all} kept", grouped(place as u64)),
        (false, true) => format!("{} of more than {all} kept", grouped(place as u64)),
        (true, _) => format!(
            "behind more than {} newer ones",
            grouped(among.newer_count as u64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_told_as_far_as_it_is_known() {
        for (newer_count, older_count, more_newer, more_older, told) in [
            (0, 0, false, false, "1 of 1 kept"),
            (2, 17, false, false, "3 of 20 kept"),
            (2, 200, false, true, "3 of more than 203 kept"),
            (200, 5, true, false, "behind more than 200 newer ones"),
        ] {
            let among = Neighbours {
                newer_count,
                older_count,
                more_newer,
                more_older,
                ..Neighbours::default()
            };
            assert_eq!(place(&among), told);
        }
    }
}
