//! How many distinct targets there are: a `HyperLogLog` (Flajolet and others 2007) of 256 registers.
//!
//! Two are merged by the greater of each two registers, so it does not matter in which order or how often that is done. The
//! number is estimated as by O. Ertl ("New cardinality estimation algorithms for `HyperLogLog` sketches", 2017), which needs
//! no corrections: it counts like a bitmap where there are few, and has no bias in between.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A standard error of 6.5 %, in at most 256 bytes of a row.
const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of a hash that choose a register.
const INDEX_BITS: u32 = 8;
/// The other bits. The rank in a register is one more than how many of them are zero at the front.
const RANK_BITS: u32 = u64::BITS - INDEX_BITS;
/// The greatest rank.
const MAX_RANK: u8 = RANK_BITS as u8 + 1;
/// A rank as one character; there are more characters than ranks.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
/// The rank that a character stands for. A report reads a million texts of some dozen of them.
const RANKS: [Option<u8>; 256] = {
    let mut ranks = [None; 256];
    let mut rank = 0;
    while rank <= MAX_RANK {
        ranks[DIGITS[rank as usize] as usize] = Some(rank);
        rank += 1;
    }
    ranks
};
/// Characters of a register that is written with its place: two hexadecimal digits and its rank.
const WITH_PLACE: usize = 3;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistinctTargets([u8; REGISTERS]);

impl Default for DistinctTargets {
    fn default() -> Self {
        Self([0; REGISTERS])
    }
}

impl DistinctTargets {
    /// Adds a target, by its hash.
    pub fn add(&mut self, hash: u64) {
        let rank = (hash << INDEX_BITS).leading_zeros().min(RANK_BITS) as u8 + 1;
        let register = &mut self.0[(hash >> RANK_BITS) as usize];
        *register = rank.max(*register);
    }

    /// Adds all targets of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (register, more) in self.0.iter_mut().zip(&other.0) {
            *register = (*register).max(*more);
        }
    }

    /// About how many there are.
    pub fn estimate(&self) -> u64 {
        let registers = REGISTERS as f64;
        let mut of_rank = [0_u32; MAX_RANK as usize + 1];
        for rank in self.0 {
            of_rank[usize::from(rank.min(MAX_RANK))] += 1;
        }
        let share = |rank: usize| f64::from(of_rank[rank]) / registers;
        let full = usize::from(MAX_RANK);
        let mut sum = registers * beyond(1.0 - share(full));
        for rank in (1..full).rev() {
            sum = 0.5 * (sum + f64::from(of_rank[rank]));
        }
        sum += registers * unused(share(0));
        (registers * registers / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }

    /// Registers that a target has set, with their ranks.
    pub fn set_registers(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        let all = (0..=u8::MAX).zip(self.0);
        all.filter(|(_, rank)| *rank > 0)
    }

    /// Of registers and their ranks; `None` if a rank is none.
    pub fn from_registers(registers: impl IntoIterator<Item = (u8, u8)>) -> Option<Self> {
        let mut targets = Self::default();
        for (register, rank) in registers {
            if rank > MAX_RANK {
                return None;
            }
            targets.0[usize::from(register)] = rank;
        }
        Some(targets)
    }

    /// A compact text: a character for each register, or for each that is set if those are few.
    pub fn to_text(&self) -> String {
        let digit = |rank: u8| char::from(DIGITS[usize::from(rank.min(MAX_RANK))]);
        if self.set_registers().count() * WITH_PLACE >= REGISTERS {
            return self.0.iter().map(|rank| digit(*rank)).collect();
        }
        let set = self.set_registers();
        set.flat_map(|(register, rank)| {
            let hex = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
            [hex(register >> 4), hex(register & 15), digit(rank)]
        })
        .collect()
    }

    /// What [`Self::to_text`] wrote; `None` if it is something else.
    pub fn from_text(text: &str) -> Option<Self> {
        let rank = |digit: u8| RANKS[usize::from(digit)];
        let text = text.as_bytes();
        if text.len() == REGISTERS {
            let mut targets = Self::default();
            for (register, digit) in targets.0.iter_mut().zip(text) {
                *register = rank(*digit)?;
            }
            return Some(targets);
        }
        let (set, rest) = text.as_chunks::<WITH_PLACE>();
        if !rest.is_empty() {
            return None;
        }
        let mut targets = Self::default();
        for [high, low, digit] in set {
            let hex = |digit: u8| char::from(digit).to_digit(16);
            let register = usize::try_from(hex(*high)? * 16 + hex(*low)?).ok()?;
            targets.0[register] = rank(*digit)?;
        }
        Some(targets)
    }
}

/// What registers without a target add to the sum, by their share (σ of the paper).
fn unused(share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * weight;
        weight *= 2.0;
        if sum <= before {
            return sum;
        }
    }
}

/// What registers of the greatest rank add, by the share of the others (τ of the paper).
fn beyond(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - root) * (1.0 - root) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

impl Serialize for DistinctTargets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for DistinctTargets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let read = Self::from_text(&text);
        read.ok_or_else(|| D::Error::custom(format!("`{text}` is no summary of distinct targets")))
    }
}

impl JsonSchema for DistinctTargets {
    fn schema_name() -> Cow<'static, str> {
        "DistinctTargets".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A HyperLogLog of 256 registers: a character for each, or register and rank of those that are set"
        })
    }
}
