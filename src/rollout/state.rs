//! What the rollout knows over a restart, and what follows from it.
//!
//! A small JSON file, replaced as a whole. One that cannot be read is taken for a fall back: then nobody knows how far the rollout
//! was, so it stays at 0 until a person says otherwise.

use std::io::{self, Write as _};
use std::path::Path;

use parity_schemas::rollout::{RolloutChange, RolloutFall, RolloutStep};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::OURSELVES;
use crate::config::Plan;

/// Name and version of the file.
const SCHEMA: &str = "parity.rollout_state/v1";
/// Largest file that is read: one has less than a kilobyte, and four times as much with a long reason.
const MOST_BYTES: u64 = 64 * 1024;

/// What is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    schema: String,
    migration: String,
    legacy_version: String,
    candidate_version: String,
    /// The plan in words: another one is a later word of whoever wrote the configuration than what was set before.
    plan: String,
    /// When the rollout of these versions began, from which a schedule counts.
    began: Timestamp,
    pub(super) percent: f64,
    pub(super) set: Option<RolloutChange>,
    pub(super) fell_back: Option<RolloutFall>,
}

impl Saved {
    /// Reads the file, or begins.
    pub(super) fn open(path: &Path, identity: &Identity, plan: &Plan) -> Self {
        let plan = format!("{plan:?}");
        let fresh = Self {
            schema: SCHEMA.to_owned(),
            migration: identity.migration.clone(),
            legacy_version: identity.legacy_version.clone(),
            candidate_version: identity.candidate_version.clone(),
            plan: plan.clone(),
            began: Timestamp::now(),
            percent: 0.0,
            set: None,
            fell_back: None,
        };
        let mut saved = match read(path, &identity.migration) {
            Ok(Some(saved)) => saved,
            Ok(None) => return fresh,
            Err(why) => {
                let reason = format!("how far it was is not known: {}: {why}", path.display());
                tracing::error!(
                    reason,
                    "the rollout begins at 0 %, and stays there until somebody sets a percent"
                );
                let fell_back = Some(RolloutFall {
                    at: Timestamp::now(),
                    who: OURSELVES.to_owned(),
                    reason,
                    from: 0.0,
                });
                return Self { fell_back, ..fresh };
            }
        };
        if saved.plan != plan {
            saved.set = None;
            saved.plan = plan;
        }
        if !saved.is_of(identity) {
            saved.begin_anew(identity);
        }
        saved
    }

    /// Whether it is of these versions.
    pub(super) fn is_of(&self, identity: &Identity) -> bool {
        self.legacy_version == identity.legacy_version
            && self.candidate_version == identity.candidate_version
    }

    /// Another version has nothing of what was reached, but a fall back stays: only a person ends it.
    pub(super) fn begin_anew(&mut self, identity: &Identity) {
        self.legacy_version.clone_from(&identity.legacy_version);
        self.candidate_version
            .clone_from(&identity.candidate_version);
        self.began = Timestamp::now();
        self.percent = 0.0;
        self.set = None;
    }

    /// Replaces the file.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let told =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(told)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n").map_err(told)?;
        file.as_file().sync_all().map_err(told)?;
        file.persist(path).map_err(|error| told(error.error))?;
        Ok(())
    }
}

/// The file, if there is one.
fn read(path: &Path, migration: &str) -> Result<Option<Saved>, String> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err("it is no file of a rollout".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if saved.schema != SCHEMA {
        return Err(format!("it is not {SCHEMA}"));
    }
    if saved.migration != migration {
        return Err(format!(
            "it is of the migration `{}`; each mirror needs a rollout.state_file of its own",
            saved.migration
        ));
    }
    if !(0.0..=100.0).contains(&saved.percent) {
        return Err(format!("it says {} %", saved.percent));
    }
    Ok(Some(saved))
}

/// The percent that is wanted now: what a person set, until a later step of the schedule is due; nothing after a fall back.
pub(super) fn target(plan: &Plan, saved: &Saved, now: Timestamp) -> f64 {
    if saved.fell_back.is_some() {
        return 0.0;
    }
    let set = saved.set.as_ref();
    let planned = match plan {
        Plan::Percent(percent) => set.is_none().then_some(*percent),
        Plan::Schedule(steps) => {
            let due = |time: Timestamp| time <= now && set.is_none_or(|set| time > set.at);
            let steps = steps.iter().rev();
            let mut due = steps.filter(|step| due(step.due.of(saved.began)));
            due.next().map(|step| step.percent)
        }
    };
    planned.or(set.map(|set| set.percent)).unwrap_or(0.0)
}

