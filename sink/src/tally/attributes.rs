//! Attributes of requests, counted by number.
//!
//! A value gets a number once for the process; after that a thread finds it in a table of its own, without a lock and
//! without memory. The table is by what was captured, and what is counted is what may be shown of it, asked once; so the
//! table, which is only looked up in, never leaves the process. So a request costs a lookup and an addition per attribute, under one lock per request that only this
//! thread and, several times a second, the book take. Names come back when a row is made.
//!
//! Everything a client can make up has a limit: values of an attribute in the process, and again in each tally, count as
//! [`OTHER`] beyond it. What a process or an interval have in common (instance, hour) is added to the row.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use parity_schemas::attributes::{AttributeCounts, COUNTED, HOUR, INSTANCE, key};
use parity_schemas::route::OTHER;
use parity_schemas::time::Timestamp;

use super::fast_map::FastMap;

/// Attributes of a process: those of every request, and the headers of some configurations.
const MAX_ATTRIBUTES: usize = 64;
/// Values of one attribute that have a number, in the whole life of a process: what clients make up fills it.
const MAX_NUMBERED: u16 = 1_000;
/// Captured values that a thread remembers of an attribute: those with a number, and as many that are not shown or have none.
/// When it is full it is emptied, so what clients make up costs that they are looked at again.
const MAX_REMEMBERED: usize = 2 * MAX_NUMBERED as usize;
/// Values of one attribute in a tally or group: as many as a service has instances or parameters, mostly.
const MAX_VALUES: usize = 32;
/// Groups of a tally whose attributes are counted: those found first. Nobody looks into more.
pub(super) const MAX_GROUPS: usize = 100;
/// Groups in all tallies in memory whose attributes are counted. With at most a few kilobytes each this is 10 MB.
pub(super) const MAX_GROUPS_HELD: usize = 4_000;

/// A value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId {
    attribute: u16,
    /// 0 is [`OTHER`].
    value: u16,
}

impl AttributeId {
    const fn other(attribute: u16) -> Self {
        Self {
            attribute,
            value: 0,
        }
    }
}

/// The attributes of a process and their values, by number.
#[derive(Default)]
pub(super) struct Names(RwLock<Vec<Attribute>>);

#[derive(Default)]
struct Attribute {
    name: String,
    /// Without [`OTHER`], so the first has number 1.
    values: Vec<Arc<str>>,
    numbers: FastMap<Arc<str>, u16>,
}

impl Names {
    /// The number of an attribute; `None` beyond the limit.
    fn attribute(&self, name: &str) -> Option<u16> {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|attribute| attribute.name == name);
        let place = place.unwrap_or(known.len());
        if place >= MAX_ATTRIBUTES {
            return None;
        }
        if place == known.len() {
            known.push(Attribute {
                name: name.to_owned(),
                ..Attribute::default()
            });
        }
        u16::try_from(place).ok()
    }

    fn number(&self, attribute: u16, value: &str) -> AttributeId {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = known.get_mut(usize::from(attribute)) else {
            return AttributeId::other(attribute);
        };
        if let Some(value) = known.numbers.get(value) {
            return AttributeId {
                attribute,
                value: *value,
            };
        }
        let next = known.values.len() as u16 + 1;
        if next > MAX_NUMBERED || value == OTHER {
            return AttributeId::other(attribute);
        }
        let name: Arc<str> = value.into();
        known.values.push(Arc::clone(&name));
        known.numbers.insert(name, next);
        AttributeId {
            attribute,
            value: next,
        }
    }

    /// The counts by name, and what follows from who counted and when.
    pub(super) fn row(
        &self,
        counted: Option<&Counted>,
        instance: &str,
        begin: Timestamp,
    ) -> AttributeCounts {
        let mut row = AttributeCounts::new();
        let Some(counted) = counted else {
            return row;
        };
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for (id, count) in &counted.counts {
            let Some(attribute) = known.get(usize::from(id.attribute)) else {
                continue;
            };
            let value = usize::from(id.value).checked_sub(1);
            let value = value.and_then(|value| attribute.values.get(value));
            let value = value.map_or(OTHER, |value| &**value);
            *row.entry(key(&attribute.name, value)).or_default() += count;
        }
        let hour = begin.as_micros().div_euclid(MICROS_PER_HOUR).rem_euclid(24);
        row.insert(COUNTED.to_owned(), counted.requests);
        row.insert(key(HOUR, &format!("{hour:02}")), counted.requests);
        row.insert(key(INSTANCE, instance), counted.requests);
        row
    }
}

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// What one thread knows of the numbers.
pub struct AttributeNumbers {
    names: Arc<Names>,
    /// By the place that the caller knows an attribute by.
    places: Vec<Option<Known>>,
}

/// An attribute, and those of its captured values that the thread has met.
type Known = (u16, FastMap<Box<str>, AttributeId>);

impl AttributeNumbers {
    pub(super) fn new<'a>(names: &Arc<Names>, wanted: impl Iterator<Item = &'a str>) -> Self {
        let numbered = |name| Some((names.attribute(name)?, FastMap::default()));
        Self {
            places: wanted.map(numbered).collect(),
            names: Arc::clone(names),
        }
    }

    /// Adds the number of a captured value to those of a request. `shown` says as what it may be counted, always the same of
    /// one value.
    pub fn add<'v>(
        &mut self,
        place: usize,
        value: &'v str,
        to: &mut Vec<AttributeId>,
        shown: impl FnOnce(&'v str) -> &'v str,
    ) {
        let Some(Some((attribute, known))) = self.places.get_mut(place) else {
            return;
        };
        if let Some(id) = known.get(value) {
            return to.push(*id);
        }
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        let id = self.names.number(*attribute, shown(value));
        known.insert(value.into(), id);
        to.push(id);
    }
}

