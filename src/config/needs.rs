//! What each command needs of the configuration, as checked values.
//!
//! A command asks once and gets either everything or every problem. Secrets are read from their files here,
//! and settings become those of the other crates.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parity_comparator::redact::{AttributeConfig, MAX_HEADERS, RedactConfig};
use parity_comparator::rules::Rules;
use parity_schemas::edited::Edited;
use parity_schemas::known::KnownEntry;
use parity_schemas::tally::Identity;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_sink::StoreConfig;
use parity_sink::write::Retention;

use super::Layers;
use super::admin::{AdminSettings, OF_MIRROR};
use super::file::{Raw, Written};
use super::loops::Ports;
use super::problem::{MAX_SECRET_BYTES, Origin, Problem, Problems, read_named_file};
use super::recording::RecordingSettings;
use super::rollout::RolloutSettings;
use super::settings::{
    self, Kind, One, Setting, attributes, limits, mirror, recheck, redact, retention, top,
};
use super::substitutes::Substitute;

/// An HMAC key shorter than this can be guessed.
const MIN_KEY_BYTES: usize = 16;

/// Everything `mirror` needs, checked.
#[derive(Clone)]
pub(crate) struct MirrorSettings {
    /// What the record is filed under.
    pub(crate) identity: Identity,
    /// Name of this process.
    pub(crate) instance: String,
    /// The proxy's own configuration.
    pub(crate) mirror: parity_mirror::Config,
    /// The admin port.
    pub(crate) admin: AdminSettings,
    /// Where the record is kept.
    pub(crate) store: StoreConfig,
    /// For how long.
    pub(crate) retention: Retention,
    /// What is recorded of live traffic; `None` if nothing is.
    pub(crate) recording: Option<RecordingSettings>,
    /// How the share grows that the candidate serves; `None` if it serves nobody.
    pub(crate) rollout: Option<RolloutSettings>,
    /// Exchanges that may wait for comparison.
    pub(crate) queue: usize,
    /// Whether nobody waits for what comes after them, so that they may wait for as long as comparing takes.
    pub(crate) may_wait: bool,
    /// How both services are asked again.
    pub(crate) recheck: RecheckSettings,
    /// Which attributes of requests are counted; `None` if none.
    pub(crate) attributes: Option<AttributeConfig>,
    /// What counts as equal now: the rules that have not expired.
    pub(crate) rules: Arc<Rules>,
    /// All rules, also those that have expired.
    rules_as_given: Arc<Rules>,
    /// When the next rule expires.
    pub(crate) next_expiry: Option<Timestamp>,
    /// What may be recorded clear.
    pub(crate) redact: RedactConfig,
    /// Key of the hmac: values.
    pub(crate) redaction_key: Vec<u8>,
    /// Socket for taking over from a running mirror, and for handing over to the next.
    pub(crate) handover: Option<PathBuf>,
    /// All settings, each with whether only a restart can change it, and a hash of its value.
    hashes: Vec<(&'static str, bool, u64)>,
    /// The register of known differences, for the pages.
    pub(crate) known: Arc<[KnownEntry]>,
    /// What a replay puts in the place of recorded values.
    pub(crate) substitutes: Vec<Substitute>,
    /// Settings of the file that do not apply, and the variable or flag that is stronger.
    pub(crate) overridden: BTreeMap<&'static str, Origin>,
}

impl MirrorSettings {
    /// Takes out the rules that have expired by now, and returns their ids. The hash of the rules is then that of the
    /// rules that are left, as it is after a restart: evidence is bound to the rules that really apply.
    pub(crate) fn expire_rules(&mut self, now: Timestamp) -> Vec<String> {
        let before = std::mem::replace(
            &mut self.rules,
            Arc::new(self.rules_as_given.holding_at(now)),
        );
        self.rules.hash().clone_into(&mut self.identity.rules_hash);
        self.next_expiry = self.rules_as_given.next_expiry(now);
        before
            .ids()
            .filter(|id| self.rules.ids().all(|left| left != *id))
            .map(str::to_owned)
            .collect()
    }

    /// Leaves the rollout out.
    fn forget_rollout(&mut self) {
        self.rollout = None;
        self.mirror.policy.rollout = None;
    }

    /// The settings that differ from those of a running mirror and cannot be applied to it.
    pub(crate) fn need_a_restart(&self, running: &Self) -> Vec<&'static str> {
        let changed = self.changed(running);
        changed
            .filter_map(|(name, fixed)| fixed.then_some(name))
            .collect()
    }

