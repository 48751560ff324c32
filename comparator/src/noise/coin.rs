//! Whether a coin is fair: what all pairs of counts are asked, at any number of looks.

use statrs::function::gamma::ln_gamma;

/// The e-value against "as frequent as its counterpart, or less frequent": a coin that is mixed over all biases by
/// Beta(½, ½), against a fair one, where the first of the two leads. 0 where it does not.
pub(super) fn evidence_for(times: u64, counterpart: u64) -> f64 {
    if times <= counterpart {
        return 0.0;
    }
    let (a, b) = (times as f64, counterpart as f64);
    let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    (ln_beta(a + 0.5, b + 0.5) - std::f64::consts::PI.ln() + (a + b) * std::f64::consts::LN_2).exp()
}
