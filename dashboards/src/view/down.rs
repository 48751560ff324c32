//! Whether the candidate is down: one answer for the pages and for `parity top`.
//!
//! The record tells that the candidate gave no answer to the last requests, and a mirror tells whether it still sends it any. Where a mirror
//! is asked, what it says of its own candidate is valid. Otherwise a candidate is down only if it gave no answer up to now, and something records
//! now: what it did an hour ago, beside a process that has ended, says nothing of this moment, and is told as what was.
//!
//! Several versions may run side by side, each before its own mirror. Each is judged by what was sent to it alone ([`part`]), so
//! the answers of the one do not hide that the other is down.
//!
//! An answer that cannot be compared is an answer. Counts know times to within a bucket, and that is what is told ([`Between`]). Mirrors
//! write into the record what they have seen, to the second ([`exact`]): where they have, that is told, each outage for itself.

mod exact;
mod outages;
mod part;
mod silence;

use std::collections::BTreeSet;

use parity_schemas::history::History;
use parity_schemas::tally::INTERVAL_MICROS;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::{InstanceWatermark, RunState};

pub(crate) use self::exact::{Erring, Exact};
pub(super) use self::exact::{errors_of, lost};
pub(super) use self::outages::{ClientStep, Step, client_outages, outages};
use self::part::LEAST_DOWN;
use self::silence::Versions;
pub(crate) use self::silence::{Beginning, Silence};
use super::{Standing, Status};

/// What is looked at minute by minute: long enough to say since when something is so that began while somebody was paged.
pub(super) const LATELY_MICROS: i64 = 30 * INTERVAL_MICROS;
/// Whole minutes that are now, besides the running one.
const MINUTES: i64 = 2;
/// Versions of the candidate that are told of side by side: more than any rolling deployment has.
const MAX_VERSIONS: usize = 8;

/// When the minutes begin that are now.
pub(super) fn begin_of_now(at: Timestamp) -> Timestamp {
    let at = at.as_micros();
    let minute = at - at.rem_euclid(INTERVAL_MICROS);
    Timestamp::from_micros(minute - MINUTES * INTERVAL_MICROS)
}

/// How long each bucket is.
pub(super) fn length(history: &History) -> i64 {
    let micros = history.bucket_seconds.saturating_mul(1_000_000);
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// Whether all processes that are known to have recorded do so no more.
pub(crate) fn none_lives(runs: &[InstanceWatermark]) -> bool {
    !runs.is_empty() && live(runs).next().is_none()
}

/// The processes that record now.
pub(super) fn live(runs: &[InstanceWatermark]) -> impl Iterator<Item = &InstanceWatermark> {
    runs.iter().filter(|run| {
        !matches!(
            run.state,
            RunState::Ended
                | RunState::Replaced
                | RunState::Gone
                | RunState::Silent
                | RunState::Unheard
        )
    })
}

/// When something was: within these two, or exactly then if they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// Not before this.
    pub(crate) from: Timestamp,
    /// Not after this.
    pub(crate) to: Timestamp,
}

impl Between {
    /// Exactly then.
    pub(crate) const fn at(time: Timestamp) -> Self {
        Self {
            from: time,
            to: time,
        }
    }

    /// In words, `moment` writes a time.
    pub(crate) fn told(self, moment: impl Fn(Timestamp) -> String) -> String {
        if self.from == self.to {
            return moment(self.from);
        }
        format!("between {} and {}", moment(self.from), moment(self.to))
    }
}

/// Since when a candidate answers nothing, down or still asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    /// Since when; `None` if nobody has said so yet.
    pub(crate) since: Option<Between>,
    /// On how many requests it failed since; `None` if the record has none of them yet.
    pub(crate) failed: Option<u64>,
    /// As in [`Silence`].
    pub(crate) before: Option<Beginning>,
    /// The same as a mirror has seen it, if one has.
    pub(crate) exact: Option<Exact>,
}

/// How a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// Nothing that is known speaks against it.
    Answers,
    /// It answered none of the last requests up to this moment, and is still asked: its mirror says so.
    Fails(Outage),
    /// By the record it failed on most in the step that runs, in which it answered some: before or behind that.
    FailedMostly(Beginning),
    /// It answered none of the last requests that are recorded. It has answered its mirror since, or nobody knows how it is now.
    Failed(Silence),
    /// The same as a mirror has seen it, or it has answered since.
    FailedUntil(Exact),
    /// It is down.
    Down(Outage),
}

/// How one version of it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfVersion<'a> {
    /// The version, where several get requests now; `None` where one does.
    pub(crate) version: Option<&'a str>,
    /// How it stands.
    pub(crate) candidate: Candidate,
}

/// What is known beside the counts.
pub(crate) struct Beside<'a> {
    /// When they were read.
    pub(crate) at: Timestamp,
    /// Of the mirror that is asked.
    pub(crate) status: Option<&'a Status>,
    /// How the processes stand.
    pub(crate) runs: &'a [InstanceWatermark],
    /// The version of the candidate that the processes count for that do not name one.
    pub(crate) version: &'a str,
}

