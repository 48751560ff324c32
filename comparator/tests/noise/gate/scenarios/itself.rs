//! Services whose answers have other elements each time, keep values for a while, or change between two texts: beside
//! itself such a service must not fail, and no candidate may pass that is wrong where the legacy moves.

use super::{Condition, Field, Must, Route, Scenario, USERS, every, route, scenario};
use crate::service::{Fault, Noise, SECOND};

/// Fields that have an order and differ by chance.
const MANY: [Field; 100] = [Field {
    noise: Noise::Price,
    share: 0.05,
}; 100];
const HUNDRED: Route = route("GET /prices", 4.0, &MANY);
const FRESH: Route = route("GET /events", 1.0, &[every(Noise::Fresh)]);
const ID: Route = route("GET /orders/{id}", 1.0, &[every(Noise::Uuid)]);
const IDS: Route = route("GET /batch", 1.0, &[every(Noise::Ids(false))]);
const LINKS: Route = route("GET /links", 1.0, &[every(Noise::Ids(true))]);
const FLAGS: Route = route("GET /features", 1.0, &[every(Noise::Flags(10, 0.5))]);
const SUSPECT: Route = route("GET /fraud", 1.0, &[every(Noise::Flags(1, 0.02))]);
const SUSPECT_BESIDE: Route = route(
    "GET /fraud",
    1.0,
    &[every(Noise::Uuid), every(Noise::Flags(1, 0.02))],
);
const KEYED: Route = route("GET /sessions", 1.0, &[every(Noise::Keyed)]);
const SUBSET: Route = route("GET /colors", 1.0, &[every(Noise::Subset)]);
const CACHED: Route = route("GET /config", 1.0, &[every(Noise::CachedId(2_000))]);
const CACHED_CLOCK: Route = route("GET /status", 1.0, &[every(Noise::CachedClock(2_000))]);
/// A value that is kept cannot be told from one that stands still before it was seen to change.
const KEPT: Condition = Condition::Late(12_000);
const FLICKER: Route = route("GET /payments/{id}", 1.0, &[every(Noise::Flicker)]);

const fn alone(name: &'static str, routes: &'static [Route], must: Must) -> Scenario {
    scenario(name, routes, must).of(5_000)
}

pub(crate) const ITSELF: [Scenario; 33] = [
    scenario("a hundred prices", &[HUNDRED, USERS], Must::NotFail).of(4_000),
    alone("fresh elements", &[FRESH, USERS], Must::NotFail),
    alone("four ids", &[IDS, USERS], Must::Pass),
    alone("four links", &[LINKS, USERS], Must::NotFail),
    alone("ten random flags", &[FLAGS, USERS], Must::NotFail),
    alone("a rare flag", &[SUSPECT, USERS], Must::Pass).of(10_000),
    alone(
        "a rare flag, never set",
        &[SUSPECT.with(Some(0), Fault::Excess(0.0), 1.0), USERS],
        Must::NotPass,
    )
    .of(10_000),
    alone(
        "a rare flag, never set, few rechecks",
        &[SUSPECT.with(Some(0), Fault::Excess(0.0), 1.0), USERS],
        Must::NotPass,
    )
    .budget(0.005)
    .of(10_000),
    alone(
        "a rare flag beside ids, never set",
        &[SUSPECT_BESIDE.with(Some(1), Fault::Excess(0.0), 1.0), USERS],
        Must::NotPass,
    )
    .of(10_000),
    alone("fresh keys", &[KEYED, USERS], Must::NotFail),
    alone("random words", &[SUBSET, USERS], Must::NotFail),
    alone("kept ids", &[CACHED, USERS], Must::NotFail)
        .when(KEPT)
        .of(16_000),
    alone("kept clocks", &[CACHED_CLOCK, USERS], Must::NotFail)
        .when(KEPT)
        .of(16_000),
    alone("one of two texts", &[FLICKER, USERS], Must::NotFail),
    alone(
        "fresh elements, one less",
        &[FRESH.with(Some(0), Fault::Lost, 1.0), USERS],
        Must::NotPass,
    ),
    alone(
        "fresh elements, 5 % none",
        &[FRESH.with(Some(0), Fault::Constant, 0.05), USERS],
        Must::NotPass,
    ),
    alone(
        "fresh elements, in another state",
        &[FRESH.with(Some(0), Fault::Kind, 1.0), USERS],
        Must::Fail,
    ),
    alone(
        "four ids, 5 % have one for all",
        &[IDS.with(Some(0), Fault::Twins, 0.05), USERS],
        Must::Fail,
    ),
    alone(
        "four links, 5 % have one id for all",
        &[LINKS.with(Some(0), Fault::Twins, 0.05), USERS],
        Must::Fail,
    ),
    alone(
        "fresh keys, one less",
        &[KEYED.with(Some(0), Fault::Lost, 1.0), USERS],
        Must::NotPass,
    ),
    alone(
        "fresh keys, 5 % none",
        &[KEYED.with(Some(0), Fault::Constant, 0.05), USERS],
        Must::NotPass,
    ),
    alone(
        "fresh keys, 5 % in another state",
        &[KEYED.with(Some(0), Fault::Kind, 0.05), USERS],
        Must::NotPass,
    ),
    alone(
        "fresh keys, 5 % null",
        &[KEYED.with(Some(0), Fault::Null, 0.05), USERS],
        Must::Fail,
    ),
    alone(
        "random words, never the first",
        &[SUBSET.with(Some(0), Fault::Lost, 1.0), USERS],
        Must::NotPass,
    ),
    alone(
        "random words, 5 % with another",
        &[SUBSET.with(Some(0), Fault::Kind, 0.05), USERS],
        Must::NotPass,
    ),
    // Who stands still is told from who was not seen to move yet by some hundred rechecks.
    alone(
        "kept ids, always one",
        &[CACHED.with(Some(0), Fault::Constant, 1.0), USERS],
        Must::Fail,
    )
    .of(14_000),
    alone(
        "kept ids, 5 % null",
        &[CACHED.with(Some(0), Fault::Null, 0.05), USERS],
        Must::Fail,
    ),
    alone(
        "kept clocks, an hour off",
        &[
            CACHED_CLOCK.with(Some(0), Fault::Bias(3_600 * SECOND), 1.0),
            USERS,
        ],
        Must::NotPass,
    )
    .when(KEPT)
    .of(14_000),
    alone(
        "ids, 5 % of them handed out again",
        &[ID.with(Some(0), Fault::Again, 0.05), USERS],
        Must::Fail,
    ),
    // A fault in some of the answers does not make all of them wrong.
    alone(
        "ids, 2 % null, 6 % allowed",
        &[ID.with(Some(0), Fault::Null, 0.02), USERS],
        Must::NotFail,
    )
    .when(Condition::Allowed(0.06)),
    alone(
        "ids, 2 % constant, 6 % allowed",
        &[ID.with(Some(0), Fault::Constant, 0.02), USERS],
        Must::NotFail,
    )
    .when(Condition::Allowed(0.06)),
    alone(
        "one of two texts, another",
        &[FLICKER.with(Some(0), Fault::Kind, 1.0), USERS],
        Must::Fail,
    ),
    alone(
        "one of two texts, another in 5 %",
        &[FLICKER.with(Some(0), Fault::Kind, 0.05), USERS],
        Must::NotPass,
    ),
];
