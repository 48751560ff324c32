//! How the share changes: it rises when that is on disk, and falls at once. Whoever wants either has asked for it before.

use std::io;
use std::time::Instant;

use parity_schemas::rollout::{RolloutChange, RolloutFall};
use parity_schemas::time::Timestamp;

use super::line::Line;
use super::served::alike;
use super::watch::Watch;
use super::{Controller, Inner, proof};

impl Controller {
    /// Why the candidate must not serve that much yet, whatever the gate says.
    pub(super) fn lacks(&self, inner: &Inner, to: f64) -> Option<String> {
        let seen = self.mirror.rollout_seen();
        let percent = inner.saved.percent;
        let lacks = proof::lacks(&self.settings, &inner.saved, &inner.watch, &seen, to);
        if lacks.is_some() || percent <= 0.0 || to <= percent {
            return lacks;
        }
        let routes = alike::of(&self.book.totals().routes);
        let trial = &inner.trial;
        trial.lacks(&seen.tried, percent, &self.settings, &routes)
    }

    /// Another percent is in force: what the candidate shows under it is counted from now on.
    pub(super) fn begin(&self, inner: &mut Inner) {
        let (seen, totals) = (self.mirror.rollout_seen(), self.book.totals());
        inner.watch.begin(&seen, Instant::now());
        inner.trial.begin(seen.tried, alike::of(&totals.routes));
        inner.since = totals.total.clients;
    }

    /// Raises the share, once that is on disk, and says when it did. An error says why it stays.
    pub(super) fn rise(
        &self,
        inner: &mut Inner,
        percent: f64,
        set: Option<RolloutChange>,
    ) -> Result<Timestamp, String> {
        if !self.mirror.candidate_reachable() {
            return Err("the candidate is down".to_owned());
        }
        let unkept = |error: io::Error| {
            format!("a restart would not know of it, because the state cannot be kept: {error}")
        };
        if self.own(inner).map_err(unkept)? {
            return Err(
                "another process had rollout.state_file until now: it is decided again".to_owned(),
            );
        }
        let mut raised = inner.saved.clone();
        let at = set.as_ref().map_or_else(Timestamp::now, |set| set.at);
        raised.is_at(percent, at);
        raised.pairs = Some(inner.trial.pairs(&self.mirror.rollout_seen().tried));
        if set.is_some() {
            raised.set = set;
            raised.fell_back = None;
        }
        raised.write(&self.settings.state_file).map_err(unkept)?;
        let from = inner.saved.percent;
        if from <= 0.0 {
            // What was before says nothing of those who come now.
            inner.watch = Watch::default();
            let _before = self.mirror.take_candidate_down();
        }
        inner.saved = raised;
        inner.unsaved = None;
        inner.waits = None;
        self.begin(inner);
        self.mirror.set_rollout(percent);
        tracing::info!(from, percent, "the candidate serves more clients");
        Ok(at)
    }

    /// Takes all clients back.
    pub(super) fn fall(&self, inner: &mut Inner, who: &str, reason: String) -> Line {
        self.mirror.set_rollout(0.0);
        inner.fell_alone = self.own(inner).is_err();
        let (from, at) = (inner.saved.percent, Timestamp::now());
        tracing::warn!(from, who, reason, "the rollout falls back to the legacy");
        let line = Line::back(from, reason.clone(), at);
        inner.saved.is_at(0.0, at);
        inner.saved.fell_back = Some(RolloutFall {
            at,
            who: who.to_owned(),
            reason,
            from,
        });
        inner.waits = None;
        self.begin(inner);
        self.save(inner);
        line
    }
}
