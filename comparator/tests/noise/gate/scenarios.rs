//! The pairs of services that are gated.

mod itself;

pub(crate) use self::itself::ITSELF;

use crate::service::{Fault, Noise, SECOND};

/// A field that differs by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) noise: Noise,
    /// Of the answers, those that have it.
    pub(crate) share: f64,
}

/// What is wrong with a candidate on one route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    /// In the value of which field; `None` for one that is the same in all answers about a target.
    pub(crate) field: Option<usize>,
    pub(crate) fault: Fault,
    /// Of the answers, those that have it.
    pub(crate) rate: f64,
    /// It belongs to the target, so that it shows in each of its answers.
    pub(crate) by_target: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) name: &'static str,
    /// Of the traffic.
    pub(crate) share: f64,
    pub(crate) fields: &'static [Field],
    pub(crate) planted: Option<Planted>,
    /// The part of the run after which its requests begin.
    pub(crate) from: f64,
}

/// What a run has besides its routes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Condition {
    None,
    /// Each route must be proven on its own.
    AllRoutes,
    /// Each user asks for something of his own, so many times in a row; the gate demands as many targets as one look needs.
    Users(u64),
    /// In the middle of it, `ids` of `GET /orders/{id}` are ignored.
    Edit,
    /// The candidate takes this times as long, and half as long again is allowed.
    Slow(f64),
    /// Nobody looks before so many requests.
    Late(u64),
    /// So much may differ.
    Allowed(f64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) routes: &'static [Route],
    pub(crate) condition: Condition,
    pub(crate) requests: u64,
    /// Rechecks for each request, at most.
    pub(crate) budget: f64,
    pub(crate) must: Must,
}

/// How a run must end, in all but a few seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Must {
    Pass,
    Fail,
    /// It must not pass, and may stay undecided.
    NotPass,
    /// It must not fail, and may stay undecided.
    NotFail,
    /// What is wrong is about as much as is allowed or may hide. No verdict is asked for, and a wrong one is a fault all the same:
    /// a fail by what is allowed, or a pass by more than the decision says may hide.
    Any,
}

const fn every(noise: Noise) -> Field {
    Field { noise, share: 1.0 }
}

const fn route(name: &'static str, share: f64, fields: &'static [Field]) -> Route {
    Route {
        name,
        share,
        fields,
        planted: None,
        from: 0.0,
    }
}

impl Route {
    const fn with(self, field: Option<usize>, fault: Fault, rate: f64) -> Self {
        Self {
            planted: Some(Planted {
                field,
                fault,
                rate,
                by_target: false,
            }),
            ..self
        }
    }

    const fn by_target(self) -> Self {
        let planted = match self.planted {
            Some(planted) => Some(Planted {
                by_target: true,
                ..planted
            }),
            None => None,
        };
        Self { planted, ..self }
    }

    const fn from(self, from: f64) -> Self {
        Self { from, ..self }
    }

    /// A value that does not move differs in so many of the answers.
    const fn wrong(self, rate: f64) -> Self {
        self.with(None, Fault::Kind, rate)
    }
}

const ORDERS: Route = route(
    "GET /orders/{id}",
    0.3,
    &[every(Noise::Uuid), every(Noise::Clock)],
);
const STOCK: Route = route("GET /stock", 0.1, &[every(Noise::Order)]);
const BALANCE: Route = route("GET /balance/{id}", 0.4, &[every(Noise::Race(0.03))]);
/// One of six values, in a few answers.
const DICE: Route = route(
    "GET /dice",
    1.0,
    &[Field {
        noise: Noise::Dice,
        share: 0.05,
    }],
);
const USERS: Route = route("GET /users/{id}", 0.2, &[]);
const ITEMS: Route = route("GET /items/{id}", 1.0, &[]);
const STOCK_QUIET: Route = route("GET /stock", 0.2, &[]);
/// It takes most of the rechecks.
const ORDERS_MOST: Route = Route {
    share: 1.5,
    ..ORDERS
};
/// Mostly the same, now and then another.
const SELDOM: Route = route("GET /seldom", 1.0, &[every(Noise::Seldom(0.03))]);

const fn scenario(name: &'static str, routes: &'static [Route], must: Must) -> Scenario {
    Scenario {
        name,
        routes,
        condition: Condition::None,
        requests: 10_000,
        budget: 0.4,
        must,
    }
}

