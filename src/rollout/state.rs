//! What the rollout knows over a restart, and what follows from it.
//!
//! A small JSON file, replaced as a whole. One that cannot be read is taken for a fall back: then nobody knows how far the rollout
//! was, so it stays at 0 until a person says otherwise.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use parity_schemas::rollout::{RolloutChange, RolloutFall, RolloutStep};
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::OURSELVES;
use super::served::Pairs;
use crate::config::{MirrorSettings, Plan};

/// Name and version of the file.
const SCHEMA: &str = "parity.rollout_state/v1";
/// Largest file that is read: one has less than a kilobyte, and four times as much with a long reason.
const MOST_BYTES: u64 = 64 * 1024;

/// What is served: of another one nothing of what was reached is proven.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Served {
    identity: Identity,
    /// The addresses of both services.
    legacy: String,
    candidate: String,
    /// Which mirror it is.
    instance: String,
}

impl Served {
    pub(super) fn of(settings: &MirrorSettings) -> Self {
        Self {
            identity: settings.identity.clone(),
            legacy: settings.mirror.policy.legacy.url.to_string(),
            candidate: settings.mirror.policy.candidate.url.to_string(),
            instance: settings.instance.clone(),
        }
    }
}

/// That no other process of this machine has the file: two mirrors that write the same one would take each other's percent for theirs.
#[derive(Debug, Default)]
pub(super) struct Owned(Option<File>);

