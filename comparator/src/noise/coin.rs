//! Whether a coin is fair: what all pairs of counts are asked, at any number of looks.

use statrs::function::gamma::ln_gamma;

use crate::bounds::part_of_any;

/// The chance that some pair of counts is ever told to be unlike in any of the groups of a migration, although the services
/// behave alike. Each kind of pair has it; there are fewer than ten, so that all of them together are wrong less often than a gate
/// that is asked for 99 %.
const CHANCE: f64 = 0.001;

/// The e-value from which one of a pair is shown to be more frequent, where so many groups of a migration are looked at. By
/// Ville's inequality it is ever reached by chance with a probability of at most its inverse, so all of them together have
/// [`CHANCE`]. With one bound for each group, of a hundred honest ones some would be thrown out in most hours.
pub(super) fn shown_of(groups: u64) -> f64 {
    1.0 / (CHANCE * part_of_any(groups))
}

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
