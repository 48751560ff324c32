//! Services that answer with noise, and candidates with a fault in it.

mod lists;

use std::collections::HashMap;

/// Microseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000;

/// `SplitMix64`: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn chance(&mut self, rate: f64) -> bool {
        (self.next() >> 11) as f64 / ((1_u64 << 53) as f64) < rate
    }
}

/// What a service does by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// A fresh UUID.
    Uuid,
    /// The time, in milliseconds, as text.
    Clock,
    /// The next number of a sequence that both services share.
    Counter,
    /// Eight elements in random order.
    Order,
    /// A number below a thousand.
    Number,
    /// A number with two places, of which JavaScript leaves out zeros.
    Price,
    /// One of six numbers.
    Dice,
    /// A sentence with ids and times.
    Sentence,
    /// A text with a token of letters and, most often, digits.
    Token,
    /// A page with a token, the time and a price.
    Page,
    /// Eight elements sorted by price, of which there are three; those of one price in random order.
    Ties,
    /// A record that others write to, so often that this share of pairs is torn.
    Race(f64),
    /// A fixed id, which in this share of the answers is another.
    Seldom(f64),
    /// Two to six elements with fresh ids.
    Fresh,
    /// Four fresh ids, each in a sentence or alone.
    Ids(bool),
    /// Three elements in an object, under fresh ids.
    Keyed,
    /// Each of eight words, or not.
    Subset,
    /// A fresh id that each process keeps for so many milliseconds.
    CachedId(i64),
    /// The time, which each process keeps for so many milliseconds.
    CachedClock(i64),
    /// One of two sentences, with a token.
    Flicker,
    /// So many flags, each set in this share of the answers.
    Flags(u64, f64),
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Service {
    Legacy,
    Candidate,
}

/// What is wrong with a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Numbers are greater, times later (in microseconds), tokens longer.
    Bias(i64),
    /// The list has another order, see [`Sort`].
    Sorted(Sort),
    /// A line or an element is missing.
    Lost,
    /// All elements have one id.
    Twins,
    /// Always the same.
    Constant,
    /// The one of the answer before.
    Again,
    /// Null.
    Null,
    /// Another value than the legacy's kind has, such as an id in upper case.
    Kind,
    /// Numbers scatter so many times as far.
    Wide(i64),
    /// The legacy's noise, so much more often.
    Excess(f64),
}

/// How a list of elements is sorted, those that are equal by it in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sort {
    /// By their price.
    Price,
    /// By their price, the highest first.
    Reversed,
    /// By something else.
    OtherKey,
    /// Not at all.
    Not,
}

/// What both services share.
pub(crate) struct World {
    pub(crate) random: Random,
    counter: u64,
    versions: Vec<u64>,
    /// What each service keeps, and until when.
    kept: [HashMap<String, (i64, String)>; 2],
    /// The last id of the candidate.
    last_uuid: String,
}