/// The first step that is not due yet.
pub(super) fn next(plan: &Plan, saved: &Saved, now: Timestamp) -> Option<RolloutStep> {
    let Plan::Schedule(steps) = plan else {
        return None;
    };
    let steps = steps.iter().map(|step| RolloutStep {
        percent: step.percent,
        at: step.due.of(saved.began),
    });
    steps
        .filter(|step| step.at > now)
        .min_by_key(|step| step.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::rollout::step;

    fn identity(candidate: &str) -> Identity {
        Identity {
            migration: "m".to_owned(),
            legacy_version: "1".to_owned(),
            candidate_version: candidate.to_owned(),
            rules_hash: "r".to_owned(),
        }
    }

    fn plan() -> Plan {
        let steps = ["10 after 0s", "30 after 10s", "100 after 20s"]
            .map(|text| step(text).expect("a step"));
        Plan::Schedule(steps.to_vec())
    }

    /// As it is written, since numbers of this kind have no equality.
    fn percent(plan: &Plan, saved: &Saved, now: Timestamp) -> String {
        target(plan, saved, now).to_string()
    }

    fn change(percent: f64, at: Timestamp) -> RolloutChange {
        RolloutChange {
            percent,
            at,
            who: "anna".to_owned(),
        }
    }

    fn fall(reason: &str) -> RolloutFall {
        RolloutFall {
            at: Timestamp::now(),
            who: OURSELVES.to_owned(),
            reason: reason.to_owned(),
            from: 30.0,
        }
    }

    #[test]
    fn steps_fall_due_a_person_wins_until_the_next_and_nothing_is_due_after_a_fall_back() {
        let place = tempfile::tempdir().expect("a folder");
        let mut saved = Saved::open(&place.path().join("none"), &identity("1"), &plan());
        let at = |seconds: i64| saved.began.saturating_add_micros(seconds * 1_000_000);
        let times = [-1, 0, 9, 10, 19, 20, 1_000].map(at);
        let wanted = |saved: &Saved| times.map(|now| percent(&plan(), saved, now));
        assert_eq!(wanted(&saved), ["0", "10", "10", "30", "30", "100", "100"]);
        let step = next(&plan(), &saved, times[1]).expect("there are more");
        assert_eq!((step.percent, step.at), (30.0, times[3]));
        assert_eq!(next(&plan(), &saved, times[5]), None);
        saved.set = Some(change(20.0, at(12)));
        assert_eq!(wanted(&saved)[4..], ["20", "100", "100"]);
        saved.fell_back = Some(fall("tested"));
        assert_eq!(wanted(&saved), ["0"; 7]);
        let by_hand = Plan::Percent(5.0);
        assert_eq!(percent(&by_hand, &saved, times[6]), "0");
        saved.fell_back = None;
        assert_eq!(percent(&by_hand, &saved, times[6]), "20");
        saved.set = None;
        assert_eq!(percent(&by_hand, &saved, times[6]), "5");
    }

    #[test]
    fn it_is_read_again_as_it_was_and_a_fall_back_outlives_other_versions_and_plans() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("state.json");
        let mut saved = Saved::open(&path, &identity("1"), &plan());
        saved.percent = 30.0;
        saved.set = Some(change(30.0, saved.began));
        saved.write(&path).expect("writable");
        assert_eq!(Saved::open(&path, &identity("1"), &plan()), saved);
        let other_plan = Saved::open(&path, &identity("1"), &Plan::Percent(5.0));
        assert_eq!((other_plan.percent, other_plan.set), (30.0, None));
        let other = Saved::open(&path, &identity("2"), &plan());
        assert_eq!((other.percent, &other.set), (0.0, &None));
        saved.percent = 0.0;
        saved.fell_back = Some(fall("tested"));
        saved.write(&path).expect("writable");
        for (version, plan) in [("1", plan()), ("2", plan()), ("1", Plan::Percent(100.0))] {
            let again = Saved::open(&path, &identity(version), &plan);
            assert_eq!(again.fell_back, saved.fell_back);
            assert_eq!(percent(&plan, &again, Timestamp::now()), "0");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_fall_back() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("state.json");
        let whole = Saved::open(&path, &identity("1"), &plan());
        whole.write(&path).expect("writable");
        let text = std::fs::read_to_string(&path).expect("written");
        for hostile in [
            String::new(),
            "{}".to_owned(),
            text.chars().take(text.len() / 2).collect(),
            text.replace("\"percent\": 0.0", "\"percent\": 101.0"),
            text.replace("\"percent\": 0.0", "\"percent\": -1"),
            text.replace("\"migration\": \"m\"", "\"migration\": \"other\""),
            text.replace(SCHEMA, "parity.other/v1"),
            " ".repeat(usize::try_from(MOST_BYTES).expect("it fits") + 1),
        ] {
            std::fs::write(&path, &hostile).expect("writable");
            let opened = Saved::open(&path, &identity("1"), &plan());
            assert_eq!(opened.percent.to_string(), "0");
            let fell = opened.fell_back.expect("a fall back");
            assert!(fell.reason.contains("state.json"), "{}", fell.reason);
        }
        std::fs::remove_file(&path).expect("it is there");
        std::fs::create_dir(&path).expect("its name is free");
        let opened = Saved::open(&path, &identity("1"), &plan());
        assert!(opened.fell_back.is_some());
        assert!(opened.write(&path).is_err());
    }
}
