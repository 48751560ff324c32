//! JSON as it is written: the strict parser, the index of spans that it makes of a text, and what stands in the spans.
//!
//! What other parts of the crate need to know of numbers and strings is here, too: nothing in this module compares two
//! documents or knows a rule.

#[cfg(test)]
pub(crate) mod colliding;
pub(crate) mod index;
mod node;
pub(crate) mod number;
mod parse;
pub(crate) mod pointer;
pub(crate) mod string;
