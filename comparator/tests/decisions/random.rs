//! Numbers that look random and are the same in every run (`SplitMix64`).

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and below 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// How many of `trials` happen, each with the probability `rate`; from one to the next by a geometric distance.
    pub(crate) fn binomial(&mut self, trials: u64, rate: f64) -> u64 {
        if rate <= 0.0 {
            return 0;
        }
        if rate >= 1.0 {
            return trials;
        }
        let (mut place, mut happened) = (0.0, 0);
        loop {
            place += (self.share().ln() / (-rate).ln_1p()).floor() + 1.0;
            if place > trials as f64 {
                return happened;
            }
            happened += 1;
        }
    }
}
