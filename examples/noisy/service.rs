//! A small shop whose answers are never the same twice, although nothing is wrong with them.
//!
//! Ids and tokens are fresh, clocks run, a counter in the store only grows, lists come in random order, durations are
//! measured, and an account is booked on while it is being looked at. Legacy and candidate share one store ([`World`]), as
//! such services do. A candidate may have faults: wrong answers in one of fifty, mostly where the noise is.
//!
//! `parity demo noisy` runs both in its process; `cargo run --example noisy -- 127.0.0.1:7001 127.0.0.1:7002` runs both
//! in another one.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use jiff::{SignedDuration, Timestamp};

/// Orders `ord-20000` to `ord-20499`, accounts `acc-1000` to `acc-1499`, items `item-1` to `item-500` exist.
pub(crate) const RECORDS: u32 = 500;
/// A fault shows in one of so many answers.
const ONE_OF: u32 = 50;
/// Which of them, where a fault is a property of the record.
const FAULTY: u32 = 17;
/// One look at an account in so many is followed by a booking.
const LOOKS_PER_BOOKING: u64 = 50;

/// What may be wrong with a candidate, each at another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The amount of an order is a cent too low. It is no noise by itself, but all that surrounds it is.
    Cent,
    /// The balance of an account, which is booked on all the time, is a cent too high.
    Balance,
    /// The id of the answer about an order is null.
    Null,
    /// A session expires an hour late.
    Hour,
    /// A session has always the same id.
    Constant,
    /// A list in random order lacks an element.
    Lost,
    /// A list in random order has an element twice, instead of another.
    Twice,
}

impl Fault {
    /// All of them, with the words for them.
    pub(crate) const ALL: [(&'static str, Self); 7] = [
        ("cent", Self::Cent),
        ("balance", Self::Balance),
        ("null", Self::Null),
        ("hour", Self::Hour),
        ("constant", Self::Constant),
        ("lost", Self::Lost),
        ("twice", Self::Twice),
    ];

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, fault)| *fault)
    }
}

/// In which answers a fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// In those about certain records, each time.
    ByRecord,
    /// In any, now and then.
    AtRandom,
}

impl Shows {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "by-record" => Some(Self::ByRecord),
            "at-random" => Some(Self::AtRandom),
            _ => None,
        }
    }
}

/// The store, and where chance comes from.
pub(crate) struct World {
    random: AtomicU64,
    views: AtomicU64,
    /// In cents, by account.
    balances: Vec<AtomicU64>,
}

impl World {
    /// A new one; no two are alike.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            random: AtomicU64::new(RandomState::new().hash_one(0)),
            views: AtomicU64::new(1_000_000),
            balances: (0..RECORDS)
                .map(|account| AtomicU64::new(10_000 + u64::from(account) * 731))
                .collect(),
        })
    }

    /// `SplitMix64`.
    fn random(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self
            .random
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&self, limit: u64) -> u64 {
        self.random() % limit
    }

    fn uuid(&self) -> String {
        let (high, low) = (self.random(), self.random());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    /// 32 characters of base64.
    fn token(&self) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let character = |_| char::from(ALPHABET[self.below(64) as usize]);
        (0..32).map(character).collect()
    }

    fn shuffled(&self, mut elements: Vec<String>) -> Vec<String> {
        for at in (1..elements.len()).rev() {
            elements.swap(at, self.below(at as u64 + 1) as usize);
        }
        elements
    }

    /// How long a search took, in microseconds, as it says: the sample has more to do than to wait.
    fn took(&self) -> u64 {
        let usual = 2_000 + self.below(2_000_000);
        match self.below(20) {
            0 => usual + self.below(20_000_000),
            _ => usual,
        }
    }

    /// The balance, after which somebody may book.
    fn balance(&self, account: u32) -> u64 {
        let balance = &self.balances[account as usize];
        let seen = balance.load(Ordering::Relaxed);
        if self.below(LOOKS_PER_BOOKING) == 0 {
            balance.fetch_add(1 + self.below(5_000), Ordering::Relaxed);
        }
        seen
    }
}

/// One of the two services.
#[derive(Clone)]
pub(crate) struct Shop {
    world: Arc<World>,
    faults: Arc<[Fault]>,
    shows: Shows,
}

impl Shop {
    /// One without faults: the legacy, or a candidate that behaves alike.
    pub(crate) fn faultless(world: &Arc<World>) -> Self {
        Self::with(world, &[], Shows::ByRecord)
    }

    /// One with these faults.
    pub(crate) fn with(world: &Arc<World>, faults: &[Fault], shows: Shows) -> Self {
        Self {
            world: Arc::clone(world),
            faults: faults.into(),
            shows,
        }
    }

