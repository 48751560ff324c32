//! What the four values of a place say of how alike two services behave there, whatever the class.

use std::cmp::Ordering;
use std::collections::HashSet;

use parity_schemas::side::Side;
use parity_schemas::verdict::{Finding, Kind, Part};

use super::look::SecondLook;
use super::orders::Orders;
use super::spot::{PART_OF_SPOT, Spot};
use crate::noise::shape::{Shape, ValueShape, ids_in};
use crate::noise::value::Ordered;

/// Findings of a group whose values are looked at. Of more, so many that are spread over all of them and others each time: a
/// fault may be in the last elements of long lists alone.
const VALUES: usize = 16;
/// Powers of two by which one service must have moved farther than the other to have done so. Two looks are half a second apart
/// for both, so that clocks and counters move equally far but for the order in which both were asked.
const WIDER: i64 = 2;
/// Shortest id within a text of which no two are equal by chance.
const SHORTEST_TOKEN: usize = 8;

/// What the four values of a place say of how alike two services behave there.
///
/// The two second answers are asked in alternating order, so for services that behave alike each statement about the
/// candidate here is as likely as its counterpart about the legacy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Of values with an order: the candidate's second one, seen from the legacy's. Of tokens, its length. Of several
    /// findings, of the most.
    pub order: Option<Ordering>,
    /// The power of two of the distance between the second values; of several, the greatest.
    pub between: Option<i32>,
    /// The same of the legacy's two values.
    pub motion: Option<i32>,
    /// Each service repeats itself (`Greater`) more than the other one, or less; where neither does, its values are nearer to its
    /// own, such as texts of one template.
    pub own: Option<Ordering>,
    /// Only the candidate moved (`Greater`), or only the legacy.
    pub moved: Option<Ordering>,
    /// More of the candidate's values have a shape that the other service did not show (`Greater`), or of the legacy's.
    pub odd: Option<Ordering>,
    /// The candidate's ids are the same at more places of one answer than the legacy's (`Greater`), or at fewer.
    pub twins: Option<Ordering>,
    /// Of lists with the same elements in another order: each service's orders are nearer to its own (`Greater`) than to those
    /// of the other one, or farther.
    pub nearer: Option<Ordering>,
    /// The candidate's two orders, or numbers, are farther from each other than the legacy's (`Greater`), or nearer.
    pub scatter: Option<Ordering>,
    /// Whether the legacy's two answers differ from each other as the services do, and whether the candidate's do.
    pub likewise: [bool; 2],
    /// Whether they are ids or tokens: no clock shows one twice, however soon.
    pub are_ids: bool,
    /// Hashes of the legacy's values, without those that repeat within this exchange.
    pub legacy_values: Vec<u64>,
    /// The same of the candidate's.
    pub candidate_values: Vec<u64>,
}

/// What the findings of one group say. `hash` is keyed by the caller.
pub(super) fn observe(
    look: &SecondLook<'_>,
    shape: Shape,
    findings: &[&Finding],
    hash: &dyn Fn(&[u8]) -> u64,
) -> Observation {
    let mut sums = Sums::default();
    let mut seen = Observation {
        are_ids: is_id(shape.legacy) && is_id(shape.candidate),
        ..Observation::default()
    };
    for finding in chosen(findings, hash) {
        let values = look.values_there(finding);
        if finding.kind == Kind::Order
            && let Some(orders) = Orders::of(values)
        {
            sums.nearer += orders.nearer() as i32;
            sums.scatter += orders.scatter() as i32;
        }
        let spots = look.spots(finding).unwrap_or_default();
        for spot in &spots {
            seen.look_at(&mut sums, PART_OF_SPOT, shape, spot.each_ref());
        }
        if spots.is_empty() {
            seen.look_at(&mut sums, finding.part, shape, values);
        }
        // Numbers and short words within texts repeat, and what is fresh beside them does not: so tokens alone, if there
        // are any.
        let is_token = |spot: &&Spot| {
            let [l1, ..] = spot;
            let is_long = matches!(l1, Side::Value(text) if text.text.len() >= SHORTEST_TOKEN);
            is_long && Ordered::of(PART_OF_SPOT, l1).is_none()
        };
        let mut tokens = spots.iter().filter(is_token).peekable();
        if tokens.peek().is_none() {
            seen.remember(values, hash);
        }
        for token in tokens {
            seen.remember(token.each_ref(), hash);
        }
    }
    let sign = |sum: i32| (sum != 0).then(|| sum.cmp(&0));
    seen.order = sign(sums.order);
    seen.own = sign(sums.own);
    seen.moved = sign(sums.moved);
    seen.odd = sign(sums.odd);
    seen.twins = twins(look, shape, findings, hash);
    seen.nearer = sign(sums.nearer);
    seen.scatter = sign(sums.scatter);
    seen
}