impl Scenario {
    const fn when(self, condition: Condition) -> Self {
        Self { condition, ..self }
    }

    const fn budget(self, budget: f64) -> Self {
        Self { budget, ..self }
    }

    const fn of(self, requests: u64) -> Self {
        Self { requests, ..self }
    }
}

pub(crate) const SCENARIOS: [Scenario; 27] = [
    scenario("nothing differs", &[ITEMS, STOCK_QUIET, USERS], Must::Pass),
    scenario(
        "ids, clocks, order, races",
        &[ORDERS, STOCK, BALANCE, USERS],
        Must::Pass,
    )
    .of(40_000),
    scenario(
        "the same, a route comes late",
        &[ORDERS.from(0.2), STOCK, BALANCE, USERS],
        Must::Pass,
    )
    .of(40_000),
    scenario(
        "the same, ids are ignored half way",
        &[ORDERS, STOCK, BALANCE, USERS],
        Must::Pass,
    )
    .when(Condition::Edit)
    .of(40_000),
    scenario(
        "races beside ids, few rechecks",
        &[ORDERS_MOST, BALANCE, USERS],
        Must::NotFail,
    )
    .budget(0.03)
    .of(5_000),
    scenario("an id that seldom changes", &[SELDOM], Must::Pass),
    scenario("one of six values in a twentieth", &[DICE], Must::Pass).of(15_000),
    scenario("as fast", &[ITEMS], Must::Pass).when(Condition::Slow(1.0)),
    scenario("twice as slow", &[ITEMS], Must::Fail).when(Condition::Slow(2.0)),
    scenario(
        "0.1 % wrong, as is allowed",
        &[ITEMS.wrong(0.001)],
        Must::Any,
    ),
    scenario(
        "0.1 % wrong on a noisy route",
        &[ORDERS.wrong(0.001)],
        Must::Any,
    ),
    scenario("0.01 % wrong", &[ITEMS.wrong(0.000_1)], Must::Pass),
    scenario("0.5 % wrong", &[ITEMS.wrong(0.005)], Must::Fail),
    scenario("1 % wrong", &[ITEMS.wrong(0.01)], Must::Fail),
    scenario("10 % wrong", &[ITEMS.wrong(0.1)], Must::Fail),
    scenario(
        "1 % wrong on a noisy route",
        &[ORDERS.wrong(0.01).by_target(), STOCK, BALANCE, USERS],
        Must::Fail,
    ),
    scenario(
        "10 % wrong on a rare noisy route",
        &[ORDERS, STOCK.wrong(0.1), BALANCE, USERS],
        Must::Fail,
    ),
    scenario(
        "2 % wrong on a late route",
        &[ORDERS.wrong(0.02).from(0.2), STOCK, BALANCE, USERS],
        Must::Fail,
    )
    .when(Condition::AllRoutes),
    scenario(
        "1 % wrong, ids are ignored half way",
        &[ORDERS.wrong(0.01), STOCK, BALANCE, USERS],
        Must::Fail,
    )
    .when(Condition::Edit),
    scenario(
        "ids, 0.3 % the same",
        &[ORDERS.with(Some(0), Fault::Constant, 0.003)],
        Must::Any,
    ),
    scenario(
        "ids, 1 % the same",
        &[ORDERS.with(Some(0), Fault::Constant, 0.01), STOCK, USERS],
        Must::NotPass,
    ),
    scenario(
        "ids, 1 % null",
        &[ORDERS.with(Some(0), Fault::Null, 0.01), STOCK, USERS],
        Must::Fail,
    ),
    scenario(
        "clock, 1 % an hour off",
        &[
            ORDERS.with(Some(1), Fault::Bias(3_600 * SECOND), 0.01),
            STOCK,
            USERS,
        ],
        Must::NotPass,
    ),
    scenario(
        "clock, all a second off",
        &[ORDERS.with(Some(1), Fault::Bias(SECOND), 1.0), STOCK, USERS],
        Must::NotPass,
    ),
    scenario(
        "order, 10 % sorted",
        &[STOCK.with(Some(0), Fault::Constant, 0.1), USERS],
        Must::NotPass,
    ),
    scenario("users, 3 in a row, none wrong", &[ITEMS], Must::Pass).when(Condition::Users(3)),
    scenario(
        "users, 3 in a row, 1 % wrong",
        &[ITEMS.wrong(0.01).by_target()],
        Must::Fail,
    )
    .when(Condition::Users(3)),
];
