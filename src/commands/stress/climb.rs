//! Which rate comes next: up the same ladder for both services until each breaks, then between the last that it held and the first
//! that it did not.

use parity_schemas::stress::StressVerdict;

/// Rates that are nearer to each other than this share are one: no service is known better.
const NEAR: f64 = 0.02;

/// How far each service is.
pub(super) struct Climb {
    rates: Vec<u32>,
    next: usize,
    /// At a lower rate too few requests are due in a window.
    least: u32,
    sides: [Standing; 2],
}

/// What is known of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The highest rate that it held below the one at which it broke.
    pub(super) held: Option<u32>,
    /// The lowest at which it broke.
    pub(super) broken: Option<u32>,
    /// Nothing more can be learnt of it.
    is_stuck: bool,
    /// Rates that may still be tried between the two.
    refinements: usize,
}

/// A rate, and which services are loaded with it.
pub(super) type Rung = (u32, [bool; 2]);

impl Climb {
    /// `rates` are in order. No rate below `least` is tried.
    pub(super) fn new(rates: Vec<u32>, refinements: usize, least: u32) -> Self {
        let standing = Standing {
            refinements,
            ..Standing::default()
        };
        Self {
            rates,
            next: 0,
            least,
            sides: [standing; 2],
        }
    }

    pub(super) fn standing(&self, side: usize) -> Standing {
        self.sides[side]
    }

    /// The next rate; `None` when all is known that can be.
    pub(super) fn next(&mut self) -> Option<Rung> {
        let climbs = |side: &Standing| side.broken.is_none() && !side.is_stuck;
        if self.sides.iter().any(climbs)
            && let Some(rate) = self.rates.get(self.next)
        {
            self.next += 1;
            return Some((*rate, [0, 1].map(|side| climbs(&self.sides[side]))));
        }
        for place in 0..self.sides.len() {
            let side = &mut self.sides[place];
            if let Some(rate) = side.between(self.least) {
                side.refinements -= 1;
                return Some((rate, [place == 0, place == 1]));
            }
        }
        None
    }

    /// What became of a rate for one service.
    pub(super) fn learn(&mut self, side: usize, rate: u32, verdict: StressVerdict) {
        let side = &mut self.sides[side];
        match verdict {
            StressVerdict::Held => side.held = side.held.max(Some(rate)),
            StressVerdict::Broken => {
                side.broken = Some(side.broken.map_or(rate, |broken| broken.min(rate)));
            }
            StressVerdict::Generator | StressVerdict::Unclear => side.is_stuck = true,
        }
    }

    /// A service is gone: it is asked no more.
    pub(super) fn give_up(&mut self, side: usize) {
        self.sides[side].is_stuck = true;
    }
}

impl Standing {
    /// A rate between the two, or below the first that it did not hold.
    fn between(&self, least: u32) -> Option<u32> {
        let (low, high) = (self.held.unwrap_or(0), self.broken?);
        let is_near = f64::from(high.saturating_sub(low)) <= (f64::from(low) * NEAR).max(1.0);
        if self.refinements == 0 || self.is_stuck || is_near {
            return None;
        }
        let rate = (low + (high - low) / 2).max(least);
        (rate < high).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is tried of services with these limits.
    fn tried(rates: &[u32], refinements: usize, limits: [u32; 2]) -> (Vec<Rung>, [Standing; 2]) {
        let mut climb = Climb::new(rates.to_vec(), refinements, 1);
        let mut rungs = Vec::new();
        while let Some((rate, loaded)) = climb.next() {
            rungs.push((rate, loaded));
            assert!(rungs.len() < 100, "it ends");
            for side in [0, 1] {
                if loaded[side] {
                    let verdict = if rate <= limits[side] {
                        StressVerdict::Held
                    } else {
                        StressVerdict::Broken
                    };
                    climb.learn(side, rate, verdict);
                }
            }
        }
        (rungs, [0, 1].map(|side| climb.standing(side)))
    }

    #[test]
    fn both_climb_until_each_breaks_and_then_each_limit_is_narrowed() {
        let (rungs, sides) = tried(&[100, 200, 400, 800, 1_600], 2, [150, 500]);
        let both = [true, true];
        let (legacy, candidate) = ([true, false], [false, true]);
        assert_eq!(
            rungs,
            [
                (100, both),
                (200, both),
                (400, candidate),
                (800, candidate),
                (150, legacy),
                (175, legacy),
                (600, candidate),
                (500, candidate),
            ]
        );
        assert_eq!((sides[0].held, sides[0].broken), (Some(150), Some(175)));
        assert_eq!((sides[1].held, sides[1].broken), (Some(500), Some(600)));
    }

    #[test]
    fn one_that_never_breaks_and_one_that_breaks_at_once_come_to_an_end() {
        let (rungs, sides) = tried(&[10, 20], 3, [0, 1_000]);
        assert_eq!(rungs.len(), 2 + 3);
        assert_eq!((sides[0].held, sides[0].broken), (None, Some(1)));
        assert_eq!((sides[1].held, sides[1].broken), (Some(20), None));
        let (rungs, _) = tried(&[1_000, 1_010], 5, [1_005, 1_005]);
        assert_eq!(rungs.len(), 2, "they are near enough");
    }

    #[test]
    fn no_rate_is_tried_at_which_too_few_requests_are_due() {
        let mut climb = Climb::new(vec![40, 60], 3, 34);
        for rate in [40, 34] {
            let (next, _) = climb.next().expect("there is one");
            assert_eq!(next, rate);
            climb.learn(0, rate, StressVerdict::Broken);
            climb.learn(1, rate, StressVerdict::Generator);
        }
        assert_eq!(climb.next(), None);
        assert_eq!(climb.standing(0).broken, Some(34));
    }

    #[test]
    fn what_the_generator_cannot_do_ends_the_climb_of_that_service() {
        let mut climb = Climb::new(vec![1, 2, 3], 2, 1);
        climb.next();
        climb.learn(0, 1, StressVerdict::Generator);
        climb.learn(1, 1, StressVerdict::Held);
        assert_eq!(climb.next(), Some((2, [false, true])));
        climb.learn(1, 2, StressVerdict::Unclear);
        assert_eq!(climb.next(), None);
        assert_eq!(climb.standing(1).held, Some(1));
    }
}
