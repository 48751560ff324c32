//! What the admin port reads of a running mirror, and changes in it. Nothing here waits for a request or for the store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use parity_dashboards::server::audit::Auditor;
use parity_dashboards::server::{MirrorAdmin, Register, RolloutAdmin};
use parity_dashboards::view::Status;
use parity_schemas::audit::Audit;
use parity_schemas::known::KnownEntry;
use parity_schemas::record::Record;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_sink::{RecordSender, TallyBook};

use crate::recording::Counts;
use crate::rerun::Rerunner;
use crate::rollout::{Controller, Steering};

/// What the admin port reads of the running mirror, and changes in it.
pub(super) struct AdminHandle {
    pub(super) mirror: parity_mirror::MirrorHandle,
    /// For the health of the store.
    pub(super) records: RecordSender,
    /// What was recorded for a replay, if anything is.
    pub(super) recorded: Option<Arc<Counts>>,
    /// For the outcomes of clients.
    pub(super) book: Arc<TallyBook>,
    pub(super) accepting: AtomicBool,
    /// The warning that file descriptors are few, if they are.
    pub(super) descriptors_low: Option<String>,
    /// Why the last reload failed; `None` if it succeeded.
    pub(super) config_error: Mutex<Option<String>>,
    /// What the record of new requests is filed under.
    pub(super) identity: Mutex<Identity>,
    /// The name of this process in the record.
    pub(super) instance: String,
    /// The register of known differences, for the pages, and when it was read.
    pub(super) known: Mutex<(Arc<[KnownEntry]>, Timestamp)>,
    /// Runs recorded requests again, by the settings in force.
    pub(super) rerunner: Arc<Rerunner>,
    /// What steers the rollout, if there is one.
    pub(super) rollout: Option<Arc<Controller>>,
}

impl AdminHandle {
    /// Begins to steer the rollout, if there is one.
    pub(super) fn steer(self: &Arc<Self>) -> Result<Option<Steering>> {
        let auditor = Arc::clone(self) as Arc<dyn Auditor>;
        let rollout = self.rollout.as_ref();
        rollout.map(|rollout| rollout.start(&auditor)).transpose()
    }

    pub(super) fn identity(&self) -> MutexGuard<'_, Identity> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the known differences of a configuration that was read now.
    pub(super) fn set_known(&self, known: &Arc<[KnownEntry]>) {
        let mut held = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *held = (Arc::clone(known), Timestamp::now());
    }

    /// What the pages judge by. A rule with a date is no matter of theirs: the mirror counts under other rules when one expires.
    pub(super) fn register(&self) -> Register {
        let (known, read) = {
            let held = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            (Arc::clone(&held.0), held.1)
        };
        let refused = self.config_error.lock();
        let refused = refused.unwrap_or_else(PoisonError::into_inner);
        Register {
            known,
            dated: Arc::default(),
            read,
            refused: refused
                .as_ref()
                .map(|why| format!("The configuration was not read again: {why}")),
        }
    }
}

impl Auditor for AdminHandle {
    /// By the queue of all records, so that it comes to any store, and no change waits for it.
    fn keep(&self, change: &mut Audit) -> Result<(), String> {
        change.migration.clone_from(&self.identity().migration);
        change.instance.clone_from(&self.instance);
        let record = Record::Audit(Box::new(change.clone()));
        self.records
            .send(record)
            .map_err(|dropped| dropped.to_string())?;
        match self.records.health().failure {
            Some(failure) => Err(format!(
                "it waits in memory until the store works again: {}",
                failure.message
            )),
            None => Ok(()),
        }
    }
}

impl MirrorAdmin for AdminHandle {
    fn set_shadowing(&self, on: bool) {
        if self.mirror.shadowing() != on {
            tracing::info!(shadowing = on, "shadowing switched");
        }
        self.mirror.set_shadowing(on);
    }

    fn rollout(&self) -> Option<Arc<dyn RolloutAdmin>> {
        let rollout = self.rollout.as_ref()?;
        Some(Arc::clone(rollout) as Arc<dyn RolloutAdmin>)
    }

    fn status(&self) -> Status {
        let store = self.records.health();
        let totals = self.book.totals();
        let [legacy, candidate] = [self.mirror.legacy_seen(), self.mirror.candidate_seen()];
        let Identity {
            migration,
            legacy_version,
            candidate_version,
            rules_hash,
        } = self.identity().clone();
        Status {
            migration,
            legacy_version,
            candidate_version,
            rules_hash,
            instance: self.instance.clone(),
            clients: totals.total.clients,
            last_failed_client: totals.last_failed_client,
            clients_now: Some(totals.clients_now),
            started: Some(totals.since),
            ready: self.accepting.load(Ordering::Relaxed),
            shadowing: self.mirror.shadowing(),
            legacy_reachable: self.mirror.legacy_reachable(),
            legacy_asked: legacy.asked,
            legacy_failing_since: legacy.failing_since,
            candidate_reachable: self.mirror.candidate_reachable(),
            candidate_asked: candidate.asked,
            candidate_failing_since: candidate.failing_since,
            candidate_failures: totals.candidate.failures,
            candidate_errors: totals.candidate.errors,
            shadows_in_flight: self.mirror.in_flight(),
            shadow_bytes: self.mirror.shadow_bytes_held(),
            store_error: store.failure.map(|failure| failure.message),
            store_loss: store
                .loss
                .map(|loss| format!("{}: {}", loss.since, loss.message)),
            records_queued: store.queued_records,
            records_dropped: store.dropped_records,
            spool_bytes: store.spool_bytes,
            recording: self.recorded.as_ref().map(|recorded| recorded.status()),
            rollout: self.rollout.as_ref().map(|rollout| rollout.document()),
            descriptors_low: self.descriptors_low.clone(),
            config_error: self
                .config_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }
}