    /// The settings that differ, each with whether only a restart can change it.
    fn changed<'a>(&'a self, running: &'a Self) -> impl Iterator<Item = (&'static str, bool)> + 'a {
        let both = self.hashes.iter().zip(&running.hashes);
        let changed = both.filter(|((_, _, new), (_, _, old))| new != old);
        changed.map(|((name, fixed, _), _)| (*name, *fixed))
    }

    /// The rules in force that these settings add to those of a running mirror, remove or change.
    fn rules_edited(&self, running: &Self) -> Edited {
        let [before, after] = [running, self].map(|settings| {
            let texts = settings.rules.texts();
            texts.map(|rule| (rule.id.as_str(), rule))
        });
        Edited::between(before, after)
    }

    /// The same of the entries of the register of known differences.
    pub(crate) fn known_edited(&self, running: &Self) -> Edited {
        let [before, after] = [running, self].map(|settings| {
            let entries = settings.known.iter();
            entries.map(|entry| (entry.id.as_str(), entry))
        });
        Edited::between(before, after)
    }

    /// What these settings change of those of a running mirror, in words: how much is shadowed with its values, the rules by
    /// their hash and the names of those that were edited, known differences by their names, and of the others the names of the settings.
    pub(crate) fn change_of(&self, running: &Self) -> String {
        let mut told = Vec::new();
        let shares = [running, self].map(|settings| settings.mirror.policy.sampling.share);
        let [before, now] = shares;
        if before.to_bits() != now.to_bits() {
            told.push(format!("sample {before} → {now}"));
        }
        let [before, now] = [running, self].map(|settings| &settings.identity.rules_hash);
        let edited = self.rules_edited(running);
        if before != now && edited.is_empty() {
            told.push(format!("rules {before} → {now}"));
        } else if before != now {
            told.push(format!("rules {before} → {now} ({})", edited.told()));
        } else if !edited.is_empty() {
            told.push(format!("rules ({}), which decide as before", edited.told()));
        }
        let known = self.known_edited(running);
        if !known.is_empty() {
            told.push(format!("known differences ({})", known.told()));
        }
        let sample = self.changed(running).map(|(name, _)| name);
        let names: Vec<&str> = sample.filter(|name| *name != mirror::SAMPLE.key).collect();
        if !names.is_empty() {
            told.push(names.join(", "));
        }
        if told.is_empty() {
            "nothing that is a setting, a rule or a known difference has changed".to_owned()
        } else {
            format!("changed: {}", told.join(", "))
        }
    }
}

/// How both services are asked again when their answers differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecheckSettings {
    /// Requests in a second; 0 is off.
    pub(crate) rate: usize,
    /// Time between the first answers and the second look.
    pub(crate) delay: Duration,
    /// Requests at once, those that wait for the delay included.
    pub(crate) in_flight: usize,
    /// Requests in a minute with differences of one group that was confirmed.
    pub(crate) per_group: usize,
    /// Share of the matching requests that the legacy is asked again.
    pub(crate) control: f64,
}

/// Which record to read.
pub(crate) struct StoreSettings {
    /// Where it is.
    pub(crate) store: StoreConfig,
    /// Which migration.
    pub(crate) migration: String,
    /// The register of known differences.
    pub(crate) known: Arc<[KnownEntry]>,
    /// Rules that have a date.
    pub(crate) dated: Arc<[RuleText]>,
}