/// Different records that clients ask for.
pub(crate) const TARGETS: u64 = 1_000;

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            counter: 1_000,
            versions: vec![0; TARGETS as usize],
            kept: [HashMap::new(), HashMap::new()],
            last_uuid: String::new(),
        }
    }

    /// Somebody writes to a record.
    pub(crate) fn write(&mut self, target: u64) {
        self.versions[target as usize] += 1;
    }

    fn uuid(&mut self) -> String {
        let (high, low) = (self.random.next(), self.random.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    /// A fresh id, or the one that the candidate handed out last.
    fn id(&mut self, service: Service, fault: Fault) -> String {
        if fault != Fault::Again {
            let uuid = self.uuid();
            if service == Service::Legacy {
                return format!("\"{uuid}\"");
            }
            self.last_uuid = uuid;
        }
        format!("\"{}\"", self.last_uuid)
    }

    fn token(&mut self, length: i64) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let character = |_| char::from(ALPHABET[self.random.below(64) as usize]);
        (0..length).map(character).collect()
    }

    /// Eight elements, in some order.
    fn list(&mut self, sort: Sort) -> String {
        let mut elements: Vec<u64> = (0..8).collect();
        for at in (1..elements.len()).rev() {
            elements.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        let price = |element: &u64| *element / 3;
        match sort {
            Sort::Price => elements.sort_by_key(price),
            Sort::Reversed => elements.sort_by_key(|element| std::cmp::Reverse(price(element))),
            Sort::OtherKey => elements.sort_by_key(|element| element % 3),
            Sort::Not => {}
        }
        format!("{elements:?}")
    }

    /// A page.
    fn page(&mut self, target: u64, time: i64, fault: Fault) -> String {
        let token = match fault {
            Fault::Constant => "KqdDLxTvBzWnRgHcJsMpYf".to_owned(),
            Fault::Null => "null".to_owned(),
            _ => self.token(22),
        };
        let bias = match fault {
            Fault::Bias(bias) => bias,
            _ => 0,
        };
        let price = 1_250 + target.cast_signed() + bias;
        let state = if fault == Fault::Kind { "open" } else { "paid" };
        let line = if fault == Fault::Lost {
            ""
        } else {
            "<p>Thank you</p>\n"
        };
        format!(
            "<html>\n<meta name=\"csrf\" content=\"{token}\">\n<p>Total: {}.{:02} EUR, {state}</p>\n{line}<i>{}</i>\n</html>\n",
            price / 100,
            price % 100,
            clock(time)
        )
    }

    /// The body of one answer.
    pub(crate) fn answer(
        &mut self,
        noise: Noise,
        (service, fault): (Service, Fault),
        target: u64,
        time: i64,
    ) -> String {
        let value = self.value(noise, (service, fault), target, time);
        format!("{{\"target\":{target},\"value\":{value}}}")
    }

    /// What a process keeps for so long, which begins and ends at other times in each.
    fn kept(
        &mut self,
        (service, noise): (Service, Noise),
        (time, milliseconds): (i64, i64),
        fresh: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let of = service as usize;
        let name = format!("{noise:?}");
        let known = self.kept[of].get(&name).cloned();
        if let Some((_, value)) = known.as_ref().filter(|(until, _)| time < *until) {
            return value.clone();
        }
        let value = fresh(self);
        let mut below = |most: i64| self.random.below(most.unsigned_abs()).cast_signed();
        let until = if known.is_some() {
            time + milliseconds * 950 + below(milliseconds * 100)
        } else {
            // The process was there before the first request.
            time + below(milliseconds * 1_000)
        };
        self.kept[of].insert(name, (until, value.clone()));
        value
    }

    /// The JSON of one value.
    pub(crate) fn value(
        &mut self,
        noise: Noise,
        (service, fault): (Service, Fault),
        target: u64,
        time: i64,
    ) -> String {
        let bias = match fault {
            Fault::Bias(bias) => bias,
            _ => 0,
        };
        match (noise, fault) {
            (_, Fault::Null) => "null".to_owned(),
            (Noise::Uuid, Fault::Constant) => "\"00000000-dead-4bee-a000-000000000001\"".to_owned(),
            (Noise::Uuid, Fault::Kind) => format!("\"{}\"", self.uuid().to_uppercase()),
            (Noise::Uuid, fault) => self.id(service, fault),
            (Noise::Clock, Fault::Constant) => clock(0),
            (Noise::Clock, Fault::Kind) => (time / SECOND).to_string(),
            (Noise::Clock, _) => clock(time + bias),
            (Noise::Counter, Fault::Constant) => "1000".to_owned(),
            (Noise::Counter, Fault::Kind) => format!("\"{}\"", self.counter),
            (Noise::Counter, _) => {
                self.counter += 1 + self.random.below(3);
                (self.counter.cast_signed() + bias).to_string()
            }
            (Noise::Page, fault) => self.page(target, time, fault),
            (Noise::Ties | Noise::Order, Fault::Sorted(sort)) => self.list(sort),
            (Noise::Ties, _) => self.list(Sort::Price),
            (Noise::Order, Fault::Constant) => "[0,1,2,3,4,5,6,7]".to_owned(),
            (Noise::Order, Fault::Kind) => "[0,1,2,3,4,5,6]".to_owned(),
            (Noise::Order, _) => self.list(Sort::Not),
            (Noise::Number | Noise::Price | Noise::Dice, Fault::Constant) => "3".to_owned(),
            (Noise::Number, Fault::Kind) => format!("\"{}\"", self.random.below(1_000)),
            (Noise::Number, _) => (self.random.below(1_000).cast_signed() + bias).to_string(),
            (Noise::Price, Fault::Kind) => self.random.below(1_000).to_string(),
            (Noise::Price, Fault::Wide(times)) => {
                price(50_000 + (self.random.below(100_000).cast_signed() - 50_000) * times)
            }
            (Noise::Price, _) => price(self.random.below(100_000).cast_signed() + bias),
            (Noise::Dice, Fault::Kind) => "7.5".to_owned(),
            (Noise::Dice, _) => (1 + self.random.below(6).cast_signed() + bias).to_string(),
            (Noise::Sentence, Fault::Constant | Fault::Kind) => "\"No orders.\"".to_owned(),
            (Noise::Sentence, _) => {
                let (number, id) = (self.random.below(10_000), self.uuid());
                format!(
                    "\"Order {number} of {id} at {}\"",
                    clock(time).trim_matches('"')
                )
            }
            (Noise::Token, Fault::Constant) => "\"Bearer PAYMENT_METHOD_DECLINED\"".to_owned(),
            (Noise::Token, Fault::Kind) => format!("\"no token for {target}\""),
            (Noise::Token, _) => format!("\"Bearer {}\"", self.token(22 + bias)),
            (Noise::Fresh | Noise::Ids(_) | Noise::Keyed | Noise::Subset, fault) => {
                self.elements(noise, fault)
            }
            (Noise::CachedId(_), Fault::Constant) => {
                self.value(Noise::Uuid, (service, Fault::Constant), target, time)
            }
            (Noise::CachedId(milliseconds), fault) => {
                self.kept((service, noise), (time, milliseconds), |world| {
                    world.value(Noise::Uuid, (service, fault), target, time)
                })
            }
            (Noise::CachedClock(milliseconds), _) => {
                let kept = self.kept((service, noise), (time, milliseconds), |_| time.to_string());
                clock(kept.parse().unwrap_or(time) + bias)
            }
            (Noise::Flags(count, rate), fault) => {
                let rate = match fault {
                    Fault::Excess(other) => other,
                    _ => rate,
                };
                let flags: Vec<String> = (0..count)
                    .map(|flag| format!("\"f{flag}\":{}", self.random.chance(rate)))
                    .collect();
                format!("{{{}}}", flags.join(","))
            }
            (Noise::Flicker, fault) => {
                let how = match fault {
                    Fault::None if self.random.chance(0.5) => "paid by card",
                    Fault::None => "paid in cash",
                    _ => "not paid at all",
                };
                format!("\"It was {how}, see {}\"", self.token(22))
            }
            (Noise::Race(_), fault) => {
                let version = self.versions[target as usize];
                if fault == Fault::None {
                    format!("\"v{version}\"")
                } else {
                    "\"v0-stale\"".to_owned()
                }
            }
            (Noise::Seldom(rate), fault) => {
                let rate = match fault {
                    Fault::Excess(more) => more,
                    _ => rate,
                };
                if self.random.chance(rate) {
                    format!("\"{}\"", self.uuid())
                } else {
                    format!("\"3f2a77de-5b1e-4c2b-9a1c-{target:012x}\"")
                }
            }
        }
    }
}

/// `"2026-01-31T09:30:00.123Z"`.
fn clock(time: i64) -> String {
    let of_day = 34_200 + time.div_euclid(SECOND);
    let millis = time.rem_euclid(SECOND) / 1_000;
    format!(
        "\"2026-01-31T{:02}:{:02}:{:02}.{millis:03}Z\"",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// Hundredths as JavaScript prints them.
fn price(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let amount = hundredths.unsigned_abs();
    let text = format!("{sign}{}.{:02}", amount / 100, amount % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
