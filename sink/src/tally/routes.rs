//! The numbers that stand for routes while they are counted.
//!
//! A number belongs to one *generation*, that is, one loaded configuration. Counts under other versions or other rules
//! are other evidence, so a route of the same name gets a new number and new tallies. Old generations stay, because
//! requests under way still count in them; each costs the memory of its labels. A reload that changes neither versions
//! nor rules stays in the current generation.

use parity_schemas::id::new_id;
use parity_schemas::tally::Identity;
use parity_schemas::time::Timestamp;
use parity_schemas::watermark::Watermark;
use uuid::Uuid;

use super::OTHER;
use super::fast_map::FastMap;

/// Names a generation for those who count in it.
#[derive(Clone, Copy, Debug)]
pub struct GenerationId {
    pub(super) place: usize,
    /// The number of [`OTHER`], which counts all its routes beyond the cap.
    pub(super) other: u32,
    /// How many rules it has.
    pub(super) rules: usize,
}

/// What one generation counts: for which identity, by which rules, and the numbers of its routes.
pub(super) struct TallyGeneration {
    pub(super) identity: Identity,
    pub(super) rule_ids: Vec<String>,
    /// The id of its run, see [`parity_schemas::watermark`].
    pub(super) run: Uuid,
    /// When it began.
    pub(super) started: Timestamp,
    /// By how many microseconds the clock had been set then.
    pub(super) set_by: i64,
    /// Under which terms it counts now, and since when.
    pub(super) terms: (Uuid, Timestamp),
    /// The number of [`OTHER`], which counts all routes beyond the cap.
    other: u32,
    numbers: FastMap<Box<str>, u32>,
}

impl TallyGeneration {
    pub(super) fn new(
        identity: Identity,
        rule_ids: Vec<String>,
        started: Timestamp,
        set_by: i64,
    ) -> Self {
        Self {
            identity,
            rule_ids,
            run: new_id(),
            started,
            set_by,
            terms: Default::default(),
            other: 0,
            numbers: FastMap::default(),
        }
    }
}

/// The routes of all generations of a process, the current one last.
pub(super) struct Routes {
    generations: Vec<TallyGeneration>,
    /// By number: the generation, and the label within it.
    labels: Vec<(usize, Box<str>)>,
}

impl Routes {
    pub(super) fn new(first: TallyGeneration) -> Self {
        let mut routes = Self {
            generations: Vec::new(),
            labels: Vec::new(),
        };
        routes.push(first);
        routes
    }

    /// Makes another generation the current one, unless it has the same identity and rules.
    pub(super) fn begin_generation(&mut self, next: TallyGeneration) {
        let same = self
            .generations
            .last()
            .is_some_and(|last| last.identity == next.identity && last.rule_ids == next.rule_ids);
        if !same {
            self.push(next);
        }
    }

    /// From now on the current generation counts under these terms.
    pub(super) fn begin_terms(&mut self, terms: Uuid, now: Timestamp) {
        // A clock that was set back must not make them older than those that they replace.
        let before = self.generations.iter().map(|one| one.terms.1).max();
        let before = before.unwrap_or_default().saturating_add_micros(1);
        if let Some(current) = self.generations.last_mut()
            && current.terms.0 != terms
        {
            current.terms = (terms, now.max(before));
        }
    }

    fn push(&mut self, mut generation: TallyGeneration) {
        let number = self.labels.len() as u32;
        generation.other = number;
        generation.numbers.insert(OTHER.into(), number);
        self.labels.push((self.generations.len(), OTHER.into()));
        self.generations.push(generation);
    }

    /// The current generation.
    pub(super) fn current(&self) -> GenerationId {
        let place = self.generations.len() - 1;
        let generation = &self.generations[place];
        GenerationId {
            place,
            other: generation.other,
            rules: generation.rule_ids.len(),
        }
    }

    /// The run of the current generation, as it began.
    pub(super) fn begun(&self, instance: &str) -> Watermark {
        let generation = &self.generations[self.generations.len() - 1];
        Watermark {
            id: generation.run,
            identity: generation.identity.clone(),
            instance: instance.to_owned(),
            ..Watermark::begun(generation.started)
        }
    }

    /// The version of the candidate that a generation counts for.
    pub(super) fn candidate_version(&self, generation: usize) -> &str {
        let of = self.generations.get(generation);
        of.map_or("", |of| &of.identity.candidate_version)
    }

    /// The versions of legacy and candidate that the current generation counts for.
    pub(super) fn versions(&self) -> [&str; 2] {
        let current = self.generations.last();
        let legacy = current.map_or("", |current| &current.identity.legacy_version);
        let last = self.generations.len().saturating_sub(1);
        [legacy, self.candidate_version(last)]
    }

    /// All generations, oldest first.
    pub(super) fn generations(&self) -> impl Iterator<Item = &TallyGeneration> {
        self.generations.iter()
    }

    /// The index of the generation that a number belongs to.
    pub(super) fn generation_of(&self, number: u32) -> usize {
        self.labels[number as usize].0
    }

    /// The generation and the label of a number.
    pub(super) fn of(&self, number: u32) -> (&TallyGeneration, &str) {
        let (generation, label) = &self.labels[number as usize];
        (&self.generations[*generation], label)
    }

    /// The labels of all numbers, in order.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|(_, label)| &**label)
    }

    /// The number of a label, if it has one or may get one.
    pub(super) fn number(&self, generation: GenerationId, label: &str, most: usize) -> Number {
        let numbers = &self.generations[generation.place].numbers;
        match numbers.get(label) {
            Some(number) => Number::Known(*number),
            None if numbers.len() > most => Number::Full,
            None => Number::New,
        }
    }

    /// Gives a label a number, if the generation has room.
    pub(super) fn add(
        &mut self,
        generation: GenerationId,
        label: &str,
        most: usize,
    ) -> Option<u32> {
        match self.number(generation, label, most) {
            // Another thread added it first.
            Number::Known(number) => return Some(number),
            Number::Full => return None,
            Number::New => {}
        }
        let number = u32::try_from(self.labels.len()).ok()?;
        self.labels.push((generation.place, label.into()));
        self.generations[generation.place]
            .numbers
            .insert(label.into(), number);
        Some(number)
    }
}

/// The number of a label.
pub(super) enum Number {
    Known(u32),
    /// It has to be added.
    New,
    /// It counts under [`OTHER`].
    Full,
}