impl Beside<'_> {
    /// The versions of the candidate that get requests now, or else those that got the last ones.
    fn versions<'b>(&'b self, history: Option<&'b History>) -> BTreeSet<&'b str> {
        let of_run = |run: &'b InstanceWatermark| run.candidate_version.as_deref();
        let live = live(self.runs).map(|run| of_run(run).unwrap_or(self.version));
        let own = self.status.map(|status| status.candidate_version.as_str());
        let live: BTreeSet<&str> = live.chain(own).collect();
        if !live.is_empty() {
            return live;
        }
        let identities = history.map_or(&[][..], |history| &history.identities);
        let last = identities.iter().map(|one| one.last).max();
        let of_last = identities.iter();
        let of_last = of_last.filter(|one| Some(one.last) == last);
        let of_last: BTreeSet<&str> = of_last.map(|one| one.candidate_version.as_str()).collect();
        if of_last.is_empty() {
            return [self.version].into();
        }
        of_last
    }

    /// How each version stands that gets requests now: by the last minutes, which may be part of what began before them (`whole`
    /// is of longer steps), or by one history alone, or by what the mirror says. One that is well is not told of.
    pub(crate) fn candidates<'b>(
        &'b self,
        recent: Option<&'b History>,
        whole: Option<&'b History>,
    ) -> Vec<OfVersion<'b>> {
        let versions = self.versions(recent);
        let all = Versions {
            at: self.at,
            live: &versions,
        };
        // The one of the mirror that is asked is left out last.
        let own = self.status.map(|own| own.candidate_version.as_str());
        let others = versions.iter().copied();
        let others = others.filter(|version| Some(*version) != own);
        let first = own.into_iter().chain(others).take(MAX_VERSIONS);
        let told = whole.or(recent);
        let each = first.map(|version| {
            let exact = told.and_then(|history| Exact::last(history, version));
            let silence = recent.and_then(|recent| match whole {
                Some(whole) => all.silence_since(recent, whole, version),
                None => all.silence(recent, version),
            });
            let mostly = recent.and_then(|recent| all.mostly(recent, version));
            OfVersion {
                version: (versions.len() > 1).then_some(version),
                candidate: self.candidate(version, exact, silence, mostly),
            }
        });
        each.filter(|one| one.candidate != Candidate::Answers)
            .collect()
    }

    /// Whether what a mirror saw of its candidate then was this version: it asks one address, and before it counted for this version
    /// another one may have been there.
    fn is_of(&self, version: &str, time: Timestamp) -> bool {
        let own = self.runs.iter().filter(|run| {
            let of_run = run.candidate_version.as_deref();
            of_run.unwrap_or(self.version) == version
        });
        let began = own.filter_map(|run| run.started).min();
        began.is_none_or(|began| began <= time)
    }

    /// How a version of the candidate stands that was silent so, or failed on most in the running minute. What its mirror says of this
    /// moment is [`Status::candidate`], here as on every page.
    fn candidate(
        &self,
        version: &str,
        exact: Option<Exact>,
        silence: Option<Silence>,
        mostly: Option<Beginning>,
    ) -> Candidate {
        let own = self.status.filter(|own| own.candidate_version == version);
        let is_live = live(self.runs).next().is_some();
        // One that a mirror has seen to its end is told as that.
        let silence = silence.map(|silence| match (silence.before, exact) {
            (Some(before), Some(exact)) if exact.from < before.to => Silence {
                before: None,
                ..silence
            },
            _ => silence,
        });
        let open = exact.filter(Exact::goes_on);
        let outage = |since: Option<Timestamp>| match open {
            Some(open) => Outage {
                since: Some(Between::at(
                    since.map_or(open.from, |since| since.min(open.from)),
                )),
                failed: Some(open.failed),
                before: None,
                exact: Some(open),
            },
            None => Outage {
                since: began(silence, since),
                failed: silence.map(|silence| silence.failed),
                before: silence.and_then(|silence| silence.before),
                exact: None,
            },
        };
        match own.map(Status::candidate) {
            Some(Standing::Down(since)) => {
                let since = since.filter(|since| self.is_of(version, *since));
                return Candidate::Down(outage(since));
            }
            Some(Standing::Fails(since)) => {
                let since = Some(since).filter(|since| self.is_of(version, *since));
                return Candidate::Fails(outage(since));
            }
            Some(Standing::NotAsked | Standing::Answers | Standing::NotAskedNow) => {}
            None => match open.filter(|open| is_live && open.is_now(self.at)) {
                Some(open) if open.not_sent > 0 => return Candidate::Down(outage(None)),
                Some(_) => return Candidate::Fails(outage(None)),
                None => {}
            },
        }
        let is_lately = |time: Timestamp| time > self.at.saturating_add_micros(-LATELY_MICROS);
        let silence = silence.filter(|silence| silence.failed >= LEAST_DOWN);
        // The record has more than mirrors have seen only where older programs recorded.
        let is_of_it =
            |exact: &Exact| silence.is_none_or(|silence| silence.since.from <= exact.end());
        if let Some(exact) = exact.filter(|exact| is_lately(exact.end()) && is_of_it(exact)) {
            return Candidate::FailedUntil(exact);
        }
        let Some(silence) = silence else {
            let mostly = mostly.filter(|_| own.is_none() && is_live);
            return mostly.map_or(Candidate::Answers, Candidate::FailedMostly);
        };
        let is_now = silence.until > begin_of_now(self.at);
        if own.is_none() && is_now && is_live {
            Candidate::Down(outage(None))
        } else if is_lately(silence.until) {
            Candidate::Failed(silence)
        } else {
            Candidate::Answers
        }
    }
}

/// Since when it is down: exactly, if the mirror saw it begin, and else as the record has it, which may be longer ago than the
/// mirror runs.
fn began(silence: Option<Silence>, exact: Option<Timestamp>) -> Option<Between> {
    match (silence, exact) {
        (Some(silence), Some(exact)) if silence.since.to < exact => Some(silence.since),
        (_, Some(exact)) => Some(Between::at(exact)),
        (Some(silence), None) => Some(silence.since),
        (None, None) => None,
    }
}
