//! Exact one-sided binomial bounds (Clopper and Pearson 1934).
//!
//! With k of n differing, the upper bound at confidence c is the rate p at which seeing k or fewer would have the
//! probability 1 − c; the lower bound is the p at which seeing k or more would. Both tails are regularized incomplete
//! beta functions: P(X ≤ k) = I₁₋ₚ(n − k, k + 1) and P(X ≥ k) = Iₚ(k, n − k + 1).
//!
//! The continued fraction is our own, because statrs stops it after 140 terms, which is wrong from some ten thousand
//! differing requests on; the gamma function is statrs's. The bound itself is found by bisection, which cannot fail to
//! end.

use statrs::function::gamma::ln_gamma;

/// Terms of the continued fraction; about the square root of the counts are needed, so this serves 10¹⁰ requests.
const MAX_TERMS: u32 = 200_000;
/// A term this near to 1 changes no digit that is shown.
const TERM_PRECISION: f64 = 1e-15;
/// Halvings of an interval of length 1: beyond the precision of a double.
const HALVINGS: u32 = 80;
/// Most requests that are said to be needed: 2^53, the largest number that every JSON reader keeps.
const MAX_NEEDED: u64 = 1 << 53;

/// The rate that is exceeded with a probability of at most `1 - confidence`, given that `differing` of `compared`
/// requests differ. 1 without any.
pub fn upper(differing: u64, compared: u64, confidence: f64) -> f64 {
    if compared == 0 || differing >= compared || confidence >= 1.0 {
        return 1.0;
    }
    if differing == 0 {
        // 1 - (1-c)^(1/n)
        return -((-confidence).ln_1p() / compared as f64).exp_m1();
    }
    let rate = differing as f64 / compared as f64;
    bisect(rate, 1.0, |p| {
        at_most(differing, compared, p) > 1.0 - confidence
    })
}

/// The rate that is missed with a probability of at most `1 - confidence`; 0 when nothing differs.
pub fn lower(differing: u64, compared: u64, confidence: f64) -> f64 {
    if differing == 0 || compared == 0 || confidence >= 1.0 {
        return 0.0;
    }
    if differing >= compared {
        // (1-c)^(1/n)
        return ((-confidence).ln_1p() / compared as f64).exp();
    }
    let rate = differing as f64 / compared as f64;
    bisect(0.0, rate, |p| {
        at_least(differing, compared, p) < 1.0 - confidence
    })
}

/// How many more requests, if all match, bring the upper bound to `allowed`; `None` when no number does.
pub fn needed(differing: u64, compared: u64, allowed: f64, confidence: f64) -> Option<u64> {
    let enough = |more: u64| {
        let compared = compared.saturating_add(more);
        if compared == 0 {
            return false;
        }
        if differing == 0 {
            return upper(0, compared, confidence) <= allowed;
        }
        // The bound is within what is allowed exactly when the tail is at the allowed rate; no bisection is needed.
        allowed >= 1.0 || at_most(differing, compared, allowed) <= 1.0 - confidence
    };
    if enough(0) {
        return Some(0);
    }
    if allowed <= 0.0 || confidence >= 1.0 || !enough(MAX_NEEDED) {
        return None;
    }
    // More matching requests only ever lower the bound.
    let (mut too_few, mut plenty) = (0, MAX_NEEDED);
    while plenty - too_few > 1 {
        let middle = too_few + (plenty - too_few) / 2;
        if enough(middle) {
            plenty = middle;
        } else {
            too_few = middle;
        }
    }
    Some(plenty)
}

/// The point between `low` and `high` up to which `holds` is true.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability of at most `k` of `n` at rate `p`; `k < n`.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    regularized_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p, p)
}

/// Probability of at least `k` of `n` at rate `p`; `0 < k`.
fn at_least(k: u64, n: u64, p: f64) -> f64 {
    regularized_beta(k as f64, (n - k) as f64 + 1.0, p, 1.0 - p)
}

