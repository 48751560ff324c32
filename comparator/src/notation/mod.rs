//! JSON text: the strict parser, the index of spans that it produces, and the strings and numbers in the spans.
//!
//! What other parts of the crate need for numbers and strings is here, too. Nothing in this module compares two
//! documents or knows a rule.

#[cfg(test)]
pub(crate) mod colliding;
pub(crate) mod index;
mod node;
pub(crate) mod number;
mod parse;
pub(crate) mod pointer;
pub(crate) mod string;
