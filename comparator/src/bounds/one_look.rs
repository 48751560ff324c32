//! Evidence for who looks once: the exact binomial tail (Clopper and Pearson 1934). Smaller counts prove as much as by
//! [`super::any_time`], and looking again until one likes what one sees proves nothing.

use super::beta::Tails;

/// −ln of the probability that so few differ if the rate is `p`. `q` is 1 − p, and both are above 0.
pub(super) fn evidence(differing: f64, agreeing: f64, p: f64, q: f64) -> f64 {
    if agreeing <= 0.0 {
        return 0.0;
    }
    // P(X ≤ s) = 1 − Iₚ(s + 1, n − s).
    let tails = Tails::at(differing + 1.0, agreeing, p, q);
    -(tails.above + tails.front)
}
