//! What s differing of n compared requests say of the rate of differences.
//!
//! Both kinds of bound are tests: how strong is the evidence that the rate is below p? With enough of it, 1/α, that is
//! proven with a chance of at most α to be wrong. The upper bound is the highest rate that is not excluded so; the lower one
//! is that of the reverse question, how often two answers agree. What `enough` is worth is the difference between the kinds:
//! [`Bound::AnyTime`] holds for all looks together, [`Bound::OneLook`] for the only one.
//!
//! Evidence is a logarithm throughout, and a rate p comes with q = 1 − p beside it: the smallest share of differences and
//! the smallest share of agreement have all their digits, with 10¹² requests as with one.

mod any_time;
mod beta;
mod one_look;

use parity_schemas::evidence::Bound;

/// Most requests that are said to be needed: 2^53, the largest number that every JSON reader keeps.
const MAX_NEEDED: u64 = 1 << 53;
/// Looks at a function before its root is taken as found; ten are usual.
const MAX_LOOKS: u32 = 200;
/// A bound is found when the evidence against it is so near to what is enough.
const PRECISION: f64 = 1e-10;

/// Counts of one route, or of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// That differ.
    pub differing: u64,
    /// All that were compared; `differing` at least.
    pub compared: u64,
}

impl Seen {
    /// `differing` of `compared`.
    pub fn new(differing: u64, compared: u64) -> Self {
        Self {
            differing,
            compared: compared.max(differing),
        }
    }

    fn agreeing(self) -> u64 {
        self.compared - self.differing
    }

    /// Seen from the other side: what agrees takes the place of what differs.
    fn reversed(self) -> Self {
        Self::new(self.agreeing(), self.compared)
    }
}

/// That the rate is at most `allowed`, with a chance of at most `alpha` to be wrong.
pub fn is_within(bound: Bound, seen: Seen, allowed: f64, alpha: f64) -> bool {
    seen.compared > 0 && (allowed >= 1.0 || is_below(bound, seen, Rate::of(allowed), enough(alpha)))
}

/// That the rate is above `allowed`, with a chance of at most `alpha` to be wrong.
pub fn is_beyond(bound: Bound, seen: Seen, allowed: f64, alpha: f64) -> bool {
    allowed < 1.0
        && is_below(
            bound,
            seen.reversed(),
            Rate::of(allowed).reversed(),
            enough(alpha),
        )
}

/// The highest rate that is not excluded with a chance of at most `alpha` to be wrong; 1 where nothing was compared.
pub fn upper(bound: Bound, seen: Seen, alpha: f64) -> f64 {
    if seen.agreeing() == 0 {
        return 1.0;
    }
    highest(bound, seen, enough(alpha)).p
}

/// The lowest such rate; 0 where nothing differs.
pub fn lower(bound: Bound, seen: Seen, alpha: f64) -> f64 {
    if seen.differing == 0 {
        return 0.0;
    }
    highest(bound, seen.reversed(), enough(alpha)).q
}

/// How many more requests, if all match, prove that the rate is at most `allowed`; `None` when no number does.
pub fn needed(bound: Bound, seen: Seen, allowed: f64, alpha: f64) -> Option<u64> {
    if is_within(bound, seen, allowed, alpha) {
        return Some(0);
    }
    if allowed >= 1.0 {
        return Some(1);
    }
    let (rate, enough) = (Rate::of(allowed), enough(alpha));
    if rate.p <= 0.0 || !enough.is_finite() {
        return None;
    }
    // More matching requests only ever add to the evidence, and far out each adds as much as the one before.
    let lacking = |more: u64| {
        let seen = Seen::new(seen.differing, seen.compared.saturating_add(more));
        evidence(bound, seen, rate) - enough
    };
    let mut low = (0, lacking(0));
    let mut high = (1 + seen.compared / 8, 0.0);
    loop {
        high.1 = lacking(high.0);
        if high.1 >= 0.0 {
            break;
        }
        if high.0 >= MAX_NEEDED {
            return None;
        }
        low = high;
        high.0 = high.0.saturating_mul(2).min(MAX_NEEDED);
    }
    let mut halve = false;
    while high.0 - low.0 > 1 {
        let width = high.0 - low.0;
        let share = if halve { 0.5 } else { low.1 / (low.1 - high.1) };
        let step = ((width as f64 * share) as u64).clamp(1, width - 1);
        let middle = (low.0 + step, lacking(low.0 + step));
        let side = if middle.1 >= 0.0 { &mut high } else { &mut low };
        *side = middle;
        // A secant that hardly narrows it gives way to a bisection.
        halve = !halve && (high.0 - low.0) * 2 > width;
    }
    Some(high.0)
}

