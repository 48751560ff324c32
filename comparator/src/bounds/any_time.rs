//! Evidence that may be looked at any number of times: a mixture of likelihood ratios (Robbins 1970; see Howard and
//! others 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences").
//!
//! The hypothesis is that the rate is at least p. Against it stands a Beta(½, ½) that is cut off at p. The mean of the
//! likelihood ratios over it is a supermartingale as long as the hypothesis holds, so that it *ever* reaches 1/α has at most
//! the probability α (Ville 1939), however often and whenever one looks. With s of n differing it is
//!
//! ```text
//! ln E = ln B(s+½, n−s+½) + ln Iₚ(s+½, n−s+½) − ln B(½, ½) − ln Iₚ(½, ½) − s ln p − (n−s) ln (1−p)
//! ```
//!
//! B(½, ½) Iₚ(½, ½) is 2 arcsin √p; and what is left is a tail over its front, times √(p(1−p)), see [`Tails`].

use super::beta::Tails;

/// ln E against a rate of at least `p`. `q` is 1 − p, and both are above 0.
pub(super) fn evidence(differing: f64, agreeing: f64, p: f64, q: f64) -> f64 {
    let tails = Tails::at(differing + 0.5, agreeing + 0.5, p, q);
    let prior = 2.0 * p.sqrt().atan2(q.sqrt());
    tails.below + 0.5 * (p * q).ln() - prior.ln()
}
