//! Since when the services differ by more than is allowed: found by steps of time ([`found`]), to the minute where that matters ([`closer`]),
//! and told in a sentence or two ([`told`]).

mod closer;
mod found;
mod told;

pub(super) use self::closer::{judge, look};
pub(super) use self::told::{Of, sentence};

#[cfg(test)]
mod tests;
