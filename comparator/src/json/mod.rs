//! Comparison of JSON by structure.
//!
//! Both texts are indexed ([`index`]) and walked together ([`walk`]). Objects are matched by key wherever the keys
//! stand ([`object`]); arrays by position, and only once they are known to differ are their elements aligned
//! ([`array`]), so alignment makes findings readable and never decides a verdict. Where a rule says that order does
//! not count, elements are matched exactly ([`multiset`]).

mod align;
mod array;
mod canonical;
pub(crate) mod index;
mod multiset;
pub(crate) mod number;
mod object;
mod parse;
mod path;
mod rename;
mod report;
mod scalar;
mod script;
pub(crate) mod string;
mod walk;

pub(crate) use walk::{Outcome, Scratch, compare};