impl Layers {
    pub(super) fn secret(
        &mut self,
        setting: &'static One<PathBuf>,
        least: usize,
    ) -> Option<Vec<u8>> {
        let (path, origin) = self.path(setting)?;
        match read_named_file(&path, &origin, MAX_SECRET_BYTES) {
            Ok(bytes) => {
                let secret = bytes.trim_ascii().to_vec();
                if secret.len() < least {
                    let message = format!(
                        "{}: {} holds {} bytes",
                        setting.key,
                        path.display(),
                        secret.len()
                    );
                    let hint = format!(
                        "at least {least} are needed; `openssl rand -hex 32` makes a good one"
                    );
                    self.problems.push(Problem::new(origin, message).hint(hint));
                    return None;
                }
                Some(secret)
            }
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    pub(super) fn redaction_key(&mut self) -> Option<Vec<u8>> {
        if self.is_given(&redact::KEY_FILE) {
            return self.secret(&redact::KEY_FILE, MIN_KEY_BYTES);
        }
        // Two random ids hold 244 random bits; a key of one process need not be more.
        let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        Some(random.iter().flat_map(|id| *id.as_bytes()).collect())
    }

    pub(super) fn retention(&mut self) -> Option<Retention> {
        let bodies = self.get(&retention::BODIES);
        let mismatches = self.get(&retention::MISMATCHES);
        let tallies = self.get(&retention::TALLIES);
        let size = self.get(&retention::SIZE);
        Some(Retention {
            samples: bodies?,
            mismatches: mismatches?,
            tallies: tallies?,
            max_bytes: size?,
        })
    }

    /// Everything that `mirror` needs, or all that is wrong. A rule that has expired is wrong, too.
    pub(crate) fn mirror(self) -> Result<MirrorSettings, Problems> {
        let mut settings = self.mirror_at(Timestamp::now())?;
        settings.forget_rollout();
        Ok(settings)
    }

    /// The same for a mirror that is about to serve: a rule that has expired no longer applies, which is a warning. That a
    /// day has come must not keep a proxy from starting again.
    pub(crate) fn mirror_to_serve(self) -> Result<MirrorSettings, Problems> {
        let mut settings = self.mirror_to_roll_out()?;
        settings.forget_rollout();
        Ok(settings)
    }

    /// The same with the rollout, which only the mirror in front of clients has: a CI job or a replay with the same file must
    /// not change how far it is.
    pub(crate) fn mirror_to_roll_out(self) -> Result<MirrorSettings, Problems> {
        let mut settings = self.mirror_at(Timestamp::default())?;
        for rule in settings.expire_rules(Timestamp::now()) {
            tracing::warn!(
                rule,
                "the rule has expired and no longer applies; remove it, or decide anew"
            );
        }
        Ok(settings)
    }

    /// What it takes to ask both services again about what a record has: the settings of a mirror that serves nobody. A rule that
    /// has expired no longer applies, as in the mirror.
    pub(crate) fn mirror_to_ask(mut self) -> Result<MirrorSettings, Problems> {
        // No port is bound and no process taken over from, so what that needs may be missing.
        let ports: [&'static Setting; 2] = [&mirror::LISTEN, &mirror::ADMIN];
        for port in ports {
            let any = Written::of(port, "127.0.0.1:0", Origin::Default);
            self.values.insert(port.key, any);
        }
        let of_ports: [&'static One<PathBuf>; 3] = [
            &mirror::HANDOVER,
            &mirror::TLS_CERTIFICATE_FILE,
            &mirror::TLS_KEY_FILE,
        ];
        for setting in OF_MIRROR.files().into_iter().chain(of_ports) {
            self.values.remove(setting.key);
        }
        self.mirror_to_serve()
    }

    fn mirror_at(mut self, now: Timestamp) -> Result<MirrorSettings, Problems> {
        let migration = self.get(&top::MIGRATION);
        let legacy_version = self.get(&mirror::LEGACY_VERSION);
        let candidate_version = self.get(&mirror::CANDIDATE_VERSION);
        let instance = self.get(&mirror::INSTANCE);
        let listen = self.get(&mirror::LISTEN);
        let policy = self.policy();
        let shadowing = self.get(&mirror::SHADOW);
        let workers = self.get(&mirror::WORKERS);
        let store = self.store();
        let admin = self.admin(&OF_MIRROR);
        let queue = self.get(&limits::QUEUE);
        let recheck = self.recheck();
        let attributes = self.attributes();
        let retention = self.retention();
        let recording = self.recording();
        let rollout = self.rollout();
        let rules = self.rules(now);
        // Whoever is about to serve has no time yet: an entry that has expired keeps no proxy from starting.
        let known = self.known(Some(now).filter(|now| *now > Timestamp::default()));
        let substitutes = self.substitutes();
        let redact = self.redact();
        let redaction_key = self.redaction_key();
        let handover = self.path(&mirror::HANDOVER);
        let self_comparison = self.get(&mirror::SELF_COMPARISON);
        if let Some(policy) = &policy {
            let allowed = self_comparison.unwrap_or(true);
            self.look_at_self_comparison(&policy.legacy, &policy.candidate, allowed);
            let ports = Ports {
                proxy: listen,
                admin: admin.as_ref().map(|admin| admin.address),
                handover: handover.as_ref().map(|(path, _)| path.as_path()),
            };
            let upstreams = [
                (&*mirror::LEGACY, &policy.legacy.url),
                (&*mirror::CANDIDATE, &policy.candidate.url),
            ];
            self.refuse_loops(upstreams, &ports);
            self.look_at_certificates(policy);
        }
        if let (Some(proxy), Some(admin)) = (listen, &admin) {
            self.refuse_one_port_twice(proxy, admin.address);
        }
        let hashes = settings::all()
            .map(|setting| {
                (
                    self.name(setting),
                    setting.needs_restart,
                    self.hash_of(setting),
                )
            })
            .collect();
        let complete = || {
            let rules_as_given = rules?;
            let rules = Arc::new(rules_as_given.holding_at(now));
            Some(MirrorSettings {
                identity: Identity {
                    migration: migration?,
                    legacy_version: legacy_version?,
                    candidate_version: candidate_version?,
                    rules_hash: rules.hash().to_owned(),
                },
                instance: instance.unwrap_or_else(host_name),
                mirror: parity_mirror::Config {
                    listen: listen?,
                    workers: workers
                        .and_then(NonZeroUsize::new)
                        .or_else(|| std::thread::available_parallelism().ok())
                        .unwrap_or(NonZeroUsize::MIN),
                    connections: parity_mirror::Config::CONNECTIONS,
                    others: parity_mirror::ConnectionLimits::default(),
                    shadowing: shadowing?,
                    policy: policy?,
                },
                admin: admin?,
                store: store?,
                retention: retention?,
                recording,
                rollout,
                queue: queue?,
                may_wait: false,
                recheck: recheck?,
                attributes,
                next_expiry: rules_as_given.next_expiry(now),
                rules,
                rules_as_given,
                redact: redact?,
                redaction_key: redaction_key?,
                handover: handover.map(|(path, _)| path),
                hashes,
                known,
                substitutes,
                overridden: self.overridden.clone(),
            })
        };
        let settings = complete();
        match settings {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            _ => Err(self.into_problems()),
        }
    }

    fn attributes(&mut self) -> Option<AttributeConfig> {
        let enabled = self.get(&attributes::ENABLED);
        let headers = self.each(&attributes::HEADERS);
        let candidate_instance = self.get(&attributes::CANDIDATE_INSTANCE);
        if headers.len() > MAX_HEADERS {
            let message = format!(
                "{}: {} headers are listed; at most {MAX_HEADERS} are counted",
                attributes::HEADERS.key,
                headers.len()
            );
            let problem = Problem::new(self.origin(&attributes::HEADERS), message);
            self.problems
                .push(problem.hint("keep those that tell kinds of requests apart"));
        }
        // A value that cannot be read is a problem, so this is then not used.
        enabled?.then_some(AttributeConfig {
            headers,
            candidate_instance,
        })
    }

    fn recheck(&mut self) -> Option<RecheckSettings> {
        let rate = self.get(&recheck::RATE);
        let delay = self.get(&recheck::DELAY);
        let in_flight = self.get(&recheck::IN_FLIGHT);
        let per_group = self.get(&recheck::PER_GROUP);
        let control = self.get(&recheck::CONTROL);
        Some(RecheckSettings {
            rate: rate?,
            delay: delay?,
            in_flight: in_flight?,
            per_group: per_group?,
            control: control?,
        })
    }

    /// A hash of a setting's value, by which a change is seen: also of secrets, and of the content of files.
    fn hash_of(&self, setting: &Setting) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self.values.get(setting.key).map(|written| &written.value) {
            Some(Raw::Text(text)) => text.hash(&mut hasher),
            Some(Raw::List(items)) => items.hash(&mut hasher),
            None => setting.default().hash(&mut hasher),
        }
        if setting.kind == Kind::Path
            && let Some((path, _)) = self.text(setting)
            // What cannot be read is a folder or a socket: only its path counts.
            && let Ok(content) = std::fs::read(path)
        {
            content.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// What `report` and `gate` need. Problems of other settings do not concern a reader.
    pub(crate) fn reader(mut self) -> Result<StoreSettings, Problems> {
        let migration = self.get(&top::MIGRATION);
        let store = self.store();
        let dated = self.dated_rules();
        let known = self.known(None);
        match (store, migration) {
            (Some(store), Some(migration)) if self.problems.is_empty() => Ok(StoreSettings {
                store,
                migration,
                known,
                dated,
            }),
            _ => Err(self.into_problems()),
        }
    }

    /// What `ui` needs.
    pub(crate) fn ui(mut self) -> Result<(StoreSettings, AdminSettings), Problems> {
        let admin = self.admin(&OF_MIRROR);
        let settings = self.reader()?;
        admin
            .map(|admin| (settings, admin))
            .ok_or_else(|| Problems(Vec::new()))
    }
}

/// The host's name, which tells instances apart; `localhost` where the system does not say.
pub(crate) fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_else(|| "localhost".to_owned())
}
