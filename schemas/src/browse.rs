//! Words by which somebody looks through the groups of a report: which ones, and in which order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// Which groups.
    #[derive(Default)]
    Tab as "tab" {
        /// All that count against the candidate.
        #[default]
        Counting = "counting" => "they count against the candidate",
        /// Of them those that nobody has entered.
        New = "new" => "they count, and no [[known]] entry means them",
        /// All that an entry means, whether they count or not.
        Known = "known" => "a [[known]] entry means them",
        /// Back although they were mended.
        Regressed = "regressed" => "entered as mended, and seen again since",
        /// More frequent than their entry says.
        Growing = "growing" => "known, and more frequent than when they were entered",
        /// Noise, proven or not.
        Noise = "noise" => "they are noise, or look like it",
        /// Only transient mismatches.
        Transient = "transient" => "asked again, both sides agree; they do not count",
        /// Every group.
        All = "all" => "all groups",
    }
}

vocabulary! {
    /// In which order.
    #[derive(Default)]
    Order as "order" {
        /// As everywhere else.
        #[default]
        Severity = "severity" => "the gravest first, then the most frequent",
        /// By mismatches.
        Count = "count" => "the most frequent first",
        /// By their share of the route.
        Rate = "rate" => "the greatest share of the compared requests of its route first",
        /// By the last of them.
        LastSeen = "last_seen" => "what was seen last first",
        /// By the first of them.
        FirstSeen = "first_seen" => "what is newest first",
        /// By route.
        Route = "route" => "by route",
    }
}
