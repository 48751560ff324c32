//! What was taken in each session, bounded: a recording may have more clients than memory.

use std::collections::{HashMap, VecDeque};

use super::Value;
use super::cookies::Jar;
use crate::exchange::Side;

/// Bytes of all that was taken; beyond that, the sessions that began first are forgotten.
const MAX_HELD: usize = 64 << 20;
/// What a session takes besides its values, about.
const EACH: usize = 256;

/// All sessions of which anything was taken.
#[derive(Default)]
pub(super) struct Sessions {
    by_name: HashMap<Box<str>, [Known; Side::ALL.len()]>,
    /// In the order in which they began.
    begun: VecDeque<Box<str>>,
    held: usize,
}

/// What one service gave out in one session.
#[derive(Default)]
pub(super) struct Known {
    pub(super) jar: Jar,
    /// By the number of their rules.
    values: Vec<Option<Value>>,
}

impl Known {
    pub(super) fn value(&self, rule: usize) -> Option<Value> {
        self.values.get(rule)?.clone()
    }

    pub(super) fn set(&mut self, rule: usize, value: Value) {
        if self.values.len() <= rule {
            self.values.resize(rule + 1, None);
        }
        if let Some(place) = self.values.get_mut(rule) {
            *place = Some(value);
        }
    }

    fn held(&self) -> usize {
        let values = self.values.iter().flatten();
        let values: usize = values.map(|value| value.text.len()).sum();
        self.jar.held() + values + self.values.len() * size_of::<Option<Value>>()
    }
}

impl Sessions {
    /// What a service gave out in a session so far.
    pub(super) fn of(&self, session: &str, side: Side) -> Option<&Known> {
        self.by_name.get(session)?.get(side as usize)
    }

    /// Changes that.
    pub(super) fn change(&mut self, session: &str, side: Side, change: impl FnOnce(&mut Known)) {
        if !self.by_name.contains_key(session) {
            self.by_name.insert(session.into(), Default::default());
            self.begun.push_back(session.into());
            self.held += EACH + session.len() * 2;
        }
        let known = self.by_name.get_mut(session);
        if let Some(known) = known.and_then(|known| known.get_mut(side as usize)) {
            let before = known.held();
            change(known);
            self.held = self.held + known.held() - before;
        }
    }

    /// Forgets the sessions that began first while there is too much; returns how many.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        let mut forgotten = 0;
        while self.held > MAX_HELD
            && self.begun.len() > 1
            && let Some(session) = self.begun.pop_front()
        {
            if let Some(known) = self.by_name.remove(&session) {
                let held: usize = known.iter().map(Known::held).sum();
                self.held -= held + EACH + session.len() * 2;
                forgotten += 1;
            }
        }
        forgotten
    }
}
