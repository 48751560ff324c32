//! The pairs of services that are simulated.

mod texts;

pub(crate) use self::texts::TEXTS;
use crate::service::{Fault, Noise, SECOND};
use crate::simulation::{Load, Scenario};

const HOUR: i64 = 3_600 * SECOND;

/// Ten thousand requests with ten rechecks a second.
const LOAD: Load = Load {
    requests: 10_000,
    budget: 0.1,
};
/// Ten thousand requests with thirty rechecks a second: what signs need to be shown balanced.
const MANY: Load = Load {
    requests: 10_000,
    budget: 0.3,
};

/// What it takes to see that each of a thousand values repeats as often on both sides.
const MOST: Load = Load {
    requests: 20_000,
    budget: 0.7,
};

const fn pure(name: &'static str, noise: Noise, share: f64) -> Scenario {
    Scenario {
        name,
        noise,
        fault: Fault::None,
        prevalence: 0.0,
        by_target: false,
        share,
    }
}

const fn faulty(
    name: &'static str,
    noise: Noise,
    fault: Fault,
    prevalence: f64,
    by_target: bool,
    share: f64,
) -> Scenario {
    Scenario {
        name,
        noise,
        fault,
        prevalence,
        by_target,
        share,
    }
}

/// Services that behave alike, with the load at which that is shown.
pub(crate) const PURE: [(Scenario, Load); 17] = [
    (pure("uuid", Noise::Uuid, 1.0), LOAD),
    (pure("uuid in a tenth", Noise::Uuid, 0.1), LOAD),
    (pure("clock", Noise::Clock, 1.0), MANY),
    (pure("clock in a tenth", Noise::Clock, 0.1), LOAD),
    (pure("counter", Noise::Counter, 1.0), MANY),
    (pure("random order", Noise::Order, 1.0), LOAD),
    (pure("number", Noise::Number, 1.0), MOST),
    (pure("number in 3 %", Noise::Number, 0.03), LOAD),
    (pure("price in 3 %", Noise::Price, 0.03), LOAD),
    (pure("one of six", Noise::Dice, 0.05), LOAD),
    (pure("sentence", Noise::Sentence, 1.0), MANY),
    (pure("token in a text", Noise::Token, 1.0), LOAD),
    (pure("page", Noise::Page, 1.0), MANY),
    (pure("sorted, ties at random", Noise::Ties, 1.0), MOST),
    (pure("race in 2 %", Noise::Race(0.02), 1.0), LOAD),
    (pure("race in 5 %", Noise::Race(0.05), 1.0), LOAD),
    (pure("seldom (3 %)", Noise::Seldom(0.03), 1.0), LOAD),
];

/// Candidates with a fault that must not be taken for noise.
pub(crate) const FAULTY: [(Scenario, Load); 32] = [
    (
        faulty(
            "price, four times as wide",
            Noise::Price,
            Fault::Wide(4),
            1.0,
            false,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "price in 10 %, four times as wide",
            Noise::Price,
            Fault::Wide(4),
            1.0,
            false,
            0.1,
        ),
        MANY,
    ),
    (
        faulty(
            "clock, an hour off, 1 %",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, an hour off, 1 % of targets",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.01,
            true,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "clock, an hour off, 10 %",
            Noise::Clock,
            Fault::Bias(HOUR),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, a second off, 10 %",
            Noise::Clock,
            Fault::Bias(SECOND),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, a second off, 10 %, more rechecks",
            Noise::Clock,
            Fault::Bias(SECOND),
            0.1,
            false,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "clock, a second off",
            Noise::Clock,
            Fault::Bias(SECOND),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock in 1 %, a second off",
            Noise::Clock,
            Fault::Bias(SECOND),
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock in 10 %, a second early",
            Noise::Clock,
            Fault::Bias(-SECOND),
            1.0,
            false,
            0.1,
        ),
        LOAD,
    ),
    (
        faulty(
            "counter in 1 %, behind by 20",
            Noise::Counter,
            Fault::Bias(-20),
            1.0,
            false,
            0.01,
        ),
        MANY,
    ),
    (
        faulty(
            "counter, behind by 20, 10 %",
            Noise::Counter,
            Fault::Bias(-20),
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, a million more, 1 %",
            Noise::Number,
            Fault::Bias(1_000_000),
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, 300 more",
            Noise::Number,
            Fault::Bias(300),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number in 10 %, 300 more",
            Noise::Number,
            Fault::Bias(300),
            1.0,
            false,
            0.1,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 1 %",
            Noise::Uuid,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 1 % of targets",
            Noise::Uuid,
            Fault::Constant,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, constant, 10 %",
            Noise::Uuid,
            Fault::Constant,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid in 1 %, constant",
            Noise::Uuid,
            Fault::Constant,
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "order, sorted, 1 %",
            Noise::Order,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "order, sorted, 10 %",
            Noise::Order,
            Fault::Constant,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "number, constant, 10 %",
            Noise::Number,
            Fault::Constant,
            0.1,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "one of six, constant, 10 %",
            Noise::Dice,
            Fault::Constant,
            0.1,
            true,
            1.0,
        ),
        MANY,
    ),
    (
        faulty(
            "one of six in 1 %, constant",
            Noise::Dice,
            Fault::Constant,
            1.0,
            false,
            0.01,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, null, 1 %",
            Noise::Uuid,
            Fault::Null,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "uuid, upper case, 1 %",
            Noise::Uuid,
            Fault::Kind,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "clock, as a number, 10 %",
            Noise::Clock,
            Fault::Kind,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "price, cut to integers, 10 %",
            Noise::Price,
            Fault::Kind,
            0.1,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "sentence, another, 1 %",
            Noise::Sentence,
            Fault::Kind,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "race in 5 %, stale, 1 %",
            Noise::Race(0.05),
            Fault::Constant,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "seldom, ten times as often",
            Noise::Seldom(0.01),
            Fault::Excess(0.1),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "seldom, twice as often",
            Noise::Seldom(0.1),
            Fault::Excess(0.2),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
];
