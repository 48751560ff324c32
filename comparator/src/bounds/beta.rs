//! The two tails of a beta distribution, in logarithms and relative to the density between them, so that neither
//! disappears: with 10¹² requests a probability is far below the smallest double, and its logarithm is what is asked for.
//!
//! Where one of the parameters is small, a tail is a continued fraction (statrs has one, which stops after 140 terms: wrong
//! from some ten thousand requests on). Its terms grow with the root of the smaller parameter, so where both are large the
//! tail is integrated, at a cost that does not depend on them.

#![expect(
    clippy::many_single_char_names,
    reason = "the letters of the formulas in the literature"
)]

use std::f64::consts::PI;

use statrs::function::gamma::ln_gamma;

/// From here on, in both parameters, a tail is integrated.
const LARGE: f64 = 500.0;
/// Terms of the continued fraction: ten times what one takes whose smaller parameter is below [`LARGE`].
const MAX_TERMS: u32 = 5_000;
/// A term this near to 1 changes no digit that is shown.
const TERM_PRECISION: f64 = 1e-15;

/// The tails of Beta(x, y) on both sides of a point p, each divided by f = pˣ qʸ / B(x, y) with q = 1 − p. As logarithms.
pub(super) struct Tails {
    /// Of Iₚ(x, y) / f.
    pub(super) below: f64,
    /// Of (1 − Iₚ(x, y)) / f.
    pub(super) above: f64,
    /// Of f.
    pub(super) front: f64,
}

impl Tails {
    /// At p, with q = 1 − p given beside it so that neither loses digits. Both are above 0.
    pub(super) fn at(x: f64, y: f64, p: f64, q: f64) -> Self {
        let front = ln_front(x, y, p, q);
        // The shorter tail is found, the other one is what is left: the difference of two near numbers loses nothing there.
        if p * (x + y) < x {
            let below = ln_tail(x, y, p, q);
            let above = rest(below, front);
            Self {
                below,
                above,
                front,
            }
        } else {
            let above = ln_tail(y, x, q, p);
            let below = rest(above, front);
            Self {
                below,
                above,
                front,
            }
        }
    }
}

/// What one tail leaves of 1; both are relative to the front.
fn rest(tail: f64, front: f64) -> f64 {
    (-(tail + front).exp()).ln_1p() - front
}

/// ln(pˣ qʸ / B(x, y)), as C. Loader computes a binomial density: the large terms of the gamma functions and of the powers
/// are taken together, where they cancel.
fn ln_front(x: f64, y: f64, p: f64, q: f64) -> f64 {
    let n = x + y;
    0.5 * (x / n * y / (2.0 * PI)).ln()
        - deviance(x, n * p)
        - deviance(y, n * q)
        - stirling_error(x)
        - stirling_error(y)
        + stirling_error(n)
}

/// x ln(x / mean) + mean − x, without the cancellation near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    /// Beyond this relative distance nothing cancels.
    const NEAR: f64 = 0.1;
    let ratio = (x - mean) / (x + mean);
    if ratio.abs() >= NEAR {
        return x * (x / mean).ln() + mean - x;
    }
    // ln(x/mean) = 2 artanh(ratio), as a series whose first term is taken together with mean − x.
    let mut sum = (x - mean) * ratio;
    let mut power = 2.0 * x * ratio;
    let mut odd = 3.0;
    loop {
        power *= ratio * ratio;
        let next = sum + power / odd;
        if (next - sum).abs() <= sum.abs() * f64::EPSILON {
            return next;
        }
        sum = next;
        odd += 2.0;
    }
}

/// What Stirling's formula (x − ½) ln x − x + ½ ln 2π lacks of ln Γ(x).
fn stirling_error(x: f64) -> f64 {
    /// From here on three terms of the series are enough for all digits.
    const SERIES: f64 = 100.0;
    if x < SERIES {
        return ln_gamma(x) - ((x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln());
    }
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1_260.0 * square)) / square) / x
}

/// ln of Iₚ(x, y) over the front; p is at most the mean.
fn ln_tail(x: f64, y: f64, p: f64, q: f64) -> f64 {
    if x > LARGE && y > LARGE {
        integrated(x, y, p, q).ln()
    } else {
        fraction(x, y, p, q).ln()
    }
}

/// ∫₀ᵖ tˣ⁻¹ (1−t)ʸ⁻¹ dt / (pˣ qʸ), over the distance u = p − t, by the double exponential formula for what decays
/// exponentially (Takahasi and Mori 1974).
pub(super) fn integrated(x: f64, y: f64, p: f64, q: f64) -> f64 {
    const STEP: f64 = 0.125;
    /// The first and the last step: beyond them the integrand is below the last digit.
    const STEPS: std::ops::RangeInclusive<i32> = -32..=40;
    let slope = ((x - 1.0) / p - (y - 1.0) / q).max(0.0);
    let curvature = (x - 1.0) / (p * p) + (y - 1.0) / (q * q);
    let scale = 1.0 / (slope + curvature.sqrt());
    let terms = STEPS.map(|step| {
        let v = f64::from(step) * STEP;
        let shrink = (-v).exp();
        let u = scale * (v - shrink).exp();
        if u >= p {
            return 0.0;
        }
        let height = (x - 1.0) * (-u / p).ln_1p() + (y - 1.0) * (u / q).ln_1p();
        height.exp() * u * (1.0 + shrink)
    });
    terms.sum::<f64>() * STEP / p / q
}

/// The same by the continued fraction of algorithm 708 of the ACM, which takes the distance of p from the
/// mean as such and so loses nothing where q is almost 1.
pub(super) fn fraction(x: f64, y: f64, p: f64, q: f64) -> f64 {
    let n = x + y;
    let distance = if p < q { x - n * p } else { n * q - y };
    let c = 1.0 + distance;
    let c1 = 1.0 + 1.0 / x;
    let (mut before, mut last) = ((0.0, 1.0), (1.0, c / c1));
    let mut ratio = c1 / c;
    let (mut t1, mut s) = (1.0, x + 1.0);
    for term in 1..=MAX_TERMS {
        let term = f64::from(term);
        let t = term / x;
        let w = term * (y - term) * p;
        let alpha = t1 * (t1 + y / x) * (x / s).powi(2) * w * p;
        let beta = term + w / s + (1.0 + t) / (c1 + 2.0 * t) * (c + term * (q + 1.0));
        t1 = 1.0 + t;
        s += 2.0;
        let next = (
            alpha * before.0 + beta * last.0,
            alpha * before.1 + beta * last.1,
        );
        let found = next.0 / next.1;
        let settled = (found - ratio).abs() <= TERM_PRECISION * found;
        ratio = found;
        // Only the ratio counts, and the terms grow fast.
        before = (last.0 / next.1, last.1 / next.1);
        last = (found, 1.0);
        if settled {
            break;
        }
    }
    ratio
}
