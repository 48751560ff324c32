//! The numbers that stand for routes while they are counted.
//!
//! A number belongs to an *edition*: what is counted under other versions or other rules is other evidence, so it gets
//! tallies of its own, although the route has the same name. An edition is begun when the configuration is reloaded;
//! the old ones stay, for requests under way still count in them, and cost their labels.

use parity_schemas::id::new_id;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use uuid::Uuid;

use super::OTHER;
use super::counters::FastMap;

/// One edition of a book, for those who count in it.
#[derive(Clone, Copy, Debug)]
pub struct EditionId {
    pub(super) place: usize,
    /// The number that stands for all its routes beyond the cap.
    pub(super) other: u32,
    /// How many rules it has.
    pub(super) rules: usize,
}

/// What counts are evidence for, and the rules that they were compared by.
pub(super) struct Edition {
    pub(super) identity: Identity,
    pub(super) rule_ids: Vec<String>,
    /// The run that it is, see [`parity_schemas::watermark`].
    pub(super) run: Uuid,
    /// When it began.
    pub(super) started: Timestamp,
    /// The number that stands for all routes beyond the cap.
    other: u32,
    numbers: FastMap<Box<str>, u32>,
}

impl Edition {
    pub(super) fn new(identity: Identity, rule_ids: Vec<String>, started: Timestamp) -> Self {
        Self {
            identity,
            rule_ids,
            run: new_id(),
            started,
            other: 0,
            numbers: FastMap::default(),
        }
    }
}

/// All editions of a process, the current one last.
pub(super) struct Routes {
    editions: Vec<Edition>,
    /// By number: the edition, and the label within it.
    labels: Vec<(usize, Box<str>)>,
}

impl Routes {
    pub(super) fn begin(first: Edition) -> Self {
        let mut routes = Self {
            editions: Vec::new(),
            labels: Vec::new(),
        };
        routes.push(first);
        routes
    }

    /// Makes another edition the current one, unless it says the same.
    pub(super) fn turn(&mut self, next: Edition) {
        let same = self
            .editions
            .last()
            .is_some_and(|last| last.identity == next.identity && last.rule_ids == next.rule_ids);
        if !same {
            self.push(next);
        }
    }

    fn push(&mut self, mut edition: Edition) {
        let number = self.labels.len() as u32;
        edition.other = number;
        edition.numbers.insert(OTHER.into(), number);
        self.labels.push((self.editions.len(), OTHER.into()));
        self.editions.push(edition);
    }

    /// The current edition.
    pub(super) fn current(&self) -> EditionId {
        let place = self.editions.len() - 1;
        let edition = &self.editions[place];
        EditionId {
            place,
            other: edition.other,
            rules: edition.rule_ids.len(),
        }
    }

    /// All editions, in the order of their places.
    pub(super) fn editions(&self) -> impl Iterator<Item = &Edition> {
        self.editions.iter()
    }

    /// The place of the edition that a number belongs to.
    pub(super) fn edition_of(&self, number: u32) -> usize {
        self.labels[number as usize].0
    }

    /// What a number stands for.
    pub(super) fn of(&self, number: u32) -> (&Edition, &str) {
        let (edition, label) = &self.labels[number as usize];
        (&self.editions[*edition], label)
    }

    /// The labels of all numbers, in their order.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|(_, label)| &**label)
    }

    /// What is known of a label.
    pub(super) fn number(&self, edition: EditionId, label: &str, most: usize) -> Number {
        let numbers = &self.editions[edition.place].numbers;
        match numbers.get(label) {
            Some(number) => Number::Known(*number),
            None if numbers.len() > most => Number::Full,
            None => Number::New,
        }
    }

    /// Gives a label a number, if the edition has room.
    pub(super) fn add(&mut self, edition: EditionId, label: &str, most: usize) -> Option<u32> {
        match self.number(edition, label, most) {
            // Another thread was faster.
            Number::Known(number) => return Some(number),
            Number::Full => return None,
            Number::New => {}
        }
        let number = u32::try_from(self.labels.len()).ok()?;
        self.labels.push((edition.place, label.into()));
        self.editions[edition.place]
            .numbers
            .insert(label.into(), number);
        Some(number)
    }
}

/// What is known of a label.
pub(super) enum Number {
    Known(u32),
    /// It has to be added.
    New,
    /// It counts under [`OTHER`].
    Full,
}