impl Owned {
    /// Takes it, unless that is done, and says whether it was only taken now. The lock is a file beside it, because the file itself is replaced, and ends with the process.
    pub(super) fn take(&mut self, path: &Path) -> io::Result<bool> {
        if self.0.is_some() {
            return Ok(false);
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let told =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", name.display()));
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(told)?;
        match file.try_lock() {
            Ok(()) => {
                self.0 = Some(file);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Err(io::Error::other(format!(
                "{} is used by another process that runs; each mirror needs a rollout.state_file of its own",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(told(error)),
        }
    }
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Saved {
    schema: String,
    migration: String,
    legacy_version: String,
    candidate_version: String,
    /// The addresses of both, the rules, and which mirror it is of. Of what a file does not say nothing is proven: whoever edited it, or
    /// an older program, may have reached that with another candidate, or beside another legacy.
    #[serde(default)]
    legacy: Option<String>,
    #[serde(default)]
    candidate: Option<String>,
    #[serde(default)]
    rules_hash: Option<String>,
    #[serde(default)]
    instance: Option<String>,
    /// What was known of its shadows when the percent last rose: at 100 % there are no more of them, and after a restart none at first.
    #[serde(default)]
    pub(super) pairs: Option<Pairs>,
    /// The plan in words: another one is a later word of whoever wrote the configuration than what was set before.
    plan: String,
    /// When the rollout of these versions began, from which a schedule counts.
    began: Timestamp,
    /// Since when both have these addresses, if one had another: what was counted before is of another process, and proves
    /// nothing of this one.
    #[serde(default)]
    pub(super) counts_from: Option<Timestamp>,
    pub(super) percent: f64,
    /// Since when it is that. An older program does not say.
    #[serde(default)]
    pub(super) since: Option<Timestamp>,
    pub(super) set: Option<RolloutChange>,
    pub(super) fell_back: Option<RolloutFall>,
}

impl Saved {
    /// Reads the file, or begins.
    pub(super) fn open(path: &Path, served: &Served, plan: &Plan) -> Self {
        let identity = &served.identity;
        let plan = format!("{plan:?}");
        let fresh = Self {
            schema: SCHEMA.to_owned(),
            migration: identity.migration.clone(),
            legacy_version: identity.legacy_version.clone(),
            candidate_version: identity.candidate_version.clone(),
            legacy: Some(served.legacy.clone()),
            candidate: Some(served.candidate.clone()),
            rules_hash: Some(identity.rules_hash.clone()),
            instance: Some(served.instance.clone()),
            pairs: None,
            plan: plan.clone(),
            began: Timestamp::now(),
            counts_from: None,
            percent: 0.0,
            since: None,
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
        if let Some(other) = saved.other_than(served) {
            tracing::warn!(
                other,
                from = saved.percent,
                "the rollout begins anew at 0 %"
            );
            saved.begin_anew(served);
        }
        if saved.instance.as_ref() != Some(&served.instance) {
            // Whether another mirror had this file, or this one another name, nobody knows: the gate says how far it may go.
            tracing::warn!(
                of = saved.instance.as_deref().unwrap_or("(not said)"),
                now = served.instance,
                from = saved.percent,
                "the state of the rollout is of another instance: it begins at 0 %, and rises when the gate passes"
            );
            saved.percent = 0.0;
        }
        saved.is_now(served);
        saved
    }

    /// What is not as it was, if anything is; in words.
    pub(super) fn other_than(&self, served: &Served) -> Option<&'static str> {
        let rules = match &self.rules_hash {
            None => Some("nobody knows of which rules it was"),
            Some(kept) => (*kept != served.identity.rules_hash).then_some("other rules"),
        };
        self.other_service(served).or(rules)
    }

    fn other_service(&self, served: &Served) -> Option<&'static str> {
        let Served {
            identity,
            legacy,
            candidate,
            ..
        } = served;
        if self.legacy_version != identity.legacy_version {
            Some("another version of the legacy")
        } else if self.candidate_version != identity.candidate_version {
            Some("another version of the candidate")
        } else {
            match (&self.candidate, &self.legacy) {
                (None, _) => Some("nobody knows at which address the candidate was"),
                (Some(kept), _) if kept != candidate => Some("another address of the candidate"),
                (_, None) => Some("nobody knows at which address the legacy was"),
                (_, Some(kept)) => (kept != legacy).then_some("another address of the legacy"),
            }
        }
    }

    /// Whether a decision about these versions and rules is one about what is served.
    pub(super) fn is_judged_by(&self, identity: &Identity) -> bool {
        self.legacy_version == identity.legacy_version
            && self.candidate_version == identity.candidate_version
            && self.rules_hash.as_ref() == Some(&identity.rules_hash)
    }

    /// Another percent is in force from then on.
    pub(super) fn is_at(&mut self, percent: f64, at: Timestamp) {
        self.percent = percent;
        self.since = Some(at);
    }

    fn is_now(&mut self, served: &Served) {
        let identity = &served.identity;
        self.legacy_version.clone_from(&identity.legacy_version);
        self.candidate_version
            .clone_from(&identity.candidate_version);
        self.legacy = Some(served.legacy.clone());
        self.candidate = Some(served.candidate.clone());
        self.rules_hash = Some(identity.rules_hash.clone());
        self.instance = Some(served.instance.clone());
    }

    /// What is another one has nothing of what was reached, but a fall back stays: only a person ends it. The rules change by themselves when
    /// one of them expires: then it is the same rollout, so what a person set goes on to hold.
    pub(super) fn begin_anew(&mut self, served: &Served) {
        if self.other_service(served).is_some() {
            self.began = Timestamp::now();
            self.set = None;
        }
        let is_there = self.candidate.as_ref() == Some(&served.candidate)
            && self.legacy.as_ref() == Some(&served.legacy);
        if !is_there {
            self.counts_from = Some(Timestamp::now());
        }
        self.is_now(served);
        self.pairs = None;
        self.percent = 0.0;
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
        // Its new name is in the folder, which is written by itself.
        File::open(folder.unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all())
            .map_err(told)
    }
}

/// Takes the content of the file away, which needs no room: a file that says a higher percent than what is in force must not be read by
/// the next process. An empty one is taken for a fall back.
pub(super) fn void(path: &Path) -> io::Result<()> {
    let file = File::options().write(true).truncate(true).open(path)?;
    file.sync_all()
}

/// The file itself, whatever links lead to it: two names of one file would be two locks, and a link would be replaced by a file.
pub(super) fn itself(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The file, if there is one.
fn read(path: &Path, migration: &str) -> Result<Option<Saved>, String> {
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link whose target is away, on a volume that is not mounted: what is there, nobody knows.
            return match std::fs::symlink_metadata(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                _ => Err("it is a link to a file that is not there".to_owned()),
            };
        }
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

/// The percent that is wanted now and that a fall back keeps back, if it does.
pub(super) fn blocked(plan: &Plan, saved: &Saved, now: Timestamp) -> Option<f64> {
    saved.fell_back.as_ref()?;
    let lifted = Saved {
        fell_back: None,
        ..saved.clone()
    };
    Some(target(plan, &lifted, now)).filter(|percent| *percent > 0.0)
}

/// The first step that is not due yet; none after a fall back, because then none falls due.
pub(super) fn next(plan: &Plan, saved: &Saved, now: Timestamp) -> Option<RolloutStep> {
    if saved.fell_back.is_some() {
        return None;
    }
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
mod tests;