/// The findings that are looked at. Where they begin follows from the values, so that nobody can know it.
fn chosen<'a>(
    findings: &'a [&'a Finding],
    hash: &dyn Fn(&[u8]) -> u64,
) -> impl Iterator<Item = &'a Finding> {
    let count = findings.len();
    let begin = if count > VALUES {
        let ends = [findings.first(), findings.last()].into_iter().flatten();
        let hashes = ends.filter_map(|finding| hash_of(&finding.legacy, hash));
        hashes.fold(0, u64::wrapping_add) as usize % count
    } else {
        0
    };
    let steps = count.min(VALUES);
    (0..steps).map(move |step| findings[(begin + step * count / steps) % count])
}

/// Shortest word that is no word of a language.
const SHORTEST_ID: u32 = 16;

fn is_id(shape: ValueShape) -> bool {
    match shape {
        ValueShape::Uuid | ValueShape::UpperUuid | ValueShape::Hex(_) | ValueShape::UpperHex(_) => {
            true
        }
        ValueShape::Word(length) => length >= SHORTEST_ID,
        _ => false,
    }
}

/// How near two values are to each other: equal, equal but for the ids in them, of one kind, or not even that.
fn nearness(part: Part, one: &Side, two: &Side) -> i32 {
    if one == two {
        return 3;
    }
    let shape = Shape::of_sides(part, one, two);
    match (shape.is_alike(), shape.legacy) {
        (true, ValueShape::Pattern) => 2,
        (true, _) => 1,
        (false, _) => 0,
    }
}

impl Observation {
    /// Takes in the four values of one place.
    fn look_at(&mut self, sums: &mut Sums, part: Part, shape: Shape, values: [&Side; 4]) {
        let [l1, c1, l2, c2] = values;
        sums.add(part, shape, &values);
        self.between = self.between.max(distance(part, c2, l2));
        // Of numbers and times also the first values: a fault may be in first answers only. Which of them is the greater
        // one says nothing, because the legacy may be asked earlier.
        if shape.is_ordered() {
            self.between = self.between.max(distance(part, c1, l1));
        }
        let motion = distance(part, l2, l1);
        if let (Some(legacy), Some(candidate)) = (motion, distance(part, c2, c1)) {
            let wider = i64::from(candidate) - i64::from(legacy);
            if wider.abs() >= WIDER {
                sums.scatter += wider.signum() as i32;
            }
        }
        self.motion = self.motion.max(motion);
    }

    fn remember(&mut self, [l1, c1, l2, c2]: [&Side; 4], hash: &dyn Fn(&[u8]) -> u64) {
        push_hashes(&mut self.legacy_values, [l1, l2], hash);
        push_hashes(&mut self.candidate_values, [c1, c2], hash);
    }
}

/// What several findings of one group say, added up.
#[derive(Default)]
struct Sums {
    order: i32,
    own: i32,
    moved: i32,
    odd: i32,
    nearer: i32,
    scatter: i32,
}