    /// What it answers.
    pub(crate) fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (status, took, body) = self.route(request.method(), request.uri().path());
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let mut set = |name, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        if let Some(took) = took {
            set("x-request-id", self.world.uuid());
            set("x-response-time", format!("{took}ms"));
        }
        response
    }

    /// Status, how long it took if that is told, and the body.
    fn route(&self, method: &Method, path: &str) -> (StatusCode, Option<String>, String) {
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let number = |text: &str, prefix: &str, first: u32| {
            let number = text.strip_prefix(prefix)?.parse::<u32>().ok()?;
            number.checked_sub(first).filter(|number| *number < RECORDS)
        };
        let found = match (method, segments.as_slice()) {
            (&Method::GET, ["orders", id]) => {
                number(id, "ord-", 20_000).map(|id| (None, self.order(id)))
            }
            (&Method::GET, ["accounts", id, "session"]) => {
                number(id, "acc-", 1_000).map(|id| (None, self.session(id)))
            }
            (&Method::GET, ["accounts", id, "balance"]) => {
                number(id, "acc-", 1_000).map(|id| (None, self.balance(id)))
            }
            (&Method::GET, ["stock", id]) => {
                number(id, "item-", 1).map(|id| (None, self.stock(id)))
            }
            (&Method::GET, ["search", id]) => number(id, "item-", 1).map(|id| {
                let took = self.world.took();
                let took = format!("{}.{:03}", took / 1_000, took % 1_000);
                let body = self.search(id, &took);
                (Some(took), body)
            }),
            _ => None,
        };
        match found {
            Some((took, body)) => (StatusCode::OK, took, body),
            None => (
                StatusCode::NOT_FOUND,
                None,
                "{\"error\":\"not found\"}".to_owned(),
            ),
        }
    }

    /// Whether a fault shows in this answer.
    fn has(&self, fault: Fault, record: u32) -> bool {
        self.faults.contains(&fault)
            && match self.shows {
                Shows::ByRecord => record % ONE_OF == FAULTY,
                Shows::AtRandom => self.world.below(u64::from(ONE_OF)) == 0,
            }
    }

    fn order(&self, order: u32) -> String {
        let answer_id = if self.has(Fault::Null, order) {
            "null".to_owned()
        } else {
            format!("\"{}\"", self.world.uuid())
        };
        let cents = 1_999 + order * 37 - u32::from(self.has(Fault::Cent, order));
        let lines: Vec<String> = (0..10)
            .map(|line| {
                let item = 1 + (order * 10 + line) % RECORDS;
                format!("{{\"id\":\"item-{item}\",\"quantity\":{}}}", 1 + line)
            })
            .collect();
        format!(
            "{{\"order\":\"ord-{}\",\"answer_id\":{answer_id},\"served_at\":\"{:.6}\",\"amount\":\"{}.{:02}\",\"lines\":[{}]}}",
            20_000 + order,
            Timestamp::now(),
            cents / 100,
            cents % 100,
            self.world.shuffled(lines).join(",")
        )
    }

    fn session(&self, account: u32) -> String {
        let id = if self.has(Fault::Constant, account) {
            "5eb0e9a2-77aa-4d0c-a3f1-0123456789ab".to_owned()
        } else {
            self.world.uuid()
        };
        let hours = 1 + i64::from(self.has(Fault::Hour, account));
        format!(
            "{{\"account\":\"acc-{}\",\"session\":\"{id}\",\"nonce\":\"{}\",\"expires_at\":\"{:.6}\",\"scopes\":[\"read\",\"pay\"]}}",
            1_000 + account,
            self.world.token(),
            Timestamp::now() + SignedDuration::from_hours(hours),
        )
    }

    fn balance(&self, account: u32) -> String {
        let cents = self.world.balance(account) + u64::from(self.has(Fault::Balance, account));
        format!(
            "{{\"account\":\"acc-{}\",\"balance\":\"{}.{:02}\",\"currency\":\"EUR\"}}",
            1_000 + account,
            cents / 100,
            cents % 100
        )
    }

    fn stock(&self, item: u32) -> String {
        let names = [
            "airport", "bridge", "centre", "east", "harbour", "market", "north", "south",
            "station", "west",
        ];
        let mut warehouses: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        if self.has(Fault::Lost, item) {
            warehouses.pop();
        }
        format!(
            "{{\"item\":\"item-{}\",\"views\":{},\"available\":{},\"warehouses\":[{}]}}",
            1 + item,
            self.world.views.fetch_add(1, Ordering::Relaxed),
            item % 40,
            self.world.shuffled(warehouses).join(",")
        )
    }

    fn search(&self, item: u32, took: &str) -> String {
        let mut hits: Vec<String> = (0..10)
            .map(|hit| {
                let item = 1 + (item + hit * 97) % RECORDS;
                format!("{{\"id\":\"item-{item}\",\"name\":\"thing {item}\"}}")
            })
            .collect();
        if self.has(Fault::Twice, item) {
            let found = hits[0].clone();
            hits[9] = found;
        }
        format!(
            "{{\"search\":\"{:016x}\",\"took_ms\":{},\"message\":\"10 hits, took {took} ms\",\"hits\":[{}]}}",
            self.world.random(),
            // As most languages write a number.
            took.trim_end_matches(".000"),
            self.world.shuffled(hits).join(",")
        )
    }
}