/// Requests by attribute.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    requests: u64,
    counts: FastMap<AttributeId, u64>,
}

impl Counted {
    /// A request with these attributes, each once.
    pub(super) fn add(&mut self, attributes: &[AttributeId]) {
        self.requests += 1;
        for id in attributes {
            self.count(*id, 1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        for (id, count) in &other.counts {
            self.count(*id, *count);
        }
    }

    fn count(&mut self, id: AttributeId, count: u64) {
        if let Some(known) = self.counts.get_mut(&id) {
            *known += count;
            return;
        }
        let of_same = self.counts.keys();
        let of_same = of_same.filter(|known| known.attribute == id.attribute && known.value > 0);
        let full = of_same.count() >= MAX_VALUES;
        let id = if full {
            AttributeId::other(id.attribute)
        } else {
            id
        };
        *self.counts.entry(id).or_default() += count;
    }
}

/// Attributes that one thread counts and the book takes.
#[derive(Default)]
pub(super) struct NewAttributes(Mutex<Counted>);

impl NewAttributes {
    pub(super) fn add(&self, attributes: &[AttributeId]) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(attributes);
    }

    /// Calls `each` with those since the last call, if there are any. The table keeps its memory.
    pub(super) fn take(&self, each: impl FnOnce(&Counted)) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.requests > 0 {
            each(&counted);
            counted.requests = 0;
            counted.counts.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(names: &Arc<Names>) -> AttributeNumbers {
        AttributeNumbers::new(names, ["client", "query"].into_iter())
    }

    fn ids(numbers: &mut AttributeNumbers, values: &[(usize, &str)]) -> Vec<AttributeId> {
        let mut ids = Vec::new();
        for (place, value) in values {
            numbers.add(*place, value, &mut ids, |value| {
                if value.contains("sesame") {
                    "_hidden"
                } else {
                    value
                }
            });
        }
        ids
    }

    fn row(names: &Names, counted: &Counted) -> String {
        let begin = Timestamp::from_micros(14 * MICROS_PER_HOUR + 1);
        let row = names.row(Some(counted), "here", begin).into_iter();
        let row = row.map(|(key, count)| format!("{key}:{count}"));
        row.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn threads_agree_on_numbers_and_rows_have_names() {
        let names = Arc::default();
        let (mut one, mut other) = (numbers(&names), numbers(&names));
        let mut counted = Counted::default();
        counted.add(&ids(&mut one, &[(0, "curl"), (1, "page")]));
        let mut later = Counted::default();
        later.add(&ids(&mut other, &[(0, "go")]));
        later.add(&ids(&mut other, &[(0, "curl"), (1, "_other")]));
        counted.merge(&later);
        assert_eq!(
            row(&names, &counted),
            "client=curl:2 client=go:1 counted:3 hour=14:3 instance=here:3 query=_other:1 query=page:1"
        );
        assert!(names.row(None, "here", Timestamp::default()).is_empty());
        // No attribute stands there.
        assert!(ids(&mut one, &[(2, "x")]).is_empty());
    }

    #[test]
    fn what_clients_make_up_counts_as_other_beyond_the_limits() {
        let names = Arc::default();
        let mut thread = numbers(&names);
        let mut counted = Counted::default();
        for at in 0..5_000 {
            let value = format!("made-up-{at}");
            counted.add(&ids(&mut thread, &[(1, &value), (0, "curl")]));
        }
        let row = names.row(Some(&counted), "here", Timestamp::default());
        assert_eq!(row.len(), MAX_VALUES + 1 + 4);
        assert_eq!(row[&key("query", OTHER)], 5_000 - MAX_VALUES as u64);
        assert_eq!(row[&key("client", "curl")], 5_000);
        let kept = thread.places[1].as_ref().expect("it is counted");
        assert!(kept.1.len() <= MAX_REMEMBERED, "{}", kept.1.len());
        // Another attribute still has room, and so have the tallies after this one.
        assert_ne!(ids(&mut thread, &[(0, "go")]), [AttributeId::other(0)]);
        let many: Vec<String> = (0..100).map(|at| format!("header {at}")).collect();
        let many = AttributeNumbers::new(&names, many.iter().map(String::as_str));
        assert_eq!(many.places.iter().flatten().count(), MAX_ATTRIBUTES - 2);
    }

    #[test]
    fn what_may_not_be_shown_has_one_number_and_is_asked_once() {
        let names = Arc::default();
        let mut thread = numbers(&names);
        let mut counted = Counted::default();
        for value in ["sesame-1", "sesame-2", "curl"] {
            counted.add(&ids(&mut thread, &[(0, value)]));
        }
        assert_eq!(
            row(&names, &counted),
            "client=_hidden:2 client=curl:1 counted:3 hour=14:3 instance=here:3"
        );
        for value in ["sesame-1", "curl"] {
            thread.add(0, value, &mut Vec::new(), |_| panic!("{value} is known"));
        }
    }

    #[test]
    fn what_is_taken_is_taken_once() {
        let names = Arc::default();
        let new = NewAttributes::default();
        new.take(|_| panic!("there is nothing"));
        new.add(&ids(&mut numbers(&names), &[(0, "curl")]));
        let mut all = Counted::default();
        new.take(|counted| all.merge(counted));
        new.take(|_| panic!("it was taken"));
        assert_eq!((all.requests, all.counts.len()), (1, 1));
    }
}