impl Sums {
    fn add(&mut self, part: Part, shape: Shape, [l1, c1, l2, c2]: &[&Side; 4]) {
        if let (Some(one), Some(two)) = (Ordered::of(part, c2), Ordered::of(part, l2)) {
            let difference = one.compare(&two);
            self.order += difference.map_or(0, |difference| difference.order as i32);
        } else if shape.is_ordered()
            && let (Side::Value(one), Side::Value(two)) = (c2, l2)
        {
            self.order += one.text.len().cmp(&two.text.len()) as i32;
        }
        // Of values that are of two shapes, the shapes are what is compared.
        let alike = |one: &Side, two: &Side| Shape::of_sides(part, one, two).is_alike();
        let same = |one: &Side, two: &Side| {
            if shape.is_alike() {
                one == two
            } else {
                alike(one, two)
            }
        };
        // Two texts of one template that differ in an id are nearer to each other than to one of another template.
        let near = |one: &Side, two: &Side| {
            if shape.is_alike() {
                nearness(part, one, two)
            } else {
                i32::from(alike(one, two))
            }
        };
        self.own += near(l1, l2) + near(c1, c2) - near(l1, c2) - near(c1, l2);
        self.moved += i32::from(same(l1, l2)) - i32::from(same(c1, c2));
        // A value of a kind that the other service shows in neither look.
        let odd = |value: &Side, known: [&Side; 2]| {
            i32::from(!known.into_iter().any(|known| alike(known, value)))
        };
        let (legacy, candidate) = ([*l1, *l2], [*c1, *c2]);
        self.odd += odd(c1, legacy) + odd(c2, legacy) - odd(l1, candidate) - odd(l2, candidate);
    }
}

fn distance(part: Part, one: &Side, two: &Side) -> Option<i32> {
    let difference = Ordered::of(part, one)?.compare(&Ordered::of(part, two)?)?;
    Some(difference.power)
}

/// The hash of a value, if it is one.
fn hash_of(side: &Side, hash: &dyn Fn(&[u8]) -> u64) -> Option<u64> {
    match side {
        Side::Value(text) | Side::Line(text) | Side::Body(text) => Some(match &text.whole {
            Some(whole) => hash(&whole.sha256),
            None => hash(text.text.as_bytes()),
        }),
        Side::Bytes(digest) => Some(hash(&digest.sha256)),
        Side::Absent | Side::Described(_) | Side::Broken { .. } => None,
    }
}

/// Whether one service has the same id at more places of an answer than the other. Of all findings of the group, in both
/// looks: which places are compared with which does not matter here, because no two places of a service are compared.
///
/// Only of ids. Numbers are equal by chance, and a clock that is read once for all elements of a list is as good as one that
/// is read for each.
fn twins(
    look: &SecondLook<'_>,
    shape: Shape,
    first: &[&Finding],
    hash: &dyn Fn(&[u8]) -> u64,
) -> Option<Ordering> {
    let is_whole = is_id(shape.legacy) && is_id(shape.candidate);
    let again = first.first().map(|finding| look.again(finding));
    let looks = [first, again.as_deref().unwrap_or_default()];
    let repeats = |side_of: fn(&Finding) -> &Side| -> usize {
        let of_look = |findings: &&[&Finding]| {
            let (mut count, mut distinct) = (0, HashSet::new());
            for side in findings.iter().map(|finding| side_of(finding)) {
                let (Side::Value(text) | Side::Line(text) | Side::Body(text)) = side else {
                    continue;
                };
                let ids = if is_whole {
                    vec![text.text.as_str()]
                } else {
                    ids_in(&text.text)
                };
                count += ids.len();
                distinct.extend(ids.iter().map(|id| hash(id.as_bytes())));
            }
            count - distinct.len()
        };
        looks.iter().map(of_look).sum()
    };
    let legacy = repeats(|finding| &finding.legacy);
    let candidate = repeats(|finding| &finding.candidate);
    Some(candidate.cmp(&legacy)).filter(|order| order.is_ne())
}

/// Adds the hashes of two values, of equal ones one.
fn push_hashes(hashes: &mut Vec<u64>, values: [&Side; 2], hash: &dyn Fn(&[u8]) -> u64) {
    for of in values.into_iter().filter_map(|side| hash_of(side, hash)) {
        if !hashes.contains(&of) {
            hashes.push(of);
        }
    }
}
