//! Comparison of JSON by structure.
//!
//! Both texts are indexed ([`crate::notation`]) and walked together ([`walk`]). Objects are matched by key wherever the
//! keys stand ([`object`]); arrays by position, and only once they are known to differ are their elements aligned
//! ([`array`]), so alignment makes findings readable and never decides a verdict. Where a rule says that order does
//! not count, elements are matched exactly ([`multiset`]).

mod align;
mod array;
mod canonical;
mod fields;
mod hash;
mod keys;
mod moved;
mod multiset;
mod names;
mod object;
mod path;
mod rename;
mod report;
mod scalar;
mod script;
mod walk;

pub(crate) use fields::{Values, count};
pub(crate) use names::plain;
pub(crate) use scalar::Scalar;
pub(crate) use walk::{Outcome, Scratch, compare};