/// Iₓ(a, b), given `x` and `y = 1 - x` so that neither loses digits.
fn regularized_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    // ln(y) by ln_1p keeps the digits of a tiny x.
    let log = |small: f64, other: f64| {
        if small < 0.5 {
            small.ln()
        } else {
            (-other).ln_1p()
        }
    };
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * log(x, y) + b * log(y, x)).exp();
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, y) / b
    };
    value.clamp(0.0, 1.0)
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| {
        if value.abs() < f64::MIN_POSITIVE {
            f64::MIN_POSITIVE
        } else {
            value
        }
    };
    let mut ratio = 1.0;
    let mut inverse = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = inverse;
    for term in 1..=MAX_TERMS {
        let term = f64::from(term);
        let even = term * (b - term) * x / ((a + 2.0 * term - 1.0) * (a + 2.0 * term));
        let odd = -(a + term) * (a + b + term) * x / ((a + 2.0 * term) * (a + 2.0 * term + 1.0));
        for coefficient in [even, odd] {
            inverse = 1.0 / away_from_zero(1.0 + coefficient * inverse);
            ratio = away_from_zero(1.0 + coefficient / ratio);
            fraction *= inverse * ratio;
        }
        if (inverse * ratio - 1.0).abs() < TERM_PRECISION {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, two: f64, relative: f64) {
        assert!(
            (one - two).abs() <= relative * two.abs().max(1e-300),
            "{one} {two}"
        );
    }

    #[test]
    fn closed_forms() {
        for n in [1_u64, 2, 10, 1_000, 1_000_000, 1_000_000_000] {
            for confidence in [0.5, 0.95, 0.999_999] {
                let power = (1.0_f64 - confidence).powf(1.0 / n as f64);
                near(upper(0, n, confidence), 1.0 - power, 1e-6);
                near(lower(n, n, confidence), power, 1e-12);
                // One of n: (1-p)^n = c for the lower bound. Differences of large logarithms cost digits.
                near(
                    lower(1, n, confidence),
                    -(confidence.ln() / n as f64).exp_m1(),
                    1e-5,
                );
            }
        }
        assert_eq!((upper(0, 0, 0.95), lower(0, 0, 0.95)), (1.0, 0.0));
        assert_eq!((upper(5, 5, 0.95), lower(0, 5, 0.95)), (1.0, 0.0));
        assert_eq!((upper(1, 5, 1.0), lower(1, 5, 1.0)), (1.0, 0.0));
    }

    #[test]
    fn published_values_and_statrs_agree() {
        // 8 of 998 at 95 %, as in the documentation of the gate.
        near(lower(8, 998, 0.95), 0.004_0, 0.01);
        near(upper(8, 998, 0.95), 0.014_4, 0.01);
        for (k, n) in [(1, 10), (3, 50), (8, 998), (40, 400), (500, 1_000)] {
            let (a, b) = (k as f64, n as f64);
            near(
                upper(k, n, 0.95),
                statrs::function::beta::inv_beta_reg(a + 1.0, b - a, 0.95),
                1e-7,
            );
            near(
                lower(k, n, 0.95),
                statrs::function::beta::inv_beta_reg(a, b - a + 1.0, 0.05),
                1e-7,
            );
        }
    }

    #[test]
    fn large_counts_stay_right() {
        // Where the normal approximation is good to four digits.
        for (k, n) in [
            (100_000_u64, 10_000_000_u64),
            (5_000_000, 10_000_000),
            (1_000_000, 1_000_000_000),
        ] {
            let rate = k as f64 / n as f64;
            let deviation = (rate * (1.0 - rate) / n as f64).sqrt();
            near(upper(k, n, 0.95) - rate, 1.645 * deviation, 0.01);
            near(rate - lower(k, n, 0.95), 1.645 * deviation, 0.01);
        }
    }

    #[test]
    fn the_bounds_hold_the_tail_they_promise() {
        // By adding up the distribution itself.
        let tail = |k: u64, n: u64, p: f64| {
            let mut term = (n as f64 * (1.0 - p).ln()).exp();
            let mut sum = term;
            for i in 0..k {
                term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
                sum += term;
            }
            sum
        };
        for (k, n) in [(0, 7), (1, 100), (5, 300), (17, 1_000)] {
            near(tail(k, n, upper(k, n, 0.95)), 0.05, 1e-6);
            if k > 0 {
                near(1.0 - tail(k - 1, n, lower(k, n, 0.95)), 0.05, 1e-6);
            }
        }
    }

    #[test]
    fn what_is_needed_is_enough_and_one_less_is_not() {
        for (k, n, allowed) in [
            (0, 0, 0.001),
            (0, 10, 0.001),
            (1, 10, 0.01),
            (8, 998, 0.02),
            (3, 5, 0.5),
        ] {
            let more = needed(k, n, allowed, 0.95).expect("reachable");
            assert!(
                upper(k, n + more, 0.95) <= allowed * (1.0 + 1e-9),
                "{k} {n}"
            );
            if more > 0 {
                assert!(upper(k, n + more - 1, 0.95) > allowed, "{k} {n}");
            }
        }
        assert_eq!(needed(0, 0, 0.001, 0.95), Some(2_995));
        assert_eq!(needed(0, 5, 0.0, 0.95), None);
        assert_eq!(needed(0, 5, 0.5, 1.0), None);
        assert_eq!(needed(3, 5, 1.0, 0.95), Some(0));
    }
}