/// A rate, with what it lacks of 1.
#[derive(Clone, Copy, Debug)]
struct Rate {
    p: f64,
    q: f64,
}

impl Rate {
    fn of(p: f64) -> Self {
        Self { p, q: 1.0 - p }
    }

    fn reversed(self) -> Self {
        Self {
            p: self.q,
            q: self.p,
        }
    }
}

/// The logarithm of 1/α.
fn enough(alpha: f64) -> f64 {
    -alpha.max(0.0).ln()
}

fn is_below(bound: Bound, seen: Seen, rate: Rate, enough: f64) -> bool {
    enough.is_finite() && evidence(bound, seen, rate) >= enough
}

/// How much speaks against a rate of `rate` or more.
fn evidence(bound: Bound, seen: Seen, rate: Rate) -> f64 {
    let (differing, agreeing) = (seen.differing as f64, seen.agreeing() as f64);
    if rate.p <= 0.0 {
        // No rate is below 0.
        return 0.0;
    }
    if rate.q <= 0.0 {
        // One answer that agrees excludes that all differ.
        return if agreeing > 0.0 { f64::INFINITY } else { 0.0 };
    }
    match bound {
        Bound::AnyTime => any_time::evidence(differing, agreeing, rate.p, rate.q),
        Bound::OneLook => one_look::evidence(differing, agreeing, rate.p, rate.q),
    }
}

/// The way from the rate that was seen to 1. Rates are squares of sines: by angles, what is likely is equally wide
/// everywhere.
struct Way {
    /// The angle of the rate that was seen.
    start: f64,
    /// What it lacks of a right angle. Both, because of two near numbers only the smaller one has all its digits.
    length: f64,
}

impl Way {
    fn of(seen: Seen) -> Self {
        let (differing, agreeing) = (seen.differing as f64, seen.agreeing() as f64);
        Self {
            start: differing.sqrt().atan2(agreeing.sqrt()),
            length: agreeing.sqrt().atan2(differing.sqrt()),
        }
    }

    fn rate(&self, gone: f64) -> Rate {
        let (sine, cosine) = if self.start < self.length {
            (self.start + gone).sin_cos()
        } else {
            let (sine, cosine) = (self.length - gone).sin_cos();
            (cosine, sine)
        };
        Rate {
            p: sine * sine,
            q: cosine * cosine,
        }
    }
}

/// The highest rate against which there is not `enough` evidence; some answers agree. From the rate that was seen on, the
/// evidence only rises.
fn highest(bound: Bound, seen: Seen, enough: f64) -> Rate {
    if !enough.is_finite() {
        return Rate { p: 1.0, q: 0.0 };
    }
    let way = Way::of(seen);
    let lacking = |gone| evidence(bound, seen, way.rate(gone)) - enough;
    let mut near = (0.0, -enough);
    let deviation = 0.5 / (seen.compared as f64).sqrt();
    let mut width = deviation * (1.0 + 2.0 * enough).sqrt();
    let mut far = loop {
        // It grows beyond all bounds towards a rate of 1; half of the way is never too far.
        let gone = if width < way.length {
            width
        } else {
            f64::midpoint(near.0, way.length)
        };
        let there = (gone, lacking(gone));
        if there.1 >= 0.0 {
            break there;
        }
        if gone <= near.0 || gone >= way.length {
            return Rate { p: 1.0, q: 0.0 };
        }
        near = there;
        width *= 2.0;
    };
    for look in 0..MAX_LOOKS {
        if far.1 < PRECISION {
            break;
        }
        // A secant, and every third time a half, which cannot fail to end.
        let share = if look % 3 == 2 {
            0.5
        } else {
            near.1 / (near.1 - far.1)
        };
        let gone = near.0 + (far.0 - near.0) * share;
        let there = (gone, lacking(gone));
        if there.1 > -PRECISION {
            far = there;
        } else if gone > near.0 {
            near = there;
        } else if look % 3 == 2 {
            // No number is between them.
            break;
        }
    }
    way.rate(far.0)
}

/// How fast the parts of [`part_of_any`] decrease with the number of tests.
const EXPONENT: f64 = 4.0 / 3.0;
/// The sum of i^-[`EXPONENT`] over all i from 1 on: the zeta function there, rounded up.
const SUM: f64 = 3.600_937_750_5;

/// Which part of a chance each of so many tests may have if more of them come with time: however they come, the parts add up to
/// one at most.
pub(crate) fn part_of_any(tests: u64) -> f64 {
    (tests.max(1) as f64).powf(-EXPONENT) / SUM
}

#[cfg(test)]
mod tests;
