//! Candidates with a fault in texts with tokens, in pages, or in the order of a list.

use super::{LOAD, faulty};
use crate::service::{Fault, Noise, Sort};
use crate::simulation::{Load, Scenario};

/// They must not be taken for noise either.
pub(crate) const TEXTS: [(Scenario, Load); 14] = [
    (
        faulty(
            "token, an error text, 1 %",
            Noise::Token,
            Fault::Kind,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "token, null, 1 %",
            Noise::Token,
            Fault::Null,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "token, a constant, 1 %",
            Noise::Token,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "token, a character short, 5 %",
            Noise::Token,
            Fault::Bias(-1),
            0.05,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, a cent more, 1 %",
            Noise::Page,
            Fault::Bias(1),
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, another word, 1 %",
            Noise::Page,
            Fault::Kind,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, a line less, 1 %",
            Noise::Page,
            Fault::Lost,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, token constant, 1 %",
            Noise::Page,
            Fault::Constant,
            0.01,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, token null, 1 %",
            Noise::Page,
            Fault::Null,
            0.01,
            true,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "page, a cent more",
            Noise::Page,
            Fault::Bias(1),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "sorted, not at all",
            Noise::Ties,
            Fault::Sorted(Sort::Not),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "sorted, by another key",
            Noise::Ties,
            Fault::Sorted(Sort::OtherKey),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "sorted, reversed",
            Noise::Ties,
            Fault::Sorted(Sort::Reversed),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
    (
        faulty(
            "random order, sorted with ties",
            Noise::Order,
            Fault::Sorted(Sort::Price),
            1.0,
            false,
            1.0,
        ),
        LOAD,
    ),
];
